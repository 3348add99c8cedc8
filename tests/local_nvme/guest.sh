#!/bin/sh
# Process 1 of a machine of the tests: the host's files read-only, disks of its own that pose as NVMe, and the cases of a test.
export PATH=@PROGRAMS@/sbin:@PROGRAMS@/usr/sbin:/usr/sbin:/usr/bin:/sbin:/bin LD_LIBRARY_PATH=@PROGRAMS@/usr/lib/x86_64-linux-gnu
OUT=/run/out SCRIPT=@SCRIPT@ NODE=/mnt/gpufabric/nvme LOOK_EVERY=1
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /mnt
mkdir $OUT
mount -t hostfs -o @OUT@ hostfs $OUT
for module in md-mod raid0; do insmod "$(find @PROGRAMS@/usr/lib/uml/modules -name $module.ko)"; done

# Each disk gets the name and the model of an instance's NVMe. Below it is the same device, holders and numbers included.
mkdir -p /run/block /dev/disk/by-id
number=1
for real in /sys/block/ubd[b-z]; do
  [ -e "$real" ] || continue
  as=/run/block/nvme${number}n1
  mkdir -p "$as/device"
  ln -s "$(readlink -f "$real")/holders" "$as/holders"
  cp "$real/dev" "$as/dev"
  echo 'Amazon EC2 NVMe Instance Storage        ' >"$as/device/model"
  mknod "/dev/nvme${number}n1" b $(tr ':' ' ' <"$real/dev")
  ln -s "../../nvme${number}n1" "/dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_AWS$number"
  number=$((number + 1))
done
mkdir -p /run/block/nvme0n1/device # a network disk, by its model
echo 'Amazon Elastic Block Store' >/run/block/nvme0n1/device/model
for array in md126 md127; do ln -s "/sys/devices/virtual/block/$array" "/run/block/$array"; done # as mdadm looks for them
mount --bind /run/block /sys/block
MODEL='Amazon EC2 NVMe Instance Storage'

# As after a stop: nothing is mounted, no array runs. stop blank: and nothing is on any disk.
stop() {
  unmount
  for array in /dev/md12[0-9]; do [ ! -b "$array" ] || mdadm --quiet --stop "$array"; done
  if [ "${1:-}" = blank ]; then
    for disk in /dev/nvme[1-9]n1; do
      wipefs --all --quiet "$disk"
      dd if=/dev/zero of="$disk" bs=1M count=2 conv=fsync 2>/dev/null
    done
  fi
}

# A disk that does not come, and comes back.
hide() { mv "/run/block/$1" "/run/$1"; }
show() { mv "/run/$1" "/run/block/$1"; }

. @LIBRARY@
. @CASES@
stop
sync
echo o >/proc/sysrq-trigger
sleep 60
