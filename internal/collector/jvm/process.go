package jvm

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/agentlink"
	"github.com/strobe-debug/strobe/internal/classfile"
)

// recorder is what woven code calls: agent/java/lang.
var recorder = classfile.Recorder{Class: "java/lang/StrobeRecorder", Record: "java/lang/StrobeThread"}

// process is one JVM as its agent tells of it: the classes that it asked for, and the numbers of its methods. Not safe
// for concurrent use: an agent's messages are taken one after another.
type process struct {
	sources *sources
	numbers map[string]int32 // of methods that were woven ever
	classes map[string]*class

	own   string // the package of the program's own code, where no source tells: ownPackage
	named bool
}

// class is one that was asked for.
type class struct {
	methods []method
	failed  string // why none of it is woven
}

// method is one of a class's that could be traced.
type method struct {
	name   string // shop.Order.total
	file   string
	user   bool
	woven  bool
	reason string // why it cannot be; "": it can
}

func newProcess(s *sources) *process {
	return &process{sources: s, numbers: map[string]int32{}, classes: map[string]*class{}}
}

// question is a class that is loaded or may change.
type question struct {
	N        int64  `json:"n"`
	Name     string `json:"name"` // with slashes
	System   bool   `json:"system"`
	Location string `json:"location"` // file:/path
	Bytes    []byte `json:"bytes"`
	Error    int    `json:"error"` // of failed: JVMTI's
}

// reply is what becomes of it.
type reply struct {
	M      string `json:"m"`
	N      int64  `json:"n"`
	Define []byte `json:"define,omitempty"` // what the recorder is to know: StrobeRecorder.define
	Bytes  []byte `json:"bytes,omitempty"`  // none: it stays as it is
}

// MarshalJSON keeps the members that the agent reads in base64.
func (r reply) MarshalJSON() ([]byte, error) {
	b := fmt.Appendf(nil, `{"m":"class","n":%d`, r.N)
	if len(r.Bytes) > 0 {
		b = append(base64.StdEncoding.AppendEncode(append(b, `,"define":"`...), r.Define), '"')
		b = append(base64.StdEncoding.AppendEncode(append(b, `,"bytes":"`...), r.Bytes), '"')
	}
	return append(b, '}'), nil
}

// answer is agentlink.Kind.Answer.
func (p *process) answer(set agentlink.Set, m string, line []byte) any {
	var q question
	if m != "class" && m != "failed" || json.Unmarshal(line, &q) != nil {
		return nil
	}
	if m == "failed" {
		c := p.classes[q.Name]
		if c == nil {
			c = &class{methods: []method{{name: shown(q.Name)}}}
			p.classes[q.Name] = c
		}
		c.failed = fmt.Sprintf("the JVM does not take the changed class (JVMTI error %d)", q.Error)
		if q.Error == 0 {
			c.failed = "its class was loaded before it was known whether to trace it: the machine is too busy; trace it again"
			for i := range c.methods {
				c.methods[i].woven = true // so that it is told
			}
		}
		return nil
	}
	return p.weave(set, &q)
}

// weave answers for one class.
func (p *process) weave(set agentlink.Set, q *question) reply {
	no := reply{N: q.N}
	f, err := classfile.Parse(q.Bytes)
	if err != nil {
		return no
	}
	if f.Name() == "java/lang/Thread" {
		return weaveThread(f, q.N)
	}
	if f.Pool.Class(f.Super) == "kotlin/coroutines/jvm/internal/ContinuationImpl" {
		return no // what the compiler makes for a suspend function to go on: no source has it
	}
	c := &class{}
	p.classes[q.Name] = c
	at := p.place(set.Root, q, f)
	var define []byte
	methods, lines := methodsOf(f)
	for i := range methods {
		m := &methods[i]
		one := method{name: shown(f.Name()) + "." + methodName(m.Name), file: at.file,
			user: at.user && (m.Line > 0 || !lines || !m.HasCode)}
		if depth := depthOf(set, &one); depth > 0 {
			number, told := p.number(f, m, &one, at, depth)
			if one.reason = p.weaveMethod(q, f, m.Index, number); one.reason == "" {
				one.woven, define = true, append(define, told...)
			}
		}
		if one.woven || one.reason != "" || m.HasCode {
			c.methods = append(c.methods, one)
		}
	}
	if len(define) == 0 {
		return no
	}
	return reply{N: q.N, Bytes: f.Bytes(), Define: define}
}

// ownUse are classes that the recorder itself runs at each call.
var ownUse = []string{"java/lang/Object", "java/lang/ThreadLocal", "java/lang/ref/", "jdk/internal/misc/"}

func (p *process) weaveMethod(q *question, f *classfile.File, i int, number int32) (reason string) {
	for _, own := range ownUse {
		if q.System && strings.HasPrefix(q.Name, own) {
			return "what records calls uses it"
		}
	}
	err := f.Weave(i, number, recorder)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, classfile.ErrNoCode):
		if f.Methods[i].Access&classfile.AccAbstract != 0 {
			return ""
		}
		return "it is native: its machine code is traced by its symbol"
	}
	return err.Error()
}

// methodsOf are those of a class that could be traced, and whether it has lines at all. In one that has, those without
// a line are the compiler's: Groovy's accessors. They can be named, but are not the user's.
func methodsOf(f *classfile.File) (all []classfile.Method, lines bool) {
	for i := range f.Methods {
		m, err := f.Method(i)
		if err != nil || hidden(&m) || f.IsSuspendLambda() && m.Suspend != classfile.SuspendLambda {
			continue
		}
		all, lines = append(all, m), lines || m.Line > 0
	}
	return all, lines
}

// hidden reports whether a method is one that no source has.
func hidden(m *classfile.Method) bool {
	return m.Access&classfile.AccBridge != 0 ||
		m.Access&classfile.AccSynthetic != 0 && !strings.HasPrefix(m.Name, "lambda$")
}

// place is where a class's code comes from.
type place struct {
	file, module string
	user         bool
}

// place finds a class's source, and whether it is the user's: its source is below the root, or its class file is; and
// where the root has no source at all, it is of the main class's package.
func (p *process) place(root string, q *question, f *classfile.File) place {
	pkg := path.Dir(f.Name())
	if pkg == "." {
		pkg = ""
	}
	at := place{file: path.Join(pkg, f.SourceFile())}
	scheme, where, _ := strings.Cut(q.Location, ":")
	at.module = path.Base(where)
	if q.System {
		at.module = "jdk"
		return at
	}
	if found := p.sources.find(root, pkg, f.SourceFile()); found != "" {
		at.file, at.user = found, true
		return at
	}
	folder := scheme == "file" && strings.HasSuffix(where, "/")
	switch {
	case folder:
		at.user = (root == "" || isBelow(root, where)) && !generated(where, f)
	case root != "" && !p.sources.any(root): // a program without its source: a jar, as a tool is run
		at.user = p.owns(pkg)
	}
	return at
}

// generated reports whether the program made a class while it ran, as libraries do for proxies: it says the folder of
// the class that it is for, but its file is not there.
func generated(folder string, f *classfile.File) bool {
	if s := f.SourceFile(); s != "" && s[0] != '<' {
		return false
	}
	if plain, err := url.PathUnescape(folder); err == nil {
		folder = plain
	}
	_, err := os.Stat(filepath.Join(folder, f.Name()+".class"))
	return errors.Is(err, fs.ErrNotExist)
}

func isBelow(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// number is a method's number in the process, and what the recorder is told of it.
func (p *process) number(f *classfile.File, m *classfile.Method, one *method, at place, depth int) (int32, []byte) {
	var names []string
	if !m.Static() && !m.Constructor() {
		names = append(names, "this")
	}
	for _, param := range m.Params {
		names = append(names, cut(param.Name))
	}
	language := "java"
	if ext := filepath.Ext(f.SourceFile()); ext == ".kt" || ext == ".kts" {
		language = "kotlin"
	}
	kind := "function"
	if m.Suspend == classfile.SuspendFunction || m.Suspend == classfile.SuspendLambda {
		kind = "coroutine"
	}
	told, err := json.Marshal(agentlink.Function{Name: one.name, File: at.file, Line: m.Line, Module: at.module,
		Language: language, Params: names, Kind: kind, Depth: depth &^ depthGiven})
	if err != nil {
		return 0, nil
	}
	key := string(told) + m.Descriptor
	n, ok := p.numbers[key]
	if !ok {
		n = int32(len(p.numbers)) + 1
		p.numbers[key] = n
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(n))
	b = append(b, byte(depth), byte(len(names)))
	for i, name := range names {
		quoted, err := json.Marshal(name)
		if err != nil {
			return 0, nil
		}
		text := string(quoted) + ":"
		if i > 0 {
			text = "," + text
		}
		b = append(append(b, byte(len(text))), text...)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(told)))
	return n, append(b, told...)
}

// maxName bounds a parameter's name: what is before a value in a record is at most 128 bytes.
const maxName = 64

func cut(name string) string {
	if len(name) > maxName || !isPlain(name) {
		name = strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' || r == '"' || r == '\\' {
				return '?'
			}
			return r
		}, name)
	}
	return name[:min(len(name), maxName)]
}

func isPlain(name string) bool {
	return len(name) <= maxName && !strings.ContainsAny(name, "\"\\<>&\u2028\u2029")
}

// depthGiven is beside a depth that somebody asked for.
const defaultDepth, depthGiven = 3, 64

// depthOf is how deep a method's values are followed; 0: it is not to be traced.
func depthOf(set agentlink.Set, m *method) int {
	depth := 0
	for _, r := range set.Rules {
		if !selects(set.Root, &r, m) {
			continue
		}
		if r.Not {
			return 0
		}
		if d := min(cmp.Or(r.Depth, defaultDepth), depthGiven-1); d >= depth&^depthGiven {
			depth = d
			if r.Given {
				depth |= depthGiven
			}
		}
	}
	return depth
}

// selects reports whether a rule is of a method.
func selects(root string, r *agentlink.Rule, m *method) bool {
	switch r.On {
	case "user":
		return m.user
	case "contains":
		return strings.Contains(m.file, r.Glob)
	case "path":
		rel, err := filepath.Rel(root, m.file)
		return m.user && err == nil && agentlink.Globbed(r.Glob, filepath.ToSlash(rel), '/')
	case "name":
		return agentlink.Named(r.Glob, m.name)
	}
	return false
}

// mostUnhookable bounds how many are named.
const mostUnhookable = 200

// complete is agentlink.Kind.Complete: which rules match how much, and what is near where one matches nothing.
func (p *process) complete(set agentlink.Set, said *agentlink.Applied) {
	said.Functions = 0
	said.Rules = make([]agentlink.RuleState, len(set.Rules))
	for i, r := range set.Rules {
		said.Rules[i].ID = r.ID
	}
	for _, c := range p.classes {
		for i := range c.methods {
			m := &c.methods[i]
			reason := cmp.Or(c.failed, m.reason)
			if reason != "" && (m.woven || m.reason != "") && len(said.Unhookable) < mostUnhookable {
				said.Unhookable = append(said.Unhookable, agentlink.Unhookable{Function: m.name, Reason: reason})
			}
			if !m.woven || c.failed != "" {
				continue
			}
			said.Functions++
			for k := range set.Rules {
				if selects(set.Root, &set.Rules[k], m) {
					said.Rules[k].Matched++
				}
			}
		}
	}
	near := said.Near
	said.Near = nil
	for i, r := range set.Rules {
		if r.On == "name" && !r.Not && said.Rules[i].Matched == 0 {
			for _, name := range near {
				class, method, _ := strings.Cut(name, ".")
				said.Near = append(said.Near, shown(class)+"."+methodName(method))
			}
			said.Near = slices.Compact(said.Near)
			return
		}
	}
}

// weaveThread has threads tell of exceptions that nobody caught, and of their ends.
func weaveThread(f *classfile.File, n int64) reply {
	no := reply{N: n}
	for i := range f.Methods {
		m, err := f.Method(i)
		if err != nil {
			return no
		}
		switch m.Name + m.Descriptor {
		case "dispatchUncaughtException(Ljava/lang/Throwable;)V":
			err = f.Prepend(i, recorder.Class, "uncaught", "(Ljava/lang/Thread;Ljava/lang/Throwable;)V", 2)
		case "exit()V":
			err = f.Prepend(i, recorder.Class, "ended", "()V", 0)
		}
		if err != nil {
			return no
		}
	}
	return reply{N: n, Bytes: f.Bytes()}
}
