#!/bin/sh
# On the node itself: let the fabric's TCP in, load the driver's helper, and show pods the windows of the fabric's NICs.
set -eu
export PATH="$PATH:/usr/sbin:/sbin"
if ! iptables -C INPUT -p tcp -m tcp -j ACCEPT 2>/dev/null; then iptables -I INPUT -p tcp -m tcp -j ACCEPT; fi
modprobe import-helper
windows=/dev/aperture_devices
mkdir -p "$windows"
lspci -nn -D | sed -n '/1ae0:0084/s/ .*//p' | while read -r device; do
  mkdir -p "$windows/$device"
  umount -R "$windows/$device" 2>/dev/null || true
  mount --bind "$(readlink -f "/sys/bus/pci/devices/$device")" "$windows/$device"
done
chmod -R a+r "$windows"
for each in "$windows"/*/resource*; do
  if [ -e "$each" ]; then chmod a+rw "$each"; fi
done
