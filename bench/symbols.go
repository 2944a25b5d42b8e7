package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Copies of one object with much debug information make the program of -symbols: compiled once, with its symbols
// renamed for each, because only the size matters.
const (
	bigStructs = 220
	bigBytes   = 100 << 20
)

// symbols launches a program of 100 MB of debug information three times: with nothing known of it, by a daemon that
// finds its index in the cache, and again by that daemon.
func (b *bench) symbols() error {
	prog, root, err := b.buildBig()
	if err != nil {
		return err
	}
	st, err := os.Stat(prog)
	if err != nil {
		return err
	}
	size := fmt.Sprintf("%d MB program", st.Size()>>20)
	for _, turn := range []struct {
		name  string
		fresh bool
	}{{"index built", true}, {"index from the cache", true}, {"index in memory", false}} {
		if turn.fresh {
			b.stopDaemon()
		}
		took, note, err := b.bigLaunch(prog, root, turn.fresh)
		if err != nil {
			return err
		}
		// No limit: the promises (2000 and 100 ms) are of the index alone, this is all that a user waits for.
		b.note(size+": first call, "+turn.name, ms(took), "ms", 0, "%s", note)
	}
	return b.index(prog, size)
}

var openTime = regexp.MustCompile(`BenchmarkOpen/(build|cached)\S*\s+\d+\s+(\d+) ns/op(?:.* ([0-9.e+]+) functions)?`)

// index times the index alone, with the benchmark of the package that makes it.
func (b *bench) index(prog, size string) error {
	cmd := exec.Command("go", "test", "./internal/symbol", "-run", "^$", "-bench", "Open", "-benchtime", "3x", "-args",
		"-big", prog)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("time the symbol index: %w: %s", err, lastLine(string(out)))
	}
	found := openTime.FindAllStringSubmatch(string(out), -1)
	if len(found) != 2 {
		return fmt.Errorf("time the symbol index: %d of 2 results in %q", len(found), out)
	}
	for _, m := range found {
		ns, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return err
		}
		name, limit := size+": index built", 2000.0
		if m[1] == "cached" {
			name, limit = size+": index read from the cache", 100
		}
		b.note(name, ns/1e6, "ms", limit, "mean of 3; %s functions", m[3])
	}
	return nil
}

// bigLaunch times a launch up to the first traced call. With warm, the daemon has launched a small program before, so
// that what is new is only the program itself.
func (b *bench) bigLaunch(prog, root string, warm bool) (took time.Duration, note string, err error) {
	c, err := b.connect()
	if err != nil {
		return 0, "", err
	}
	defer c.close()
	if warm {
		l, _, err := c.launch(b.dir+"/small", root, nil, map[string]any{"trace": []string{"main"}})
		if err != nil {
			return 0, "", err
		}
		if _, err := c.waitEnd(l.SessionID, time.Minute); err != nil {
			return 0, "", err
		}
		c.end(l.SessionID)
	}
	start := time.Now()
	l, launched, err := c.launch(prog, root, nil, map[string]any{"trace": []string{"main"}})
	if err != nil {
		return 0, "", err
	}
	defer c.end(l.SessionID)
	p, _, err := c.query(l.SessionID, map[string]any{"eventType": "function_enter", "limit": 1, "waitMs": 30000})
	took = time.Since(start)
	if err == nil && p.TotalCount != 1 {
		err = errors.New("no call of main within 30 s")
	}
	return took, fmt.Sprintf("debug_launch answered after %.0f ms", ms(launched)), err
}

func (b *bench) buildBig() (prog, root string, err error) {
	root = filepath.Join(b.dir, "big")
	if err := os.Mkdir(root, 0o700); err != nil {
		return "", "", err
	}
	var s strings.Builder
	s.WriteString("#include <map>\n#include <string>\n#include <vector>\n")
	for i := range bigStructs {
		fmt.Fprintf(&s, "struct S%d { int a; std::map<int, std::string> m; std::vector<S%d*> v; int get(int k) { return "+
			"m.count(k); } };\n", i, max(i-1, 0))
		fmt.Fprintf(&s, "int work%d(S%d &s, const std::string &n, int k) { auto f = [&](int q) { return q + s.a; }; "+
			"s.v.push_back(nullptr); return s.get(k) + f(3) + (int)n.size(); }\n", i, i)
	}
	files := map[string]string{"part.cc": s.String(),
		"main.c": "#include <stdio.h>\nint main(void) { puts(\"ran\"); return 0; }\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			return "", "", err
		}
	}
	do := func(args ...string) error {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("run %s: %w: %s", args[0], err, lastLine(string(out)))
		}
		return nil
	}
	if err := errors.Join(do("g++", "-g", "-O0", "-c", "part.cc"), do("gcc", "-g", "-c", "main.c"),
		do("gcc", "main.o", "-o", "../small")); err != nil {
		return "", "", err
	}
	link := func(objects []string) (int64, error) {
		if err := do(append([]string{"g++", "main.o", "-o", "big"}, objects...)...); err != nil {
			return 0, err
		}
		st, err := os.Stat(filepath.Join(root, "big"))
		if err != nil {
			return 0, err
		}
		return st.Size(), nil
	}
	names, err := exec.Command("nm", "-j", "--defined-only", "--extern-only", filepath.Join(root, "part.o")).Output()
	if err != nil {
		return "", "", fmt.Errorf("list symbols of part.o: %w", err)
	}
	defined := strings.Fields(string(names))
	// The first link tells how much of an object stays.
	var objects []string
	for want := 1; len(objects) < want; {
		for k := len(objects); k < want; k++ {
			name := fmt.Sprintf("part%d.o", k)
			var renames strings.Builder
			for _, symbol := range defined {
				fmt.Fprintf(&renames, "%s m%d_%s\n", symbol, k, symbol)
			}
			if err := os.WriteFile(filepath.Join(root, "renames"), []byte(renames.String()), 0o600); err != nil {
				return "", "", err
			}
			if err := do("objcopy", "--redefine-syms=renames", "part.o", name); err != nil {
				return "", "", err
			}
			objects = append(objects, name)
		}
		size, err := link(objects)
		if err != nil {
			return "", "", err
		}
		want = int(bigBytes*int64(want)/size) + 1
	}
	return filepath.Join(root, "big"), root, nil
}
