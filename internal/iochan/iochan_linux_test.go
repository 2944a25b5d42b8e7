package iochan

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

// recorder is a sink that keeps chunks, or only their sum when they are many.
type recorder struct {
	mu     sync.Mutex
	chunks []chunk
	sum    hash.Hash
	bytes  int64
	hold   chan struct{} // if set, the sink waits for it
}

func (r *recorder) sink(s Stream, ts int64, data []byte) {
	if r.hold != nil {
		<-r.hold
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(data) == 0 || len(data) > MaxChunk {
		panic(fmt.Sprintf("chunk of %d bytes", len(data)))
	}
	r.bytes += int64(len(data))
	if r.sum != nil {
		r.sum.Write(data)
		return
	}
	r.chunks = append(r.chunks, chunk{s, ts, bytes.Clone(data)})
}

func (r *recorder) text(s Stream) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, c := range r.chunks {
		if c.stream == s {
			b.Write(c.data)
		}
	}
	return b.String()
}

func (r *recorder) list() []chunk {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]chunk(nil), r.chunks...)
}

// run starts a shell script on ch.
func run(t *testing.T, ch Standard, opt Options, r *recorder, script string) (*Conn, *exec.Cmd) {
	t.Helper()
	opt.Clock = Monotonic
	c, err := ch.Open(opt, r.sink)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: ch == Terminal}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.Started()
	t.Cleanup(func() {
		c.Close()
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
	return c, cmd
}

func wait(t *testing.T, c *Conn) {
	t.Helper()
	select {
	case <-c.Done():
	case <-time.After(60 * time.Second):
		t.Fatal("streams did not end")
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("not within 10 s: %s", what)
		}
		<-time.After(time.Millisecond)
	}
}

func TestBytesAndStreams(t *testing.T) {
	r := &recorder{}
	c, _ := run(t, Pipes, Options{Input: "one\ntwo"}, r, `cat; printf 'a\000b\377\n'; printf 'oops' >&2`)
	wait(t, c)
	if got, want := r.text(Stdout), "one\ntwoa\x00b\xff\n"; got != want {
		t.Errorf("stdout = %q, want %q", got, want)
	}
	if got := r.text(Stderr); got != "oops" {
		t.Errorf("stderr = %q", got)
	}
}

func TestOrderBetweenStreams(t *testing.T) {
	r := &recorder{}
	// One step per line sent, so that a busy machine cannot let both streams become readable at once.
	c, _ := run(t, Pipes, Options{KeepInput: true}, r,
		`for i in 1 2 3 4 5; do read x; printf "o$i"; read x; printf "e$i" >&2; done`)
	for i := range 10 {
		if _, err := c.Write(context.Background(), []byte("\n")); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the next piece", func() bool { return len(r.text(Stdout))+len(r.text(Stderr)) == 2*(i+1) })
	}
	wait(t, c)
	var b strings.Builder
	last := int64(0)
	for _, ch := range r.list() {
		b.Write(ch.data)
		if ch.ts < last {
			t.Errorf("time goes back at %q", ch.data)
		}
		last = ch.ts
	}
	if got, want := b.String(), "o1e1o2e2o3e3o4e4o5e5"; got != want {
		t.Errorf("order = %q, want %q", got, want)
	}
}

func TestLinesStayWhole(t *testing.T) {
	r := &recorder{}
	c, _ := run(t, Pipes, Options{}, r, `seq 1 200000`)
	wait(t, c)
	cut := 0
	for _, ch := range r.list() {
		if ch.data[len(ch.data)-1] != '\n' {
			cut++
		}
	}
	if cut > 6 { // seq writes 315 blocks that end anywhere; a busy machine may pause for lineQuiet between some
		t.Errorf("%d of %d chunks end inside a line", cut, len(r.list()))
	}
	if got := len(r.text(Stdout)); got != 1288895 {
		t.Errorf("%d bytes, want 1288895", got)
	}
}

func TestPromptComesWithoutNewline(t *testing.T) {
	r := &recorder{}
	c, _ := run(t, Pipes, Options{KeepInput: true}, r, `printf 'name? '; read n; echo "hello $n"`)
	eventually(t, "prompt", func() bool { return r.text(Stdout) == "name? " })
	if _, err := c.Write(context.Background(), []byte("bob\n")); err != nil {
		t.Fatal(err)
	}
	wait(t, c)
	if got := r.text(Stdout); got != "name? hello bob\n" {
		t.Errorf("stdout = %q", got)
	}
}

func TestUTF8IsNotSplit(t *testing.T) {
	r := &recorder{}
	// The two halves of the letter come 10 ms apart: more than lineQuiet.
	c, _ := run(t, Pipes, Options{tailQuiet: time.Minute}, r,
		`printf 'x\303'; sleep 0.01; printf '\244y'; sleep 0.2; printf '!'`)
	wait(t, c)
	if got := r.text(Stdout); got != "xäy!" {
		t.Fatalf("stdout = %q", got)
	}
	for _, ch := range r.list() {
		if !utf8.Valid(ch.data) {
			t.Errorf("chunk %q is cut inside a sequence", ch.data)
		}
	}
	// A sequence of which no rest comes is not waited for.
	r = &recorder{}
	c, _ = run(t, Pipes, Options{KeepInput: true}, r, `printf '\303'; read n; printf '!'`)
	eventually(t, "half a letter", func() bool { return r.text(Stdout) == "\xc3" })
	if _, err := c.Write(context.Background(), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	wait(t, c)
	if got := r.text(Stdout); got != "\xc3!" {
		t.Errorf("stdout = %q", got)
	}
	// A long line of three-byte letters, cut by size.
	r = &recorder{}
	c, _ = run(t, Pipes, Options{tailQuiet: time.Minute}, r, `head -c 900000 /dev/zero | sed 's/\x00/€/g'`)
	wait(t, c)
	for _, ch := range r.list() {
		if !utf8.Valid(ch.data) {
			t.Fatalf("chunk of %d bytes is cut inside a sequence", len(ch.data))
		}
	}
}

func TestHugeLine(t *testing.T) {
	const size = 100 << 20
	r := &recorder{sum: sha256.New()}
	c, _ := run(t, Pipes, Options{}, r, fmt.Sprintf("head -c %d /dev/zero", size))
	wait(t, c)
	want := sha256.New()
	zeros := make([]byte, 1<<20)
	for range size >> 20 {
		want.Write(zeros)
	}
	if r.bytes != size || !bytes.Equal(r.sum.Sum(nil), want.Sum(nil)) {
		t.Errorf("got %d bytes, want %d", r.bytes, size)
	}
}

// A store that hangs must not hold the program as long as the queue has room.
func TestProgramRunsWhileSinkWaits(t *testing.T) {
	r := &recorder{hold: make(chan struct{})}
	c, cmd := run(t, Pipes, Options{}, r, `head -c 50000000 /dev/zero`)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	close(r.hold)
	wait(t, c)
	if r.bytes != 50000000 {
		t.Errorf("%d bytes", r.bytes)
	}
}

func TestQueueIsBounded(t *testing.T) {
	r := &recorder{hold: make(chan struct{})}
	opt := Options{Clock: Monotonic}
	c := newConn(opt, r.sink)
	c.maxQueue = 1 << 20
	if err := c.openPipes(opt); err != nil {
		t.Fatal(err)
	}
	c.start(opt)
	cmd := exec.Command("head", "-c", "8000000", "/dev/zero")
	cmd.Stdout = c.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.Started()
	eventually(t, "full queue", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.queued >= 1<<20 })
	c.mu.Lock()
	if c.queued > 1<<20+2*MaxChunk {
		t.Errorf("queue holds %d bytes", c.queued)
	}
	c.mu.Unlock()
	close(r.hold)
	cmd.Wait()
	wait(t, c)
	c.Close()
	if r.bytes != 8000000 {
		t.Errorf("%d bytes", r.bytes)
	}
}

func TestFlushSeesWhatWasWritten(t *testing.T) {
	r := &recorder{}
	opt := Options{Clock: Monotonic}
	c, err := Pipes.Open(opt, r.sink)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var want strings.Builder
	for i := range 300 {
		text := fmt.Sprintf("part %d ", i) // no line end
		want.WriteString(text)
		c.Stdout.WriteString(text)
		if err := c.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r.text(Stdout) != want.String() {
			t.Fatalf("after write %d: %d bytes, want %d", i, len(r.text(Stdout)), want.Len())
		}
	}
	r.hold = make(chan struct{})
	c.Stdout.WriteString("x")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := c.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Flush with a stuck sink = %v", err)
	}
	close(r.hold)
}

func TestGrandchildKeepsPipe(t *testing.T) {
	r := &recorder{}
	c, cmd := run(t, Pipes, Options{}, r, `(sleep 0.6; echo late) & echo early`)
	cmd.Wait()
	if c.Settle(context.Background(), 100*time.Millisecond) {
		t.Error("Settle says all streams ended")
	}
	if got := r.text(Stdout); got != "early\n" {
		t.Errorf("stdout = %q", got)
	}
	wait(t, c)
	if got := r.text(Stdout); got != "early\nlate\n" {
		t.Errorf("in the end stdout = %q", got)
	}
}

func TestTerminal(t *testing.T) {
	r := &recorder{}
	c,
		_ := run(t, Terminal, Options{}, r,
		`test -t 0 && test -t 1 && test -t 2 && stty size && echo ctty </dev/tty && read x && echo "got $x" && cat`)
	eventually(t, "size", func() bool { return strings.Contains(r.text(Stdout), "24 80") })
	c.Write(context.Background(), []byte("line\nrest"))
	eventually(t, "answer", func() bool { return strings.Contains(r.text(Stdout), "got line") })
	if err := c.CloseInput(); err != nil {
		t.Fatal(err)
	}
	wait(t, c)
	if got := r.text(Stdout); !strings.Contains(got, "ctty") {
		t.Errorf("no controlling terminal: %q", got)
	}
}

func TestTerminalText(t *testing.T) {
	r := &recorder{}
	c, _ := run(t, Terminal, Options{Input: "no line end"}, r, `cat`)
	wait(t, c)
	if got := r.text(Stdout); strings.Count(got, "no line end") != 2 { // echo and cat
		t.Errorf("output %q", got)
	}
}

func TestInputWaitsAndEnds(t *testing.T) {
	r := &recorder{}
	c, _ := run(t, Pipes, Options{KeepInput: true}, r, `sleep 30`)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	n, err := c.Write(ctx, make([]byte, 8<<20))
	if !errors.Is(err, context.DeadlineExceeded) || n == 0 || n == 8<<20 {
		t.Errorf("Write to a program that does not read = %d, %v", n, err)
	}
	go c.Write(context.Background(), make([]byte, 8<<20)) // Close must end it
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Write(context.Background(), []byte("x")); !errors.Is(err, ErrNoInput) {
		t.Errorf("Write after Close = %v", err)
	}
}

func TestCloseWhileTargetWrites(t *testing.T) {
	r := &recorder{}
	r.sum = sha256.New()
	c, cmd := run(t, Pipes, Options{}, r, `exec yes`)
	eventually(t, "output", func() bool { return c.Received() > 1<<20 })
	c.Close()
	wait(t, c)
	cmd.Wait() // yes dies of the broken pipe
	if r.bytes != c.Received() {
		t.Errorf("delivered %d of %d bytes read", r.bytes, c.Received())
	}
}

func TestNothingLeaks(t *testing.T) {
	fds := func() int { l, _ := os.ReadDir("/proc/self/fd"); return len(l) }
	before := fds()
	for _, ch := range []Standard{Pipes, Terminal} {
		for range 20 {
			c, err := ch.Open(Options{KeepInput: true, Clock: Monotonic}, func(Stream, int64, []byte) {})
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
		}
	}
	if after := fds(); after > before+1 { // the poller's own
		t.Errorf("%d files open, were %d", after, before)
	}
}

func FuzzCompleteLen(f *testing.F) {
	f.Add([]byte("a\xe2\x82"))
	f.Add([]byte("\xff\xfe"))
	f.Fuzz(func(t *testing.T, p []byte) {
		n := completeLen(p)
		if n < 0 || n > len(p) || len(p)-n >= utf8.UTFMax {
			t.Fatalf("completeLen(%q) = %d", p, n)
		}
		if utf8.Valid(p) && n != len(p) {
			t.Fatalf("completeLen(%q) = %d cuts valid text", p, n)
		}
	})
}
