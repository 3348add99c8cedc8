# shellcheck shell=sh disable=SC2034,SC2154  # a part of rank.sh, which sets and uses the other variables
# Ranks by torch.distributed: every node starts its own, they meet at index 0. Nothing is reached by ssh, nobody holds a key.

look_for_programs() {
  python=$(command -v python3) || fail 70 "the image has no python3 (the torch backend runs in the image of your jobs)"
  if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    fail 70 "the image has $("$python" --version 2>&1); the torch backend needs Python 3.10"
  fi
  rm -f "$shared/reason"
  if ! "$python" -m gpufabric.validation.torch_launch --check --reason "$shared/reason" >"$shared/check" 2>&1; then
    fail 70 "$(reason "its python3 cannot run the benchmark: $(tail -n 1 "$shared/check" | cut -c 1-300)")"
  fi
}

reason() { # reason DEFAULT: what torch_launch left as one
  if [ -s "$shared/reason" ]; then head -n 1 "$shared/reason"; else echo "$1"; fi
}

inside() {
  rm -f "$shared/reason"
  set -f
  # shellcheck disable=SC2086  # a command line, split at blanks
  in_time "$GATE_INSIDE_SECONDS" "$shared/inside/output" $GATE_INSIDE --inside --reason "$shared/reason"
  set -- $?
  set +f
  case $1 in 0 | 1) ;; *) put "$shared/inside/error" "$(reason "the benchmark ended with exit code $1")" ;; esac
  return "$1"
}

join() {
  until [ -e "$shared/let-in" ]; do
    if late; then fail 71 "the judge beside this rank did not let it in within $patience_s s"; fi
    pause
  done
  echo "rank $index: begins after $(($(now) - start)) s"
  rm -f "$shared/reason"
  set -f
  # torch_launch has the clocks: to meet, then to measure. This one is for the case that it hangs itself.
  # shellcheck disable=SC2086  # a command line, split at blanks
  in_time $((patience_s + GATE_BENCHMARK_SECONDS + 60)) "$shared/output" $GATE_BENCHMARK --reason "$shared/reason"
  code=$?
  if [ "$index" = 0 ]; then
    case $code in 0 | 1 | 124) ;; *) put "$shared/error" "$(reason "the benchmark ended with exit code $code")" ;; esac
    finish "$code"
  fi
  cat "$shared/output"
  case $code in
    0 | 1) exit 0 ;; # 1: wrong sums, of which rank 0 has the table
    *) fail "$code" "$(reason "the benchmark ended with exit code $code")" ;;
  esac
}
