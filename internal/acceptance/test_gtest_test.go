package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const gtestKinds = `#include <gtest/gtest.h>
#include <cstdio>
int twice(int n) { return n * 2 + (n == 3); }
class Par : public ::testing::TestWithParam<int> {};
TEST_P(Par, Twice) {
  printf("no end of line");
  EXPECT_EQ(twice(GetParam()), 6);
}
TEST_P(Par, Throws) {
  throw GetParam();
}
INSTANTIATE_TEST_SUITE_P(All, Par, ::testing::Values(3));
template <class T> class Typ : public ::testing::Test {};
typedef ::testing::Types<int, long> Kinds;
TYPED_TEST_SUITE(Typ, Kinds);
TYPED_TEST(Typ, Throws) {
  throw 3;
}
TEST(Plain, Throws) {
  throw 3;
}
`

// TestGTestKinds: a test's body is what is to be traced, in whichever macro it stands; of TEST_P and TYPED_TEST it was
// the constructor alone. Through CTest, what a test wrote without an end of line became part of its file's name.
func TestGTestKinds(t *testing.T) {
	t.Parallel()
	strobetest.NeedCommand(t, "cmake")
	dir := project(t, map[string]string{"t.cpp": gtestKinds,
		"CMakeLists.txt": "cmake_minimum_required(VERSION 3.13)\nproject(t CXX)\nset(CMAKE_BUILD_TYPE " +
			"Debug)\nfind_package(GTest REQUIRED)\n" +
			"enable_testing()\nadd_executable(t t.cpp)\ntarget_link_libraries(t GTest::gtest_main " +
			"pthread)\ninclude(GoogleTest)\ngtest_discover_tests(t)\n"})
	cmd := exec.CommandContext(t.Context(), "cmake", "-S", dir, "-B", filepath.Join(dir, "build"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := strobetest.Start(t, nil)
	byCTest := runTests(t, s, args{"projectRoot": dir, "waitMs": 60000})
	for _, r := range []testAnswer{byCTest, runTests(t, s,
		args{"projectRoot": dir, "command": filepath.Join(dir, "build", "t"), "waitMs": 60000})} {
		if r.Result.Summary.Failed != 5 {
			b, _ := os.ReadFile(r.Result.Details)
			t.Fatalf("%s: %+v %s", r.Framework, r.Result, b)
		}
		for _, f := range r.Result.Failures {
			if f.File != "t.cpp" && !(r.Framework == "ctest" && f.Kind == "exception") {
				t.Errorf("%s: %+v", r.Framework, f)
			}
			body := func(p string) bool { return strings.HasSuffix(p, "::TestBody") }
			made := slices.ContainsFunc(f.SuggestedTraces, func(p string) bool {
				class, last, ok := strings.Cut(p, "::")
				return ok && class == last
			})
			if made || f.File == "t.cpp" && !slices.ContainsFunc(f.SuggestedTraces, body) {
				t.Errorf("%s: %s.%s: %q", r.Framework, f.Suite, f.Name, f.SuggestedTraces)
			}
		}
	}
}
