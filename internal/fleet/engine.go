package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/strobe-debug/strobe/internal/bucket"
	"github.com/strobe-debug/strobe/internal/fault"
)

// Engine runs DuckDB: its own program, or the module of Python.
type Engine struct {
	Name    string
	command []string
}

// pythonEngine runs statements from its input and prints the rows of the last one as DuckDB's program does.
const pythonEngine = `
import sys, json, duckdb
db = duckdb.connect()
got = db.execute(sys.stdin.read())
names = [d[0] for d in got.description]
print(json.dumps([dict(zip(names, row)) for row in got.fetchall()], default=str))
`

// FindEngine returns the first engine that is installed; false: none is.
func FindEngine(ctx context.Context) (*Engine, bool) {
	if path, err := exec.LookPath("duckdb"); err == nil {
		return &Engine{"duckdb", []string{path, "-init", os.DevNull, "-batch", "-json"}}, true
	}
	for _, python := range []string{"python3", "python"} {
		path, err := exec.LookPath(python)
		if err == nil && exec.CommandContext(ctx, path, "-c", "import duckdb").Run() == nil {
			return &Engine{python + " with duckdb", []string{path, "-c", pythonEngine}}, true
		}
	}
	return nil, false
}

// NoEngine is the error where there is none, behind which the SQL is printed.
func NoEngine() error {
	return fault.New(fault.Unsupported, "Install it: `pip install duckdb`, or duckdb from duckdb.org; or run the SQL "+
		"above in an engine that reads the place.",
		"no DuckDB is installed: neither duckdb in PATH nor Python's module")
}

// Rows are an answer: names of columns, and the values of each row as JSON.
type Rows struct {
	Columns []string
	Values  [][]json.RawMessage
}

// maxAnswer bounds what an engine may answer, in bytes.
const maxAnswer = 256 << 20

// Run asks the engine; the last statement is the question.
func (e *Engine) Run(ctx context.Context, sql string) (*Rows, error) {
	cmd := exec.CommandContext(ctx, e.command[0], e.command[1:]...)
	cmd.Stdin = strings.NewReader(sql)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &limited{w: &stdout, left: maxAnswer}, &limited{w: &stderr, left: 1 << 20}
	if err := cmd.Run(); err != nil || stderr.Len() > 0 && stdout.Len() == 0 {
		said := strings.TrimSpace(stderr.String())
		if i := strings.LastIndex(said, "duckdb."); i >= 0 { // behind Python's stack
			said = said[i:]
		}
		return nil, fmt.Errorf("%s: %w", e.Name, errors.Join(err, errors.New(said)))
	}
	return readRows(stdout.Bytes())
}

// limited writes so many bytes and no more, which is an error.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		return 0, errors.New("the answer is too long: ask for less, or with a LIMIT")
	}
	return l.w.Write(b)
}

// readRows reads an array of objects, whose members keep their order.
func readRows(data []byte) (*Rows, error) {
	rows := &Rows{}
	if len(bytes.TrimSpace(data)) == 0 {
		return rows, nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, fmt.Errorf("read the engine's answer: %.200q", data)
	}
	for first := true; d.More(); first = false {
		if _, err := d.Token(); err != nil {
			return nil, fmt.Errorf("read the engine's answer: %w", err)
		}
		var row []json.RawMessage
		for d.More() {
			name, err := d.Token()
			var v json.RawMessage
			if err = errors.Join(err, d.Decode(&v)); err != nil {
				return nil, fmt.Errorf("read the engine's answer: %w", err)
			}
			if first {
				rows.Columns = append(rows.Columns, fmt.Sprint(name))
			}
			row = append(row, v)
		}
		if _, err := d.Token(); err != nil {
			return nil, fmt.Errorf("read the engine's answer: %w", err)
		}
		rows.Values = append(rows.Values, row)
	}
	return rows, nil
}

// Foreign names files among ours that hinder questions: of another program, damaged, or of a newer Strobe; "" where
// there is none.
func (e *Engine) Foreign(ctx context.Context, place string) string {
	for _, table := range AllTables {
		if found, err := filepath.Glob(filepath.Join(place, table, "*", "*", "*.parquet")); err == nil && len(found) == 0 {
			continue
		}
		glob := Dialects[0].quote(place + "/" + table + "/*/*/*.parquet")
		rows, err := e.Run(ctx, "SELECT f.file_name FROM parquet_file_metadata("+glob+") f LEFT JOIN (SELECT file_name FROM "+
			"parquet_kv_metadata("+glob+") WHERE decode(key) = 'strobe.schema' AND decode(value) = '1') o ON "+
			"o.file_name = f.file_name WHERE o.file_name IS NULL ORDER BY 1 LIMIT 3;")
		if err != nil {
			return err.Error() // names the file
		}
		for _, row := range rows.Values {
			var file string
			if json.Unmarshal(row[0], &file) == nil {
				return file + " is not of this version of strobe"
			}
		}
	}
	return ""
}

// Mirror brings the tables of a bucket that are not there yet into dir; objects never change, so that each is brought
// once. service "" is all. It returns the folder that engines read, and how many it brought.
func Mirror(ctx context.Context, b bucket.Bucket, dir, service string, tables []string) (brought int, err error) {
	for _, table := range tables {
		prefix := table + "/"
		if service != "" {
			prefix += "service=" + folderName(service) + "/"
		}
		keys, err := b.List(ctx, prefix)
		if err != nil {
			return brought, err
		}
		for _, k := range keys {
			made, err := bring(ctx, b, k, dir)
			if err != nil {
				return brought, err
			}
			if made {
				brought++
			}
		}
	}
	return brought, nil
}

func bring(ctx context.Context, b bucket.Bucket, key, dir string) (made bool, err error) {
	if !filepath.IsLocal(filepath.FromSlash(key)) || !strings.HasSuffix(key, ".parquet") {
		return false, nil
	}
	to := filepath.Join(dir, filepath.FromSlash(key))
	if _, err := os.Stat(to); err == nil {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return false, fmt.Errorf("keep %s: %w", key, err)
	}
	f, err := os.CreateTemp(filepath.Dir(to), ".part-")
	if err != nil {
		return false, fmt.Errorf("keep %s: %w", key, err)
	}
	err = errors.Join(b.Get(ctx, key, f), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), to)
	}
	if err != nil {
		return false, errors.Join(err, os.Remove(f.Name()))
	}
	return true, nil
}
