#!/bin/sh
# In the plugin's image: NCCL and the plugin onto the node. /var/lib is the node's, /usr/local its /home/kubernetes/bin.
# The vendor's environment script comes last: pods wait for it.
set -eu
chmod 755 /scripts/container_entry.sh
/scripts/container_entry.sh install --install-nccl
from=/var/lib/tcpxo/lib64
to=/usr/local/nvidia/lib64
mkdir -p "$to"
script=nccl-env-profile.sh
rm -f "$to/$script"
for each in "$from"/*; do
  if [ "${each##*/}" != "$script" ]; then cp -r "$each" "$to"; fi
done
cp "$from/$script" "$to"
