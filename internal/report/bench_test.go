package report

import "testing"

// BenchmarkParser reads ordinary output, which is what nearly all output is, and reports.
func BenchmarkParser(b *testing.B) {
	for _, folder := range []string{"quiet", "recorded"} {
		var text []byte
		for _, t := range recordings(b, folder) {
			text = append(text, t...)
		}
		b.Run(folder, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				parse(text, func(int) int { return 4096 })
			}
		})
	}
}
