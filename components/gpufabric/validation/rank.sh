#!/bin/sh
# Entry of the rank container: the node's health, its own ranks (stage 1), then the group's run, by mpirun over ssh
# (rank_ssh.sh) or by torch (rank_torch.sh). Strictly POSIX sh: vendor images may lack bash and Python.
#
# Environment: gpufabric.validation.contract (rank_environment). Files, below ${GATE_ROOT:-/gate}:
#   key/id, key/host        private keys; a memory volume that only this container mounts
#   shared/id.pub           index 0: the public key, for the judge beside us to serve
#   shared/authorized_keys  the judge beside us writes it, or shared/let-in where there is no key (torch), only if this node
#                           is healthy and right inside: a sick one never joins a network run
#   shared/health/          raw readings of this node (health.sh), complete when shared/health/done is there
#   shared/load/            readings of the GPUs while stage 1 runs (load.sh), where GATE_LOAD is 1
#   shared/inside/          stage 1: begun, output, error (one line, if it failed before its end), and last exit-code
#   shared/output           index 0: stdout and stderr of the benchmark as it runs; then a line, and those of GATE_ALSO
#   shared/error            one line, if something failed before the benchmark
#   shared/exit-code        index 0: the benchmark's exit code; the last thing that is written
#
# Exit codes: index 0: the benchmark's own (124: stopped after GATE_BENCHMARK_SECONDS); other indices: 0 on TERM.
#   70 a program is missing   71 no key, or not let in   72 a peer cannot be reached   73 sshd ended   74 bad environment
#   75 a rank of torch failed   143 index 0 was stopped by TERM
set -u
PATH="${PATH:-/usr/bin:/bin}:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/nvidia/bin" # the last one: GKE's nvidia-smi
export PATH
if [ -n "${GATE_ENVIRONMENT_SCRIPT:-}" ]; then export NCCL_DEBUG=INFO; fi # it may ask for less, and INFO proves the transport
root=${GATE_ROOT:-/gate}
shared=$root/shared
log=${GATE_TERMINATION_LOG:-/dev/termination-log}
index=${JOB_COMPLETION_INDEX:-}
here=${0%/*}
health=$here/health.sh
health_pid=
load_pid=
sshd_pid=
benchmark_pid=

put() { # put FILE TEXT: written beside and renamed, so that nobody reads half of it
  printf '%s\n' "$2" >"$1.tmp" && mv "$1.tmp" "$1"
}

stop_children() {
  for pid in $health_pid $load_pid $benchmark_pid $sshd_pid; do kill "$pid" 2>/dev/null; done
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

finish() { # finish CODE: index 0 has run the benchmark
  trap '' TERM INT
  if [ "$1" != 0 ]; then
    printf 'the benchmark ended with exit code %s' "$1" 2>/dev/null >"$log"
  fi
  if [ "$1" = 124 ]; then put "$shared/error" "the benchmark did not end within $GATE_BENCHMARK_SECONDS s and was stopped"; fi
  echo "rank 0: the benchmark ended with exit code $1"
  stop_children
  put "$shared/exit-code" "$1"
  exit "$1"
}

in_time() { # in_time SECONDS OUTPUT COMMAND...: its exit code; 124 if it was stopped. A TERM ends it too. The output grows
  seconds=$1 output=$2
  shift 2
  begun=$(now)
  "$limit" -k 10 "$seconds" "$@" >>"$output" 2>&1 </dev/null &
  benchmark_pid=$!
  wait "$benchmark_pid"
  set -- $?
  benchmark_pid=
  # 137 is timeout's word for one that would not go, and mpirun's for a rank that was killed (for want of memory, as a rule).
  if [ "$1" = 137 ] && [ $(($(now) - begun)) -ge "$seconds" ]; then set -- 124; fi
  return "$1"
}

late() { # whether the time for all ranks to be ready is over
  [ $(($(now) - start)) -ge "$patience_s" ]
}

# --- environment and programs ---
case $index in '' | *[!0-9]*) fail 74 "JOB_COMPLETION_INDEX is '$index', not a number: this is no pod of an Indexed Job" ;; esac
for name in GATE_NODES GATE_RANKS_PER_NODE GATE_HOST_PREFIX GATE_SERVICE GATE_START_SECONDS GATE_BENCHMARK_SECONDS \
  GATE_INTERFACE ${GATE_INSIDE:+GATE_INSIDE_RANKS GATE_INSIDE_SECONDS}; do
  eval "value=\${$name:-}"
  if [ -z "$value" ]; then fail 74 "$name is not set"; fi
  case $name in
    GATE_NODES | GATE_RANKS_PER_NODE | GATE_INSIDE_RANKS | GATE_*_SECONDS)
      case $value in *[!0-9]* | 0) fail 74 "$name is '$value', not a whole number above 0" ;; esac ;;
  esac
done
inside_s=${GATE_INSIDE_SECONDS:-0}
patience_s=$((GATE_START_SECONDS + inside_s + ${GATE_DCGM_SECONDS:-0})) # other nodes may need all of their stages 0 and 1

# The way of the group's run: look_for_programs, inside (stage 1, its exit code) and join (does not return).
case ${GATE_BACKEND:-} in torch) way=rank_torch.sh ;; *) way=rank_ssh.sh ;; esac
# shellcheck source=/dev/null
. "$here/$way"
look_for_programs
limit=$(command -v timeout) || fail 70 "the image has no timeout (package coreutils)"
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

# --- stage 1: the ranks of this node among themselves ---
if [ -n "${GATE_INSIDE:-}" ]; then
  mkdir -p "$shared/inside" || fail 71 "cannot write to $shared"
  : >"$shared/inside/begun"
  if [ "${GATE_LOAD:-}" = 1 ]; then
    /bin/sh "$here/load.sh" &
    load_pid=$!
  fi
  inside
  code=$?
  if [ -n "$load_pid" ]; then kill "$load_pid" 2>/dev/null; fi # not waited for: nvidia-smi may hang
  load_pid=
  if [ "$code" = 124 ]; then
    put "$shared/inside/error" "the benchmark inside the node did not end within $inside_s s and was stopped"
  fi
  echo "rank $index: the benchmark inside the node ended with exit code $code"
  put "$shared/inside/exit-code" "$code"
  if [ "${GATE_ALONE:-}" = 1 ]; then # nobody is to be met: that was all
    put "$shared/exit-code" "$code"
    exit "$code"
  fi
fi

join
