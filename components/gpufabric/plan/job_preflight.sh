# Init container of a job whose node nobody has validated: looks at the node and keeps the job from starting where it is bad.
# Arguments: GPUs wanted, RDMA devices wanted, then the interfaces of the fabric's rails. Strictly POSIX sh.
set -u
root=${PREFLIGHT_ROOT:-}
log=${PREFLIGHT_TERMINATION_LOG:-/dev/termination-log}
PATH=$PATH:/usr/local/nvidia/bin
fail() {
  echo "gpufabric preflight: $1"
  printf '%s' "gpufabric preflight: $1. Do not run here: drain the node" 2>/dev/null >"$log"
  exit 1
}
ask() { # ask FIELD: a line for each GPU
  nvidia-smi --query-gpu="$1" --format=csv,noheader,nounits 2>&1
}
gpus=$1 devices=$2
shift 2
if [ "$gpus" != 0 ]; then
  said=$(ask uuid) || fail "nvidia-smi failed: $(printf '%s\n' "$said" | tail -n 1)"
  found=$(printf '%s\n' "$said" | grep -c '^GPU-')
  [ "$found" = "$gpus" ] || fail "$found GPUs answer, wanted $gpus"
  bad=$(ask ecc.errors.uncorrected.volatile.total | grep -v '^0$' | head -n 1)
  [ -z "$bad" ] || fail "uncorrected memory errors of a GPU since its driver was loaded: $bad"
fi
found=0
for port in "$root"/sys/class/infiniband/*/ports/*; do
  [ -d "$port" ] || continue
  read -r state <"$port/state" || state=
  case $state in *ACTIVE*) found=$((found + 1)) ;; esac
done
[ "$found" -ge "$devices" ] || fail "$found RDMA ports are active, wanted $devices"
for rail in "$@"; do
  state=absent
  [ ! -r "$root/sys/class/net/$rail/operstate" ] || read -r state <"$root/sys/class/net/$rail/operstate"
  case $state in up | unknown) ;; *) fail "interface $rail of the fabric is $state" ;; esac
done
echo "gpufabric preflight: passed"
