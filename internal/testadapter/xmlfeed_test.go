package testadapter

import (
	"fmt"
	"strings"
	"testing"
)

// fed is what a feed told of a text that came in pieces of some length.
func fed(text string, piece int) string {
	var b strings.Builder
	x := xmlFeed{
		open:  func(name string, attrs map[string]string) { fmt.Fprintf(&b, "<%s %q", name, attrs["a"]) },
		close: func(name, text string) { fmt.Fprintf(&b, "%q %s>", text, name) },
	}
	for len(text) > 0 {
		n := min(piece, len(text))
		x.Write([]byte(text[:n]))
		text = text[n:]
	}
	return b.String()
}

func TestXMLFeed(t *testing.T) {
	for text, want := range map[string]string{
		`<?xml version="1.0"?><r a="1 &lt; &quot;2&quot; >"><e/>one &amp;<!-- <no> -->two<![CDATA[ <3> ]]></r>`: `<r "1 < \"2\" >"<e """" e>"one &two <3> " r>`,
		"<a><b>text</a>after":   `<a ""<b """text" b>"" a>`, // what is open inside ends with it
		"</never><a a='x'>":     `<a "x"`,
		"<a>cut in an &am":      `<a ""`,
		"<a a=\"no end>":        ``,
		"<a a=\"\xff\"\n></a >": "<a \"\uFFFD\"\"\" a>",
	} {
		for _, piece := range []int{1, 2, 7, 1000} {
			if got := fed(text, piece); got != want {
				t.Errorf("in pieces of %d: %q told %s, want %s", piece, text, got, want)
			}
		}
	}
}

// TestXMLFeedBounds: no report costs us our memory.
func TestXMLFeedBounds(t *testing.T) {
	x := xmlFeed{}
	for range 40 {
		x.Write([]byte("<a " + strings.Repeat("x", 100_000)))
	}
	if !x.lost || len(x.buf) > 0 {
		t.Errorf("a tag of 4 MB: lost %v, %d bytes are kept", x.lost, len(x.buf))
	}
	x = xmlFeed{}
	x.Write([]byte(strings.Repeat("<a>", 10_000)))
	if !x.lost || len(x.stack) > maxXMLDepth {
		t.Errorf("10,000 elements in one another: lost %v, %d are open", x.lost, len(x.stack))
	}
}
