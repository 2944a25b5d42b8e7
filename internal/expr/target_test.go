package expr

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
	"github.com/strobe-debug/strobe/internal/symbol"
)

// target is a running program of testdata: its variables where they are, its memory as it is.
type target struct {
	vars   map[string]Place
	types  map[string]*symbol.Type
	args   []string
	mod    *symbol.Module
	mem    *os.File
	stdin  io.WriteCloser
	stdout io.Reader
	cmd    *exec.Cmd
}

var targets = struct {
	sync.Mutex
	byName map[string]*target
	dir    string
}{byName: map[string]*target{}}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, t := range targets.byName {
		t.stdin.Close()
		t.cmd.Wait()
		t.mem.Close()
		t.mod.Close()
	}
	if targets.dir != "" {
		os.RemoveAll(targets.dir)
	}
	os.Exit(code)
}

// start compiles and starts a program once; it waits at the end of its start-up until its stdin closes.
func start(t testing.TB, source, compiler string, flags ...string) *target {
	t.Helper()
	strobetest.NeedTime(t)
	strobetest.NeedCommand(t, compiler)
	if slices.Contains(flags, "-stdlib=libc++") {
		if found, _ := filepath.Glob("/usr/lib/llvm-*/include/c++/v1/vector"); len(found) == 0 {
			strobetest.Lack(t, "libc++ is not installed")
		}
	}
	targets.Lock()
	defer targets.Unlock()
	key := strings.Join(append([]string{source, compiler}, flags...), " ")
	if p := targets.byName[key]; p != nil {
		return p
	}
	if targets.dir == "" {
		dir, err := os.MkdirTemp("", "expr-test-")
		if err != nil {
			t.Fatal(err)
		}
		targets.dir = dir
	}
	out := filepath.Join(targets.dir, fmt.Sprint("prog", len(targets.byName)))
	cmd := exec.Command(compiler, append(flags, "-g", "-o", out, filepath.Join("testdata", source))...)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", key, err, b)
	}
	p := &target{vars: map[string]Place{}, types: map[string]*symbol.Type{}}
	p.run(t, out)
	targets.byName[key] = p
	return p
}

func (p *target) run(t testing.TB, path string) {
	t.Helper()
	var err error
	if p.mod, err = symbol.Open(path, symbol.Options{}); err != nil {
		t.Fatal(err)
	}
	types := map[string]*symbol.Type{}
	for i := range p.mod.Functions() {
		f := &p.mod.Functions()[i]
		if f.Name != "probe" && !strings.HasSuffix(f.Name, "::probe") {
			continue
		}
		sig, err := p.mod.Signature(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, param := range sig.Params {
			types[param.Name] = param.Type.Strip().Elem()
		}
	}
	p.cmd = exec.Command(path)
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	lines := bufio.NewReader(stdout)
	p.stdout = lines
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line = strings.TrimSpace(line); line == "end" {
			break
		}
		var name string
		var addr uint64
		if _, err := fmt.Sscanf(line, "%s 0x%x", &name, &addr); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		typ := types[name]
		if name == "shop::Item::count" {
			typ = types["number"]
		}
		if name[0] == '$' {
			p.vars[name] = Place{Addr: addr}
			continue
		}
		if typ == nil {
			t.Fatalf("%s has no type", name)
		}
		p.vars[name] = Place{Kind: PlaceAddress, Addr: addr, Type: typ}
		p.args = append(p.args, name)
		p.nameTypes(typ, 0)
	}
	if p.mem, err = os.Open(fmt.Sprintf("/proc/%d/mem", p.cmd.Process.Pid)); err != nil {
		t.Fatal(err)
	}
}

// nameTypes notes the types that t is made of.
func (p *target) nameTypes(t *symbol.Type, depth int) {
	if t == nil || depth > 6 {
		return
	}
	for e, n := t, 0; e != nil && n < 8; e, n = e.Elem(), n+1 {
		if e.Name != "" {
			p.types[e.Name] = e
			p.types[strings.NewReplacer("__1::", "", "__cxx11::", "").Replace(e.QualifiedName())] = e
		}
		for _, f := range e.Fields() {
			p.nameTypes(f.Type, depth+1)
		}
	}
}

func (p *target) Lookup(name string) (Place, bool) { v, ok := p.vars[name]; return v, ok }

func (p *target) Arg(i int) (Place, bool) {
	if i >= len(p.args) {
		return Place{}, false
	}
	return p.Lookup(p.args[i])
}

func (p *target) TypeNamed(name string) (*symbol.Type, bool) { t, ok := p.types[name]; return t, ok }

func (p *target) Near(name string) []string { return symbol.Suggest(p.args, name) }

func (p *target) Read(addr uint64, b []byte) error {
	if int64(addr) < 0 {
		return io.EOF
	}
	_, err := io.ReadFull(io.NewSectionReader(p.mem, int64(addr), int64(len(b))), b)
	return err
}

func (p *target) env() *Env { return &Env{Memory: p, ThreadID: 77, PID: 66, ThreadName: "worker-1"} }
