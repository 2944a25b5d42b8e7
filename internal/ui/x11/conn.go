// Package x11 owns a small client of the X server: windows, their properties and pictures, and input by the XTEST
// extension. It speaks the core protocol and three extensions by hand: what is needed of it is some twenty requests.
//
// It stands beside atspi at the bottom of ui. A reply is waited for where it is asked for, under a deadline; a server
// that does not answer, or damaged bytes, are errors.
package x11

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Window is the server's id of a window.
type Window uint32

// answerMax bounds the wait for one reply: a server that is there answers within milliseconds.
const answerMax = 5 * time.Second

// Conn is a connection to a server. Safe for concurrent use.
type Conn struct {
	Root          Window
	Width, Height int

	mu    sync.Mutex // held over a request and its reply
	c     net.Conn
	in    *bufio.Reader
	seq   uint16
	base  uint32 // of ids that are ours
	mask  uint32
	next  uint32
	depth byte // of the root
	low   byte // keycodes
	high  byte
	atoms map[string]uint32
	bad   error // the connection cannot be used any more

	xtest, composite, res byte // major opcodes; 0: the server has it not
	spare                 *spareKeys
}

// ErrServer is an error that the server sent.
type ErrServer struct{ Code, Major byte }

func (e *ErrServer) Error() string {
	return fmt.Sprintf("the X server refuses request %d with error %d", e.Major, e.Code)
}

// Dial connects to a display (":77", "unix:77", "host:0" is not reached). authority is the file with cookies, "" for
// none.
func Dial(ctx context.Context, display, authority string) (*Conn, error) {
	host, rest, ok := strings.Cut(display, ":")
	number, _, _ := strings.Cut(rest, ".")
	if _, err := strconv.Atoi(number); !ok || err != nil || host != "" && host != "unix" && host != "localhost" {
		return nil, fmt.Errorf("connect to X server: display %q is none of this machine", display)
	}
	var d net.Dialer
	path := "/tmp/.X11-unix/X" + number
	nc, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		var again error
		if nc, again = d.DialContext(ctx, "unix", "@"+path); again != nil {
			return nil, fmt.Errorf("connect to X server %s: %w", display, err)
		}
	}
	c := &Conn{c: nc, in: bufio.NewReaderSize(nc, 64<<10), atoms: map[string]uint32{}}
	if err := c.setup(cookie(authority, number)); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to X server %s: %w", display, err), nc.Close())
	}
	for name, into := range map[string]*byte{"XTEST": &c.xtest, "Composite": &c.composite, "X-Resource": &c.res} {
		if *into, err = c.extension(name); err != nil {
			return nil, errors.Join(err, nc.Close())
		}
	}
	if c.composite != 0 { // it answers nothing before it was asked for its version
		_, err = c.ask(c.composite, 0, u32(0), u32(4))
	}
	if err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	return c, nil
}

// Close ends the connection.
func (c *Conn) Close() error { return c.c.Close() }

const cookieName = "MIT-MAGIC-COOKIE-1"

// cookie finds the secret for a display in an authority file.
func cookie(file, number string) []byte {
	if file == "" {
		return nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for len(b) >= 2 {
		b = b[2:] // family: a local server takes any
		var fields [4]string
		for i := range fields {
			if len(b) < 2 {
				return nil
			}
			n := int(binary.BigEndian.Uint16(b))
			if b = b[2:]; len(b) < n {
				return nil
			}
			fields[i], b = string(b[:n]), b[n:]
		}
		if (fields[1] == "" || fields[1] == number) && fields[2] == cookieName {
			return []byte(fields[3])
		}
	}
	return nil
}

// Authority is the content of an authority file by which any display takes this secret.
func Authority(secret []byte) []byte {
	b := []byte{0xff, 0xff, 0, 0, 0, 0} // any family, no address, any number
	b = binary.BigEndian.AppendUint16(b, uint16(len(cookieName)))
	b = append(b, cookieName...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(secret)))
	return append(b, secret...)
}

func pad(n int) int { return (4 - n%4) % 4 }

func u32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }

func u16(v uint16) []byte { return binary.LittleEndian.AppendUint16(nil, v) }

func (c *Conn) setup(secret []byte) error {
	name := ""
	if secret != nil {
		name = cookieName
	}
	b := []byte{'l', 0, 11, 0, 0, 0}
	b = append(b, u16(uint16(len(name)))...)
	b = append(b, u16(uint16(len(secret)))...)
	b = append(b, 0, 0)
	b = append(append(b, name...), make([]byte, pad(len(name)))...)
	b = append(append(b, secret...), make([]byte, pad(len(secret)))...)
	if err := c.c.SetDeadline(time.Now().Add(answerMax)); err != nil {
		return err
	}
	if _, err := c.c.Write(b); err != nil {
		return err
	}
	head := make([]byte, 8)
	if _, err := io.ReadFull(c.in, head); err != nil {
		return err
	}
	body := make([]byte, 4*int(binary.LittleEndian.Uint16(head[6:])))
	if _, err := io.ReadFull(c.in, body); err != nil {
		return err
	}
	if head[0] != 1 {
		return fmt.Errorf("it refuses: %s", strings.TrimSpace(string(body[:min(int(head[1]), len(body))])))
	}
	if len(body) < 32 {
		return errShort
	}
	c.base, c.mask = binary.LittleEndian.Uint32(body[4:]), binary.LittleEndian.Uint32(body[8:])
	c.low, c.high = body[26], body[27]
	vendor := int(binary.LittleEndian.Uint16(body[16:]))
	screen := 32 + vendor + pad(vendor) + 8*int(body[21])
	if len(body) < screen+40 {
		return errShort
	}
	s := body[screen:]
	c.Root = Window(binary.LittleEndian.Uint32(s))
	c.Width, c.Height = int(binary.LittleEndian.Uint16(s[20:])), int(binary.LittleEndian.Uint16(s[22:]))
	c.depth = s[38]
	return nil
}

var errShort = errors.New("the X server's answer is cut off")

// newID is an id for a resource of ours.
func (c *Conn) newID() uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return c.base | c.next&c.mask
}

// request is the bytes of a request.
func request(major, data byte, parts ...[]byte) []byte {
	b := []byte{major, data, 0, 0}
	for _, p := range parts {
		b = append(b, p...)
	}
	b = append(b, make([]byte, pad(len(b)))...)
	binary.LittleEndian.PutUint16(b[2:], uint16(len(b)/4))
	return b
}

// ask sends a request and returns its reply.
func (c *Conn) ask(major, data byte, parts ...[]byte) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.askLocked(request(major, data, parts...))
}

func (c *Conn) askLocked(req []byte) ([]byte, error) {
	if err := c.sendLocked(req); err != nil {
		return nil, err
	}
	return c.replyLocked(c.seq)
}

// do sends requests without replies, and waits until the server has done them.
func (c *Conn) do(reqs ...[]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range reqs {
		if err := c.sendLocked(r); err != nil {
			return err
		}
	}
	_, err := c.askLocked(request(43, 0)) // GetInputFocus: what came before is done
	return err
}

func (c *Conn) sendLocked(req []byte) error {
	if c.bad != nil {
		return c.bad
	}
	c.seq++
	err := c.c.SetDeadline(time.Now().Add(answerMax))
	if err == nil {
		_, err = c.c.Write(req)
	}
	if err != nil {
		c.bad = fmt.Errorf("ask the X server: %w", err)
	}
	return c.bad
}

// replyLocked reads until the reply of a request; events are passed over. An error of an earlier one is returned.
func (c *Conn) replyLocked(seq uint16) (reply []byte, err error) {
	var refused error
	for {
		head := make([]byte, 32)
		if _, err := io.ReadFull(c.in, head); err != nil {
			c.bad = fmt.Errorf("read the X server's answer: %w", err)
			return nil, c.bad
		}
		at := binary.LittleEndian.Uint16(head[2:])
		switch head[0] {
		case 0:
			refused = &ErrServer{head[1], head[10]}
			if at == seq {
				return nil, refused
			}
		case 1:
			n := int(binary.LittleEndian.Uint32(head[4:]))
			if n > 1<<26 {
				c.bad = errShort
				return nil, c.bad
			}
			body := make([]byte, 4*n)
			if _, err := io.ReadFull(c.in, body); err != nil {
				c.bad = fmt.Errorf("read the X server's answer: %w", err)
				return nil, c.bad
			}
			if at == seq {
				return append(head, body...), refused
			}
		}
	}
}

func (c *Conn) extension(name string) (byte, error) {
	r, err := c.ask(98, 0, u16(uint16(len(name))), u16(0), []byte(name))
	if err != nil || r[8] == 0 {
		return 0, err
	}
	return r[9], nil
}

// Atom returns the number of a name.
func (c *Conn) Atom(name string) (uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, ok := c.atoms[name]; ok {
		return a, nil
	}
	r, err := c.askLocked(request(16, 0, u16(uint16(len(name))), u16(0), []byte(name)))
	if err != nil {
		return 0, err
	}
	a := binary.LittleEndian.Uint32(r[8:])
	c.atoms[name] = a
	return a, nil
}

// Ping reports whether the server still answers.
func (c *Conn) Ping() error { return c.do() }
