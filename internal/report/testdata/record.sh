#!/usr/bin/env bash
# Makes testdata/recorded anew from testdata/programs. Addresses, process ids and what the compilers
# of the day write differ each time, so read the difference in testdata/golden afterwards:
#   cd /some/neutral/folder && record.sh && go test -update
# The recordings here are of gcc 12.2, clang 14.0, glibc 2.36, rustc 1.95, Go 1.26, valgrind 3.19, Python 3.11.
set -u
src=$(cd "$(dirname "$0")/programs" && pwd)
out=$(cd "$(dirname "$0")" && pwd)/recorded
ulimit -c 0
mkdir -p bin "$out"
cp "$src"/* .

for cc in gcc clang; do
  cxx=${cc/gcc/g++}; cxx=${cxx/clang/clang++}
  flags="-g -O0 -w -pthread"
  $cc $flags -fsanitize=address mem.c -o bin/mem-asan-$cc
  $cc $flags -fsanitize=leak mem.c -o bin/mem-lsan-$cc
  $cxx $flags -fsanitize=undefined ub.cpp -o bin/ub-$cc
  $cxx $flags -fsanitize=undefined,address ub.cpp -o bin/ub-asan-$cc
  $cxx $flags -fsanitize=undefined -fno-sanitize-recover=all ub.cpp -o bin/ub-trap-$cc
  $cxx $flags -fsanitize=thread race.cpp -o bin/race-$cc
  $cxx $flags -std=c++20 -D_GLIBCXX_ASSERTIONS throw.cpp -o bin/throw-$cc
done
clang -g -O0 -w -pthread -fsanitize=memory -fsanitize-memory-track-origins mem.c -o bin/mem-msan
clang -g -O0 -w -pthread -fsanitize=memory mem.c -o bin/mem-msan-plain
clang++ -std=c++20 -stdlib=libc++ -g -O0 -w -pthread throw.cpp -o bin/throw-libcxx
clang++ -std=c++20 -stdlib=libc++ -g -O0 -w -pthread -D_LIBCPP_DEBUG=0 throw.cpp -o bin/throw-libcxxdebug
gcc -g -O0 -w -pthread mem.c -o bin/mem
gcc -g -O1 -w -fstack-protector-all libc.c -o bin/libc-plain
gcc -g -O1 -w -fstack-protector-all -D_FORTIFY_SOURCE=2 libc.c -o bin/libc
rustc -g -C debug-assertions panic.rs -o bin/panic
go build -trimpath -o bin/gopanic gopanic.go

# r NAME COMMAND… keeps what the command writes to standard error, if it writes any.
r() {
  local file=$out/$1.txt
  shift
  { timeout 30 "$@" >/dev/null 2>"$file"; } 2>/dev/null
  [ -s "$file" ] || rm -f "$file"
}

for cc in gcc clang; do
  for w in use-after-free free-in-thread heap-overflow stack-overflow global-overflow double-free bad-free use-after-scope null leak overlap wild-write huge; do
    r asan-$cc-$w ./bin/mem-asan-$cc $w
  done
  r asan-$cc-return env ASAN_OPTIONS=detect_stack_use_after_return=1 ./bin/mem-asan-$cc use-after-scope
  r asan-$cc-nosym env ASAN_OPTIONS=symbolize=0 ./bin/mem-asan-$cc free-in-thread
  r asan-$cc-color env ASAN_OPTIONS=color=always ./bin/mem-asan-$cc use-after-free
  r lsan-$cc-leak ./bin/mem-lsan-$cc leak
  r ubsan-$cc ./bin/ub-$cc
  r ubsan-$cc-null ./bin/ub-$cc 1
  r ubsan-$cc-stacks env UBSAN_OPTIONS=print_stacktrace=1 ./bin/ub-$cc 1
  r ubsan-$cc-fatal ./bin/ub-trap-$cc
  r ubsan-asan-$cc env UBSAN_OPTIONS=print_stacktrace=1 ./bin/ub-asan-$cc 1
  for w in race heap-race order thread-leak use-after-free unlock-twice null; do r tsan-$cc-$w ./bin/race-$cc $w; done
  r tsan-$cc-race-halt env TSAN_OPTIONS=halt_on_error=1 ./bin/race-$cc race
done
r asan-gcc-recurse ./bin/mem-asan-gcc recurse
r msan-uninit ./bin/mem-msan uninit
r msan-plain-uninit ./bin/mem-msan-plain uninit

for w in assert assert-perror fortify percent-n top size double-free double-free-big invalid-pointer realloc; do r glibc-$w ./bin/libc $w; done
r glibc-smash ./bin/libc-plain smash

for w in vector front optional view; do r cxx-clang-$w ./bin/throw-clang $w; done
for l in gcc libcxx; do
  for w in throw lines empty int plain terminate pure noexcept destructor what thread joinable at null-string vector front optional view two recursive; do r cxx-$l-$w ./bin/throw-$l $w; done
done
for w in vector front optional; do r cxx-libcxxdebug-$w ./bin/throw-libcxxdebug $w; done

for w in panic lines empty index overflow divide unwrap-none unwrap-err expect pretty borrow assert assert-eq assert-eq-message unreachable unimplemented utf8 slice thread unnamed join caught nested no-unwind any stack oom main-error; do
  r rust-$w env RUST_BACKTRACE=0 ./bin/panic $w
done
for w in panic lines thread nested no-unwind expect oom; do r rust-$w-backtrace env RUST_BACKTRACE=1 ./bin/panic $w; done
r rust-panic-full env RUST_BACKTRACE=full ./bin/panic index

for w in panic lines error wrapped nil index map repanic deadlock goroutine concurrent-map custom unlock recovered stack; do r go-$w ./bin/gopanic $w; done
r go-panic-all env GOTRACEBACK=all ./bin/gopanic goroutine
r go-panic-crash env GOTRACEBACK=crash ./bin/gopanic panic

for w in use-after-free heap-overflow double-free bad-free leak overlap uninit wild-write null recurse; do r valgrind-$w valgrind --leak-check=full ./bin/mem $w; done
g++ -g -O0 -w -pthread race.cpp -o bin/race
for w in race order unlock-twice; do r helgrind-$w valgrind --tool=helgrind ./bin/race $w; done
r valgrind-origins valgrind --track-origins=yes ./bin/mem uninit

r python-chained python3 tb.py
r python-printed python3 tb.py 1
