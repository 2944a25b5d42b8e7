package acceptance

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// atOnce is how many tests run at once that say they may, where nobody says otherwise: most of them wait for what a
// program does in seconds.
const atOnce = "5"

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", atOnce); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}
