package bucket

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/fault"
)

const (
	// maxPut is what S3 takes in one request.
	maxPut = 5 << 30
	// attempts at a request whose answer says that the store is busy, or that did not come through.
	attempts   = 4
	firstPause = 200 * time.Millisecond
	// headerTimeout bounds how long the store may think about a request.
	headerTimeout = 60 * time.Second
	maxError      = 64 << 10
)

// s3 is a bucket of a store that speaks S3's protocol.
type s3 struct {
	name, prefix string // prefix ends with a slash, or is ""
	base         url.URL
	hosted       bool // the bucket is in the host's name, not in the path
	signer       signer
}

var bucketName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{1,62}$`)

// openS3 takes credentials and endpoint where Amazon's own programs do: in AWS_ variables of the environment.
func openS3(rest string, env func(string) string) (Bucket, error) {
	name, prefix, _ := strings.Cut(rest, "/")
	if !bucketName.MatchString(name) {
		return nil, fault.New(fault.ValidationError, "Give s3://BUCKET/PREFIX.", "%q is no bucket's name", name)
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	region := cmp.Or(env("AWS_REGION"), env("AWS_DEFAULT_REGION"), "us-east-1")
	b := &s3{name: name, prefix: prefix, signer: signer{id: env("AWS_ACCESS_KEY_ID"), secret: env("AWS_SECRET_ACCESS_KEY"),
		token: env("AWS_SESSION_TOKEN"), region: region}}
	if b.signer.id == "" || b.signer.secret == "" {
		return nil, fault.New(fault.PermissionDenied, "Set both; `aws configure export-credentials --format env` prints "+
			"those of a profile.", "no credentials for %s: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set",
			"s3://"+name)
	}
	if endpoint := cmp.Or(env("AWS_ENDPOINT_URL_S3"), env("AWS_ENDPOINT_URL")); endpoint != "" {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fault.New(fault.ValidationError, "Write it as https://HOST:PORT.", "AWS_ENDPOINT_URL is %q", endpoint)
		}
		b.base = url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}
	} else {
		b.base = url.URL{Scheme: "https", Host: "s3." + region + ".amazonaws.com"}
		if b.hosted = !strings.Contains(name, "."); b.hosted { // a certificate does not hold for names with dots
			b.base.Host = name + "." + b.base.Host
		}
	}
	return b, nil
}

func (b *s3) Where() string { return strings.TrimSuffix("s3://"+b.name+"/"+b.prefix, "/") }

// address is that of a key; "" is the bucket's own.
func (b *s3) address(key string, q url.Values) *url.URL {
	u := b.base
	if !b.hosted {
		u.Path += "/" + b.name
	}
	if key != "" || b.hosted {
		u.Path += "/" + key
	}
	u.RawPath, u.RawQuery = escape(u.Path, true), query(q)
	return &u
}

// network is the error of a request that was not answered.
type network struct{ error }

func (n *network) Unwrap() error { return n.error }

// refusal is an answer that is no success.
type refusal struct {
	status     int
	Code       string `xml:"Code"`
	Message    string `xml:"Message"`
	BucketName string `xml:"BucketName"`
}

func (r *refusal) Error() string {
	code := cmp.Or(r.Code, http.StatusText(r.status))
	return fmt.Sprintf("%d %s: %s", r.status, code, strings.TrimSuffix(r.Message, "."))
}

func (r *refusal) busy() bool {
	return r.status >= 500 && r.status != http.StatusNotImplemented || r.status == http.StatusTooManyRequests ||
		r.Code == "ConditionalRequestConflict" || r.Code == "RequestTimeout"
}

func refusalOf(resp *http.Response) *refusal {
	r := &refusal{status: resp.StatusCode}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil || xml.Unmarshal(body, r) != nil {
		r.Message = strings.TrimSpace(string(body[:min(len(body), 200)]))
	}
	return r
}

// send sends a request until it is answered; make makes it anew each time. It returns a success, or an error.
func send(ctx context.Context, make func() (*http.Request, error)) (*http.Response, error) {
	var failed error
	pause := firstPause
	for n := range attempts {
		if n > 0 {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(pause):
				pause *= 3
			}
		}
		r, err := make()
		if err != nil {
			return nil, err
		}
		resp, err := RoundTrip(ctx, r)
		if err != nil {
			failed = &network{err}
			if ctx.Err() != nil {
				return nil, failed
			}
			continue
		}
		if resp.StatusCode/100 == 2 {
			return resp, nil
		}
		no := refusalOf(resp)
		_ = resp.Body.Close() // it is read
		if failed = no; !no.busy() {
			return nil, no
		}
	}
	return nil, failed
}

// explain makes of an error what a user can act on.
func (b *s3) explain(what string, err error) error { return explain(b.Where(), b.base.Host, what, err) }

func explain(where, host, what string, err error) error {
	var no *refusal
	var down *network
	switch {
	case errors.As(err, &no) && no.Code == "NoSuchBucket":
		return fault.New(fault.ValidationError, "Make the bucket, or name another one.", "%s: %s: %w", what, where, err)
	case errors.As(err, &no) && (no.status == http.StatusForbidden || no.status == http.StatusUnauthorized ||
		no.Code == "XAdminUserNotFound"): // which is a 404 in versitygw
		return fault.New(fault.PermissionDenied, "Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and what the "+
			"bucket's policy allows them.", "%s: %s refuses: %w", what, where, err)
	case errors.As(err, &no) && no.status == http.StatusNotFound:
		return fmt.Errorf("%s: %s: %w", what, where, errors.Join(err, ErrNone))
	case errors.As(err, &down):
		return fault.New(fault.Unreachable, "Check AWS_ENDPOINT_URL and the network; nothing half done is left there.",
			"%s: %s does not answer: %w", what, host, down.error)
	}
	return fmt.Errorf("%s: %s: %w", what, where, err)
}

func (b *s3) Put(ctx context.Context, key, file string) (bool, error) {
	hash, size, err := hashOf(file)
	if err != nil {
		return false, err
	}
	if size > maxPut {
		return false, fault.New(fault.Unsupported, "Record less, or lower events.maxBytesPerSession.",
			"%s has %d bytes; a store takes 5 GB in one piece", key, size)
	}
	to := b.address(b.prefix+key, nil)
	resp, err := send(ctx, func() (*http.Request, error) {
		r, err := putRequest(to, file, size)
		if err == nil {
			b.signer.sign(r, time.Now(), hash)
		}
		return r, err
	})
	made, err := putAnswer(resp, err)
	if err != nil {
		return false, b.explain("put "+key, err)
	}
	return made, nil
}

// putRequest sends a file unless its name is taken.
func putRequest(to *url.URL, file string, size int64) (*http.Request, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read what is to be kept: %w", err)
	}
	r := &http.Request{Method: http.MethodPut, URL: to, Header: http.Header{}, ContentLength: size, Body: f}
	if size == 0 {
		_ = f.Close() // nothing is read of it
		r.Body = http.NoBody
	}
	r.Header.Set("If-None-Match", "*")
	return r, nil
}

// putAnswer says whether an object was made.
func putAnswer(resp *http.Response, err error) (bool, error) {
	var no *refusal
	if errors.As(err, &no) && no.status == http.StatusPreconditionFailed {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, resp.Body.Close()
}

func hashOf(file string) (hash string, size int64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", 0, fmt.Errorf("read what is to be kept: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return "", 0, fmt.Errorf("read what is to be kept: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// get asks for something that is not large, or streams it.
func (b *s3) get(ctx context.Context, key string, q url.Values) (*http.Response, error) {
	return send(ctx, func() (*http.Request, error) {
		r := &http.Request{Method: http.MethodGet, URL: b.address(key, q), Header: http.Header{}}
		b.signer.sign(r, time.Now(), sum(nil))
		return r, nil
	})
}

func (b *s3) Get(ctx context.Context, key string, w io.Writer) (err error) {
	resp, err := b.get(ctx, b.prefix+key, nil)
	if err != nil {
		return b.explain("get "+key, err)
	}
	defer resp.Body.Close()
	n, err := io.Copy(w, resp.Body)
	if err == nil && resp.ContentLength >= 0 && n != resp.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return b.explain("get "+key, err)
	}
	return nil
}

func (b *s3) List(ctx context.Context, prefix string) (keys []string, err error) {
	q := url.Values{"list-type": {"2"}, "prefix": {b.prefix + prefix}}
	for {
		resp, err := b.get(ctx, "", q)
		if err != nil {
			return nil, b.explain("list "+prefix, err)
		}
		var page struct {
			Contents []struct{ Key string }
			Next     string `xml:"NextContinuationToken"`
		}
		err = errors.Join(xml.NewDecoder(resp.Body).Decode(&page), resp.Body.Close())
		if err != nil {
			return nil, b.explain("list "+prefix, err)
		}
		for _, c := range page.Contents {
			keys = append(keys, strings.TrimPrefix(c.Key, b.prefix))
		}
		if page.Next == "" {
			return keys, nil
		}
		q.Set("continuation-token", page.Next)
	}
}
