package agentlink

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/strobetest"
)

// pen writes a stream as an agent does.
type pen struct {
	t    testing.TB
	dir  string
	key  streamKey
	size int
	seq  int
	f    *os.File
	at   int
	ts   int64
}

func (p *pen) open() {
	f, err := os.Create(filepath.Join(p.dir, p.key.segmentName(p.seq)))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := f.Truncate(int64(p.size)); err != nil {
		p.t.Fatal(err)
	}
	head := binary.LittleEndian.AppendUint32([]byte(magic), uint32(p.size))
	if _, err := f.WriteAt(append(head, 0, 0, 0, 0), 0); err != nil {
		p.t.Fatal(err)
	}
	p.f, p.at = f, segmentHead
}

func (p *pen) write(kind, flags uint8, fn, lane, under, aux uint32, payload string) {
	if p.f == nil {
		p.open()
	}
	n := (recordHead + len(payload) + 7) &^ 7
	if p.at+n+recordHead > p.size && kind != kindNext {
		last, at := p.f, p.at
		p.seq++
		p.open()
		next := pen{t: p.t, f: last, at: at, size: p.size, ts: p.ts}
		next.write(kindNext, 0, 0, 0, 0, 0, "")
		_ = last.Close()
	}
	p.ts++
	b := make([]byte, n)
	binary.LittleEndian.PutUint64(b, uint64(p.ts))
	for i, v := range []uint32{fn, lane, under, aux} {
		binary.LittleEndian.PutUint32(b[8+4*i:], v)
	}
	b[24], b[25] = kind, flags
	binary.LittleEndian.PutUint16(b[26:], uint16(n-recordHead-len(payload)))
	copy(b[recordHead:], payload)
	if _, err := p.f.WriteAt(b, int64(p.at)); err != nil {
		p.t.Fatal(err)
	}
	binary.LittleEndian.PutUint32(b[28:], uint32(n))
	if _, err := p.f.WriteAt(b[28:32], int64(p.at+28)); err != nil {
		p.t.Fatal(err)
	}
	p.at += n
}

func testLink(t *testing.T, b *strobetest.Book) *Link {
	l, err := Listen(Options{Sink: b, Depth: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

const aPID = 1 << 30 // of no process

// TestCallsOfLanes: a coroutine's call is on a lane of its own below whoever runs it, and what it calls on that lane.
func TestCallsOfLanes(t *testing.T) {
	b := strobetest.NewBook()
	l := testLink(t, b)
	p := &pen{t: t, dir: l.Dir(), key: streamKey{aPID, "aa", 1}, size: 1 << 16}
	p.write(kindLane, 0, 0, 1, 0, 0, `{"tid":7,"name":"MainThread"}`)
	p.write(kindFunction, 0, 1, 0, 0, 0, `{"name":"shop.main","params":[]}`)
	p.write(kindFunction, 0, 2, 0, 0, 0, `{"name":"shop.fetch","params":["n"],"kind":"coroutine"}`)
	p.write(kindFunction, 0, 3, 0, 0, 0, `{"name":"shop.add","params":["a","b"]}`)
	p.write(kindEnter, 0, 1, 1, 0, 0, `{}`)
	p.write(kindLane, 0, 0, 2, 0, 0, `{"of":1,"name":"Task-1"}`)
	p.write(kindEnter, 0, 2, 2, 1, 0, `{"n":5}`)
	p.write(kindEnter, 0, 3, 2, 0, 0, `{"a":1,"b":2}`)
	p.write(kindExit, 0, 3, 2, 0, 0, `3`)
	p.write(kindExit, 0, 1, 1, 0, 0, `null`)
	p.write(kindYield, 0, 2, 2, 0, 0, `{"$":"obj","t":"C","v":{}}`)
	p.write(kindExit, flagThrown, 2, 2, 0, 1500, `{"$":"obj","t":"ValueError","v":{}}`)
	p.write(kindEnd, 0, 0, 1, 0, 0, "")
	if err := l.rounds.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := `function_enter MainThread shop.main {}
function_enter MainThread (async 1) shop.fetch under MainThread {"n":5}
function_enter MainThread (async 1) shop.add {"a":1,"b":2}
function_exit MainThread (async 1) shop.add 3
function_exit MainThread shop.main null
yield MainThread (async 1) {"function":"shop.fetch","value":{"$class":"C"}}
function_exit MainThread (async 1) shop.fetch flags 2 {"$":"obj","t":"ValueError","v":{}}`
	if got := b.Text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if e := b.Told[len(b.Told)-1]; e.Ret != 1500 {
		t.Errorf("awaited %d", e.Ret)
	}
}

// TestSegmentsGiveBack: a long stream takes the room of a few segments, and every call arrives.
func TestSegmentsGiveBack(t *testing.T) {
	b := strobetest.NewBook()
	l := testLink(t, b)
	p := &pen{t: t, dir: l.Dir(), key: streamKey{aPID, "aa", 1}, size: 1 << 16}
	p.write(kindLane, 0, 0, 1, 0, 0, `{"tid":7,"name":"m"}`)
	p.write(kindFunction, 0, 1, 0, 0, 0, `{"name":"f"}`)
	const calls = 20000
	for i := range calls {
		p.write(kindEnter, 0, 1, 1, 0, 0, fmt.Sprintf(`{"a":%d}`, i))
		p.write(kindExit, 0, 1, 1, 0, 0, `1`)
		if i%2000 == 0 {
			if err := l.rounds.flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if left, err := filepath.Glob(filepath.Join(l.Dir(), "*.ev")); err != nil || len(left) > 1 {
				t.Fatalf("%d segments wait, %v", len(left), err)
			}
		}
	}
	p.write(kindExit, 0, 1, 1, 0, 0, "1") // of nothing: refused, and no harm
	big := strings.Repeat("x", 400<<10)
	p.size = 1 << 20
	p.write(kindEnter, 0, 1, 1, 0, 0, `{"a":"`+big+`"}`)
	l.rounds.finish(aPID, "")
	told := b.All()
	n := len(told)
	last := told[n-1]
	if n != 2*calls+2 || last.Flags != event.Unwound|event.AtEnd {
		t.Errorf("%d events, the last %+v", n, last)
	}
	if left, err := filepath.Glob(filepath.Join(l.Dir(), "*.ev")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestOtherStreamTells: a thread may call what another one told of, whichever is read first.
func TestOtherStreamTells(t *testing.T) {
	for range 20 { // streams are read in no order
		b := strobetest.NewBook()
		l := testLink(t, b)
		one := &pen{t: t, dir: l.Dir(), key: streamKey{aPID, "aa", 1}, size: 1 << 16}
		two := &pen{t: t, dir: l.Dir(), key: streamKey{aPID, "aa", 2}, size: 1 << 16, ts: 100}
		one.write(kindLane, 0, 0, 1, 0, 0, `{"tid":7,"name":"m"}`)
		one.write(kindFunction, 0, 1, 0, 0, 0, `{"name":"f"}`)
		two.write(kindLane, 0, 0, 2, 0, 0, `{"tid":8,"name":"w"}`)
		two.write(kindEnter, 0, 1, 2, 0, 0, `{}`)
		if err := l.rounds.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := b.Text(); got != "function_enter w f {}" {
			t.Fatalf("got %q", got)
		}
	}
}

// TestBacklogKeepsOrder: a call that is entered in a stream with more than a round reads, and left in another one, which
// was read to its end, is whole; so is one that is entered and left while a round reads.
func TestBacklogKeepsOrder(t *testing.T) {
	b := strobetest.NewBook()
	l := testLink(t, b)
	one := &pen{t: t, dir: l.Dir(), key: streamKey{aPID, "aa", 1}, size: 2 * roundBytes}
	one.write(kindLane, 0, 0, 1, 0, 0, `{"tid":7,"name":"m"}`)
	one.write(kindLane, 0, 0, 2, 0, 0, `{"of":1,"name":"virtual"}`)
	one.write(kindFunction, 0, 1, 0, 0, 0, `{"name":"f"}`)
	one.write(kindEnter, 0, 1, 1, 0, 0, `{"a":"`+strings.Repeat("x", roundBytes)+`"}`)
	one.write(kindExit, 0, 1, 1, 0, 0, "null")
	one.write(kindEnter, 0, 1, 2, 1, 0, "{}")
	two := &pen{t: t, dir: l.Dir(), key: streamKey{aPID, "aa", 2}, size: 1 << 16, ts: one.ts}
	two.write(kindExit, 0, 1, 2, 0, 0, "5")
	for range 20 {
		l.rounds.mu.Lock()
		l.rounds.round(false)
		l.rounds.mu.Unlock()
	}
	soon := b.Now() + b.Start + int64(200*time.Millisecond)
	one.ts, two.ts = soon, soon
	two.write(kindExit, 0, 1, 2, 0, 0, "6")
	if err := l.rounds.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	one.ts -= 2 // was there before, and is read only now
	one.write(kindEnter, 0, 1, 2, 1, 0, "{}")
	l.rounds.finish(aPID, "")
	if got := b.Text(); strings.Count(got, "\n") != 5 || !strings.HasSuffix(got, `
function_enter m (async 1) f under m {}
function_exit m (async 1) f 5
function_enter m (async 1) f under m {}
function_exit m (async 1) f 6`) {
		t.Errorf("got %q", got[max(0, len(got)-500):])
	}
	if c := l.rounds.complaints(); len(c) > 0 {
		t.Errorf("%q", c)
	}
}

func TestLostAreCounted(t *testing.T) {
	b := strobetest.NewBook()
	l := testLink(t, b)
	p := &pen{t: t, dir: l.Dir(), key: streamKey{aPID, "aa", 1}, size: 1 << 16}
	p.write(kindLane, 0, 0, 1, 0, 0, `{"tid":7,"name":"m"}`)
	p.write(kindFunction, 0, 9, 0, 0, 0, `{"name":"f"}`)
	p.write(kindLost, 0, 0, 1, 0, 0, `{"calls":{"9":[5,4],"10":[1,1]}}`)
	if err := l.rounds.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.LostCalls[0] != [2]int64{5, 4} || len(b.Told) != 1 || b.Told[0].Kind != event.Dropped {
		t.Errorf("lost %v, events %v", b.LostCalls, b.Told)
	}
}

// TestConversation: an agent is told what is in force, answers, and is gone.
func TestConversation(t *testing.T) {
	l := testLink(t, strobetest.NewBook())
	if err := l.Apply(t.Context(), Set{Root: "/r", Rules: []Rule{{ID: 0, On: "user"}}}); err != nil {
		t.Fatal(err)
	}
	var start struct {
		M string
		Set
	}
	raw, err := os.ReadFile(filepath.Join(l.Dir(), "start.json"))
	if err != nil || json.Unmarshal(raw, &start) != nil || start.Root != "/r" || len(start.Rules) != 1 {
		t.Fatalf("start.json %s, %v", raw, err)
	}
	conn, err := net.Dial("unix", filepath.Join(l.Dir(), "control"))
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(conn)
	fmt.Fprintf(conn, `{"m":"hello","v":1,"pid":%d,"nonce":"aa","runtime":"python","version":"3.12"}`+"\n", aPID)
	fmt.Fprintln(conn, `{"m":"applied","gen":0}`) // it began before
	if !in.Scan() || !strings.Contains(in.Text(), `"m":"set","gen":1`) {
		t.Fatalf("told %q", in.Text())
	}
	fmt.Fprintln(conn, `{"m":"applied","gen":1,"rules":[{"id":0,"matched":3}],"functions":3}`)
	fmt.Fprintln(conn, `not json`)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if !l.AwaitAgent(ctx, aPID) {
		t.Fatal("no agent")
	}
	done := make(chan error, 1)
	go func() { done <- l.Apply(ctx, Set{Root: "/r"}) }()
	if !in.Scan() {
		t.Fatal(in.Err())
	}
	var set struct {
		M      string
		Q, Gen int64
	}
	if err := json.Unmarshal(in.Bytes(), &set); err != nil || set.Gen != 2 || set.Q == 0 {
		t.Fatalf("told %q, %v", in.Text(), err)
	}
	fmt.Fprintf(conn, `{"m":"applied","q":%d,"gen":2}`+"\n", set.Q)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	a := l.Agents()[0]
	conn.Close()
	<-a.gone
	if err := a.Ask(ctx, "status", nil, nil); err == nil {
		t.Error("an agent that is gone answers")
	}
}

// TestOtherVersion: an agent of another version is told to go.
func TestOtherVersion(t *testing.T) {
	l := testLink(t, strobetest.NewBook())
	conn, err := net.Dial("unix", filepath.Join(l.Dir(), "control"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, `{"m":"hello","v":99,"pid":%d,"nonce":"aa"}`+"\n", aPID)
	in := bufio.NewScanner(conn)
	if !in.Scan() || in.Text() != `{"m":"bye"}` || in.Scan() {
		t.Errorf("told %q", in.Text())
	}
}

// FuzzSegment: whatever stands in a segment, reading ends and nothing is believed.
func FuzzSegment(f *testing.F) {
	f.Add([]byte("strobe1\n\x00\x00\x01\x00\x00\x00\x00\x00"), []byte{3})
	f.Fuzz(func(t *testing.T, head, body []byte) {
		dir := t.TempDir()
		k := streamKey{aPID, "aa", 1}
		if err := os.WriteFile(filepath.Join(dir, k.segmentName(0)),
			append(append([]byte(magic), 0, 0, 1, 0, 0, 0, 0, 0), append(head, body...)...), 0o600); err != nil {
			t.Fatal(err)
		}
		fd := newFeed(strobetest.NewBook(), nil, aPID, "aa", func() int { return 3 })
		s := &stream{dir: dir, key: k}
		for range 10 {
			if !s.next(roundBytes, fd.take) {
				break
			}
		}
		fd.flush()
		s.remove()
	})
}

// TestFoldersOfTheDead: the folder of a link whose process was killed is removed by the next, that of one that lives is
// not.
func TestFoldersOfTheDead(t *testing.T) {
	base := t.TempDir()
	old := time.Now().Add(-time.Hour)
	folder := func(name string) string {
		dir := filepath.Join(base, folderName+name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "1-a-1-0.ev"), make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	listen := func(dir string) net.Listener {
		ln, err := net.Listen("unix", filepath.Join(dir, "control"))
		if err != nil {
			t.Fatal(err)
		}
		return ln
	}
	lives, dead, young, bare := folder("lives"), folder("dead"), folder("young"), folder("bare")
	defer listen(lives).Close()
	ln := listen(dead).(*net.UnixListener)
	ln.SetUnlinkOnClose(false) // as a process that is killed
	ln.Close()
	for _, dir := range []string{lives, dead, bare} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	sweepFolders(base)
	for dir, stays := range map[string]bool{lives: true, young: true, dead: false, bare: false} {
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s is there: %v", filepath.Base(dir), err == nil)
		}
	}
}

// busySink writes more than a round reads whenever it is given events.
type busySink struct {
	*strobetest.Book
	more func()
}

func (s *busySink) Events(batch []event.Event) {
	s.Book.Events(batch)
	s.more()
}

// TestFlushBesideABusyWriter: a flush is of what was written before it, and ends where a program writes as fast as it is
// read.
func TestFlushBesideABusyWriter(t *testing.T) {
	b := &busySink{Book: strobetest.NewBook()}
	l, err := Listen(Options{Sink: b, Depth: 3})
	if err != nil {
		t.Fatal(err)
	}
	p := &pen{t: t, dir: l.Dir(), key: streamKey{aPID, "aa", 1}, size: 16 << 20}
	big := `{"s":"` + strings.Repeat("a", 1<<20) + `"}`
	writes := true
	b.more = func() {
		for n := 0; n < 6 && writes; n++ {
			p.ts = b.Now() + b.StartMono()
			p.write(kindEnter, 0, 1, 1, 0, 0, big)
		}
	}
	p.write(kindLane, 0, 0, 1, 0, 0, `{"tid":7,"name":"main"}`)
	p.write(kindFunction, 0, 1, 0, 0, 0, `{"name":"shop.main","params":["s"]}`)
	b.more()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := l.rounds.flush(ctx); err != nil {
		t.Error(err)
	}
	l.rounds.mu.Lock()
	writes = false
	l.rounds.mu.Unlock()
	l.Close()
}
