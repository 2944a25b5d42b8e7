#!/usr/bin/env bash
# make bench: the cost in the target against uftrace, gdb and lldb, scale, symbols, ingest, latency, runs of tests. Arguments go to the program: -cost, -scale,
# -symbols, -ingest, -latency, -values, -crash, -points, -tests (all without one), -programs, -write, -suite, -turns, -burst, -check, -json.
set -euo pipefail
cd "$(dirname "$0")/.."
for c in gcc uftrace gdb; do
  command -v "$c" >/dev/null || echo "bench: $c is not installed; its line will be empty" >&2
done
exec "${GO:-go}" run ./bench "$@"
