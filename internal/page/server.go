package page

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/packed"
)

// packedFiles are what web/ builds into dist/: go test -run Packed -update ./internal/page makes it.
//
//go:embed dist.zst
var packedFiles []byte

var files = packed.Embedded(packedFiles)

// file answers with one of them.
func file(w http.ResponseWriter, r *http.Request) {
	name := cmp.Or(strings.TrimPrefix(r.URL.Path, "/"), "index.html")
	b, ok := files()[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(b))
}

// Server serves browsers on a listener. The exported fields are given; Serve is called once.
type Server struct {
	// Call asks the daemon. Safe for concurrent use.
	Call func(ctx context.Context, operation string, args map[string]any) (json.RawMessage, error)
	// User returns the user whose process is at the other end of a connection.
	User func(net.Conn) (int, error)
	Me   int // the user who is answered
	// Refused hears of connections that are not; nil: nobody does.
	Refused func(user int, err error)

	guard *guard
	over  context.Context // ends with Serve; streams end then
}

// Link prepares for a listener's address, and returns the link that opens the page. It can be used once.
func (s *Server) Link(l net.Listener, session string) string {
	_, port, _ := net.SplitHostPort(l.Addr().String()) //nolint:errcheck // a listener's own
	s.guard = newGuard(port)
	link := "http://" + l.Addr().String() + "/open?token=" + s.guard.token
	if session != "" {
		link += "#s=" + escape(session)
	}
	return link
}

// stopWithin is how long answers under way may take when the server ends.
const stopWithin = 2 * time.Second

// Serve answers until ctx ends, then returns nil. Its goroutines are the HTTP server's, for which it waits.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	over, cancel := context.WithCancel(ctx)
	defer cancel()
	s.over = over
	h := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 16,
		ErrorLog: log.New(nowhere{}, "", 0),
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(over, func() {
		defer close(stopped)
		end, done := context.WithTimeout(context.WithoutCancel(over), stopWithin)
		defer done()
		if h.Shutdown(end) != nil {
			h.Close() //nolint:errcheck // it ends in any case
		}
	})
	err := h.Serve(ownUser{l, s})
	if stop() { // it failed by itself
		h.Close() //nolint:errcheck // it has failed
		return fmt.Errorf("serve the page: %w", err)
	}
	<-stopped
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve the page: %w", err)
}

// nowhere takes what net/http says of clients that break off.
type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }

// ownUser accepts connections of the user's own processes only: a port is open to everybody on the machine.
type ownUser struct {
	net.Listener
	s *Server
}

func (o ownUser) Accept() (net.Conn, error) {
	for {
		c, err := o.Listener.Accept()
		if err != nil {
			return nil, err
		}
		user, err := o.s.User(c)
		if err == nil && user == o.s.Me {
			return c, nil
		}
		c.Close()
		if o.s.Refused != nil {
			o.s.Refused(user, err)
		}
	}
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", file)
	mux.HandleFunc("GET /api/sessions", s.sessions)
	mux.HandleFunc("GET /api/runs", s.runs)
	mux.HandleFunc("GET /api/run", s.run)
	mux.HandleFunc("GET /api/session", s.session)
	mux.HandleFunc("GET /api/lanes", s.lanes)
	mux.HandleFunc("GET /api/picture", s.picture)
	mux.HandleFunc("GET /api/event", s.event)
	mux.HandleFunc("GET /api/source", s.source)
	mux.HandleFunc("GET /api/follow", s.follow)
	mux.HandleFunc("POST /api/query", s.query)
	mux.HandleFunc("POST /api/stats", s.ofQuestion("stats"))
	mux.HandleFunc("POST /api/flame", s.ofQuestion("flame", "by", "path", "nodes", "against"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w.Header())
		why := refusal(r)
		switch {
		case why != "":
			http.Error(w, "Refused: "+why+".", http.StatusForbidden)
		case r.URL.Path == "/open":
			s.open(w, r)
		case !s.guard.knows(r):
			http.Error(w, "This browser has no access to the page. Open the link that `strobe ui` printed; it opens once, so "+
				"begin `strobe ui` again where it was opened before.", http.StatusUnauthorized)
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			mux.ServeHTTP(w, r)
		}
	})
}

// open exchanges the token for a cookie, so that it stays in no history that could be used again.
func (s *Server) open(w http.ResponseWriter, r *http.Request) {
	if !s.guard.knows(r) && !s.guard.spend(r.URL.Query().Get("token")) {
		http.Error(w, "This link was opened before, or is another's. Begin `strobe ui` again for a new one.",
			http.StatusUnauthorized)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: s.guard.cookie, Value: s.guard.secret, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	// A redirect keeps the part behind #, which says what to show.
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
