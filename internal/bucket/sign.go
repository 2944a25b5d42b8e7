package bucket

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// signer signs requests as Amazon's Signature Version 4 has it.
type signer struct{ id, secret, token, region string }

const (
	signAlgorithm = "AWS4-HMAC-SHA256"
	signTime      = "20060102T150405Z"
	unsigned      = "UNSIGNED-PAYLOAD"
)

// sum is the hash of a text, in hexadecimal.
func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text)) // a hash's Write has no error
	return h.Sum(nil)
}

// escape writes a text as the signature wants it in paths and queries; slashes of a path stay.
func escape(s string, path bool) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-_.~", c) >= 0,
			path && c == '/':
			b.WriteByte(c)
		default:
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)+256, 16)[1:]))
		}
	}
	return b.String()
}

// query writes values in the order of their names, escaped.
func query(v url.Values) string {
	var parts []string
	for name, values := range v {
		for _, value := range values {
			parts = append(parts, escape(name, false)+"="+escape(value, false))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "&")
}

// headers returns the names of a request's headers that are signed, and the canonical form of them all.
func headers(r *http.Request) (names, canonical string) {
	lines := []string{"host:" + r.URL.Host + "\n"}
	list := []string{"host"}
	for name, values := range r.Header {
		name = strings.ToLower(name)
		list = append(list, name)
		lines = append(lines, name+":"+strings.TrimSpace(strings.Join(values, ","))+"\n")
	}
	slices.Sort(list)
	slices.Sort(lines) // a colon sorts behind a hyphen: names are no prefixes of each other here
	return strings.Join(list, ";"), strings.Join(lines, "")
}

// scope is what a signature holds for.
func (s *signer) scope(now time.Time) string {
	return now.Format("20060102") + "/" + s.region + "/s3/aws4_request"
}

func (s *signer) signature(r *http.Request, now time.Time, payload string) string {
	names, canonical := headers(r)
	request := strings.Join([]string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, canonical, names, payload}, "\n")
	text := strings.Join([]string{signAlgorithm, now.Format(signTime), s.scope(now), sum([]byte(request))}, "\n")
	key := []byte("AWS4" + s.secret)
	for _, part := range []string{now.Format("20060102"), s.region, "s3", "aws4_request"} {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, text))
}

// sign adds the headers that show who asks; payload is the hash of the body.
func (s *signer) sign(r *http.Request, now time.Time, payload string) {
	now = now.UTC()
	r.Header.Set("X-Amz-Date", now.Format(signTime))
	r.Header.Set("X-Amz-Content-Sha256", payload)
	if s.token != "" {
		r.Header.Set("X-Amz-Security-Token", s.token)
	}
	names, _ := headers(r)
	signature := s.signature(r, now, payload)
	r.Header.Set("Authorization", signAlgorithm+" Credential="+s.id+"/"+s.scope(now)+", SignedHeaders="+names+
		", Signature="+signature)
}

// presign puts the signature into the request's address, which then does this once or often, until it expires, with the
// request's headers and no others.
func (s *signer) presign(r *http.Request, now time.Time, expires time.Duration) {
	now = now.UTC()
	names, _ := headers(r)
	q := r.URL.Query()
	q.Set("X-Amz-Algorithm", signAlgorithm)
	q.Set("X-Amz-Credential", s.id+"/"+s.scope(now))
	q.Set("X-Amz-Date", now.Format(signTime))
	q.Set("X-Amz-Expires", strconv.Itoa(int(expires/time.Second)))
	q.Set("X-Amz-SignedHeaders", names)
	if s.token != "" {
		q.Set("X-Amz-Security-Token", s.token)
	}
	r.URL.RawQuery = query(q)
	r.URL.RawQuery += "&X-Amz-Signature=" + s.signature(r, now, unsigned)
}
