package acceptance

import (
	"sync"
	"testing"
)

// together runs subtests that do little but wait, three at once beside what else runs: -parallel is for those that
// compute.
func together(t *testing.T, names []string, run func(t *testing.T, name string)) {
	next := make(chan string)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for name := range next {
				t.Run(name, func(t *testing.T) { run(t, name) })
			}
		})
	}
	for _, name := range names {
		next <- name
	}
	close(next)
	wg.Wait()
}
