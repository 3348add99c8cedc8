#!/bin/sh
# Readings of this node's GPUs while its ranks work (stage 1): what an idle GPU cannot tell, its PCIe link and what slows its
# clocks. Again and again until rank.sh ends it. The judge beside us decides (health_load.py). Strictly POSIX sh.
#
# Files, below ${GATE_ROOT:-/gate}/shared/load: gpus-NUMBER and throttle-NUMBER, each with .code as in health.sh.
set -u
export LC_ALL=C
out=${GATE_ROOT:-/gate}/shared/load
# shellcheck source=/dev/null
. "${0%/*}/gpus.sh"

mkdir -p "$out" || exit 1
number=0
code=0
until [ "$code" = 127 ]; do # the image has no nvidia-smi
  number=$((number + 1))
  for part in gpus throttle; do
    case $part in gpus) ask=gpu_identity ;; *) ask=gpu_throttle ;; esac
    "$ask" >"$out/$part-$number.part" 2>&1 </dev/null
    code=$?
    mv "$out/$part-$number.part" "$out/$part-$number"
    echo "$code" >"$out/$part-$number.part" && mv "$out/$part-$number.part" "$out/$part-$number.code"
  done
  sleep 1
done
