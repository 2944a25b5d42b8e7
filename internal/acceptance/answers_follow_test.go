package acceptance

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/strobe-debug/strobe/internal/follow"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// TestFollow: a client that knows nothing of a program and takes only calls that answers name comes to its bug: to the
// call that shows it, with its values and the place of the function, within a few calls and bytes.
func TestFollow(t *testing.T) {
	sources, err := strobetest.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	read := func(path ...string) string {
		b, err := os.ReadFile(filepath.Join(path...))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	own, err := filepath.Abs("testdata/follow")
	if err != nil {
		t.Fatal(err)
	}
	pythons := strobetest.Pythons(t)
	for _, c := range []struct {
		name   string
		launch args
		cause  string
		calls  int
	}{
		{"the demo, a wrong result in C++", args{"command": strobetest.BuildSource(t, "cpp", "gcc-O0", "pricing",
			read(strobetest.Root(t), "internal/cli/demo/pricing.cpp"), "-pthread"), "projectRoot": sources},
			`shop::loyalty_points\(orders=\d+, years=\d+\) → -1\d\d \(pricing.cpp:51\)`, 8},
		{"a crash in Rust", args{"command": strobetest.BuildSource(t, "rust", "rust-debug", "depot",
			read(own, "depot.rs")), "projectRoot": sources},
			`depot::shelf_for\(grams=30500\) → 3 \(depot.rs:13\)`, 8},
		{"a wrong result in Python", args{"command": pythons[len(pythons)-1].Path, "args": []string{"bills.py"},
			"cwd": own, "projectRoot": own}, `bills.rate_of\(code=\\"Winter\\"\) → null \(bills.py:12\)`, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := strobetest.Start(t, nil)
			client, err := follow.New(context.Background(), s.Session())
			if err != nil {
				t.Fatal(err)
			}
			all := 0
			client.Told = func(tool string, arguments json.RawMessage, answer string) {
				all += len(answer)
				t.Logf("%s %s\n%d bytes: %.1500s", tool, arguments, len(answer), answer)
			}
			calls, err := client.Find(context.Background(), c.launch, regexp.MustCompile(c.cause).MatchString)
			if err != nil {
				t.Fatal(err)
			}
			if t.Logf("%d calls, %d bytes", calls, all); calls > c.calls || all > 1000*c.calls {
				t.Errorf("the cause was found by %d calls and %d bytes, want %d and %d", calls, all, c.calls, 1000*c.calls)
			}
		})
	}
}
