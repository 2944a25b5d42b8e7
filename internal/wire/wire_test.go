package wire

import (
	"encoding/binary"
	"reflect"
	"testing"
)

func pg(kind byte, body string) string {
	b := []byte{kind}
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)+4))
	return string(b) + body
}

// TestLook: one connection each, message after message.
func TestLook(t *testing.T) {
	for _, conn := range [][]struct {
		head string
		want Message
	}{
		{{"GET /a?b=1 HTTP/1.1\r\nAccept: */*\r\nhost: x.org\r\n\r\n",
			Message{Proto: "HTTP/1.1", Method: "GET", Path: "/a?b=1", Host: "x.org"}},
			{"HTTP/1.0 404 Not Found\r\n", Message{Proto: "HTTP/1.0", Status: 404}}, {"the body", Message{}}},
		{{"GET /a HTTP/1.1\r\nX-Request-Id: 7\r\nTraceparent: 00-ab-cd-01\r\n\r\nPOST /b HTTP/1.1\r\nContent-Length: 3\r\n\r\n" +
			"abcGET /c HTTP/1.1\r\n\r\n", Message{Proto: "HTTP/1.1", Method: "GET", Path: "/a", Trace: "00-ab-cd-01",
			More: []Part{{At: 62, Method: "POST", Path: "/b"}, {At: 104, Method: "GET", Path: "/c"}}}},
			{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 404 No\r\nContent-Length: 900\r\n\r\n",
				Message{Proto: "HTTP/1.1", Status: 200, More: []Part{{At: 40, Status: 404}}}}},
		{{"*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n*2\r\n$3\r\nGET\r\n$3\r\nk", Message{Proto: "redis", Command: "PING",
			More: []Part{{At: 14, Command: "AUTH …"}, {At: 35, Command: "GET k"}}}},
			{"+PONG\r\n*2\r\n:1\r\n$-1\r\n-ERR no\r\n", Message{Proto: "redis", Answer: "+PONG",
				More: []Part{{At: 7, Answer: "*2"}, {At: 20, Answer: "-ERR no"}}}}},
		{{"GET the cake", Message{}}, {"GET /cu", Message{Proto: "HTTP/1.1", Method: "GET", Path: "/cu"}},
			{"GETAWAY 1", Message{}},
			{"GET /x SMTP\r\n", Message{}}, {"HTTP/1.1 2x0 OK\r\n", Message{}}, {"", Message{}}, {"\n", Message{}}},
		{{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Message{Proto: "HTTP/2"}}},
		{{"+OK\r\n", Message{}}, // nobody asked
			{"*3\r\n$3\r\nset\r\n$1\r\nk\r\n$5\r\nhello\r\n", Message{Proto: "redis", Command: "set k hello"}},
			{"+OK\r\n", Message{Proto: "redis", Answer: "+OK"}},
			{"*2\r\n$4\r\nAUTH\r\n$6\r\nsesame\r\n", Message{Proto: "redis", Command: "AUTH …"}},
			{"$5\r\nhello\r\n", Message{Proto: "redis", Answer: "$5 hello"}},
			{"*2\r\n$3\r\nget\r\n$100\r\nabc", Message{Proto: "redis", Command: "get abc"}}},
		{{pg('Q', "SELECT 1\x00"), Message{Proto: "postgres", Command: "SELECT 1"}},
			{pg('T', "xx") + pg('D', "yy") + pg('C', "SELECT 1\x00"), Message{Proto: "postgres", Answer: "SELECT 1"}},
			{pg('p', "sesame\x00"), Message{Proto: "postgres", Command: "password …"}},
			{pg('P', "s1\x00SELECT $1\x00\x00\x00"), Message{Proto: "postgres", Command: "SELECT $1"}},
			{pg('E', "SERROR\x00C42P01\x00Mno such table\x00\x00"),
				Message{Proto: "postgres", Answer: "error 42P01 no such table"}}},
		{{"\x00\x00\x00\x17\x00\x03\x00\x00user\x00ann\x00\x00....", Message{}}, // not as long as it says
			{"\x00\x00\x00\x12\x00\x03\x00\x00user\x00ann\x00\x00", Message{Proto: "postgres", Command: "startup user ann"}}},
		{{"\x16\x03\x01\x00\x10abcdefghijklmnop", Message{Proto: "TLS"}}, {"\x16\x05\x01\x00\x10abcd", Message{}}},
	} {
		var c Conn
		for _, m := range conn {
			if got := c.Look([]byte(m.head), nil, int64(len(m.head)), true); !reflect.DeepEqual(got, m.want) {
				t.Errorf("Look(%q) = %+v, want %+v", m.head, got, m.want)
			}
		}
	}
}

func FuzzLook(f *testing.F) {
	for _, s := range []string{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 OK\r\n", "*1\r\n$4\r\nPING\r\n",
		pg('Q', "SELECT 1\x00"), pg('E', "C1\x00M2\x00"), "\x16\x03\x01\x00\x10"} {
		f.Add([]byte(s), []byte(s), int64(len(s)))
	}
	f.Fuzz(func(t *testing.T, first, second []byte, size int64) {
		var c Conn
		for _, b := range [][]byte{first, second, first} {
			m := c.Look(b, nil, size, true)
			if len(m.Command) > MaxCommand+40 || len(m.Answer) > MaxCommand+40 || len(m.Path) > MaxCommand+40 {
				t.Errorf("Look(%q) = %+v: too long", b, m)
			}
		}
	})
}
