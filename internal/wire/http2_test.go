package wire

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	web "net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// everyByte is the text of all 256 bytes, packed by another implementation (golang.org/x/net/http2/hpack).
const everyByte = "" +
	"ffc7fffd8fffffe2fffffe3fffffe4fffffe5fffffe6fffffe7fffffe8ffffeafffffff3fffffa7fffffabffffffdfffffebfffffecf" +
	"ffffedfffffeefffffefffffff0ffffff1ffffff2fffffffbfffffcffffffd3fffffd7fffffdbfffffdffffffe3fffffe7fffffebfff" +
	"ffed4fe3f9ffaffcabf1febfafefe7fdfd2cbb00089969b71d79fb9f7fff20ffbff3ff50ddbd7f061c58f265cd9f469d5af66dddbf87" +
	"1e5f9cff7ff7fffc3ff9ffe45fff4719242cb34e6e9d68a6a3d7dac426defe3cfaf7fffbfe7ffbffdffffffcfffe6ffff4bfff9ffffa" +
	"3fffd3ffff53fffd5ffffb3fffeb7fffdaffffb7ffff73fffeeffffdeffffebffffbfffffd9ffffdbfffebffffe0ffffeeffffc3ffff" +
	"8bffff1ffffe4fffee7fffb1ffff97fffd9ffffcdffff9fffffbffffdafffeeffff4ffffb7fffee7fffe8ffffd3fffdeffffd5fffeef" +
	"fffbdffffe1fffdfffff7fffff5ffffecffff07fff87fffe0ffff17fffedffff87ffff77fffeffffeaffff8bfffe3ffff93ffff87fff" +
	"cbffff37ffff1fffff83ffffe1fffebfffe3ffff3fffff2ffffa3ffffd9fffff17ffffc7fffff27ffffdefffffbffffff2fffff8ffff" +
	"fb7fff97fff8fffffe6fffffc1fffff87ffffe7fffffc5ffffe5fffe4ffff2fffffd1fffff4ffffffefffffe3fffffc9fffff97fffb3" +
	"ffffcffffb7fffcdffff4ffff9ffffd1ffffcffffeaffffafffffddffffeffffff4fffff5fffffabffffa7ffffd7fffff9bffffecfff" +
	"ffb7fffff3fffffe8fffffd3fffffabfffff5fffffff7ffffecfffffdbfffffbbfffff7ffffff0fffffbbf"

// TestHeaders: the examples of RFC 7541, C.4 and C.6, each a connection's, and every code of packed texts.
func TestHeaders(t *testing.T) {
	for _, conn := range []struct {
		max  string
		want [][2]string // block, what it says
	}{
		{"", [][2]string{
			{"828684418cf1e3c2e5f23a6ba0ab90f4ff", ":method GET;:scheme http;:path /;:authority www.example.com;"},
			{"828684be5886a8eb10649cbf",
				":method GET;:scheme http;:path /;:authority www.example.com;cache-control no-cache;"},
			{"828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf", ":method GET;:scheme https;:path /index.html;" +
				":authority www.example.com;custom-key custom-value;"}}},
		{"3fe101", [][2]string{ // a table of 256 bytes
			{"488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
				":status 302;cache-control private;date Mon, 21 Oct 2013 20:13:21 GMT;location https://www.example.com;"},
			{"4883640effc1c0bf",
				":status 307;cache-control private;date Mon, 21 Oct 2013 20:13:21 GMT;location https://www.example.com;"}}},
		{"", [][2]string{{"c1", "? ;"}, {"4003612d62017a", "a-b z;"}, {"be7e0179", "a-b z;a-b y;"}, {"c0", "? ;"}}},
	} {
		var table headerTable
		prefix := conn.max
		for _, w := range conn.want {
			b, err := hex.DecodeString(prefix + w[0])
			if err != nil {
				t.Fatal(err)
			}
			prefix = ""
			got := ""
			err = table.decode(b, func(f headerField) {
				if !f.known {
					f.name = "?"
				}
				got += f.name + " " + f.value + ";"
			})
			if err != nil || got != w[1] {
				t.Errorf("decode(%s) = %s, %v, want %s", w[0], got, err, w[1])
			}
		}
	}
	b, err := hex.DecodeString(everyByte)
	if err != nil {
		t.Fatal(err)
	}
	got, err := unpack(b)
	if err != nil || len(got) != 256 {
		t.Fatalf("unpack: %d bytes, %v", len(got), err)
	}
	for i := range got {
		if got[i] != byte(i) {
			t.Fatalf("byte %d is %d", i, got[i])
		}
	}
}

// tapped notes what goes through a connection.
type tapped struct {
	net.Conn
	note func(out bool, b []byte)
}

func (c tapped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.note(false, slices.Clone(b[:n]))
	return n, err
}

func (c tapped) Write(b []byte) (int, error) {
	c.note(true, slices.Clone(b))
	return c.Conn.Write(b)
}

// told is what was sent or came at once.
type told struct {
	out bool
	b   []byte
}

// recorded is what a client of Go's did on one connection: 200 requests, eight at once, each with a path, a trace and a
// body of its own, and answers of up to 20 KB.
func recorded(t *testing.T) (all []told) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var both web.Protocols
	both.SetUnencryptedHTTP2(true)
	srv := &web.Server{Protocols: &both, Handler: web.HandlerFunc(func(w web.ResponseWriter, r *web.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		w.Header().Set("X-Path", r.URL.Path)
		w.Header().Set("Trailer", "Grpc-Status")
		w.WriteHeader(210 + int(n%7))
		fmt.Fprint(w, strings.Repeat("x", int(n)*20))
		w.Header().Set("Grpc-Status", fmt.Sprint(n%17))
	})}
	go srv.Serve(l) //nolint:errcheck // until it is closed
	defer srv.Close()
	var mu sync.Mutex
	client := &web.Client{Transport: &web.Transport{Protocols: &both,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return tapped{c, func(out bool, b []byte) {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, told{out, b})
			}}, err
		}}}
	var done sync.WaitGroup
	var first sync.Once // makes the connection, alone
	ask := func(from int) {
		for i := range 25 {
			n := from + i
			do := func() {
				req, err := web.NewRequest("POST", fmt.Sprintf("http://%s/of/%d", l.Addr(), n),
					strings.NewReader(strings.Repeat("b", n)))
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Traceparent", fmt.Sprintf("00-%032d-%016d-01", n+1, n+1))
				res, err := client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, res.Body) //nolint:errcheck // what matters is what was seen
				res.Body.Close()
			}
			if made := false; i == 0 {
				if first.Do(func() { do(); made = true }); made {
					continue
				}
			}
			do()
		}
	}
	for k := range 8 {
		done.Go(func() { ask(k * 100) })
	}
	done.Wait()
	client.CloseIdleConnections()
	mu.Lock()
	defer mu.Unlock()
	return all
}

// seen is what was recognised of each stream.
type seen struct {
	method, path, trace, answer string
	status                      int
	asked, answered             int64 // bytes; -1: its end was not seen
}

func look(all []told, miss func(i int) bool) map[uint32]*seen {
	var c Conn
	streams := map[uint32]*seen{}
	for i, one := range all {
		size := int64(len(one.b))
		if miss(i) {
			one.b = one.b[:len(one.b)/2]
		}
		m := c.Look(one.b, nil, size, one.out)
		for _, p := range append([]Part{m.Part()}, m.More...) {
			if p.Stream == 0 {
				continue
			}
			s := streams[p.Stream]
			if s == nil {
				s = &seen{asked: -1, answered: -1}
				streams[p.Stream] = s
			}
			if one.out {
				s.method, s.path, s.trace = s.method+p.Method, s.path+p.Path, s.trace+p.Trace
				if p.End {
					s.asked = p.StreamBytes
				}
			} else {
				s.status, s.answer = s.status+p.Status, s.answer+p.Answer
				if p.End {
					s.answered = p.StreamBytes
				}
			}
		}
	}
	return streams
}

// TestFrames: of each request of a real client everything is recognised, however bytes are cut into calls; where some
// were missed, nothing is said that is not so.
func TestFrames(t *testing.T) {
	all := recorded(t)
	whole := func(r *rand.Rand) (cut []told) { // the same bytes, in other pieces
		for _, one := range all {
			b := one.b
			for len(b) > 0 {
				n := min(len(b), len(preface)+r.IntN(3000))
				cut = append(cut, told{one.out, slices.Clone(b[:n])})
				b = b[n:]
			}
		}
		return cut
	}
	check := func(streams map[uint32]*seen, missed bool) (right int) {
		for id, s := range streams {
			var n int
			if _, err := fmt.Sscanf(s.path, "/of/%d", &n); err != nil {
				if !missed {
					t.Errorf("stream %d: %+v", id, s)
				}
				continue
			}
			want := seen{"POST", fmt.Sprintf("/of/%d", n), fmt.Sprintf("00-%032d-%016d-01", n+1, n+1),
				grpcAnswer(fmt.Sprint(n%17), ""), 210 + n%7, s.asked, s.answered}
			if *s == want && s.asked > int64(n) && s.answered > int64(n)*20 {
				right++
			} else if !missed || s.trace != "" && s.trace != want.trace || s.status != 0 && s.status != want.status {
				t.Errorf("stream %d: %+v, want %+v", id, *s, want)
			}
		}
		return right
	}
	none := func(int) bool { return false }
	if n := check(look(all, none), false); n != 200 {
		t.Errorf("%d of 200 are right", n)
	}
	r := rand.New(rand.NewPCG(1, 2))
	late := look(all[len(all)/2:], none)
	if check(late, true); len(late) < 50 {
		t.Errorf("from the midst on: %d streams", len(late))
	}
	for range 5 {
		if n := check(look(whole(r), none), false); n != 200 {
			t.Errorf("cut: %d of 200 are right", n)
		}
		some := check(look(all, func(i int) bool { return i > 4 && r.IntN(20) == 0 }), true)
		if some == 200 {
			t.Errorf("with bytes missed: %d of 200 are right", some)
		}
	}
}

func FuzzHTTP2(f *testing.F) {
	settings := "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	get := "\x00\x00\x11\x01\x05\x00\x00\x00\x01\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"
	f.Add([]byte(preface+settings+get), []byte("\x00\x00\x01\x01\x05\x00\x00\x00\x01\x88"), int64(80), uint8(7))
	f.Add([]byte(get), []byte(get), int64(26), uint8(26))
	f.Add([]byte(preface+settings+"\x00\x00\x03\x09\x04\x00\x00\x00\x01\x82\x86\x84"), []byte(settings), int64(9000), uint8(99))
	f.Fuzz(func(t *testing.T, first, more []byte, size int64, cut uint8) {
		var c Conn
		size = max(size, 0) % (1 << 40)
		for _, out := range []bool{true, false, true} {
			for b := range slices.Chunk(first, int(cut)+1) {
				m := c.Look(b, nil, int64(len(b)), out)
				for _, p := range append([]Part{m.Part()}, m.More...) {
					if p.At > int64(len(b))+1<<24 || len(p.Path)+len(p.Answer)+len(p.Trace) > 3*(MaxCommand+40) {
						t.Errorf("Look(%q): %+v", b, p)
					}
				}
			}
			c.Look(first, more, size, out)
			c.Look(more, bytes.Clone(first), int64(len(more)+len(first)), !out)
		}
		var table headerTable
		for range 3 {
			table.decode(first, func(headerField) {}) //nolint:errcheck // what matters is that it ends
			if table.size > table.max || table.max > maxTable {
				t.Errorf("table of %d, at most %d", table.size, table.max)
			}
		}
	})
}
