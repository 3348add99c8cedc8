# Init container of a job: tests the memory of the job's GPUs and keeps the job from starting where it is bad.
# Arguments: level of `dcgmi diag`, name of the test that must have passed. Strictly POSIX sh. The exit code of dcgmi is not
# enough: it has been 0 although the test could not allocate memory (DCGM issue 284).
set -u
log=${MEMTEST_TERMINATION_LOG:-/dev/termination-log}
fail() {
  echo "gpufabric memtest: $1"
  printf '%s' "gpufabric memtest: $1" 2>/dev/null >"$log"
  exit 1
}
command -v dcgmi >/dev/null || fail "the image has no dcgmi (package datacenter-gpu-manager): name another one in memtest.image"
if ! dcgmi discovery -l >/dev/null 2>&1; then
  command -v nv-hostengine >/dev/null || fail "no DCGM engine answers, and the image has no nv-hostengine to start one"
  said=$(nv-hostengine 2>&1) || fail "nv-hostengine did not start: $(printf '%s\n' "$said" | tail -n 1)"
fi
answer=$(dcgmi diag -r "$1" 2>&1)
code=$?
printf '%s\n' "$answer"
bad=$(printf '%s\n' "$answer" | grep -E -i '\| *(gpu *[0-9]+ *: *)?fail' | head -n 1)
if [ -n "$bad" ]; then fail "a test of dcgmi diag -r $1 failed: $bad. Do not run here: drain the node"; fi
if [ "$code" != 0 ]; then fail "dcgmi diag -r $1 ended with exit code $code: $(printf '%s\n' "$answer" | tail -n 1)"; fi
printf '%s\n' "$answer" | grep -E -i -q "^\| *(gpu )?$2 *\| *pass" || fail "dcgmi diag -r $1 did not say that $2 passed: nothing is proven"
echo "gpufabric memtest: passed"
