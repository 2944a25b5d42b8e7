package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// fileOf makes a file of that text.
func fileOf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFolder and TestS3 hold every bucket to the same rules.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not there yet")
	b, err := Open("file://"+dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	rules(t, b)
	if _, err := b.Put(t.Context(), "../out", fileOf(t, "x")); err == nil {
		t.Error("a key led out of the folder")
	}
}

func TestS3(t *testing.T) {
	s := strobetest.StartS3(t, "traces", true)
	b, err := Open("s3://traces/a/b", s.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	rules(t, b)
	refusals(t, s)
}

// TestTicket: an address that was signed makes its one object, once.
func TestTicket(t *testing.T) {
	b, err := Open("s3://traces/a/b", strobetest.StartS3(t, "traces", false).Getenv)
	if err != nil {
		t.Fatal(err)
	}
	tickets(t, b)
}

// TestSoakVersity holds a store for production to all of it.
func TestSoakVersity(t *testing.T) {
	strobetest.Soak(t)
	s := strobetest.StartVersity(t, "traces")
	b, err := Open("s3://traces/a/b", s.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	rules(t, b)
	tickets(t, b)
	refusals(t, s)
}

func tickets(t *testing.T, b Bucket) {
	t.Helper()
	address, err := b.(Presigner).Presign("day=1/signed", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	ticket := Ticket{"day=1/signed": address}
	for i, want := range []bool{true, false} {
		if made, err := ticket.Put(t.Context(), "day=1/signed", fileOf(t, "by ticket")); made != want || err != nil {
			t.Errorf("put %d by the ticket: %v, %v", i, made, err)
		}
	}
	if got := read(t, b, "day=1/signed"); got != "by ticket" {
		t.Errorf("the ticket's object is %q", got)
	}
	if _, err := ticket.Put(t.Context(), "other", fileOf(t, "")); codeOf(err) != fault.ValidationError {
		t.Errorf("a key that the ticket has not: %v", err)
	}
}

// refusals: what a user did wrong is said as that.
func refusals(t *testing.T, s *strobetest.S3) {
	t.Helper()
	for name, c := range map[string]struct {
		to, change, value string
		code              fault.Code
	}{
		"gone":       {"s3://gone", "", "", fault.ValidationError},
		"unsigned":   {"s3://traces", "AWS_ACCESS_KEY_ID", "AKIDNOBODY", fault.PermissionDenied},
		"wrong":      {"s3://traces", "AWS_SECRET_ACCESS_KEY", "wrong", fault.PermissionDenied},
		"not signed": {"s3://traces", "AWS_SECRET_ACCESS_KEY", "", fault.PermissionDenied},
		"down":       {"s3://traces", "AWS_ENDPOINT_URL", "http://" + closedPort(t), fault.Unreachable},
		"endpoint":   {"s3://traces", "AWS_ENDPOINT_URL", "nonsense", fault.ValidationError},
	} {
		b, err := Open(c.to, func(name string) string {
			if name == c.change {
				return c.value
			}
			return s.Getenv(name)
		})
		if err == nil {
			_, err = b.Put(t.Context(), "k", fileOf(t, "text"))
		}
		if codeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
}

func codeOf(err error) fault.Code {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Code
	}
	return ""
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func read(t *testing.T, b Bucket, key string) string {
	t.Helper()
	var out strings.Builder
	if err := b.Get(t.Context(), key, &out); err != nil {
		t.Errorf("get %s: %v", key, err)
	}
	return out.String()
}

func rules(t *testing.T, b Bucket) {
	t.Helper()
	ctx := t.Context()
	if keys, err := b.List(ctx, ""); err != nil || len(keys) != 0 {
		t.Errorf("an empty bucket has %v, %v", keys, err)
	}
	large := strings.Repeat("0123456789abcdef", 1<<17)
	want := map[string]string{"a=1/x": "one", "a=1/y": "", "a=2/with space+and%20more=ü": "odd", "b/large": large}
	for key, text := range want {
		if made, err := b.Put(ctx, key, fileOf(t, text)); !made || err != nil {
			t.Errorf("put %s: %v, %v", key, made, err)
		}
		if made, err := b.Put(ctx, key, fileOf(t, "another")); made || err != nil {
			t.Errorf("put %s again: %v, %v", key, made, err)
		}
	}
	for key, text := range want {
		if got := read(t, b, key); got != text {
			t.Errorf("%s has %d bytes, want %d", key, len(got), len(text))
		}
	}
	keys, err := b.List(ctx, "a=1")
	if err != nil || !slices.Equal(keys, []string{"a=1/x", "a=1/y"}) {
		t.Errorf("keys %q, %v", keys, err)
	}
	if keys, err = b.List(ctx, ""); err != nil || len(keys) != len(want) {
		t.Errorf("all keys %q, %v", keys, err)
	}
	if err := b.Get(ctx, "none", io.Discard); !errors.Is(err, ErrNone) {
		t.Errorf("what is not there: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if made, err := b.Put(ended, "late", fileOf(t, large)); made || err == nil {
		t.Errorf("a put that was cancelled: %v, %v", made, err)
	}
	if keys, err := b.List(ctx, "late"); err != nil || len(keys) != 0 {
		t.Errorf("it left %q, %v", keys, err)
	}
}

// TestSignatures compares with the signatures that Amazon's documentation works out for S3, header and address.
func TestSignatures(t *testing.T) {
	s := signer{id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region: "us-east-1"}
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	u := &url.URL{Scheme: "https", Host: "examplebucket.s3.amazonaws.com", Path: "/test.txt"}
	r := &http.Request{Method: "GET", URL: u, Header: http.Header{"Range": {"bytes=0-9"}}}
	s.sign(r, at, sum(nil))
	const header = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
	if got := r.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+header) {
		t.Errorf("authorization %s, want signature %s", got, header)
	}
	r = &http.Request{Method: "GET", URL: u, Header: http.Header{}}
	s.presign(r, at, 24*time.Hour)
	const address = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
	if got := r.URL.Query().Get("X-Amz-Signature"); got != address {
		t.Errorf("signature %s, want %s", got, address)
	}
}

// TestInterruptedPut: a connection that breaks is tried again, and a store that refuses at once is heard.
func TestInterruptedPut(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var answers = []string{"", "HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 403 Forbidden\r\nContent-Length: 46\r\n\r\n<Error><Code>AccessDenied</Code></Error>      "}
	done := make(chan int)
	go func() {
		n := 0
		for ; n < len(answers); n++ {
			c, err := l.Accept()
			if err != nil {
				break
			}
			_, _ = io.ReadFull(c, make([]byte, 100)) // and not all of it
			_, _ = io.WriteString(c, answers[n])
			_ = c.Close()
		}
		done <- n
	}()
	env := map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b",
		"AWS_ENDPOINT_URL": "http://" + l.Addr().String()}
	b, err := Open("s3://traces", func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Put(t.Context(), "k", fileOf(t, string(bytes.Repeat([]byte("x"), 1000))))
	_ = l.Close()
	if n := <-done; n != 3 || codeOf(err) != fault.PermissionDenied || !strings.Contains(fmt.Sprint(err), "AccessDenied") {
		t.Errorf("after %d answers: %v", n, err)
	}
}
