// Tests of every kind of result, for doctest.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

static int add(int a, int b) { return a + b; }

TEST_SUITE("unit") {
  TEST_CASE("passes") { CHECK(add(1, 1) == 2); }
  TEST_CASE("fails more than once") {
    INFO("adding ", 1);
    CHECK(add(1, 1) == 3);
    CHECK_FALSE(add(1, 1) == 2);
    REQUIRE_MESSAGE(1 > 2, "one is less than two");
  }
}

TEST_SUITE("integration") {
  TEST_CASE("names with, commas [brackets] * \"quotes\" \\ <ünïcödé> ~ :: /?") { CHECK(true); }
  TEST_CASE("names with, commas") { FAIL("only this one"); }
}

TEST_CASE("throws") { throw std::runtime_error("no <such> item"); }
TEST_CASE("throws in an expression") { CHECK(std::string("x").at(3) == 'y'); }

TEST_CASE("subcases") {
  int n = 1;
  SUBCASE("first") {
    n = 2;
    SUBCASE("inner") { CHECK(n == 3); }
    SUBCASE("other") { CHECK(n == 2); }
  }
  SUBCASE("second") { CHECK(n == 5); }
}

TEST_CASE("should fail" * doctest::should_fail()) { CHECK(1 == 2); }
TEST_CASE("should fail and does not" * doctest::should_fail()) { CHECK(1 == 1); }
TEST_CASE("may fail" * doctest::may_fail()) { CHECK(1 == 2); }
TEST_CASE("expected failures" * doctest::expected_failures(1)) { CHECK(1 == 2); }
TEST_CASE("too slow" * doctest::timeout(0.0001)) {
  volatile double x = 0;
  for (int i = 0; i < 1000000; i++) x = x + i;
}
TEST_CASE("skipped" * doctest::skip()) { CHECK(1 == 2); }
TEST_CASE("warns") { WARN(1 == 2); MESSAGE("only a message"); }
TEST_CASE_TEMPLATE("template", T, char, long) { CHECK(sizeof(T) == 1); }

TEST_CASE("garbage") {
  std::printf("half a line <TestCase name=\"passes\"><OverallResultsAsserts test_case_success=\"false\"/></TestCase>\n</doctest>\x01\xff");
  CHECK(true);
}

TEST_SUITE("ends" * doctest::skip()) {
  TEST_CASE("segfault") {
    CHECK(1 == 2);
    *static_cast<volatile int *>(nullptr) = 1;
  }
  TEST_CASE("aborts") { std::abort(); }
  TEST_CASE("exits") {
    SUBCASE("in a subcase") { std::_Exit(3); }
  }
}

#include <unistd.h>

TEST_SUITE("waits" * doctest::skip()) {
  TEST_CASE("hangs") {
    CHECK(1 == 2);
    SUBCASE("for ever") {
      std::fclose(std::fopen(std::getenv("STROBE_BEGUN"), "w"));
      for (;;) pause();
    }
  }
}
