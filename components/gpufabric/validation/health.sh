#!/bin/sh
# Readings of this node for stage 0 of the gate: what nvidia-smi, dcgmi, /sys and the container's limits say, raw. The judge
# beside us decides (health.py). Strictly POSIX sh; a program that the image lacks leaves exit code 127.
#
# Files, below ${GATE_ROOT:-/gate}/shared/health: NAME (stdout and stderr), then NAME.code (exit code; 124: stopped after
# GATE_HEALTH_SECONDS, and GATE_DCGM_SECONDS more where dcgmi's level is above 1). All readings run side by side: without persistence mode every nvidia-smi takes seconds.
# GATE_HEALTH_PREFIX goes before /sys, /proc and /dev (tests).
set -u
export LC_ALL=C
out=${GATE_ROOT:-/gate}/shared/health
limit=$((${GATE_HEALTH_SECONDS:-60} + ${GATE_DCGM_SECONDS:-0}))
prefix=${GATE_HEALTH_PREFIX:-}
readings=
# shellcheck source=/dev/null
. "${0%/*}/gpus.sh"

pause() { # a fraction where sleep can (GNU, busybox); POSIX knows whole seconds only
  sleep 0.1 2>/dev/null || sleep 1
}

read_() { # read_ NAME COMMAND...: in the background
  reading=$1
  shift
  readings="$readings $reading"
  (
    "$@" >"$out/$reading.part" 2>&1 </dev/null
    code=$?
    mv "$out/$reading.part" "$out/$reading"
    echo "$code" >"$out/$reading.part" && mv "$out/$reading.part" "$out/$reading.code"
  ) &
  eval "pid_$reading=$!"
}

kernel_xids() { # the XID lines of the kernel's log, then how many lines it has
  log=$(dmesg) || return
  [ -n "$log" ] || return 3
  printf '%s\n' "$log" | sed -n '/NVRM: Xid/p'
  echo "end of log"
}

ports() { # device|port|state|phys_state|rate|link_layer
  [ -d "$prefix/sys/class" ] || return 1
  for port in "$prefix"/sys/class/infiniband/*/ports/*; do
    [ -d "$port" ] || continue
    device=${port%/ports/*}
    line="${device##*/}|${port##*/}"
    for file in state phys_state rate link_layer; do
      value=
      read -r value <"$port/$file"
      line="$line|$value"
    done
    echo "$line"
  done
  echo "end of ports"
}

devices() { # devices PATTERN...: those that exist, one a line
  for device in "$@"; do
    [ ! -e "$device" ] || echo "$device"
  done
  echo "end of devices"
}

interface() { # the interface's state, then all interfaces
  [ -d "$prefix/sys/class/net" ] || return 1
  read -r state <"$prefix/sys/class/net/${GATE_INTERFACE:-eth0}/operstate" && echo "state $state"
  for each in "$prefix"/sys/class/net/*; do echo "has ${each##*/}"; done
}

memlock() {
  # shellcheck disable=SC3045  # POSIX has no -l; dash, bash and busybox do
  echo "memlock $(ulimit -l)"
  sed -n 's/^CapEff:[[:space:]]*/capabilities /p' "$prefix/proc/self/status"
}

mkdir -p "$out" || exit 1
: >"$out/begun"
read_ gpus gpu_identity
read_ ecc gpu_query index,ecc.errors.uncorrected.volatile.total
read_ rows nvidia-smi --query-remapped-rows=gpu_uuid,remapped_rows.pending,remapped_rows.failure --format=csv
read_ throttle gpu_throttle
read_ recovery gpu_query index,gpu_recovery_action
read_ nvlink nvidia-smi nvlink -s
read_ dcgm dcgmi diag -r "${GATE_DCGM_LEVEL:-1}" -j
read_ xid_kernel kernel_xids
read_ uptime cat "$prefix/proc/uptime"
read_ gpu_devices devices "$prefix"/dev/nvidia[0-9]*
read_ ports ports
read_ rdma_devices devices "$prefix"/dev/infiniband/uverbs*
read_ memlock memlock
read_ shm df -Pk "${GATE_SHM:-/dev/shm}"
read_ hugepages cat "$prefix/proc/meminfo"
read_ interface interface

begin=$(date +%s)
for reading in $readings; do
  until [ -e "$out/$reading.code" ]; do
    if [ $(($(date +%s) - begin)) -ge "$limit" ]; then
      eval "kill -9 \$pid_$reading" 2>/dev/null # a program that hangs in the driver stays; nobody waits for it
      echo 124 >"$out/$reading.code"
      break
    fi
    pause
  done
done
