#!/usr/bin/env bash
# make bench: what Strobe costs, beside uftrace, gdb, lldb and others. Arguments go to the program: -help lists them.
set -euo pipefail
cd "$(dirname "$0")/.."
for c in gcc uftrace gdb; do
  command -v "$c" >/dev/null || echo "bench: $c is not installed; its line will be empty" >&2
done
exec "${GO:-go}" run ./bench "$@"
