# shellcheck shell=sh
# What nvidia-smi is asked for of every GPU: by health.sh while they are idle, by load.sh while they work.

gpu_query() { # gpu_query FIELDS
  nvidia-smi --query-gpu="$1" --format=csv
}

gpu_identity() {
  gpu_query index,uuid,name,persistence_mode,pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max
}

gpu_throttle() { # drivers before 535 know the older names only
  names=
  for reason in hw_slowdown hw_thermal_slowdown hw_power_brake_slowdown sw_thermal_slowdown; do
    names="$names,clocks_event_reasons.$reason"
  done
  gpu_query "index$names" && return
  gpu_query "index$(echo "$names" | sed 's/clocks_event/clocks_throttle/g')"
}
