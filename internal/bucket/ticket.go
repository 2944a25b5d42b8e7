package bucket

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
)

// maxTicket is how long S3 lets a signed address hold.
const maxTicket = 7 * 24 * time.Hour

// Presigner is a bucket that gives out addresses by which others, who have no credentials, put one object each.
type Presigner interface {
	Presign(key string, expires time.Duration) (address string, err error)
}

// Presign returns an address that makes the object key, once, until it expires.
func (b *s3) Presign(key string, expires time.Duration) (string, error) {
	if expires < time.Second || expires > maxTicket {
		return "", fault.New(fault.ValidationError, "Give 1s to 168h.", "an address that holds for %s", expires)
	}
	r := &http.Request{Method: http.MethodPut, URL: b.address(b.prefix+key, nil), Header: http.Header{}}
	r.Header.Set("If-None-Match", "*")
	b.signer.presign(r, time.Now(), expires)
	return r.URL.String(), nil
}

// Ticket is a bucket that only takes objects for which it has an address, by key.
type Ticket map[string]string

func (t Ticket) Put(ctx context.Context, key, file string) (bool, error) {
	to, err := url.Parse(t[key])
	if err != nil || to.Host == "" {
		return false, fault.New(fault.ValidationError, "Ask for another ticket: strobe push --presign.",
			"the ticket has no place for %s", key)
	}
	_, size, err := hashOf(file)
	if err != nil {
		return false, err
	}
	resp, err := send(ctx, func() (*http.Request, error) { return putRequest(to, file, size) })
	made, err := putAnswer(resp, err)
	if err != nil {
		return false, explain("the ticket's address", to.Host, "put "+key, err)
	}
	return made, nil
}

func (t Ticket) Get(context.Context, string, io.Writer) error { return errWriteOnly }

func (t Ticket) List(context.Context, string) ([]string, error) { return nil, errWriteOnly }

func (t Ticket) Where() string { return "ticket" }

var errWriteOnly = errors.New("a ticket gives nothing back")
