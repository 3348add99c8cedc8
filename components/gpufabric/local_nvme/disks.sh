#!/bin/sh
# The local NVMe disks of this node as one file system, mounted and kept: disks.sh PATH COUNT OPTION...
#
#   COUNT            how many disks the node has; "-" where it is not known
#   --model PATTERN  disks whose model matches        --device GLOB  disks by their path
#   --wipe GLOB      disks below /dev/disk/by-id that may be cleared of what others have left on them
#
# A disk is formatted only where nothing is on it: no signature, zeros at its start, nobody who uses it. What was made here
# once is found again by its name and mounted as it is. Everything else ends with one message, before the first write.
set -eu
umask 022
LABEL=gpufabric # of the array and of the file system; xfs takes 12 letters
MARKER=.gpufabric-local-nvme
proc=${NVME_HOST_PROC:-/proc}
TAB=$(printf '\t')
path=$1 count=$2
shift 2

joined() { echo "$1" | sed '/^$/d' | paste -s -d ' '; }

say() { echo "local NVMe: $*" >&2; }
die() { say "$*"; exit 1; }

# --- what is asked of a disk

model_of() { sed 's/ *$//' "/sys/block/${1#/dev/}/device/model" 2>/dev/null || true; }

# The name that a person can write into a wish: it is the same after a reboot, /dev/nvme1n1 is not.
name_of() {
  for link in /dev/disk/by-id/*; do
    if [ "$(readlink -f "$link")" = "$1" ]; then
      echo "$link"
      return
    fi
  done
  echo "$1"
}

signatures_of() {
  types=$(wipefs --no-act --noheadings --output TYPE "$1") || return 1
  echo "$types" | sort -u | tr '\n' ' ' | sed 's/ *$//'
}

# A disk that cannot be read does not.
starts_with_zeros() {
  [ "$(head -c 1048576 "$1" | wc -c)" -eq 1048576 ] && [ "$(head -c 1048576 "$1" | tr -d '\0' | wc -c)" -eq 0 ]
}

holders_of() {
  for holder in "/sys/block/${1#/dev/}"/holders/* "/sys/block/${1#/dev/}/${1#/dev/}"*/holders/*; do
    [ ! -e "$holder" ] || echo "${holder##*/}"
  done | sort -u
}

# Who uses a disk or a part of it, whatever is written on it; md arrays are asked for elsewhere.
user_of() {
  for part in "/sys/block/${1#/dev/}" "/sys/block/${1#/dev/}/${1#/dev/}"*; do
    [ -e "$part/dev" ] || continue
    device=/dev/${part##*/}
    if grep -qs "^${device}[^0-9a-z]" "$proc/swaps"; then
      echo "swap on $device"
      return
    fi
    numbers=$(cat "$part/dev")
    # Some file systems (btrfs) have numbers of their own: by the name of what is mounted, too.
    at=$(awk -v numbers="$numbers" -v device="$device" '
      { for (i = 7; i <= NF && $i != "-"; i++); if ($3 == numbers || $(i + 2) == device) { print $5; exit } }
    ' "$proc/1/mountinfo")
    if [ -n "$at" ]; then
      echo "$device is mounted at $at"
      return
    fi
  done
  other=$(holders_of "$1" | grep -v '^md' | head -n 1 || true)
  [ -z "$other" ] || echo "$other uses it"
}

# One word of what mdadm finds on a member: NAME, DEVICES or UUID of its array.
array_word() { mdadm --examine --export "$1" 2>/dev/null | sed -n "s/^MD_$2=//p"; }

is_our_member() {
  name=$(array_word "$1" NAME)
  [ "${name##*:}" = "$LABEL" ]
}

is_our_file_system() { [ "$(wipefs --no-act --noheadings --output LABEL "$1" 2>/dev/null | tr -d ' \n')" = "$LABEL" ]; }

# What a disk is: blank | member | filesystem | foreign, a tab, and for a foreign one what is on it.
kind_of() {
  found=$(signatures_of "$1") || { echo "foreign${TAB}cannot be read"; return; }
  user=$(user_of "$1")
  case $found in
    linux_raid_member) if is_our_member "$1"; then echo "member$TAB"; return; fi ;;
    xfs) if is_our_file_system "$1"; then echo "filesystem$TAB"; return; fi ;;
  esac
  if [ -n "$found" ]; then
    echo "foreign${TAB}holds $found${user:+; $user}"
  elif [ -n "$user" ]; then
    echo "foreign$TAB$user"
  elif [ -n "$(holders_of "$1")" ]; then
    echo "foreign${TAB}$(holders_of "$1" | head -n 1) uses it"
  elif ! starts_with_zeros "$1"; then
    echo "foreign${TAB}holds data without a signature that is known"
  else
    echo "blank$TAB"
  fi
}

may_wipe() {
  while read -r glob; do
    for link in $glob; do # a pattern of paths without blanks
      if [ -e "$link" ] && [ "$(readlink -f "$link")" = "$1" ]; then return 0; fi
    done
  done <<WIPE
$wipe
WIPE
  return 1
}

# --- which disks

models='' globs='' wipe=''
line='
'
while [ $# -gt 0 ]; do
  case $1 in
    --model) models=$models$2$line ;;
    --device) globs=$globs$2$line ;;
    --wipe) wipe=$wipe$2$line ;;
    *) die "unknown option $1" ;;
  esac
  shift 2
done

list_disks() {
  while IFS= read -r pattern; do
    [ -n "$pattern" ] || continue
    for block in /sys/block/nvme*; do
      [ -e "$block/device/model" ] || continue
      # shellcheck disable=SC2254  # it is a pattern
      case $(model_of "/dev/${block##*/}") in $pattern) echo "/dev/${block##*/}" ;; esac
    done
  done <<MODELS
$models
MODELS
  while read -r glob; do
    for link in $glob; do
      device=$(readlink -f "$link")
      # A pattern of /dev/disk/by-id matches partitions, too: their disk has a table, and is refused for it.
      if [ -e "/sys/block/${device#/dev/}" ]; then echo "$device"; fi
    done
  done <<GLOBS
$globs
GLOBS
}

is_mounted() { awk -v at="$path" '$5 == at { found = 1 } END { exit !found }' /proc/self/mountinfo; }

# --- what is done with them

mount_it() {
  mkdir -p "$path"
  if [ -n "$(ls -A "$path")" ]; then
    die "$path is not empty: something was written where the disks belong. Nothing is deleted; move it away, on this node"
  fi
  chmod 0 "$path" # who is not root is refused, instead of writing to the root disk, while nothing is mounted
  said=$(mount -t xfs -o noatime "$1" "$path" 2>&1) ||
    die "$1 cannot be mounted: $said. Nothing was formatted; $anew"
}

make_file_system() { mkfs.xfs -q "$@"; }

# A name that an array had before it was stopped; where no udev takes it away, mdadm takes it for another device.
forget_name() {
  link=/dev/md/$LABEL
  if [ -L "$link" ] && [ ! -e "/sys/class/block/$(basename "$(readlink -f "$link")")/md/array_state" ]; then
    rm -f "$link"
  fi
}

array_on() {
  array=$(holders_of "$1" | grep '^md' | head -n 1 || true)
  [ -z "$array" ] || echo "/dev/$array"
}

create() {
  for disk in $disks; do
    case $to_wipe in
      *" $disk "*)
        say "clearing $(name_of "$disk"), as wipe says"
        wipefs --all --quiet "$disk" # fails where somebody has it open for himself
        dd if=/dev/zero of="$disk" bs=1048576 count=1 conv=fsync 2>/dev/null
        ;;
    esac
  done
  if [ "$total" -eq 1 ]; then
    say "one disk, $disks: a file system on it, no array"
    make_file_system -L "$LABEL" "$disks" # without -f: it looks once more by itself
    mount_it "$disks"
    return
  fi
  say "an array (RAID0) of $total disks: $all"
  forget_name
  # shellcheck disable=SC2086  # one word for each disk
  mdadm --create "/dev/md/$LABEL" --run --level=0 --raid-devices="$total" --homehost=any --name="$LABEL" $all >&2
  array=$(array_on "${disks%%"$line"*}")
  # What an older array of these disks had at the same place may show through: the disks themselves were blank.
  make_file_system -f -L "$LABEL" "$array"
  mount_it "$array"
}

assemble() {
  first=${disks%%"$line"*}
  array=$(array_on "$first")
  if [ -n "$array" ] && [ "$(cat "/sys/class/block/${array#/dev/}/md/array_state")" = inactive ]; then
    mdadm --stop "$array" >&2 # half put together while the node booted
    array=''
  fi
  if [ -z "$array" ]; then
    forget_name
    # shellcheck disable=SC2086
    said=$(mdadm --assemble "/dev/md/$LABEL" $all 2>&1) ||
      die "the array of $all cannot be started: $said. Nothing was changed"
    array=$(array_on "$first")
  fi
  found=$(signatures_of "$array") || die "$array cannot be read. Nothing was changed"
  if [ -z "$found" ] && starts_with_zeros "$array"; then
    say "the array was made and never formatted"
    make_file_system -L "$LABEL" "$array"
  fi
  mount_it "$array"
}

bring_up() {
  disks=$(list_disks | sort -u)
  [ -n "$disks" ] || die "no local NVMe disk here, by $(joined "$globs$models"). Write devices, or leave this node out"
  total=0 members=0 file_systems=0 wrong='' to_wipe=' ' arrays='' strangers=''
  for disk in $disks; do
    total=$((total + 1))
    kind=$(kind_of "$disk")
    case ${kind%%"$TAB"*} in
      blank) strangers="$strangers $disk" ;;
      member) members=$((members + 1)) arrays="$arrays$(array_word "$disk" UUID)$line" ;;
      filesystem) file_systems=$((file_systems + 1)) ;;
      foreign)
        what=${kind#*"$TAB"}
        if may_wipe "$disk" && [ -z "$(user_of "$disk")$(holders_of "$disk")" ]; then
          strangers="$strangers $disk" to_wipe="$to_wipe$disk "
        else
          wrong="$wrong$disk ($(model_of "$disk")) $what; to give it up: wipe: [$(name_of "$disk")]. "
        fi
        ;;
    esac
  done
  all=$(joined "$disks")
  running=$(for disk in $disks; do array_on "$disk"; done | sort -u)
  anew="to start anew and lose what is on them, on this node: ${running:+mdadm --stop $(joined "$running") && }wipefs --all $all"
  [ -z "$wrong" ] || die "${wrong}No disk of this node was changed"
  [ "$count" = - ] || [ "$count" -eq "$total" ] ||
    die "$total disks are here ($all), and disks says $count. No disk of this node was changed"
  if [ "$members" -gt 0 ]; then
    first=$(for disk in $disks; do if is_our_member "$disk"; then echo "$disk"; break; fi; done)
    asks=$(array_word "$first" DEVICES)
    [ "$(echo "$arrays" | sed '/^$/d' | sort -u | wc -l)" -eq 1 ] ||
      die "$all belong to more than one array of ours. No disk was changed; $anew"
    [ "$members" -eq "$asks" ] ||
      die "a disk is missing: the array has $asks, and of $all only $members belong to it. No disk was changed; $anew"
    [ "$total" -eq "$members" ] ||
      die "not part of the array:$strangers. An array is not grown: take the disk out of devices; or, $anew"
    assemble
  elif [ "$file_systems" -gt 0 ]; then
    [ "$total" -eq 1 ] ||
      die "one of $all has our file system from when it was alone, which is not grown. No disk was changed; $anew"
    mount_it "$disks"
  else
    create
  fi
}

for program in awk dd mdadm mkfs.xfs wipefs; do
  command -v "$program" >/dev/null || die "the image has no $program; it needs mdadm, xfsprogs and util-linux"
done
[ -r "$proc/1/mountinfo" ] || die "$proc does not say what is mounted on the node"
if is_mounted; then
  source=$(awk -v at="$path" '$5 == at { for (i = 7; $i != "-"; i++); print $(i + 2) }' /proc/self/mountinfo | tail -n 1)
  is_our_file_system "$source" || die "$path is a mount of something else ($source); write another path"
  say "$path is mounted already"
else
  bring_up
fi
chmod 755 "$path"
: >"$path/$MARKER"
mkdir -p "$path/cache" "$path/scratch"
chmod 700 "$path/cache"
chmod 1777 "$path/scratch"
say "ready: $(df -h "$path" | awk 'END { print $2 " at " $6 }')"

# Stay: the file system goes on without this process, but somebody should say when it is gone.
trap 'exit 0' TERM INT
while is_mounted; do
  sleep 10 &
  wait $! || true
done
die "$path is no longer mounted"
