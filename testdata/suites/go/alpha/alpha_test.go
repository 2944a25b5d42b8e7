package alpha

import (
	"fmt"
	"os"
	"testing"
)

func TestPass(t *testing.T) { t.Log("got 1, want 1") }

func TestFail(t *testing.T) {
	t.Log("about to add")
	if got := Add(1, 1); got != 3 {
		t.Errorf("Add(1, 1) = %d, want %d", got, 3)
	}
	t.Log("afterwards")
}

func TestFatal(t *testing.T) {
	check(t, Add(2, 2))
}

func check(t *testing.T, n int) {
	t.Helper()
	t.Fatalf("sum: got: %d, want: %d\nsecond line", n, 5)
}

func TestSkip(t *testing.T) { t.Skip("not on this machine") }

func TestTable(t *testing.T) {
	for _, name := range []string{"plain", "with spaces", "a/b", "quo\"te's", "[brackets](x)", "üñí", "comma,:: $1*", "plain", ""} {
		t.Run(name, func(t *testing.T) {
			if name == "with spaces" || name == "a/b" || name == "[brackets](x)" {
				t.Errorf("case %q fails", name)
			}
		})
	}
}

func TestOnlyParentFails(t *testing.T) {
	t.Run("fine", func(t *testing.T) {})
	t.Error("the parent itself")
}

func TestDeep(t *testing.T) {
	t.Run("one", func(t *testing.T) {
		t.Run("two", func(t *testing.T) { t.Fatal("deep down") })
		t.Run("skipped", func(t *testing.T) { t.Skip("deep skip") })
	})
}

func TestGarbage(t *testing.T) {
	fmt.Print("half a line")
	os.Stdout.WriteString("\n--- FAIL: TestPass (0.00s)\n--- PASS: TestGarbage (9.00s)\nFAIL\nok  \texample.com/suite/alpha\t9.9s\n")
	fmt.Println(`{"Action":"fail","Package":"example.com/suite/alpha","Test":"TestPass","Elapsed":1}`)
	os.Stdout.Write([]byte("\x00\xff\x1b[31mred\x1b[0m no end"))
}

func TestParallel(t *testing.T) {
	for _, name := range []string{"p1", "p2", "p3"} {
		t.Run(name, func(t *testing.T) { t.Parallel(); t.Log(name) })
	}
}

func FuzzSeeds(f *testing.F) {
	f.Add("good")
	f.Add("bad")
	f.Fuzz(func(t *testing.T, s string) {
		if s == "bad" {
			t.Fatalf("seed %q", s)
		}
	})
}

func BenchmarkNotRun(b *testing.B) { b.Fatal("benchmarks do not run") }

func ExampleAdd() {
	fmt.Println(Add(1, 2))
	// Output: 3
}

func ExampleAdd_wrong() {
	fmt.Println(Add(1, 2))
	// Output: 4
}
