//go:build linux && amd64

package unwind

import "testing"

// BenchmarkWalk walks stacks of 100 and 1,000 frames of a stopped program; bench -crash shows it beside gdb, libunwind
// and glibc.
func BenchmarkWalk(b *testing.B) {
	bin := build(b, "crash.c", "gcc", "-O2")
	for _, depth := range []string{"100", "1000"} {
		b.Run(depth, func(b *testing.B) {
			s := crash(b, bin, "deep", depth)
			frames := 0
			b.ReportAllocs()
			for b.Loop() {
				frames = len(Walk(s, s.regs, s.mods, Options{}).Frames)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(frames), "ns/frame")
		})
	}
}
