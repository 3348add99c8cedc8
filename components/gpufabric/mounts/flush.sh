#!/bin/sh
# Wait until everything that was written to this mount is in the bucket.
#
#   flush [--timeout SECONDS]   exit 0: it is    2: time is up, files are left    3: nobody knows: the mount is gone or silent
#
# Lies beside `files` in the mount's folder and needs a POSIX shell, sleep and nothing else. Only samples that the agent began
# after this script are believed, and two of them in a row must find nothing left.
timeout=600 folder=${MOUNT_FOLDER:-${0%/*}} silent_after=${MOUNT_SILENT_SECONDS:-15}
while [ $# -gt 0 ]; do
  case $1 in
    --timeout) timeout=${2:-}; shift ;;
    *) echo "flush: unknown argument $1; write flush [--timeout SECONDS]" >&2; exit 1 ;;
  esac
  shift
done
case $timeout in ''|*[!0-9]*) echo "flush: --timeout takes whole seconds" >&2; exit 1 ;; esac

read_status() {
  run='' heart='' sample=0 state='' files=0 bytes=0 failing=0 message=''
  [ -r "$folder/status" ] || return 0
  while IFS='=' read -r key value; do
    case $key in
      run) run=$value ;;
      heart) heart=$value ;;
      sample) sample=$value ;;
      state) state=$value ;;
      dirty_files) files=$value ;;
      dirty_bytes) bytes=$value ;;
      failing) failing=$value ;;
      message) message=$value ;;
    esac
  done <"$folder/status"
}

left() {
  echo "$files files, $((bytes / 1048576)) MiB$([ "$failing" = 0 ] || echo ", $failing of them failing: $message")"
}

tick=5 # tenths of a second between two looks
waited=0 silent=0 clean=0 seen_run='' seen_heart='' from=0 last=0 told=0
while :; do
  read_status
  if [ "$run/$heart" != "$seen_run/$seen_heart" ]; then
    silent=0
    # The sample that is there may be from before, and the next one may have begun before: the one after that counts.
    if [ "$run" != "$seen_run" ]; then from=$((sample + 2)) clean=0 last=0; fi
    seen_run=$run seen_heart=$heart
  else
    silent=$((silent + tick))
  fi
  if [ -z "$run" ] || [ "$silent" -ge $((silent_after * 10)) ]; then
    now='the agent of this mount is silent' clean=0
  elif [ "$state" != mounted ]; then
    now="the bucket is not mounted ($message)" clean=0
  elif [ "$sample" -lt "$from" ] || [ "$sample" = "$last" ]; then
    now=''
  else
    last=$sample
    if [ "$files" = 0 ]; then clean=$((clean + 1)); else clean=0; fi
    now=''
  fi
  if [ "$clean" -ge 2 ]; then
    echo "flush: all that was written is in the bucket"
    exit 0
  fi
  if [ "$waited" -ge $((timeout * 10)) ]; then
    if [ -n "$now" ]; then
      echo "flush: $now; after $timeout s nobody knows what is in the bucket: the cache is kept on this node" >&2
      exit 3
    fi
    echo "flush: $timeout s are over and not all is in the bucket: $(left); the mount goes on uploading" >&2
    exit 2
  fi
  if [ "$waited" -ge "$told" ]; then
    [ "$waited" -eq 0 ] || echo "flush: waiting since $((waited / 10)) s: ${now:-$(left)}"
    told=$((told + 100))
  fi
  sleep 0.$tick
  waited=$((waited + tick))
done
