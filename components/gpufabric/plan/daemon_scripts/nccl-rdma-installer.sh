#!/bin/sh
# In the plugin's image: gIB onto the node. The vendor's environment script comes last: pods wait for it.
set -eu
/scripts/container_entry.sh install
bin=/usr/local/home/kubernetes/bin
rm -f "$bin/gib/scripts/set_nccl_env.sh"
cp -r /var/lib/gib/lib64/. "$bin/nvidia/lib64"
for each in /var/lib/gib/*; do
  if [ "${each##*/}" != scripts ]; then cp -r "$each" "$bin/gib"; fi
done
cp -r /var/lib/gib/scripts "$bin/gib"
