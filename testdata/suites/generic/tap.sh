#!/bin/sh
# TAP with everything that it may have, and garbage between.
cat <<'END'
TAP version 13
1..9
ok 1 - first
not ok 2 - with a # hash \# in it
  ---
  message: 'values differ'
  expected: 3
  found: 2
  at: src/sum.c:12
  ...
ok 3 # SKIP no network
not ok 4 - later # TODO not written yet
ok 5 - a bonus # TODO works already
okay, this is no test point
half a line ok 7
not ok
# a diagnostic
# of two lines
    ok 1 - a subtest is not counted
not ok 7 - named (twice)
ok 8 - named (twice)
END
exit 1
