// Tests of every kind of result, for Catch2: version 2 by its one header, version 3 with -DV3 by its two amalgamated files.
#ifdef V3
#include "catch_amalgamated.hpp"
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#ifdef V3
using Catch::Matchers::ContainsSubstring;
#else
static auto ContainsSubstring(const std::string &s) { return Catch::Matchers::Contains(s); }
#endif

static int add(int a, int b) { return a + b; }

TEST_CASE("passes", "[unit]") { REQUIRE(add(1, 1) == 2); }

TEST_CASE("fails more than once", "[unit]") {
  CHECK(add(1, 1) == 3);
  CHECK_FALSE(add(1, 1) == 2);
  REQUIRE_THAT(std::string("<price> & \"name\""), ContainsSubstring("]]>"));
}

TEST_CASE("names with, commas [brackets] * \"quotes\" \\ and ünïcödé ~ :: /", "[integration]") { REQUIRE(true); }
TEST_CASE("names with, commas", "[integration]") { FAIL("only this one\nof two lines"); }
TEST_CASE("-starts with a dash", "[e2e]") { CHECK(1 == 1); }

TEST_CASE("throws") { throw std::runtime_error("no <such> item"); }
TEST_CASE("throws in an expression") { CHECK(std::vector<int>{}.at(3) == 1); }

TEST_CASE("sections") {
  int n = 1;
  SECTION("first") {
    n = 2;
    SECTION("inner") { CHECK(n == 3); }
    SECTION("other") { CHECK(n == 2); }
  }
  SECTION("second") {
    INFO("n is " << n);
    CHECK(n == 5);
  }
}

TEST_CASE("expected to fail", "[!shouldfail]") { CHECK(1 == 2); }
TEST_CASE("expected to fail and does not", "[!shouldfail]") { CHECK(1 == 1); }
TEST_CASE("may fail", "[!mayfail]") { CHECK(1 == 2); }
TEST_CASE("asserts nothing") {}
TEST_CASE("warns") { WARN("only a warning"); }
TEST_CASE("hidden", "[.]") { CHECK(1 == 2); }

TEST_CASE("generated") {
  int n = GENERATE(1, 2, 3);
  CHECK(n != 2);
}

TEMPLATE_TEST_CASE("template", "[unit]", char, long) { CHECK(sizeof(TestType) == 1); }

struct Fixture {
  int n = 4;
};
TEST_CASE_METHOD(Fixture, "of a fixture") { CHECK(n == 4); }

TEST_CASE("garbage") {
  std::printf("half a line <TestCase name=\"passes\"><OverallResult success=\"false\"/></TestCase>");
  std::cout << "\n</Catch>\x01\xff\n<?xml version=\"1.0\"?><Catch2TestRun>" << std::flush;
  CHECK(true);
}

#ifdef V3
TEST_CASE("skipped") { SKIP("not on this machine"); }
TEST_CASE("skipped after a failure") {
  CHECK(1 == 2);
  SKIP("later");
}
#endif

TEST_CASE("segfault", "[.][ends]") {
  CHECK(1 == 2);
  *static_cast<volatile int *>(nullptr) = 1;
}
TEST_CASE("aborts", "[.][ends]") { std::abort(); }
TEST_CASE("exits", "[.][ends]") {
  SECTION("in a section") { std::_Exit(3); }
}
TEST_CASE("before the ends", "[.][ends]") { CHECK(1 == 2); }

#include <unistd.h>

TEST_CASE("hangs", "[.][waits]") {
  CHECK(1 == 2);
  SECTION("for ever") {
    std::fclose(std::fopen(std::getenv("STROBE_BEGUN"), "w"));
    for (;;) pause();
  }
}
