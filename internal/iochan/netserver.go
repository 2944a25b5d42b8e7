package iochan

import (
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
)

const (
	// maxServes bounds the answers that a server has.
	maxServes = 1000
	// awaitServe is how long a request waits for the first of them.
	awaitServe = time.Second
)

// serving is one answer of the server. left is guarded by network.mu.
type serving struct {
	method, path string
	status       int
	headers      map[string]string
	body         []byte
	isJSON       bool
	delay        time.Duration
	left         int // -1: always
}

func (n *network) serve(m Message) (any, error) {
	r := struct {
		Match          map[string]string
		Status         int
		Headers        map[string]string
		DelayMs, Times int
		body
	}{Status: 200}
	if err := m.Into(&r); err != nil {
		return nil, err
	}
	content, err := r.bytes()
	if err != nil {
		return nil, err
	}
	for name := range r.Match {
		if name != "method" && name != "path" {
			return nil, invalid("match takes method and path.", "unknown field %q in match of net.serve", name)
		}
	}
	if _, err := path.Match(r.Match["path"], ""); err != nil {
		return nil, invalid("Write * for anything.", "match.path: %w", err)
	}
	if r.Times == 0 {
		r.Times = -1
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.serves) >= maxServes {
		return nil, invalid("Remove the channel and add it again.",
			"the server has %d answers, the most that it may have", maxServes)
	}
	n.serving.Do(func() { close(n.served) })
	n.serves = append(n.serves, &serving{strings.ToUpper(r.Match["method"]), r.Match["path"], r.Status, r.Headers, content,
		len(r.JSON) > 0, time.Duration(r.DelayMs) * time.Millisecond, r.Times})
	return map[string]string{"url": n.Variables()["url"]}, nil
}

// matches reports whether an answer is one for a request; * of its path stands for anything, slashes too.
func (s *serving) matches(r *http.Request) bool {
	if s.method != "" && s.method != r.Method {
		return false
	}
	return s.path == "" || s.path == r.URL.Path || s.path == r.URL.RequestURI() || like(s.path, r.URL.Path)
}

func like(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	for i, p := range parts[1:] {
		if i == len(parts)-2 {
			return strings.HasSuffix(s, p)
		}
		at := strings.Index(s, p)
		if at < 0 {
			return false
		}
		s = s[at+len(p):]
	}
	return s == ""
}

// answer is the server's handler: it tells what the target asked for, and what it got.
func (n *network) answer(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	data, err := io.ReadAll(io.LimitReader(r.Body, maxRead))
	e := netEvent{What: "request", Direction: event.Out, Method: r.Method, Host: r.Host, Path: r.URL.RequestURI(),
		Proto: r.Proto, Headers: flat(r.Header), Bytes: count(len(data))}
	e.setBody(data)
	if err != nil {
		e.Error = "the body was cut off: " + err.Error()
	}
	n.tell(e)
	select { // a program may ask before the scenario's first step says what it gets
	case <-n.served:
	case <-time.After(awaitServe):
		n.serving.Do(func() { close(n.served) }) // nobody says anything
	case <-n.ctx.Done():
		return
	}
	n.mu.Lock()
	var s *serving
	for _, o := range n.serves {
		if o.left != 0 && o.matches(r) {
			s = o
			if o.left > 0 {
				o.left--
			}
			break
		}
	}
	n.mu.Unlock()
	if s == nil {
		s = &serving{status: http.StatusNotFound, body: []byte("no answer of the channel matches\n")}
	}
	if s.delay > 0 {
		select {
		case <-time.After(s.delay):
		case <-n.ctx.Done():
			return
		case <-r.Context().Done():
		}
	}
	if s.isJSON {
		w.Header().Set("Content-Type", "application/json")
	}
	for name, v := range s.headers {
		w.Header().Set(name, v)
	}
	w.WriteHeader(s.status)
	_, err = w.Write(s.body)
	a := netEvent{What: "answer", Direction: event.In, Method: r.Method, Path: r.URL.RequestURI(), Status: s.status,
		Bytes: count(len(s.body)), MS: since(began)}
	if err != nil {
		a.Error = err.Error()
	}
	n.tell(a)
}
