package page

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// policy is all that the page may load: what this server has. Nothing is from elsewhere, and no page may frame it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard lets requests through that come from the page in the browser to which the link was given. Safe for concurrent
// use.
type guard struct {
	cookie string // its name; browsers do not tell ports of a host apart
	secret string // its value

	mu    sync.Mutex // leaf
	token string     // in the link; "" once it was exchanged
}

func newGuard(port string) *guard {
	return &guard{cookie: "strobe" + port, secret: secretText(), token: secretText()}
}

func secretText() string {
	b := make([]byte, 32)
	rand.Read(b) //nolint:errcheck // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// spend exchanges the token of a link, once.
func (g *guard) spend(token string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) != 1 {
		return false
	}
	g.token = ""
	return true
}

func (g *guard) knows(r *http.Request) bool {
	c, err := r.Cookie(g.cookie)
	return err == nil && subtle.ConstantTimeCompare([]byte(c.Value), []byte(g.secret)) == 1
}

// refusal says why a request is not answered, "" where it is: of another name than this machine's own, behind which
// another site may be, or from a page of another origin.
func refusal(r *http.Request) string {
	if !loopback(r.Host) {
		return "the host of this address is not this machine's own: use 127.0.0.1"
	}
	if from := r.Header.Get("Origin"); from != "" {
		u, err := url.Parse(from)
		if err != nil || u.Scheme != "http" || u.Host != r.Host {
			return "a page of another origin asks"
		}
	}
	// Browsers say it even where they send no origin. A link may stand anywhere; what it leads to is asked for by
	// the page itself.
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "same-origin", "none":
	default:
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Method != http.MethodGet ||
			strings.HasPrefix(r.URL.Path, "/api/") {
			return "a page of another site asks"
		}
	}
	return ""
}

// loopback reports whether a Host header names this machine. The port may be another's: that of a tunnel.
func loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	return name == "127.0.0.1" || name == "localhost"
}

// protect sends with every answer what keeps browsers from doing more with it than the page.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
