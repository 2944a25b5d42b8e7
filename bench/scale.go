package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// The generated program of -scale.
const (
	scaleFunctions = 20_000
	scaleFiles     = 40 // compiled side by side
)

// scale hooks and unhooks 20,000 functions, in a running program and at a launch.
func (b *bench) scale() error {
	prog, root, err := b.buildScale()
	if err != nil {
		return err
	}
	c, err := b.connect()
	if err != nil {
		return err
	}
	defer c.close()
	if err := b.scaleLaunch(c, prog, root); err != nil {
		return err
	}
	return b.scaleLive(c, prog, root)
}

// scaleLaunch counts every call of a run that is traced from its first instruction.
func (b *bench) scaleLaunch(c *client, prog, root string) error {
	const rounds = 10
	for _, turn := range []string{"first launch", "second launch"} {
		l, took, err := c.launch(prog, root, []string{fmt.Sprint(rounds)},
			map[string]any{"trace": []string{"@usercode"}, "onFullBuffer": "block"})
		if err != nil {
			return err
		}
		start := time.Now()
		st, err := c.waitEnd(l.SessionID, time.Minute)
		if err != nil {
			return err
		}
		want := int64(rounds*scaleFunctions + 1) // and main
		b.note("20,000 functions: "+turn, float64(took.Milliseconds()), "ms", 1000,
			"%d hooked; ran %d ms more; %d enters and %d exits, want %d",
			st.HookedFunctions, time.Since(start).Milliseconds(), st.EventCount["function_enter"],
			st.EventCount["function_exit"], want)
		if st.EventCount["function_enter"] != want || st.EventCount["function_exit"] != want {
			return errors.New("calls are missing")
		}
		c.end(l.SessionID)
	}
	return nil
}

// scaleLive hooks and unhooks a program that computes all the time.
func (b *bench) scaleLive(c *client, prog, root string) error {
	l, took, err := c.launch(prog, root, []string{"1000000000"}, nil)
	if err != nil {
		return err
	}
	defer c.end(l.SessionID)
	b.note("20,000 functions: launch untraced", float64(took.Milliseconds()), "ms", 0, "")
	for _, what := range []string{"add", "remove", "add", "remove"} {
		var tr struct {
			HookedFunctions  int `json:"hookedFunctions"`
			MatchedFunctions int `json:"matchedFunctions"`
		}
		took, err := c.call("debug_trace", map[string]any{"sessionId": l.SessionID, what: []string{"@usercode"}}, &tr)
		if err != nil {
			return err
		}
		b.note("20,000 functions: "+what+" in a busy program", float64(took.Milliseconds()), "ms", 1000, "%d hooked of %d",
			tr.HookedFunctions, tr.MatchedFunctions)
	}
	return nil
}

// buildScale writes and compiles the program: chains of four calls, a table of the first of each.
func (b *bench) buildScale() (prog, root string, err error) {
	root = filepath.Join(b.dir, "scale")
	prog = filepath.Join(root, "scale")
	if err := os.Mkdir(root, 0o700); errors.Is(err, os.ErrExist) {
		return prog, root, nil // another part made it
	} else if err != nil {
		return "", "", err
	}
	var wg sync.WaitGroup
	errs := make([]error, scaleFiles+1)
	slots := make(chan struct{}, runtime.NumCPU())
	for i := range scaleFiles + 1 {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			src := filepath.Join(root, fmt.Sprintf("part%02d.c", i))
			text := scaleMain()
			if i < scaleFiles {
				text = scalePart(i)
			}
			if errs[i] = os.WriteFile(src, []byte(text), 0o600); errs[i] != nil {
				return
			}
			if out, err := exec.Command("gcc", "-g", "-O1", "-c", src, "-o", src+".o").CombinedOutput(); err != nil {
				errs[i] = fmt.Errorf("compile %s: %w: %s", src, err, out)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return "", "", err
	}
	objects, err := filepath.Glob(filepath.Join(root, "*.o"))
	if err != nil {
		return "", "", err
	}
	if out, err := exec.Command("gcc", append(objects, "-o", prog)...).CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("link %s: %w: %s", prog, err, out)
	}
	return prog, root, nil
}

func scalePart(part int) string {
	var s bytes.Buffer
	from, to := part*scaleFunctions/scaleFiles, (part+1)*scaleFunctions/scaleFiles
	for i := to - 1; i >= from; i-- {
		fmt.Fprintf(&s, "__attribute__((noinline)) unsigned f%05d(unsigned a, unsigned b) {\n\t", i)
		if i%4 != 3 {
			fmt.Fprintf(&s, "return f%05d(a + 1, b) * 3u + %du;\n}\n", i+1, uint32(i)*2654435761)
		} else {
			fmt.Fprintf(&s, "return (a ^ b) + %du;\n}\n", uint32(i)*2654435761)
		}
	}
	return s.String()
}

func scaleMain() string {
	var s strings.Builder
	s.WriteString("#include <stdio.h>\n#include <stdlib.h>\n")
	for i := 0; i < scaleFunctions; i += 4 {
		fmt.Fprintf(&s, "unsigned f%05d(unsigned, unsigned);\n", i)
	}
	s.WriteString("static unsigned (*const all[])(unsigned, unsigned) = {\n")
	for i := 0; i < scaleFunctions; i += 4 {
		fmt.Fprintf(&s, "f%05d,\n", i)
	}
	s.WriteString(`};
int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	unsigned x = 1;
	for (int r = 0; r < rounds; r++)
		for (unsigned i = 0; i < sizeof all / sizeof *all; i++) x = all[i](x, i);
	printf("x=%u\n", x);
	return 0;
}
`)
	return s.String()
}
