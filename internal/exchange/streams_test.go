package exchange

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/wire"
)

// onStream is a part of HTTP/2.
func onStream(at int64, id uint32, method, path string, status int, answer string, end bool) wire.Part {
	p := wire.Part{At: at, Stream: id, Method: method, Path: path, Status: status, Answer: answer, End: end}
	if end {
		p.StreamBytes = 100
	}
	return p
}

func two(parts ...wire.Part) wire.Message {
	p := parts[0]
	return wire.Message{Proto: "HTTP/2", Method: p.Method, Path: p.Path, Status: p.Status, Answer: p.Answer, At: p.At,
		Stream: p.Stream, End: p.End, StreamBytes: p.StreamBytes, More: parts[1:]}
}

// TestStreams: answers come in another order than requests; one stream is reset, one call of gRPC fails, one answer
// never ends; what one end cannot read the other can.
func TestStreams(t *testing.T) {
	var p tape
	p.add(0, 1, "connect", 1, client, front, 0, wire.Message{})
	p.add(1, 1, "accept", 1, front, client, 0, wire.Message{})
	p.add(0, 1, "send", 1, client, front, 90, two(onStream(24, 1, "GET", "/1", 0, "", true),
		onStream(50, 3, "POST", "/3", 0, "", false)))
	p.add(0, 2, "send", 1, client, front, 60, two(onStream(0, 5, "?", "?", 0, "", true), onStream(20, 7, "GET", "/7", 0, "", true),
		onStream(30, 3, "", "", 0, "", true)))
	p.add(1, 1, "receive", 1, front, client, 150, two(onStream(24, 1, "GET", "/1", 0, "", true),
		onStream(50, 3, "POST", "/3", 0, "", false), onStream(90, 5, "GET", "/5", 0, "", true),
		onStream(110, 7, "GET", "/7", 0, "", true), onStream(120, 3, "", "", 0, "", true)))
	p.add(1, 2, "send", 1, front, client, 40, two(onStream(0, 3, "", "", 200, "", false),
		onStream(20, 3, "", "", 0, "grpc 14 UNAVAILABLE", true)))
	p.add(1, 3, "send", 1, front, client, 40, two(onStream(0, 1, "", "", 404, "", true), onStream(20, 7, "", "", 200, "", false)))
	p.add(0, 1, "receive", 1, client, front, 80, two(onStream(0, 3, "", "", 200, "", false), onStream(20, 3, "", "", 0, "?", true),
		onStream(40, 1, "", "", 0, "?", true), onStream(60, 7, "", "", 200, "", false)))
	p.add(0, 1, "send", 1, client, front, 13, two(onStream(0, 5, "", "", 0, "reset CANCEL", true)))
	r := Join(p.calls)
	want := "/1 404 true;/3 200 truegrpc 14 UNAVAILABLE;/5 0 truereset CANCEL;/7 200 trueits answer has no end;"
	if got := said(r); !sameSet(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	for _, x := range r.All {
		switch {
		case x.Path == "/3" && (x.Received.ID != 5 || x.AnswerSent.ID != 6 || x.Got.ID != 8 || x.GotBytes != 100 || !x.Failed()),
			x.Path == "/1" && (x.AnswerSent.ID != 7 || x.SentBytes != 100 || x.Failed()),
			x.Path == "/5" && x.Sent.ID != 4:
			t.Errorf("%+v", x)
		}
	}
	if r.Connections != 1 || r.HTTP2 != 0 || r.Of(p.calls[5]).Path != "/3" {
		t.Errorf("%+v", r)
	}
}
