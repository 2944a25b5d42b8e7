// Package websocket is the client's side of RFC 6455, as much of it as channels and the inspectors of JavaScript
// engines need: text, binary, ping, close; no extensions. It knows nothing of what is said.
package websocket

import (
	"bufio"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // the protocol's own
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Conn is a WebSocket. One goroutine may read while another one writes.
type Conn struct {
	conn net.Conn
	r    *bufio.Reader
}

const (
	wsGUID       = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
	maxWSMessage = 16 << 20

	wsContinued = 0
	wsText      = 1
	wsBinary    = 2
	wsClose     = 8
	wsPing      = 9
	wsPong      = 10
)

// Upgrade makes a WebSocket of a connection.
func Upgrade(c net.Conn, path string, within time.Duration) (*Conn, error) {
	c.SetDeadline(time.Now().Add(within)) //nolint:errcheck // reads say so
	defer c.SetDeadline(time.Time{})      //nolint:errcheck // as above
	var nonce [16]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, err
	}
	key := base64.StdEncoding.EncodeToString(nonce[:])
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return nil, fault.New(fault.ValidationError, "Give a path: /socket.", "webSocket %q: %w", path, err)
	}
	req := &http.Request{Method: "GET", URL: u, Host: c.RemoteAddr().String(), Header: http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {key}}}
	if err := req.Write(c); err != nil {
		return nil, err
	}
	w := &Conn{c, bufio.NewReader(c)}
	res, err := http.ReadResponse(w.r, req)
	if err != nil {
		return nil, err
	}
	sum := sha1.Sum([]byte(key + wsGUID)) //nolint:gosec // as above
	if res.StatusCode != http.StatusSwitchingProtocols ||
		res.Header.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]) {
		return nil, fmt.Errorf("%s is no WebSocket: the answer is %s", path, res.Status)
	}
	return w, nil
}

// Read returns the next message; io.EOF when the other side closed.
func (w *Conn) Read() ([]byte, error) {
	var message []byte
	for {
		op, fin, data, err := readFrame(w.r)
		if err != nil {
			return nil, err
		}
		switch op {
		case wsPing:
			err = w.frame(wsPong, data)
		case wsClose:
			w.frame(wsClose, data) //nolint:errcheck // it is over
			return nil, io.EOF
		case wsText, wsBinary, wsContinued:
			if message = append(message, data...); len(message) > maxWSMessage {
				return nil, errors.New("a WebSocket message of over 16 MB")
			}
			if fin {
				return message, nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// readFrame reads one frame of a server, which are not masked.
func readFrame(r io.Reader) (op byte, fin bool, data []byte, err error) {
	var head [2]byte
	if _, err = io.ReadFull(r, head[:]); err != nil {
		return 0, false, nil, err
	}
	size := uint64(head[1] & 0x7f)
	switch size {
	case 126:
		var b [2]byte
		_, err = io.ReadFull(r, b[:])
		size = uint64(binary.BigEndian.Uint16(b[:]))
	case 127:
		var b [8]byte
		_, err = io.ReadFull(r, b[:])
		size = binary.BigEndian.Uint64(b[:])
	}
	var mask [4]byte
	if err == nil && head[1]&0x80 != 0 {
		_, err = io.ReadFull(r, mask[:])
	}
	if err != nil {
		return 0, false, nil, err
	}
	if size > maxWSMessage {
		return 0, false, nil, errors.New("a WebSocket frame of over 16 MB")
	}
	// Read as it comes: a length that is a lie takes no memory.
	if data, err = io.ReadAll(io.LimitReader(r, int64(size))); err == nil && uint64(len(data)) < size {
		err = io.ErrUnexpectedEOF
	}
	for i := range data {
		data[i] ^= mask[i%4]
	}
	return head[0] & 0xf, head[0]&0x80 != 0, data, err
}

// Write sends a message: text where it is UTF-8.
func (w *Conn) Write(data []byte) error {
	op := byte(wsBinary)
	if utf8.Valid(data) {
		op = wsText
	}
	return w.frame(op, data)
}

// frame sends one frame, masked as a client's must be.
func (w *Conn) frame(op byte, data []byte) error {
	b := []byte{0x80 | op}
	switch n := len(data); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	var mask [4]byte
	if _, err := rand.Read(mask[:]); err != nil {
		return err
	}
	b = append(b, mask[:]...)
	for i, c := range data {
		b = append(b, c^mask[i%4])
	}
	_, err := w.conn.Write(b)
	return err
}
