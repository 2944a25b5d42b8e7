package dap_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	proto "github.com/google/go-dap"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const corpusDir = "testdata/dialogues"

// corpusLimit bounds what is awaited, corpusEnd how long an adapter takes to end, and what it leaves behind.
const corpusLimit, corpusEnd = 60 * time.Second, 20 * time.Second

var (
	stepLine = regexp.MustCompile(`^([a-z]?)(>=|>>|>|<~|<|!|-|=|\$)(.*)$`)
	variable = regexp.MustCompile(`\$(?:\{([a-z]\w*)\}|([a-z]\w*)([+-]\d+)?)`)
	marked   = regexp.MustCompile(`(?://|#) ?@([a-z]\w*)`)
)

// corpusData are what answers and events must have by the protocol, and what a client says of itself.
var corpusData = sync.OnceValue(func() (all map[string]any) {
	content, err := os.ReadFile(filepath.Join(corpusDir, "protocol.json"))
	if err = errors.Join(err, json.Unmarshal(content, &all)); err != nil {
		panic(err)
	}
	return all
})

// speaker is one client of a dialogue, with all that was said to it.
type speaker struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	from  chan []byte
	heard []*heardMessage
	until int              // what was awaited last
	last  int              // number of the last request
	asked map[int][]string // commands that have no answer, by their numbers
}

type heardMessage struct {
	all, body map[string]any
	taken     bool
}

func (m *heardMessage) is(field string, value any) bool { return m.all[field] == value }

func newSpeaker(t *testing.T, home string) *speaker {
	c := &speaker{t: t, cmd: exec.Command(strobetest.Binary(t), "dap"), from: make(chan []byte, 1024),
		asked: map[int][]string{}}
	c.cmd.Env = append(os.Environ(), "STROBE_HOME="+home, "MARK=editor")
	c.cmd.Stderr = os.Stderr
	in, err := c.cmd.StdinPipe()
	out, err2 := c.cmd.StdoutPipe()
	if err := errors.Join(err, err2, c.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	c.in = in
	go func() {
		defer close(c.from)
		r := bufio.NewReader(out)
		content, err := proto.ReadBaseMessage(r)
		for ; err == nil; content, err = proto.ReadBaseMessage(r) {
			c.from <- content
		}
		if err != io.EOF {
			t.Errorf("read from the adapter: %v", err)
		}
	}()
	return c
}

// hear takes the next message; false: there is none any more.
func (c *speaker) hear(what string, limit <-chan time.Time) bool {
	select {
	case content, ok := <-c.from:
		if !ok {
			return false
		}
		m := &heardMessage{}
		err := json.Unmarshal(content, &m.all)
		m.body, _ = m.all["body"].(map[string]any)
		c.heard = append(c.heard, m)
		if wrong := c.wrong(m); err != nil || wrong != "" {
			c.t.Errorf("%v %s: %s", err, wrong, content)
		}
		return true
	case <-limit:
		c.t.Fatalf("%s: nothing came in time%s", what, c.tail())
	}
	return false
}

// tail is what was heard last.
func (c *speaker) tail() (tail string) {
	for _, m := range c.heard[max(0, len(c.heard)-6):] {
		tail += fmt.Sprintf("\n\t%.600v", m.all)
	}
	return tail
}

// await finds the first message that nobody has awaited for which f holds.
func (c *speaker) await(what string, f func(m *heardMessage) bool) *heardMessage {
	limit := time.After(corpusLimit)
	for i := 0; ; i++ {
		if i == len(c.heard) && !c.hear(what, limit) {
			c.t.Fatalf("%s: the adapter has ended%s", what, c.tail())
		}
		if m := c.heard[i]; !m.taken && f(m) {
			m.taken = true
			c.until = max(c.until, i)
			return m
		}
	}
}

// wrong says what is wrong with a message, whatever it is about.
func (c *speaker) wrong(m *heardMessage) string {
	name := fmt.Sprint("event ", m.all["event"])
	if request, is := m.all["request_seq"].(float64); is {
		name = fmt.Sprint(m.all["command"])
		if asked := c.asked[int(request)]; len(asked) > 0 && asked[0] == name {
			c.asked[int(request)] = asked[1:]
		} else if m.is("success", true) {
			return "there is no request that this could answer"
		}
		if m.is("success", false) {
			return differs(corpusData()["a refusal"], m.all, "the refusal")
		}
	}
	if !m.is("seq", float64(len(c.heard))) {
		return "its number does not follow the one before"
	}
	return differs(corpusData()[name], m.all["body"], "body")
}

// differs says where got is not what is wanted; "": it is.
func differs(want, got any, at string) string {
	same := func(w, g any) bool { return differs(w, g, "") == "" }
	list, isList := got.([]any)
	ok := want == nil
	switch w := want.(type) {
	case map[string]any:
		g, isMap := got.(map[string]any)
		ok = isMap
		for k, v := range w {
			if d := differs(v, g[k], at+"."+k); d != "" {
				return d
			}
		}
	case []any:
		switch {
		case !isList:
		case len(w) == 2 && w[0] == "each":
			ok = !slices.ContainsFunc(list, func(g any) bool { return !same(w[1], g) })
		case len(w) > 0 && w[0] == "...":
			ok = !slices.ContainsFunc(w[1:], func(w any) bool {
				return !slices.ContainsFunc(list, func(g any) bool { return same(w, g) })
			})
		default:
			ok = slices.EqualFunc(w, list, same)
		}
	case string:
		switch {
		case w == "*" || w == "!":
			ok = (got == nil) == (w == "!")
		case strings.HasPrefix(w, "~"):
			ok = got != nil && regexp.MustCompile(w[1:]).MatchString(fmt.Sprint(got))
		case isList && strings.HasPrefix(w, "#"):
			ok = w[1:] == strconv.Itoa(len(list))
		default:
			ok = got == w
		}
	default:
		ok = ok || reflect.DeepEqual(want, got)
	}
	if ok {
		return ""
	}
	return fmt.Sprintf("%s is %.500v, want %.500v", at, got, want)
}

// ends closes the client's input, hears what comes, and waits for the adapter.
func (c *speaker) ends(failing bool) {
	c.in.Close()
	kill := time.AfterFunc(corpusEnd, func() {
		c.t.Error("the adapter does not end")
		c.cmd.Process.Kill() //nolint:errcheck // it has ended in this moment
	})
	for c.hear("the adapter's end", nil) {
	}
	err := c.cmd.Wait()
	if kill.Stop() && (err != nil) != failing {
		c.t.Errorf("the adapter ended with %v", err)
	}
	for seq, commands := range c.asked {
		if len(commands) > 0 && !failing {
			c.t.Errorf("request %d, %s, has no answer%s", seq, commands, c.tail())
		}
	}
}

// replay is a dialogue, of a file of testdata/dialogues, where FORMAT.txt says what a line means.
type replay struct {
	t       *testing.T
	head    map[string]string
	steps   [][]string // line number, client, sign, text
	daemon  *strobetest.Strobe
	clients map[string]*speaker
	values  map[string]any
	body    any // what was awaited last
	line    string
}

// load reads the file. One that expects nothing is none.
func (r *replay) load(file string) {
	content, err := os.ReadFile(file)
	expects := false
	for i, l := range strings.Split(string(content), "\n") {
		m := stepLine.FindStringSubmatch(l)
		key, value, isHead := strings.Cut(l, ": ")
		switch {
		case l == "" || l[0] == '#':
		case isHead && m == nil && len(r.steps) == 0:
			r.head[key] = value
		case m != nil:
			r.steps = append(r.steps, []string{strconv.Itoa(i + 1), m[1], m[2], strings.TrimPrefix(m[3], " ")})
			expects = expects || strings.Contains("<~!", m[2])
		case l[0] == ' ' && len(r.steps) > 0:
			r.steps[len(r.steps)-1][3] += l
		default:
			r.t.Fatalf("line %d: what is %q?", i+1, l)
		}
	}
	if err != nil || !expects {
		r.t.Fatalf("%v: it expects nothing", err)
	}
}

// fill puts the values of variables into a text: $name is a JSON, ${name} what is in a string.
func (r *replay) fill(text string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		m := variable.FindStringSubmatch(name)
		v, ok := r.values[m[1]+m[2]]
		if !ok {
			r.t.Fatalf("there is no %s", name)
		}
		if n, is := v.(float64); is && m[3] != "" {
			by, _ := strconv.Atoi(m[3]) //nolint:errcheck // digits
			v = n + float64(by)
		}
		b, _ := json.Marshal(v) //nolint:errcheck // it came from JSON
		return strings.Trim(string(b), map[bool]string{true: `"`}[m[1] != ""])
	})
}

// read makes a value of a JSON with variables.
func (r *replay) read(text string) (v any) {
	if text = r.fill(text); strings.TrimSpace(text) != "" {
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			r.t.Fatalf("%v: %s", err, text)
		}
	}
	return v
}

// send writes a message or bytes.
func (r *replay) send(c *speaker, sign, text string) {
	content := []byte(r.fill(text))
	if command, rest, _ := strings.Cut(text, " "); sign == ">" {
		c.last++
		r.values["seq"] = float64(c.last)
		m := args{"seq": c.last, "type": "request", "command": command}
		if command == "initialize" {
			m["arguments"] = corpusData()["a client"]
		}
		if rest != "" {
			m["arguments"] = r.read(rest)
		}
		content, _ = json.Marshal(m) //nolint:errcheck // made of JSON
	}
	var m struct {
		Seq           int
		Type, Command string
	}
	if json.Unmarshal(content, &m) == nil && m.Type == "request" {
		c.asked[m.Seq] = append(c.asked[m.Seq], m.Command)
	}
	if sign == ">>" {
		io.WriteString(c.in, r.read(text).(string)) //nolint:errcheck // what is wrong is seen by what is awaited
	} else {
		proto.WriteBaseMessage(c.in, content) //nolint:errcheck // the same
	}
}

// answer awaits the answer to the last request.
func (r *replay) answer(c *speaker, text string, good bool) {
	m := c.await("the answer", func(m *heardMessage) bool { return m.is("request_seq", float64(c.last)) })
	r.body = m.all["body"]
	if !m.is("success", good) {
		r.t.Fatalf("it must be %t%s", good, c.tail())
	}
	if good {
		r.compare(text, r.body)
	} else if said := fmt.Sprint(m.all["message"]); !regexp.MustCompile("(?i)" + r.fill(text)).MatchString(said) {
		r.t.Errorf("line %s: refused with %q, want %s", r.line, said, text)
	}
}

func (r *replay) compare(want string, got any) {
	if d := differs(r.read(want), got, "line "+r.line); d != "" {
		r.t.Error(d)
	}
}

// step carries out one line.
func (r *replay) step(client, sign, text string) {
	if r.clients[client] == nil {
		r.clients[client] = newSpeaker(r.t, r.daemon.Home)
	}
	c := r.clients[client]
	first, rest, _ := strings.Cut(text, " ")
	name, of, _ := strings.Cut(rest, " ")
	switch {
	case sign[0] == '>':
		r.send(c, sign, text)
	case first == "end":
		for c.hear(text, time.After(corpusEnd)) {
		}
	case sign == "=":
		said := ""
		for _, m := range c.heard[:c.until+1] {
			if m.is("event", "output") && m.body["category"] == first {
				said += fmt.Sprint(m.body["output"])
			}
		}
		r.compare(rest, said)
	case sign == "$" && of == "debug_session":
		r.daemon.Call(r.t, of, args{"action": "list"}, &r.body)
		r.values[first] = r.part(r.body, "sessions.0.sessionId")
	case sign == "$" && strings.HasPrefix(of, "$"):
		r.values[first] = r.read(of)
	case sign == "$":
		r.values[first] = r.part(r.body, r.fill(of))
	case first == "message":
		want := r.read(rest)
		r.body = c.await(text, func(m *heardMessage) bool { return differs(want, m.all, "") == "" }).all["body"]
	case sign == "-":
		for _, m := range c.heard[:c.until+1] {
			if !m.taken && m.is("event", name) && differs(r.read(of), m.body, "") == "" {
				r.t.Errorf("there was %v", m.all)
			}
		}
	case first == "event":
		want := r.read(of)
		r.body = c.await(text, func(m *heardMessage) bool {
			m.taken = m.is("event", name) && sign == "<~"
			return m.is("event", name) && (sign == "<" || differs(want, m.all["body"], "") == "")
		}).all["body"]
		r.compare(of, r.body)
	default:
		r.answer(c, text, sign == "<")
	}
}

// part finds what a path leads to: a.0.name=x.b.
func (r *replay) part(of any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		key, want, _ := strings.Cut(name, "=")
		next := any(nil)
		if m, ok := of.(map[string]any); ok {
			next = m[name]
		}
		list, _ := of.([]any)
		for i, one := range list {
			if m, _ := one.(map[string]any); name == strconv.Itoa(i) || fmt.Sprint(m[key]) == want && next == nil {
				next = one
			}
		}
		if of = next; of == nil {
			r.t.Fatalf("there is no %s on the path %s", name, path)
		}
	}
	return of
}

// prepare makes the program, and says what is known of it.
func (r *replay) prepare() {
	name, ext, ok := strings.Cut(r.head["program"], ".")
	if !ok {
		return
	}
	content, err := os.ReadFile(filepath.Join(corpusDir, "programs", r.head["program"]))
	source, dir := string(content), filepath.Join(r.t.TempDir(), r.head["dir"])
	file, given, program := filepath.Join(dir, r.head["program"]), []any{}, ""
	if err = errors.Join(err, os.MkdirAll(dir, 0o700), os.WriteFile(file, content, 0o600)); err != nil {
		r.t.Fatal(err)
	}
	switch lang := strings.Replace(ext, "rs", "rust", 1); {
	case ext == "py":
		all := strobetest.Pythons(r.t)
		program, given = all[len(all)-1].Path, []any{file}
	case ext == "js":
		program, given = strobetest.Node(r.t).Path, []any{file}
	case r.head["dir"] != "":
		program, file = strobetest.BuildIn(r.t, dir, name, source)
	default:
		variant := map[string]string{"c": "gcc-O0", "cpp": "gcc-O0", "rust": "rust-debug"}[lang]
		program = strobetest.BuildSource(r.t, lang, variant, name, source)
		file = strobetest.SourceOf(r.t, lang, name, source)
	}
	r.values["program"], r.values["args"], r.values["source"], r.values["dir"] = program, given, file, dir
	r.values["launch"] = args{"program": program, "args": given, "cwd": dir}
	for i, l := range strings.Split(source, "\n") {
		if m := marked.FindStringSubmatch(l); m != nil {
			r.values[m[1]] = float64(i + 1)
		}
	}
}

// run carries it out, and looks what it leaves behind.
func (r *replay) run() {
	t := r.t
	if r.head["beside"] != "" {
		cmd := exec.Command(r.values["program"].(string))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		r.values["beside"] = float64(cmd.Process.Pid)
		go cmd.Wait()            //nolint:errcheck // so that it does not stay when it is dead
		defer cmd.Process.Kill() //nolint:errcheck // it may have ended
	}
	defer func() {
		if t.Failed() {
			t.Logf("it stood at line %s", r.line)
		}
		for _, c := range r.clients {
			c.ends(r.head["exit"] == "error")
		}
		strobetest.Eventually(t, corpusEnd, "nothing is left behind", func() bool {
			var list struct{ Sessions []struct{ Status, PID any } }
			r.daemon.Call(t, "debug_session", args{"action": "list"}, &list)
			for _, one := range list.Sessions {
				stat, err := os.ReadFile(fmt.Sprintf("/proc/%v/stat", one.PID))
				alive := err == nil && !strings.Contains(string(stat), ") Z ")
				if one.Status == "running" || one.Status == "paused" || alive != (r.head["lives"] != "") {
					return false
				}
				if p, err := os.FindProcess(int(one.PID.(float64))); err == nil && alive {
					p.Kill() //nolint:errcheck // it may end by itself
				}
			}
			return true
		})
	}()
	for _, step := range r.steps {
		r.line = step[0]
		r.step(step[1], step[2], step[3])
	}
}

// TestCorpus replays all dialogues.
func TestCorpus(t *testing.T) {
	strobetest.NeedPtrace(t)
	files, _ := filepath.Glob(filepath.Join(corpusDir, "*.dap")) //nolint:errcheck // the pattern is good
	if len(files) < 40 {
		t.Errorf("there are %d dialogues", len(files))
	}
	soaks := strobetest.Soaks(t, "three of five dialogues")
	for i, f := range files {
		if !soaks && i%5 > 1 {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(f), ".dap"), func(t *testing.T) {
			t.Parallel()
			r := &replay{t: t, head: map[string]string{}, clients: map[string]*speaker{}, values: args{}}
			r.load(f)
			r.daemon = strobetest.Start(t, nil)
			r.prepare()
			r.run()
		})
	}
}
