// Tests of every kind of result, for GoogleTest.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

static int add(int a, int b) { return a + b; }

TEST(Sums, Pass) { EXPECT_EQ(add(1, 1), 2); }

TEST(Sums, Fails) {
  EXPECT_EQ(add(1, 1), 3) << "two and " << 1;
  EXPECT_TRUE(add(1, 1) == 4);
  ASSERT_STREQ("one", "two");
  FAIL() << "not reached";
}

TEST(Sums, Throws) { throw std::runtime_error("no such <item> & \"price\""); }

TEST(Sums, Skipped) { GTEST_SKIP() << "not on this machine"; }

TEST(Sums, DISABLED_Later) { FAIL(); }

TEST(Sums, Near) { EXPECT_NEAR(1.0, 1.5, 0.1); }

static void helper() { ASSERT_LT(2, 1) << "in a helper"; }

TEST(Sums, Scoped) {
  SCOPED_TRACE("the third item");
  helper();
}

TEST(Garbage, Prints) {
  std::printf("half a line");
  std::printf("\n[  FAILED  ] Sums.Pass (0 ms)\n[       OK ] Garbage.Next (3 ms)\n[ RUN      ] Garbage.Next\n");
  std::printf("[  FAILED  ] Garbage.Prints (9 ms)\n[==========] 1 test from 1 test suite ran. (0 ms total)\n[  PASSED  ] 99 tests.\n");
  std::fwrite("{\"tests\": 0}\x00\xff\xfe", 1, 15, stdout);
  std::printf("no end");
}

TEST(Garbage, Next) { ADD_FAILURE() << "really"; }

class Prices : public ::testing::TestWithParam<std::string> {};
TEST_P(Prices, AreShort) { EXPECT_LT(GetParam().size(), 4u); }
INSTANTIATE_TEST_SUITE_P(All, Prices, ::testing::Values("a", "with spaces", "ü,:*?", "\"quoted\""));

template <class T> class Sizes : public ::testing::Test {};
using Types = ::testing::Types<char, long>;
TYPED_TEST_SUITE(Sizes, Types);
TYPED_TEST(Sizes, IsOne) { EXPECT_EQ(sizeof(TypeParam), 1u); }

TEST(DeathTest, Dies) { EXPECT_DEATH(std::abort(), ""); }
TEST(DeathTest, DoesNotDie) { EXPECT_DEATH((void)0, "message"); }

class Setup : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(1, 2) << "set up"; }
};
TEST_F(Setup, NotReached) { std::abort(); }

class Whole : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { FAIL() << "set up for all"; }
};
TEST_F(Whole, DISABLED_One) {}

// The rest ends the process; it runs only where it is asked for.
TEST(Ends, DISABLED_Segfault) { *static_cast<volatile int*>(nullptr) = 1; }
TEST(Ends, DISABLED_Aborts) {
  std::fprintf(stderr, "about to abort\n");
  std::abort();
}
TEST(Ends, DISABLED_Exits) { std::exit(3); }
TEST(Ends, DISABLED_After) {}

#include <unistd.h>

// There only for whom wants to see a test hang.
static const bool waits = [] {
  if (const char *begun = std::getenv("STROBE_BEGUN")) {
    class Waits : public ::testing::Test {
     public:
      explicit Waits(std::string begun) : begun_(begun) {}
      void TestBody() override {
        std::fclose(std::fopen(begun_.c_str(), "w"));
        for (;;) pause();
      }

     private:
      std::string begun_;
    };
    ::testing::RegisterTest("Hangs", "Waits", nullptr, nullptr, __FILE__, __LINE__, [begun = std::string(begun)]() -> ::testing::Test * { return new Waits(begun); });
  }
  return true;
}();
