//go:build waits

package waits

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestOdd(t *testing.T) {
	for _, name := range []string{`-x "a" 'b' $HOME ` + "`id`" + ` \ !`, "a.*b (c) [d] {e} ^|+? / ü 日本 <k> & # % ; ~", "plain", "plain more"} {
		t.Run(name, func(t *testing.T) {
			for _, out := range []*os.File{os.Stdout, os.Stderr} {
				fmt.Fprintf(out, "--- FAIL: TestFake (0.00s)\n{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"TestFake\"}\n\x1b[31m\x00\xff\xfe\n%s\n", strings.Repeat("long ", 60000))
			}
			f, err := os.OpenFile(os.Getenv("STROBE_RAN"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			fmt.Fprintln(f, name)
		})
	}
}

func TestBefore(t *testing.T) {}

func TestFailsBefore(t *testing.T) { t.Error("so it does") }

func TestWaits(t *testing.T) {
	t.Run("in a subtest", func(t *testing.T) {
		if err := os.WriteFile(os.Getenv("STROBE_BEGUN"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		select {}
	})
}

func TestAfter(t *testing.T) {}
