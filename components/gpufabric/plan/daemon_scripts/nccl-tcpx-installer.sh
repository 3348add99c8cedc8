#!/bin/sh
# In the plugin's image: NCCL and the plugin onto the node. /var/lib is the node's, /usr/local its /home/kubernetes/bin.
set -eu
/scripts/container_entry.sh install --install-nccl
mkdir -p /usr/local/nvidia/lib64
cp -r /var/lib/tcpx/lib64/. /usr/local/nvidia/lib64
