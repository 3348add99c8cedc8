#!/bin/sh
# Mount a bucket and stay: mount.sh NAME REMOTE CACHE FLAG...  CACHE is "-" where the mount has none.
set -eu
name=$1 remote=$2 cache=$3
shift 3
folder=/run/gpufabric/mounts/$name
files=$folder/files

say() { echo "mount $name: $*" >&2; }

# Options from the environment put a hash into the path of the cache; files that wait in the old path are never uploaded.
for option in $(env | sed -n 's/^\(RCLONE_[A-Za-z0-9_]*\)=.*/\1/p'); do
  unset "$option"
  say "$option of the environment is ignored; options belong into the configuration file"
done

if [ "$cache" != - ]; then
  # Two processes on one cache overwrite each other's files. The lock is the kernel's: rclone inherits it, and its end frees it.
  mkdir -p "$cache"
  exec 9>"$cache/.lock"
  if ! flock -n 9; then
    say "another process uses the cache $cache; waiting for its end"
    flock 9
  fi
  # rclone drops a file whose record is empty: it was killed while it wrote the record. Nobody can tell whether what lies there
  # is whole, so it is neither uploaded nor deleted.
  if [ -d "$cache/vfsMeta" ]; then
    find "$cache/vfsMeta" -type f -size 0 | while IFS= read -r record; do
      data=$cache/vfs/${record#"$cache/vfsMeta/"}
      if [ -s "$data" ]; then
        kept=$cache/unrecorded/${record#"$cache/vfsMeta/"}
        mkdir -p "${kept%/*}"
        mv "$data" "$kept.$(date +%s)"
        say "the record of $data was lost; the file is kept as $kept.*: look at it, and copy it into the mount if it is whole"
      fi
      rm -f "$record"
    done
  fi
fi

rm -f /run/gpufabric/run/rc.sock # of a predecessor that was killed: rclone does not start over it
# Pods get "Transport endpoint is not connected" from its mount until that is gone.
while grep -q " $files .* - fuse" /proc/self/mountinfo; do
  say "taking away the mount of a process that is gone"
  umount -l "$files"
done
mkdir -p "$files"
if [ -n "$(ls -A "$files")" ]; then
  say "$files is not empty: something was written where the bucket belongs. Nothing is deleted; move it away, on this node"
  exit 1
fi
chmod 0 "$files" # who is not root is refused, instead of seeing an empty bucket, while none is mounted
cp "${0%/*}/flush.sh" "$folder/flush.new"
chmod 755 "$folder/flush.new"
mv "$folder/flush.new" "$folder/flush"
exec rclone mount "$remote" "$files" "$@"
