# What the cases of a test are written in. OUT: folder of what is said; SCRIPT: disks.sh; NODE: where the disks are to be mounted.
# Sourced by /bin/sh in a machine of the test's own, or in namespaces of its own.
script=''

# Run the script: up NAME COUNT OPTION... What it says is in NAME.log; its last line is "= up", or "= " and its exit status.
up() {
  log=$OUT/$1.log count=$2
  shift 2
  sh "$SCRIPT" "$NODE" "$count" "$@" >"$log" 2>&1 &
  script=$!
  while kill -0 $script 2>/dev/null && ! grep -q 'ready:' "$log"; do sleep "$LOOK_EVERY"; done
  if kill -0 $script 2>/dev/null; then
    echo '= up' >>"$log"
  else
    wait $script
    echo "= $?" >>"$log"
    script=''
  fi
}

# The container ends; the file system stays.
down() {
  [ -z "$script" ] || kill $script
  wait $script
  script=''
}

unmount() {
  down
  umount "$NODE" 2>/dev/null
  rm -rf "${NODE:?}"
}

# see NAME WORD...: a line that the test reads.
see() {
  key=$1
  shift
  echo "$key=$*" >>"$OUT/seen"
}

# What disks begin with, as a checksum: whatever formats or clears a disk writes there.
sum() { for each in "$@"; do head -c 8388608 "$each"; done | sha256sum | cut -c 1-16; }
