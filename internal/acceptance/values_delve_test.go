package acceptance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// delveModule is the debugger that values of Go programs are held against.
const delveModule = "github.com/go-delve/delve/cmd/dlv@v1.26.0"

// delvePrograms are commands from the module proxy with what they are given.
var delvePrograms = []struct {
	module, pattern string
	flags, args     []string
	files           map[string]string
}{
	{"mvdan.cc/sh/v3/cmd/shfmt@v3.12.0", "mvdan.cc/sh/v3/**", nil, []string{"-i", "2", "a.sh"},
		map[string]string{"a.sh": delveScript}},
	{"mvdan.cc/sh/v3/cmd/shfmt@v3.12.0", "mvdan.cc/sh/v3/**", []string{"-gcflags=all=-N -l"}, []string{"-i", "2", "a.sh"},
		map[string]string{"a.sh": delveScript}},
	{"github.com/tdewolff/minify/v2/cmd/minify@v2.24.3", "github.com/tdewolff/**", nil, []string{"a.css"},
		map[string]string{"a.css": "body { color: #ff0000; margin: 0px 0px 0px 0px; } a:hover { background: url(\"x.png\") }\n" +
			"@media (max-width: 100px) { .a > .b { width: calc(100% - 10px); font-weight: bold } }\n"}},
	{"github.com/rhysd/actionlint/cmd/actionlint@v1.7.7", "github.com/rhysd/**", nil, []string{"ci.yml"},
		map[string]string{"ci.yml": "name: ci\non: [push, pull_request]\njobs:\n  build:\n    runs-on: ubuntu-latest\n" +
			"    strategy: { matrix: { go: [1, 2] } }\n    steps:\n      - uses: actions/checkout@v4\n" +
			"      - run: echo ${{ matrix.go }} ${{ github.foo }}\n        env: { A: b }\n"}},
}

const delveScript = "x=1; for i in $(seq 1 3); do echo \"$i ${x:-no}\" | tr a b; done\n" +
	"f() { local y=$1; [[ $y == a* ]] && return 3; case $y in b) echo b;; *) echo \"other $y\" >&2;; esac; }\n" +
	"f aa; f b <<< \"text\"; arr=(1 2 3); echo ${arr[@]} $((1+2*3))\n"

// delveCalls are compared of each function, delveFunctions of each program.
const delveCalls, delveFunctions = 3, 150

// TestSoakDelve: what arguments of functions of real Go programs are is what Delve reads at breakpoints behind their
// prologues. What one of both does not show is counted.
func TestSoakDelve(t *testing.T) {
	strobetest.Soak(t)
	strobetest.NeedPtrace(t)
	strobetest.NeedNetwork(t)
	dlv := strobetest.GoCommand(t, delveModule)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, p := range delvePrograms {
		name := strings.TrimSpace(p.module + " " + strings.Join(p.flags, " "))
		t.Run(name, func(t *testing.T) {
			bin, dir := strobetest.GoCommand(t, p.module, p.flags...), t.TempDir()
			for file, text := range p.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := strobetest.Start(t, nil)
			l := s.Launch(t, bin, dir, p.args, args{"trace": []string{p.pattern}, "serializationDepth": 2, "cwd": dir})
			s.WaitEnd(t, l.SessionID, endLimit)
			ours := firstCalls(t, s, l.SessionID)
			names := make([]string, 0, len(ours))
			for name := range ours {
				names = append(names, name)
			}
			slices.Sort(names)
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			names = names[:min(len(names), delveFunctions)]
			theirs := delveReads(t, dlv, dir, bin, p.args, names)
			c := delveCompare{t: t}
			for _, name := range names {
				for i, vars := range theirs[name] {
					if i < len(ours[name]) {
						c.call(name, ours[name][i], vars)
					}
				}
			}
			t.Logf("%d functions, %d calls: %d values are the same, %d wrong; %d only Delve shows, %d it does not, or "+
				"misreads", len(theirs), c.calls, c.same, c.wrong, c.less, c.none)
			if c.wrong > 0 || c.same < 500 {
				t.Errorf("%d values are wrong, %d the same", c.wrong, c.same)
			}
		})
	}
}

// firstCalls are the arguments of the first calls of each function, in order.
func firstCalls(t *testing.T, s *strobetest.Strobe, id string) map[string][]map[string]any {
	t.Helper()
	out := map[string][]map[string]any{}
	for after := int64(0); ; {
		var page struct {
			Events []struct {
				ID        int64
				Function  string
				Arguments map[string]any
			}
			HasMore bool
		}
		s.Call(t, "debug_query", args{"sessionId": id, "verbose": true, "limit": 500, "afterEventId": after,
			"eventType": "function_enter"}, &page)
		for _, e := range page.Events {
			after = e.ID
			if len(out[e.Function]) < delveCalls {
				out[e.Function] = append(out[e.Function], e.Arguments)
			}
		}
		if !page.HasMore {
			return out
		}
	}
}

// delveVar is a variable as Delve's API version 2 tells it.
type delveVar struct {
	Name, Type, Value, Unreadable string
	OnlyAddr                      bool
	Kind                          reflect.Kind
	Flags                         int
	Len                           int64
	Addr                          uint64
	Children                      []delveVar
}

const delveReturns = 1 << 4 // flag of a result

type delveBreakpoint struct {
	ID           int            `json:"id"`
	FunctionName string         `json:"functionName"`
	LoadArgs     map[string]any `json:"LoadArgs"`
}

// delveReads runs a program under Delve and returns the arguments of the first calls of functions.
func delveReads(t *testing.T, dlv, dir, bin string, argv, names []string) map[string][][]delveVar {
	t.Helper()
	cmd := exec.Command(dlv, slices.Concat([]string{"exec", "--headless", "--api-version=2", "--listen=127.0.0.1:0", bin,
		"--"}, argv)...)
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // was killed
	})
	lines, address := bufio.NewReader(out), ""
	for address == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("dlv said no address: %v", err)
		}
		_, address, _ = strings.Cut(strings.TrimSpace(line), "listening at: ")
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	c, err := jsonrpc.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	load := map[string]any{"FollowPointers": true, "MaxVariableRecurse": 2, "MaxStringLen": 200, "MaxArrayValues": 32,
		"MaxStructFields": -1}
	points, reads := map[int]string{}, map[string][][]delveVar{}
	for _, name := range names {
		var made struct{ Breakpoint delveBreakpoint }
		in := map[string]any{"Breakpoint": delveBreakpoint{FunctionName: name, LoadArgs: load}}
		if err := c.Call("RPCServer.CreateBreakpoint", in, &made); err == nil { // else Delve has no such function
			points[made.Breakpoint.ID] = name
		}
	}
	var at struct {
		State struct {
			Exited  bool `json:"exited"`
			Threads []struct {
				BreakPoint     *delveBreakpoint
				BreakPointInfo struct{ Arguments []delveVar }
			}
		}
	}
	for end := time.Now().Add(5 * time.Minute); len(points) > 0 && time.Now().Before(end); {
		at.State.Threads = nil
		if err := delveGo(c, &at); err != nil || at.State.Exited {
			break // an exit is told as either
		}
		for _, th := range at.State.Threads {
			if th.BreakPoint == nil || points[th.BreakPoint.ID] == "" {
				continue
			}
			name := points[th.BreakPoint.ID]
			if reads[name] = append(reads[name], th.BreakPointInfo.Arguments); len(reads[name]) == delveCalls {
				_ = c.Call("RPCServer.ClearBreakpoint", map[string]any{"Id": th.BreakPoint.ID}, new(any)) // it is hit again
				delete(points, th.BreakPoint.ID)
			}
		}
	}
	_ = c.Call("RPCServer.Detach", map[string]any{"Kill": true}, new(any)) // it may have ended
	return reads
}

func delveGo(c *rpc.Client, state any) error {
	return c.Call("RPCServer.Command", map[string]any{"name": "continue"}, state)
}

// delveCompare holds values against Delve's.
type delveCompare struct {
	t                              *testing.T
	calls, same, wrong, less, none int
}

func (c *delveCompare) call(name string, got map[string]any, vars []delveVar) {
	c.calls++
	for i := range vars {
		v := &vars[i]
		if v.Flags&delveReturns != 0 || strings.HasPrefix(v.Name, "~") {
			continue
		}
		x, ok := got[v.Name]
		if !ok {
			c.less++
			continue
		}
		if twin := slices.ContainsFunc(vars, func(o delveVar) bool {
			return o.Name != v.Name && o.Type == v.Type && o.Value == v.Value && got[o.Name] == v.Value
		}); twin && v.Kind == reflect.String && x != v.Value { // it has one in the place of another, which is set to it later
			c.none++
			continue
		}
		c.value(name+" "+v.Name, x, v)
	}
}

var delveNumber = regexp.MustCompile(`-?\d+`)

// value compares one value, and what it holds.
func (c *delveCompare) value(what string, x any, v *delveVar) {
	text, isText := x.(string)
	switch {
	case v.Unreadable != "" || v.OnlyAddr || v.Len > math.MaxInt32: // a length of 3<<32: it misplaces pieces of structs
		c.none++
		return
	case isText && strings.HasPrefix(text, "<") && !strings.HasPrefix(v.Value, "<"): // a place, redacted, optimized out
		c.less++
		return
	}
	fields, isObject := x.(map[string]any)
	list, isList := x.([]any)
	null := x == nil
	ok := false
	switch v.Kind {
	case reflect.Bool:
		ok = x == (v.Value == "true")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16,
		reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		numbers := delveNumber.FindAllString(v.Value, -1) // name (number), or number 'rune'
		said := fmt.Sprint(x)
		if f, isNumber := x.(float64); isNumber {
			said = strconv.FormatFloat(f, 'f', -1, 64)
		}
		ok = slices.Contains(numbers, said)
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(v.Value, 64)
		n, isNumber := x.(float64)
		ok = err == nil && isNumber && math.Abs(n-f) <= 1e-6*math.Max(1, math.Abs(f))
	case reflect.String:
		head, _, cut := strings.Cut(text, "…(+")
		switch {
		case !isText || cut && head == "":
		case cut:
			ok = strings.HasPrefix(v.Value, head) || strings.HasPrefix(head, v.Value)
		case int64(len(v.Value)) < v.Len: // Delve's is cut
			ok = strings.HasPrefix(text, v.Value)
		default:
			ok = text == v.Value
		}
	case reflect.Pointer:
		switch {
		case len(v.Children) == 0 || v.Children[0].Addr == 0:
			ok = null
		case null:
		default:
			if inner, pointer := fields["*"]; pointer && len(fields) == 1 {
				x = inner
			}
			c.value(what+"*", x, &v.Children[0])
			return
		}
	case reflect.Slice, reflect.Array:
		switch {
		case v.Len == 0:
			ok = null || isList && len(list) == 0 || isText && text == ""
		case isText: // bytes
			if strings.HasPrefix(text, "base64:") {
				c.less++
				return
			}
			var b []byte
			for i := range v.Children[:min(len(v.Children), 8)] {
				n, _ := strconv.Atoi(delveNumber.FindString(v.Children[i].Value))
				b = append(b, byte(n))
			}
			head, _, cut := strings.Cut(text, "…(+")
			ok = strings.HasPrefix(head, string(b)) || cut && head != "" && strings.HasPrefix(string(b), head)
		case isList:
			for i := range v.Children {
				if i == len(list) {
					c.differs(what, x, v)
					return
				}
				if s, cut := list[i].(string); cut && strings.HasPrefix(s, "…") {
					return
				}
				c.value(fmt.Sprintf("%s[%d]", what, i), list[i], &v.Children[i])
			}
			return
		}
	case reflect.Struct:
		if !isObject { // shown as what it means: a time, a number of sync/atomic
			c.less++
			return
		}
		for i := range v.Children {
			f := &v.Children[i]
			inner, there := fields[f.Name]
			if !there {
				c.less++
				continue
			}
			c.value(what+"."+f.Name, inner, f)
		}
		return
	case reflect.Interface:
		switch {
		case len(v.Children) == 0 || v.Children[0].Kind == reflect.Invalid:
			ok = null
		case !isObject || fields["type"] == nil:
			if ok = !null; ok {
				c.less++
				return
			}
		default:
			short := func(name string) string {
				name, _, _ = strings.Cut(name, "[")
				return strings.TrimLeft(name[strings.LastIndexByte(name, '.')+1:], "*")
			}
			if ok = short(fmt.Sprint(fields["type"])) == short(v.Children[0].Type); ok && fields["value"] != nil {
				c.value(what+".()", fields["value"], &v.Children[0])
				return
			}
		}
	case reflect.Map:
		ok = isText || (len(fields)+len(list) > 0) == (v.Len > 0)
	case reflect.Func:
		ok = null == (v.Value == "")
	default:
		c.less++
		return
	}
	if ok {
		c.same++
		return
	}
	c.differs(what, x, v)
}

// differs counts a value that is not what Delve reads.
func (c *delveCompare) differs(what string, x any, v *delveVar) {
	if c.wrong++; c.wrong < 20 {
		shown, _ := json.Marshal(x)
		c.t.Errorf("%s is shown as %.200s; Delve reads %s %.100q, length %d", what, shown, v.Type, v.Value, v.Len)
	}
}
