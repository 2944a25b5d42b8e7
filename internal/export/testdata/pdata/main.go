// The program reads OTLP/JSON lines from standard input with the OpenTelemetry Collector's own decoder, as its
// otlpjsonfile receiver does, and writes for each span: id, parent, name, start, end, the number of its attributes.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	traces := map[string]bool{}
	for in.Scan() {
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(in.Bytes())
		if err != nil {
			log.Fatal(err)
		}
		for _, r := range td.ResourceSpans().All() {
			if name, ok := r.Resource().Attributes().Get("service.name"); !ok || name.Str() == "" {
				log.Fatal("a resource without service.name")
			}
			for _, scope := range r.ScopeSpans().All() {
				for _, s := range scope.Spans().All() {
					traces[s.TraceID().String()] = true
					fmt.Fprintf(out, "%s %s %q %d %d %d\n", s.SpanID(), s.ParentSpanID(), s.Name(), s.StartTimestamp(),
						s.EndTimestamp(), s.Attributes().Len())
				}
			}
		}
	}
	if err := in.Err(); err != nil {
		log.Fatal(err)
	}
	if len(traces) != 1 {
		log.Fatalf("%d traces", len(traces))
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}
