package parquet

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// readScript prints what pyarrow reads of a table as JSON, integers as texts, and fails where DuckDB reads another.
const readScript = `
import json, sys, duckdb, pyarrow.parquet as pq
path = sys.argv[1]
rows = [tuple(r.values()) for r in pq.read_table(path).to_pylist()]
other = duckdb.connect().execute("SELECT * FROM read_parquet('" + path + "')").fetchall()
if rows != other:
    sys.exit("pyarrow and DuckDB differ: " + repr([p for p in zip(rows, other) if p[0] != p[1]][:1])[:2000])
meta = pq.ParquetFile(path).metadata
print(json.dumps({"groups": meta.num_row_groups, "meta": {k.decode(): v.decode() for k, v in meta.metadata.items()}}))
for row in rows:
    print(json.dumps([v.hex() if isinstance(v, bytes) else str(v) if isinstance(v, int) else v for v in row]))
for g in range(meta.num_row_groups):
    for c in range(meta.num_columns):
        s = meta.row_group(g).column(c).statistics
        values = [v for v in pq.ParquetFile(path).read_row_group(g).column(c).to_pylist() if v is not None]
        if s.has_min_max and (min(values), max(values)) != (s.min, s.max):
            sys.exit("statistics of column %d in group %d: %r, %r" % (c, g, s.min, s.max))
        nulls = meta.row_group(g).num_rows - len(values)
        if s.null_count != nulls: sys.exit("%d nulls, %d are told" % (nulls, s.null_count))
`

var testColumns = []Column{{Name: "i"}, {Name: "maybe", Optional: true}, {Name: "t", Kind: Text},
	{Name: "rare", Kind: Text, Optional: true}, {Name: "b", Kind: Bytes, Optional: true}}

// rowMaker makes rows that exercise each encoding: runs, steps, all 64 bits; few, many and long texts.
func rowMaker(rng *rand.Rand) func() []any {
	mode, left, last := 0, 0, int64(0)
	return func() []any {
		if left--; left < 0 {
			mode, left = rng.IntN(5), rng.IntN(3000)
		}
		row := make([]any, 5)
		switch mode {
		case 0:
			last = 7
		case 1:
			last += int64(rng.IntN(40)) - 3
		default:
			last = int64(rng.Uint64())
		}
		row[0] = last
		if rng.IntN(mode+1) == 0 {
			row[1] = int64(rng.Uint64()) >> rng.IntN(64)
		}
		row[2] = strings.Repeat("ü", rng.IntN(4)) + strconv.Itoa(rng.IntN(20))
		if mode == 4 {
			row[2] = strconv.FormatUint(rng.Uint64(), 16)
		}
		if rng.IntN(100) == 0 {
			row[3] = strings.Repeat("x", rng.IntN(3000))
		}
		if mode > 1 {
			b := make([]byte, rng.IntN(9))
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			row[4] = b
		}
		return row
	}
}

func (w *Writer) set(row []any) error {
	for i, v := range row {
		switch v := v.(type) {
		case int64:
			w.Int(i, v)
		case string:
			w.Text(i, v)
		case []byte:
			w.Bytes(i, v)
		}
	}
	return w.EndRow()
}

// TestRandom: pyarrow and DuckDB read what was written, in one group and in several.
func TestRandom(t *testing.T) {
	for _, c := range []struct{ rows, group int }{{0, groupRows}, {1, groupRows}, {70_000, 20_000}, {100_000, groupRows}} {
		t.Run(strconv.Itoa(c.rows), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(c.rows), 5))
			var file bytes.Buffer
			w, err := NewWriter(&file, testColumns, [][2]string{{"a", "b"}, {"strobe.schema", "1"}})
			if err != nil {
				t.Fatal(err)
			}
			w.groupRows = int64(c.group)
			next := rowMaker(rng)
			var want [][]any
			for range c.rows {
				row := next()
				if err := w.set(row); err != nil {
					t.Fatal(err)
				}
				want = append(want, row)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			groups := (c.rows + c.group - 1) / c.group
			compare(t, file.Bytes(), want, groups)
		})
	}
}

func compare(t *testing.T, file []byte, want [][]any, groups int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(strobetest.PythonWith(t, "duckdb==1.5.5", "pyarrow==26.0.1"), "-c", readScript, path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	lines := bufio.NewReader(bytes.NewReader(out))
	dec := json.NewDecoder(lines)
	var head struct {
		Groups int
		Meta   map[string]string
	}
	if err := dec.Decode(&head); err != nil || head.Groups != groups || head.Meta["a"] != "b" {
		t.Fatalf("%d groups of %v, %v; want %d", head.Groups, head.Meta, err, groups)
	}
	for n, row := range want {
		var got []any
		if err := dec.Decode(&got); err != nil {
			t.Fatal(err)
		}
		for i, v := range row {
			switch v := v.(type) {
			case int64:
				row[i] = strconv.FormatInt(v, 10)
			case []byte:
				row[i] = hexOf(v)
			}
		}
		if !reflect.DeepEqual(got, row) {
			t.Fatalf("row %d is %v, want %v", n, got, row)
		}
	}
	if dec.More() {
		t.Error("there are more rows than were written")
	}
}

func hexOf(b []byte) string {
	var s strings.Builder
	for _, x := range b {
		s.WriteString(strconv.FormatUint(uint64(x)+256, 16)[1:])
	}
	return s.String()
}

type fullDisk struct{ left int }

var errFull = errors.New("no room")

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.left -= len(b); d.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestFull: a disk that is full is told wherever it happens.
func TestFull(t *testing.T) {
	for _, room := range []int{4, 20, 400, 4000} {
		w, err := NewWriter(&fullDisk{left: room}, testColumns, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.groupRows = 300
		next := rowMaker(rand.New(rand.NewPCG(1, 2)))
		for range 5000 {
			if err = w.set(next()); err != nil {
				break
			}
		}
		if err = errors.Join(err, w.Close()); !errors.Is(err, errFull) {
			t.Errorf("with room for %d bytes: %v", room, err)
		}
	}
}

// BenchmarkRows writes rows as calls have them.
func BenchmarkRows(b *testing.B) {
	w, err := NewWriter(&fullDisk{left: 1 << 60}, testColumns, nil)
	if err != nil {
		b.Fatal(err)
	}
	n := int64(0)
	for b.Loop() {
		n += 40
		w.Int(0, n)
		w.Int(1, n%900)
		w.Text(2, "shop::tier_for")
		w.Text(3, `{"points":`+strconv.FormatInt(n, 10)+`}`)
		if err := w.EndRow(); err != nil {
			b.Fatal(err)
		}
	}
}
