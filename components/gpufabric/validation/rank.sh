#!/bin/sh
# Entry of the rank container: key, sshd, and on index 0 mpirun. Strictly POSIX sh: vendor images may lack bash and Python.
#
# Environment: gpufabric.validation.contract (rank_environment). Files, below ${GATE_ROOT:-/gate}:
#   key/id, key/host        private keys; a memory volume that only this container mounts
#   shared/id.pub           index 0: the public key, for the judge beside us to serve
#   shared/authorized_keys  the judge beside us writes it
#   shared/health/          raw readings of this node (health.sh), complete when shared/health/done is there; the judge beside
#                           us lets the key in only if the node is healthy, so that a sick one never joins a network run
#   shared/output           index 0: stdout and stderr of the benchmark as it runs
#   shared/error            one line, if something failed before the benchmark
#   shared/exit-code        index 0: the benchmark's exit code; the last thing that is written
#
# Exit codes: index 0: the benchmark's own (124: stopped after GATE_BENCHMARK_SECONDS); other indices: 0 on TERM.
#   70 a program is missing   71 no key   72 a peer cannot be reached   73 sshd ended   74 bad environment
#   143 index 0 was stopped by TERM
set -u
PATH="${PATH:-/usr/bin:/bin}:/usr/local/sbin:/usr/sbin:/sbin"
export PATH
root=${GATE_ROOT:-/gate}
shared=$root/shared
key=$root/key
log=${GATE_TERMINATION_LOG:-/dev/termination-log}
index=${JOB_COMPLETION_INDEX:-}
health=${0%/*}/health.sh
health_pid=
sshd_pid=
benchmark_pid=

put() { # put FILE TEXT: written beside and renamed, so that nobody reads half of it
  printf '%s\n' "$2" >"$1.tmp" && mv "$1.tmp" "$1"
}

stop_children() {
  for pid in $health_pid $benchmark_pid $sshd_pid; do kill "$pid" 2>/dev/null; done
}

fail() { # fail CODE TEXT
  trap '' TERM INT
  umask 022 # the judge is not root
  echo "rank ${index:-?}: $2"
  printf '%s' "$2" 2>/dev/null >"$log"
  put "$shared/error" "$2"
  stop_children
  if [ "$index" = 0 ]; then put "$shared/exit-code" "$1"; fi
  exit "$1"
}

# shellcheck disable=SC2317  # called by the trap
stopped() {
  trap '' TERM INT
  stop_children
  if [ "$index" = 0 ]; then exit 143; fi
  exit 0
}

pause() { # a fraction where sleep can (GNU, busybox); POSIX knows whole seconds only
  sleep 0.2 2>/dev/null || sleep 1
}

now() {
  date +%s
}

make_key() { # make_key NAME
  "$keygen" -q -t ed25519 -N '' -f "$key/$1" >"$key/keygen.log" 2>&1 && return
  fail 71 "ssh-keygen failed: $(tail -n 1 "$key/keygen.log")"
}

sshd_ended() {
  wait "$sshd_pid"
  code=$?
  sshd_pid=
  fail 73 "sshd ended with code $code: $(tail -n 1 "$shared/sshd.log" 2>/dev/null | cut -c 1-300)"
}

# --- environment and programs ---
case $index in '' | *[!0-9]*) fail 74 "JOB_COMPLETION_INDEX is '$index', not a number: this is no pod of an Indexed Job" ;; esac
for name in GATE_NODES GATE_RANKS_PER_NODE GATE_HOST_PREFIX GATE_SERVICE GATE_START_SECONDS GATE_BENCHMARK_SECONDS \
  GATE_INTERFACE; do
  eval "value=\${$name:-}"
  if [ -z "$value" ]; then fail 74 "$name is not set"; fi
  case $name in
    GATE_NODES | GATE_RANKS_PER_NODE | GATE_*_SECONDS)
      case $value in *[!0-9]* | 0) fail 74 "$name is '$value', not a whole number above 0" ;; esac ;;
  esac
done
port=${GATE_SSH_PORT:-2222}
sshd=$(command -v sshd) || fail 70 "the image has no sshd (package openssh-server)"
keygen=$(command -v ssh-keygen) || fail 70 "the image has no ssh-keygen (package openssh-client)"
if [ "$index" = 0 ]; then
  ssh=$(command -v ssh) || fail 70 "the image has no ssh (package openssh-client)"
  mpirun=$(command -v mpirun) || fail 70 "the image has no mpirun (Open MPI)"
  limit=$(command -v timeout) || fail 70 "the image has no timeout (package coreutils)"
fi
trap stopped TERM INT
start=$(now)

# --- the node's health: read here, where the devices are; judged beside us ---
umask 022 # the judge is not root
mkdir -p "$shared/health" || fail 71 "cannot write to $shared"
if [ -r "$health" ]; then
  GATE_HEALTH_SECONDS=$((GATE_START_SECONDS < 60 ? GATE_START_SECONDS : 60)) /bin/sh "$health" &
  health_pid=$!
  wait "$health_pid"
  health_pid=
fi
: >"$shared/health/done"

# --- keys ---
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

# --- sshd ---
# It reads authorized_keys at each login, so it may start before the file is there. StrictModes off: the directory of a
# volume is group-writable under fsGroup. No configuration file: the image's own could ask for PAM or other keys.
if [ ! -d /run/sshd ]; then mkdir -p /run/sshd 2>/dev/null; fi
"$sshd" -D -e -f /dev/null -p "$port" -o HostKey="$key/host" \
  -o AuthorizedKeysFile="$shared/authorized_keys" -o StrictModes=no \
  -o PubkeyAuthentication=yes -o PasswordAuthentication=no -o KbdInteractiveAuthentication=no \
  -o PermitRootLogin=prohibit-password -o PidFile=none \
  -o UseDNS=no -o MaxStartups=1000 -o LogLevel=ERROR >"$shared/sshd.log" 2>&1 &
sshd_pid=$!

until [ -s "$shared/authorized_keys" ]; do
  kill -0 "$sshd_pid" 2>/dev/null || sshd_ended
  if [ $(($(now) - start)) -ge "$GATE_START_SECONDS" ]; then
    first=$GATE_HOST_PREFIX-0.$GATE_SERVICE
    fail 71 "the public key of rank 0 did not come within $GATE_START_SECONDS s (is $first running and resolvable?)"
  fi
  pause
done

if [ "$index" != 0 ]; then
  echo "rank $index: ready on port $port"
  sshd_ended
fi

# --- index 0: wait for the peers ---
# Host keys are made anew in every pod's memory and nobody has vouched for them; what protects the login is the user key.
agent="$ssh -F /dev/null -p $port -i $key/id -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no"
agent="$agent -o UserKnownHostsFile=/dev/null -o GlobalKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectTimeout=3"
hosts=
peer=0
while [ "$peer" -lt "$GATE_NODES" ]; do
  host=$GATE_HOST_PREFIX-$peer.$GATE_SERVICE
  # shellcheck disable=SC2086  # the agent is a command line, as mpirun wants it
  until "$limit" 15 $agent "$host" true </dev/null >"$shared/ssh.log" 2>&1; do
    kill -0 "$sshd_pid" 2>/dev/null || sshd_ended
    if [ $(($(now) - start)) -ge "$GATE_START_SECONDS" ]; then
      fail 72 "peer $peer ($host) is unreachable after $GATE_START_SECONDS s: $(tail -n 1 "$shared/ssh.log" | cut -c 1-300)"
    fi
    pause
  done
  hosts="$hosts${hosts:+,}$host:$GATE_RANKS_PER_NODE"
  peer=$((peer + 1))
done
echo "rank 0: peers reached after $(($(now) - start)) s: $hosts"

# --- index 0: the benchmark ---
# FQDN: Open MPI cuts names at the first dot otherwise. pml ob1 and no hcoll: with UCX or hcoll in the image MPI picks a NIC
# of its own and hangs (nccl-tests issues 26, 223, 278); MPI starts the ranks and, on CPUs, uses the interface asked for.
set -f
sizes="-b ${GATE_MIN_BYTES:-1024} -e ${GATE_MAX_BYTES:-16777216} -f ${GATE_FACTOR:-4}"
# shellcheck disable=SC2086  # a command line, split at blanks
set -- ${GATE_BENCHMARK:-python3 -m gpufabric.validation.mpi_allreduce $sizes}
command -v "$1" >/dev/null || fail 70 "the image has no $1 (the benchmark)"
# PATH and LD_LIBRARY_PATH: a login by ssh does not get what the image sets in its environment.
for name in PYTHONPATH PATH LD_LIBRARY_PATH $(env | sed -n 's/^\(GATE_[A-Z0-9_]*\)=.*/\1/p') ${GATE_FORWARD:-}; do
  case $name in '' | [0-9]* | *[!A-Za-z0-9_]*) continue ;; esac
  eval "value=\${$name+set}"
  if [ "$value" = set ]; then set -- -x "$name" "$@"; fi # mpirun complains about names that are not set
done
set -- --allow-run-as-root -np $((GATE_NODES * GATE_RANKS_PER_NODE)) --host "$hosts" --bind-to none \
  --mca orte_keep_fqdn_hostnames 1 --mca plm_rsh_agent "$agent" \
  --mca pml ob1 --mca coll '^hcoll' --mca btl tcp,self --mca btl_tcp_if_include "$GATE_INTERFACE" \
  --mca oob_tcp_if_include "$GATE_INTERFACE" --mca mpi_yield_when_idle 1 "$@"
begun=$(now)
"$limit" -k 10 "$GATE_BENCHMARK_SECONDS" "$mpirun" "$@" >"$shared/output" 2>&1 </dev/null &
benchmark_pid=$!
wait "$benchmark_pid"
code=$?
benchmark_pid=
trap '' TERM INT
# 137 is timeout's word for one that would not go, and mpirun's for a rank that was killed (for want of memory, as a rule).
if [ "$code" = 137 ] && [ $(($(now) - begun)) -ge "$GATE_BENCHMARK_SECONDS" ]; then code=124; fi
if [ "$code" != 0 ]; then
  printf 'the benchmark ended with exit code %s' "$code" 2>/dev/null >"$log"
fi
if [ "$code" = 124 ]; then put "$shared/error" "the benchmark did not end within $GATE_BENCHMARK_SECONDS s and was stopped"; fi
echo "rank 0: the benchmark ended with exit code $code"
stop_children
put "$shared/exit-code" "$code"
exit "$code"
