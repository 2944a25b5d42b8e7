package bucket

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// RoundTrip sends one request over a connection of its own, and returns the answer, whose body ends with ctx. That is
// all of HTTP that a store needs; http.Transport with its second version of the protocol makes the binary 250 KB
// larger.
func RoundTrip(ctx context.Context, r *http.Request) (_ *http.Response, err error) {
	conn, err := (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, "tcp", hostPort(r.URL.Host, r.URL.Scheme))
	if err != nil {
		closeBody(r)
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // ends what waits
	end := func() error { stop(); return conn.Close() }
	defer func() {
		if err != nil {
			_ = end() // the error that counts is the first
		}
	}()
	if r.URL.Scheme == "https" {
		secure := tls.Client(conn, &tls.Config{ServerName: r.URL.Hostname(), MinVersion: tls.VersionTLS12})
		if err := secure.HandshakeContext(ctx); err != nil {
			closeBody(r)
			return nil, err
		}
		conn = secure
	}
	r.Close = true
	wrote := r.Write(conn)
	if err := conn.SetReadDeadline(time.Now().Add(headerTimeout)); err != nil {
		return nil, err
	}
	if ctx.Err() != nil { // the deadline may have taken the place of its own
		return nil, ctx.Err()
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil {
		// A store that refuses may answer before it has read all; where it has not, what was not written counts.
		return nil, errors.Join(ctx.Err(), wrote, err)
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	resp.Body = &body{resp.Body, end}
	return resp, nil
}

// connectTimeout bounds how long a store may take to be reached.
const connectTimeout = 15 * time.Second

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close() // a file that was read at most
	}
}

// hostPort is where a host listens.
func hostPort(host, scheme string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	if scheme == "https" {
		return net.JoinHostPort(host, "443")
	}
	return net.JoinHostPort(host, "80")
}

// body closes its connection.
type body struct {
	io.ReadCloser
	end func() error
}

func (b *body) Close() error { return errors.Join(b.ReadCloser.Close(), b.end()) }
