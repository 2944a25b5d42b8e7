// Command gen writes the C side of the ring's ABI from package ring's Go types, to standard output.
package main

import (
	"fmt"
	"os"

	"github.com/strobe-debug/strobe/internal/ring"
)

func main() { fmt.Fprint(os.Stdout, ring.CHeader()) }
