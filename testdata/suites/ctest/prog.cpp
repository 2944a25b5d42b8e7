// One program for every end that a test of CTest can have.
#include <cassert>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

int main(int, char **argv) {
  const char *what = argv[1];
  std::printf("runs %s\n", what);
  if (!std::strcmp(what, "fail")) {
    std::fprintf(stderr, "prog.cpp:13: error: two is not three\n");
    return 3;
  }
  if (!std::strcmp(what, "assert")) assert(1 + 1 == 3);
  if (!std::strcmp(what, "segfault")) std::raise(SIGSEGV);
  if (!std::strcmp(what, "abort")) std::abort();
  if (!std::strcmp(what, "hang")) pause();
  if (!std::strcmp(what, "skip")) return 77;
  if (!std::strcmp(what, "words")) std::printf("nothing to do\n");
  if (!std::strcmp(what, "gtest")) {
    std::printf("[ RUN      ] A.B\nprog.cpp:24: Failure\nExpected equality of these values:\n  1\n  2\n[  FAILED  ] A.B (0 ms)\n");
    return 1;
  }
  if (!std::strcmp(what, "garbage")) {
    std::printf("1/1 Test #1: passes ....***Failed 0.01 sec\n    Start 9: fails\n]]></system-out></testcase>\x01\xff <testcase name=\"fake\"/>\n");
    std::printf("100%% tests passed, 0 tests failed out of 9\nno end");
  }
  if (!std::strcmp(what, "wait")) {
    std::fclose(std::fopen(std::getenv("STROBE_BEGUN"), "w"));
    for (;;) pause();
  }
  return 0;
}
