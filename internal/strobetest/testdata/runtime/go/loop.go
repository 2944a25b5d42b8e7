// Busy until the file "stop" is there, with a file "seen" that grows: loop.py and loop.js are the same.
package main

import "os"

//go:noinline
func spin(n int) int { return n + 1 }

func main() {
	seen, err := os.OpenFile("seen", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		os.Exit(1)
	}
	for i := 0; ; i++ {
		spin(i)
		if i%20000 != 0 {
			continue
		}
		seen.WriteString(".")
		if _, err := os.Stat("stop"); err == nil {
			seen.WriteString("7")
			os.Exit(7)
		}
	}
}
