#!/bin/bash
# The Python environment in .venv: pinned by requirements.lock, made by uv (from PATH, else installed into the user cache).
set -euo pipefail
cd "$(dirname "$0")/.."

uv_version=0.13.9
cache="${GPUFABRIC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpufabric}"

if ! uv="$(command -v uv)"; then
  uv="$cache/uv-$uv_version/bin/uv"
  if [ ! -x "$uv" ]; then
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
      echo "error: Python 3.11 or newer is needed; this is $(python3 --version)" >&2
      exit 2
    }
    python3 -m venv "$cache/uv-$uv_version" || {
      echo "error: python3 cannot make virtual environments; on Debian: apt-get install python3-venv" >&2
      exit 2
    }
    "$cache/uv-$uv_version/bin/pip" install --quiet "uv==$uv_version"
  fi
fi

[ -x .venv/bin/python ] || "$uv" venv --quiet --python '>=3.11' .venv
export VIRTUAL_ENV="$PWD/.venv"
# Compiled now: an environment that forbids writing bytecode (PYTHONDONTWRITEBYTECODE) would compile at every import.
"$uv" pip sync --quiet --compile-bytecode --require-hashes requirements.lock
"$uv" pip install --quiet --no-deps --editable .
touch .venv/.ready
