# Before the command of a container: the fabric's environment, from the vendor's script, $0. The command follows as arguments.
# Strictly POSIX sh; the script itself is bash's where the image has one. The node's installer may still be at work.
waited=0
until [ -r "$0" ]; do
  if [ "$waited" -ge "${GPUFABRIC_ENTRY_SECONDS:-300}" ]; then
    text="$0 is not there after $waited s: the fabric's installer has not done its work on this node"
    echo "gpufabric: $text" >&2
    printf '%s' "$text" 2>/dev/null >"${GPUFABRIC_TERMINATION_LOG:-/dev/termination-log}"
    exit 74
  fi
  sleep 1
  waited=$((waited + 1))
done
if command -v bash >/dev/null; then exec bash -c '. "$0"; exec "$@"' "$0" "$@"; fi
. "$0"
exec "$@"
