package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/event"
)

const childEnv = "STROBE_STORE_TEST_CHILD"

// TestMain is also the writer that TestKill kills: PATH,SEED,MAXEVENTS,PACE in the environment.
func TestMain(m *testing.M) {
	if v := os.Getenv(childEnv); v != "" {
		if err := writeForEver(os.Stdout, v); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// killSource is the stream that the child writes and the parent makes again.
func killSource(seed uint64) *source {
	s := newSource(seed, 50, 3)
	s.outputs = 50
	return s
}

// writeForEver writes a record {events put, unix ns} before each Put, so that the parent knows how old
// each lost event is at most. It ends by itself after 30 s should the parent be gone.
func writeForEver(out io.Writer, spec string) error {
	var path string
	var seed uint64
	var limit, pace int64
	if _, err := fmt.Sscanf(spec, "%d,%d,%d,%s", &seed, &limit, &pace, &path); err != nil {
		return err
	}
	st, err := Create(path, Meta{SessionID: "kill"}, Options{MaxEvents: limit})
	if err != nil {
		return err
	}
	src := killSource(seed)
	src.register(st)
	end := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var rec [16]byte
	n := 0
	for time.Now().Before(end) {
		b := src.batch(int(pace))
		n += len(b)
		binary.LittleEndian.PutUint64(rec[:], uint64(n))
		binary.LittleEndian.PutUint64(rec[8:], uint64(time.Now().UnixNano()))
		if _, err := out.Write(rec[:]); err != nil {
			return err
		}
		if err := st.Put(b); err != nil {
			return err
		}
		<-tick.C
	}
	return st.Close()
}

type putRecord struct{ n, at int64 }

// killChild runs a writer, kills it after d and returns what it said and when it was killed.
func killChild(t *testing.T, spec string, d time.Duration) ([]putRecord, time.Time) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+spec)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	rd := bufio.NewReader(pipe)
	var recs []putRecord
	killed := make(chan time.Time, 1)
	for {
		var rec [16]byte
		if _, err := io.ReadFull(rd, rec[:]); err != nil {
			break
		}
		recs = append(recs, putRecord{int64(binary.LittleEndian.Uint64(rec[:])), int64(binary.LittleEndian.Uint64(rec[8:]))})
		if len(recs) == 1 {
			time.AfterFunc(d, func() {
				killed <- time.Now()
				_ = cmd.Process.Kill() // it may have ended with an error, which is shown below
			})
		}
	}
	_ = cmd.Wait() // killed
	if len(recs) == 0 {
		t.Fatalf("child wrote nothing: %s", stderr.String())
	}
	return recs, <-killed
}

func TestKillLosesTheNewestAndNothingElse(t *testing.T) {
	const kills = 8
	var worst time.Duration
	for i := range kills {
		rnd := rand.New(rand.NewPCG(uint64(i), uint64(time.Now().UnixNano())))
		path := filepath.Join(t.TempDir(), "k.db")
		pace := []int{3, 100, 600}[i%3]
		limit := int64(20_000)
		spec := fmt.Sprintf("%d,%d,%d,%s", i, limit, pace, path)
		recs, at := killChild(t, spec, time.Duration(20+rnd.IntN(400))*time.Millisecond)

		st, err := Open(path)
		must(t, err)
		if !st.Result().Interrupted {
			t.Errorf("kill %d: Result().Interrupted = false", i)
		}
		var m model
		src := killSource(uint64(i))
		for len(m.rows) < int(recs[len(recs)-1].n) {
			m.put(src.batch(pace))
		}
		survived := checkSurvivors(t, st, &m)
		must(t, st.Close())
		if problems, err := Check(context.Background(), path); err != nil || len(problems) > 0 {
			t.Errorf("kill %d: Check() = %q, %v", i, problems, err)
		}
		for _, r := range recs {
			if r.n > survived {
				worst = max(worst, at.Sub(time.Unix(0, r.at)))
				break
			}
		}
		t.Logf("kill %d: %d of %d events", i, survived, recs[len(recs)-1].n)
	}
	t.Logf("oldest lost event was %v old", worst)
}

// checkSurvivors compares what is in st with the model byte for byte, and that the rest closes
// the calls that were open. It returns how many events survived.
func checkSurvivors(t *testing.T, st *Store, m *model) int64 {
	t.Helper()
	sn := snapshot(t, st)
	defer sn.Close()
	rows := collect(t, sn, Filter{}, ScanOptions{Cold: true})
	n := len(rows)
	for n > 0 && rows[n-1].Flags&event.Lost != 0 {
		n--
	}
	survived := int64(0)
	if n > 0 {
		survived = rows[n-1].ID
	}
	open := map[event.ID]bool{}
	for i := range m.rows[:survived] {
		switch r := &m.rows[i]; r.Kind {
		case event.FunctionEnter:
			if r.ID >= sn.FirstCallID() {
				open[r.ID] = true
			}
		case event.FunctionExit:
			delete(open, r.Enter)
		}
	}
	at := 0
	for i := range m.rows[:survived] {
		w := &m.rows[i]
		if w.Kind.IsCall() && w.ID < sn.FirstCallID() {
			continue
		}
		if at >= n || !sameRow(&rows[at], w, true) {
			t.Fatalf("event %d differs after a kill: got %+v, want %+v", w.ID, rows[at], *w)
		}
		at++
	}
	for _, r := range rows[n:] {
		w := m.rows[r.Enter-1]
		if !open[r.Enter] || r.Func != w.Func || r.Thread != w.Thread || r.Depth != w.Depth || r.Parent != w.Parent {
			t.Errorf("exit %+v closes %+v", r, w)
		}
		delete(open, r.Enter)
	}
	if at != n || len(open) > 0 {
		t.Errorf("%d rows, want %d; %d calls left open", n, at, len(open))
	}
	calls := int64(0)
	for _, f := range st.FuncStats() {
		calls += f.Calls + f.Exits
	}
	if calls == 0 && len(rows) > 0 {
		t.Error("FuncStats() of an interrupted session is empty")
	}
	return survived
}

// fillDisk makes SQLite report a full disk at this many more pages.
func fillDisk(t *testing.T, st *Store, pages int) {
	t.Helper()
	var have int
	must(t, st.w.conn.QueryRowContext(context.Background(), "PRAGMA page_count").Scan(&have))
	_, err := st.w.conn.ExecContext(context.Background(), "PRAGMA max_page_count="+strconv.Itoa(have+pages))
	must(t, err)
}
