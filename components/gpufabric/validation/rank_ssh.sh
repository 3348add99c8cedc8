# shellcheck shell=sh disable=SC2034,SC2154  # a part of rank.sh, which sets and uses the other variables
# Ranks by mpirun over ssh: a key in memory, an sshd on every index, mpirun on index 0.

key=$root/key
port=${GATE_SSH_PORT:-2222}

look_for_programs() {
  sshd=$(command -v sshd) || fail 70 "the image has no sshd (package openssh-server)"
  keygen=$(command -v ssh-keygen) || fail 70 "the image has no ssh-keygen (package openssh-client)"
  if [ "$index" = 0 ]; then
    ssh=$(command -v ssh) || fail 70 "the image has no ssh (package openssh-client)"
  fi
  if [ "$index" = 0 ] || [ -n "${GATE_INSIDE:-}" ]; then
    mpirun=$(command -v mpirun) || fail 70 "the image has no mpirun (Open MPI)"
  fi
}

# FQDN: Open MPI cuts names at the first dot otherwise. pml ob1 and no hcoll: with UCX or hcoll in the image MPI picks a NIC
# of its own and hangs (nccl-tests issues 26, 223, 278); MPI starts the ranks and, on CPUs, uses the interface asked for.
under_mpirun() { # under_mpirun SECONDS OUTPUT RANKS HOSTS COMMAND...: its exit code
  span=$1 file=$2 ranks=$3 hosts=$4
  shift 4
  # A login by ssh does not get what the image sets in its environment (PATH), nor what a vendor's script has set here before us.
  prefixes=GATE_
  if [ -n "${GATE_ENVIRONMENT_SCRIPT:-}" ]; then prefixes='GATE_ NCCL_ CUDA_'; fi
  given=' '
  for name in PYTHONPATH PATH LD_LIBRARY_PATH ${GATE_FORWARD:-} \
    $(for prefix in $prefixes; do env | sed -n "s/^\(${prefix}[A-Z0-9_]*\)=.*/\1/p"; done); do
    case $name in '' | [0-9]* | *[!A-Za-z0-9_]*) continue ;; esac
    case $given in *" $name "*) continue ;; esac # mpirun refuses a name that it is given twice
    given="$given$name "
    eval "value=\${$name+set}"
    if [ "$value" = set ]; then set -- -x "$name" "$@"; fi # mpirun complains about names that are not set
  done
  set -- --allow-run-as-root -np "$ranks" --host "$hosts" --bind-to none \
    --mca orte_keep_fqdn_hostnames 1 --mca plm_rsh_agent "${agent:-ssh}" \
    --mca pml ob1 --mca coll '^hcoll' --mca btl tcp,self --mca btl_tcp_if_include "$GATE_INTERFACE" \
    --mca oob_tcp_if_include "$GATE_INTERFACE" --mca mpi_yield_when_idle 1 "$@"
  in_time "$span" "$file" "$mpirun" "$@"
}

inside() { # all ranks are here: mpirun starts them without ssh
  set -f
  # shellcheck disable=SC2086  # a command line, split at blanks
  set -- $GATE_INSIDE
  set +f
  if ! command -v "$1" >/dev/null; then
    put "$shared/inside/error" "the image has no $1 (the benchmark)"
    return 70
  fi
  under_mpirun "$GATE_INSIDE_SECONDS" "$shared/inside/output" "$GATE_INSIDE_RANKS" "localhost:$GATE_INSIDE_RANKS" "$@"
}

make_key() { # make_key NAME
  "$keygen" -q -t ed25519 -N '' -f "$key/$1" >"$key/keygen.log" 2>&1 && return
  fail 71 "ssh-keygen failed: $(tail -n 1 "$key/keygen.log")"
}

make_keys() {
  umask 077
  mkdir -p "$key" || fail 71 "cannot write to $key"
  rm -f "$key/host" "$key/host.pub" "$key/id" "$key/id.pub"
  make_key host
  if [ "$index" = 0 ]; then
    make_key id
    umask 022
    put "$shared/id.pub" "$(cat "$key/id.pub")" || fail 71 "cannot write to $shared"
  fi
  umask 022
}

# It reads authorized_keys at each login, so it may start before the file is there. StrictModes off: the directory of a
# volume is group-writable under fsGroup. No configuration file: the image's own could ask for PAM or other keys.
start_sshd() {
  if [ ! -d /run/sshd ]; then mkdir -p /run/sshd 2>/dev/null; fi
  "$sshd" -D -e -f /dev/null -p "$port" -o HostKey="$key/host" \
    -o AuthorizedKeysFile="$shared/authorized_keys" -o StrictModes=no \
    -o PubkeyAuthentication=yes -o PasswordAuthentication=no -o KbdInteractiveAuthentication=no \
    -o PermitRootLogin=prohibit-password -o PidFile=none \
    -o UseDNS=no -o MaxStartups=1000 -o LogLevel=ERROR >"$shared/sshd.log" 2>&1 &
  sshd_pid=$!
}

sshd_ended() {
  wait "$sshd_pid"
  code=$?
  sshd_pid=
  fail 73 "sshd ended with code $code: $(tail -n 1 "$shared/sshd.log" 2>/dev/null | cut -c 1-300)"
}

join() {
  make_keys
  start_sshd
  until [ -s "$shared/authorized_keys" ]; do
    kill -0 "$sshd_pid" 2>/dev/null || sshd_ended
    if late; then
      first=$GATE_HOST_PREFIX-0.$GATE_SERVICE
      fail 71 "the public key of rank 0 did not come within $patience_s s (is $first running and resolvable?)"
    fi
    pause
  done
  if [ "$index" != 0 ]; then
    echo "rank $index: ready on port $port"
    sshd_ended
  fi
  lead
}

# Host keys are made anew in every pod's memory and nobody has vouched for them; what protects the login is the user key.
lead() { # index 0: wait for the peers, then the benchmark
  agent="$ssh -F /dev/null -p $port -i $key/id -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no"
  agent="$agent -o UserKnownHostsFile=/dev/null -o GlobalKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectTimeout=3"
  hosts=
  peer=0
  while [ "$peer" -lt "$GATE_NODES" ]; do
    host=$GATE_HOST_PREFIX-$peer.$GATE_SERVICE
    # shellcheck disable=SC2086  # the agent is a command line, as mpirun wants it
    until "$limit" 15 $agent "$host" true </dev/null >"$shared/ssh.log" 2>&1; do
      kill -0 "$sshd_pid" 2>/dev/null || sshd_ended
      if late; then
        fail 72 "peer $peer ($host) is unreachable after $patience_s s: $(tail -n 1 "$shared/ssh.log" | cut -c 1-300)"
      fi
      pause
    done
    hosts="$hosts${hosts:+,}$host:$GATE_RANKS_PER_NODE"
    peer=$((peer + 1))
  done
  echo "rank 0: peers reached after $(($(now) - start)) s: $hosts"
  set -f
  # shellcheck disable=SC2086  # a command line, split at blanks
  set -- ${GATE_ALSO:-}
  if [ $# != 0 ]; then command -v "$1" >/dev/null || fail 70 "the image has no $1 (the second benchmark)"; fi
  sizes="-b ${GATE_MIN_BYTES:-1024} -e ${GATE_MAX_BYTES:-16777216} -f ${GATE_FACTOR:-4}"
  # shellcheck disable=SC2086  # a command line, split at blanks
  set -- ${GATE_BENCHMARK:-python3 -m gpufabric.validation.mpi_allreduce $sizes}
  command -v "$1" >/dev/null || fail 70 "the image has no $1 (the benchmark)"
  group "$GATE_BENCHMARK_SECONDS" "$@"
  code=$?
  if [ "$code" = 0 ] && [ -n "${GATE_ALSO:-}" ]; then
    left=$((GATE_BENCHMARK_SECONDS - ($(now) - begun))) # both share one clock; 0 would mean none to timeout
    printf '\n%s\n' "# gpufabric: the second benchmark begins" >>"$shared/output"
    # shellcheck disable=SC2086  # as above
    group $((left > 0 ? left : 1)) $GATE_ALSO
    code=$?
  fi
  finish "$code"
}

group() { # group SECONDS COMMAND...: all ranks of all nodes; its exit code
  span=$1
  shift
  under_mpirun "$span" "$shared/output" $((GATE_NODES * GATE_RANKS_PER_NODE)) "$hosts" "$@"
}
