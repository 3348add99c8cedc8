#!/bin/sh
# Review a stack and post the report, wherever Python, pulumi and gpufabric are: review.sh STACK [options of gpufabric review]
# The exit code is the review's: 1 where a threshold is crossed, 2 where the preview failed. A report is posted in every case.
set -u
stack=$1
shift
report=$(mktemp) || exit 2
trap 'rm -f "$report"' EXIT
gpufabric review --stack "$stack" --format markdown -o "$report" "$@"
code=$?
if [ ! -s "$report" ]; then
  echo "review.sh: there is no report to post" >&2
  [ "$code" -ne 0 ] || code=2
  exit "$code"
fi
python3 "$(dirname "$0")/post_review.py" "$report" || { [ "$code" -ne 0 ] || code=2; }
exit "$code"
