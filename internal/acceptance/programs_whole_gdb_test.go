//go:build linux

package acceptance

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

const (
	wholeCalls     = 200 // calls of a program whose values are compared
	wholeCallsEach = 10  // of one function
	wholeCallsMany = 500 // a function with more calls among those read is left out: they take gdb long
)

// seenCall is one call's values, by Strobe as JSON, by gdb as gdbHeld.
type seenCall struct {
	arguments map[string]any
	result    any
	hasResult bool
}

// gdbHeld is a value as testdata/gdb_calls.py says it.
type gdbHeld struct {
	Kind   string             `json:"k"`
	Value  any                `json:"v"`
	Number string             `json:"n"`
	To     *gdbHeld           `json:"to"`
	Fields map[string]gdbHeld `json:"f"`
	Type   string             `json:"t"`
}

type gdbRow struct {
	Function  string
	Call      int
	Arguments map[string]gdbHeld
	Result    *gdbHeld
	Total     *int
}

// otherGarbage makes the C library leave other bytes in memory that nobody has written. Where a program shares its work
// among threads, it has one: calls are compared in their order.
var (
	oneThread    = map[string]string{"RAYON_NUM_THREADS": "1"}
	otherGarbage = map[string]string{"MALLOC_PERTURB_": "85", "LD_BIND_NOW": "1", "RAYON_NUM_THREADS": "1"}
)

// compareWithGDB compares what Strobe records of some functions' first calls with what gdb reads of the same calls.
func compareWithGDB(t *testing.T, s *strobetest.Strobe, w strobetest.Whole, b strobetest.Built, folder func() string) {
	dir := folder()
	argv := slices.Clone(w.Args)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "{S}", b.Source)
	}
	seed := uint64(time.Now().UnixNano()) >> 20
	t.Logf("seed %d", seed)
	launch := func(patterns []string, env map[string]string, policy string, most int) map[string][]seenCall {
		// With lines flushed, C's stdout itself would say so, in its flags.
		return tracedCalls(t, s, b, argv, args{"stdin": w.Stdin, "env": env, "cwd": folder(), "trace": patterns,
			"onFullBuffer": policy,
			"lineBuffer":   "off"}, most)
	}
	all := launch([]string{"@usercode"}, oneThread, "drop", wholeCallsMany)
	var raws, names []string
	for raw, calls := range all {
		if len(calls) < wholeCallsMany {
			raws = append(raws, raw)
		}
	}
	slices.Sort(raws)
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(raws), func(i, j int) { raws[i], raws[j] = raws[j], raws[i] })
	raws = raws[:min(len(raws), wholeCalls)]
	for _, raw := range raws {
		name, _, _ := strings.Cut(raw, "|")
		name = patternOf(name)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	each := max(wholeCallsEach, 2*wholeCalls/max(1, len(raws)))
	seen, seenAgain := launch(names, oneThread, "block", each), launch(names, otherGarbage, "block", each)
	job := args{"program": b.Program, "args": argv, "functions": linkNames(raws), "calls": each,
		"most":  wholeCalls,
		"entry": w.Optimised, "lang": w.Lang, "early": w.Early}
	stdin := filepath.Join(t.TempDir(), "stdin")
	if err := os.WriteFile(stdin, []byte(w.Stdin), 0o600); err != nil {
		t.Fatal(err)
	}
	job["stdin"] = stdin
	// Twice each, at other addresses and over other garbage: what two runs under one tool show differently nobody has
	// written yet, or it is an address or a time.
	job["env"] = plainEnv(dir, oneThread)
	first := gdbCalls(t, job, folder(), false)
	job["env"] = plainEnv(dir, otherGarbage)
	second := gdbCalls(t, job, folder(), true)
	c := gdbComparison{t: t, unset: w.Unset}
	calls := 0
	for _, raw := range raws {
		name := linkName(raw)
		for i, want := range first[name] {
			if i >= len(seen[raw]) {
				t.Errorf("%s: gdb saw call %d, Strobe %d calls", name, i+1, len(seen[raw]))
				break
			}
			if i >= len(second[name]) || i >= len(seenAgain[raw]) {
				break
			}
			calls++
			got, twin := seen[raw][i], seenAgain[raw][i]
			for arg, v := range want.Arguments {
				if slices.Contains(w.Unset, arg) {
					continue
				}
				have, ok := got.arguments[arg]
				if !ok {
					c.missing++
					continue
				}
				c.compare(fmt.Sprintf("%s call %d %s", name, i+1, arg), have, twin.arguments[arg], v,
					second[name][i].Arguments[arg])
			}
			if want.Result != nil && second[name][i].Result != nil && got.hasResult && !slices.Contains(w.Unset, name) {
				c.compare(fmt.Sprintf("%s call %d result", name, i+1), got.result, twin.result, *want.Result,
					*second[name][i].Result)
			}
		}
	}
	t.Logf("%d functions, %d calls compared: %d values the same, %d wrong, %d left out by Strobe alone, %d not comparable",
		len(raws), calls, c.same, c.wrong, c.missing, c.other)
	if calls == 0 || c.same == 0 {
		t.Errorf("nothing was compared")
	}
}

// plainEnv is the environment of a program that Strobe launches in dir, from this one, which its daemon has, too.
func plainEnv(dir string, more map[string]string) []string {
	env := slices.Clone(os.Environ())
	for i, v := range env {
		if strings.HasPrefix(v, "PWD=") {
			env[i] = "PWD=" + dir
		}
	}
	for _, k := range slices.Sorted(maps.Keys(more)) {
		env = append(env, k+"="+more[k])
	}
	return env
}

func linkName(raw string) string {
	_, link, _ := strings.Cut(raw, "|")
	return link
}

func linkNames(raws []string) []string {
	var out []string
	for _, r := range raws {
		out = append(out, linkName(r))
	}
	return out
}

// tracedCalls runs a program with these patterns and returns the first calls of each function, by name|name of the
// linker: those that gdb will see, in the order of the program, up to most of each; those of a survey, wholeCallsMany,
// without values.
func tracedCalls(t *testing.T, s *strobetest.Strobe, b strobetest.Built, argv []string, extra args,
	most int) map[string][]seenCall {
	t.Helper()
	l := s.Launch(t, b.Program, b.Source, argv, extra)
	defer s.Stop(t, l.SessionID)
	s.WaitEnd(t, l.SessionID, wholeLimit)
	calls := map[string][]seenCall{}
	type place struct {
		key string
		i   int
	}
	places := map[int64]place{}
	survey, kinds := most == wholeCallsMany, []string{"function_enter", "function_exit"}
	if survey {
		kinds = kinds[:1]
	}
	kept, further := 0, 8 // pages behind the last call that is wanted: results
	for after, pages := int64(0), 0; pages < 100 && further > 0; pages++ {
		var page struct {
			Events []struct {
				ID           int64          `json:"id"`
				EventType    string         `json:"eventType"`
				Function     string         `json:"function"`
				FunctionRaw  string         `json:"functionRaw"`
				Arguments    map[string]any `json:"arguments"`
				ReturnValue  *any           `json:"returnValue"`
				EnterEventID int64          `json:"enterEventId"`
				PID          int            `json:"pid"`
				Unwound      bool           `json:"unwound"`
			} `json:"events"`
			HasMore     bool  `json:"hasMore"`
			LastEventID int64 `json:"lastEventId"`
		}
		s.Call(t, "debug_query", args{"sessionId": l.SessionID, "eventType": kinds, "limit": 500, "verbose": true,
			"afterEventId": after}, &page)
		for _, e := range page.Events {
			if e.PID != 0 && e.PID != l.PID { // a child's, which gdb does not follow
				continue
			}
			if e.EventType == "function_exit" {
				// Of a function that ended in a jump to another one only that one's result may be known.
				if p, ok := places[e.EnterEventID]; ok && !e.Unwound && e.ReturnValue != nil {
					calls[p.key][p.i].result, calls[p.key][p.i].hasResult = *e.ReturnValue, true
				}
				continue
			}
			link := e.FunctionRaw
			if link == "" {
				link = e.Function
			}
			key := e.Function + "|" + link
			if len(calls[key]) < most {
				kept++
				places[e.ID] = place{key, len(calls[key])}
				calls[key] = append(calls[key], seenCall{arguments: e.Arguments})
			}
		}
		if !page.HasMore || len(page.Events) == 0 {
			break
		}
		if !survey && kept > 4*wholeCalls { // gdb leaves some functions out
			further--
		}
		after = page.LastEventID
	}
	return calls
}

// gdbCalls runs the program under gdb and returns its rows, by function and call. The second time other garbage lies at
// other places.
func gdbCalls(t *testing.T, job args, dir string, again bool) map[string][]gdbRow {
	t.Helper()
	tmp := t.TempDir()
	job["cwd"], job["aslr"], job["poison"], job["out"] = dir, again, again, filepath.Join(tmp, "out")
	data, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(tmp, "job.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), wholeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "gdb", "-nx", "-q", "-batch", "-iex", "set auto-load safe-path /usr", "-ex",
		fmt.Sprintf("python JOB=%q", file),
		"-x", filepath.Join(strobetest.Root(t), "internal", "acceptance", "testdata", "gdb_calls.py"))
	said, err := cmd.CombinedOutput()
	rows, openErr := os.Open(job["out"].(string))
	if openErr != nil {
		t.Fatalf("gdb: %v\n%s", err, said)
	}
	defer rows.Close()
	out := map[string][]gdbRow{}
	total := -1
	lines := bufio.NewScanner(rows)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r gdbRow
		d := json.NewDecoder(strings.NewReader(lines.Text()))
		d.UseNumber()
		if err := d.Decode(&r); err != nil {
			t.Fatalf("gdb's row %q: %v", lines.Text(), err)
		}
		switch {
		case r.Total != nil:
			total = *r.Total
		case r.Arguments != nil:
			out[r.Function] = append(out[r.Function], r)
		case r.Result != nil && r.Call < len(out[r.Function]):
			out[r.Function][r.Call].Result = r.Result
		}
	}
	if total < 1 {
		t.Fatalf("gdb saw no call: %v\n%s", err, said)
	}
	return out
}

// gdbComparison counts how Strobe's values stand against gdb's.
type gdbComparison struct {
	t                           *testing.T
	unset                       []string
	same, wrong, missing, other int
}

// compare holds Strobe's value against gdb's, and lets pass what gdb says otherwise in its second run.
func (c *gdbComparison) compare(where string, got, twin any, want, again gdbHeld) {
	if want.Kind != again.Kind {
		c.other++
		return
	}
	if text, ok := got.(string); ok && strings.HasPrefix(text, "<") && (want.Kind != "text" || text == "<optimized out>") {
		if text == "<optimized out>" && want.Kind != "gone" {
			c.missing++
		} else {
			c.other++
		}
		return
	}
	switch want.Kind {
	case "int", "bool", "float", "text", "enum", "char":
		if fmt.Sprint(want.Value) != fmt.Sprint(again.Value) || fmt.Sprint(got) != fmt.Sprint(twin) {
			c.other++
			return
		}
		c.count(where, c.scalar(got, want), got, want)
	case "null":
		if m, ok := got.(map[string]any); ok && len(m) > 0 { // a formatter's own way of showing it
			c.other++
			return
		}
		if (got == nil) != (twin == nil) {
			c.other++
			return
		}
		c.count(where, truth(got == nil), got, want)
	case "ptr", "ref":
		if _, ok := got.(string); ok || want.To == nil || again.To == nil {
			c.other++
			return
		}
		if (got == nil) != (twin == nil) {
			c.other++
			return
		}
		// JSON's own null, or what a formatter shows so: it says of a pointer that it is not null, of references there is none
		if leadsToNull(got) || got == nil && (want.Kind == "ref" || strings.HasSuffix(want.To.Type, "serde_json::value::Value")) {
			c.other++
			return
		}
		if got == nil {
			c.count(where, truth(false), got, want)
			return
		}
		c.compare(where, got, twin, *want.To, *again.To)
	case "struct":
		m, ok := got.(map[string]any)
		other, twins := twin.(map[string]any)
		if !ok || !twins {
			c.other++
			return
		}
		for name, f := range want.Fields {
			if slices.Contains(c.unset, name) {
				continue
			}
			if v, ok := m[name]; ok {
				c.compare(where+"."+name, v, other[name], f, again.Fields[name])
			} else {
				c.other++
			}
		}
	case "array":
		list, ok := got.([]any)
		others, twins := twin.([]any)
		wants, _ := want.Value.([]any)
		if !ok || !twins {
			c.other++
			return
		}
		for i := range min(len(list), len(wants), len(others)) {
			w, a := decodeGDB(wants[i]), decodeGDB(again.Value.([]any)[i])
			c.compare(fmt.Sprintf("%s[%d]", where, i), list[i], others[i], w, a)
		}
	default:
		c.other++
	}
}

func decodeGDB(v any) gdbHeld {
	var out gdbHeld
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return gdbHeld{Kind: "other"}
	}
	return out
}

type verdict int

const (
	disagrees verdict = iota
	agrees
	unlike // shown in a way that is not compared
)

func truth(ok bool) verdict {
	if ok {
		return agrees
	}
	return disagrees
}

func (c *gdbComparison) count(where string, v verdict, got any, want gdbHeld) {
	switch v {
	case agrees:
		c.same++
	case unlike:
		c.other++
	default:
		c.wrong++
		if c.wrong <= 20 {
			c.t.Errorf("%s: Strobe %v (%T), gdb %v", where, got, got, want)
		}
	}
}

// scalar compares one simple value.
func (c *gdbComparison) scalar(got any, want gdbHeld) verdict {
	switch want.Kind {
	case "int":
		n, ok := got.(json.Number)
		if f, isFloat := got.(float64); isFloat {
			n, ok = json.Number(strconv.FormatFloat(f, 'f', -1, 64)), true
		}
		if !ok {
			return unlike
		}
		if math.Abs(number(string(n))) > 1<<53 { // decoded as a float here
			return truth(number(string(n)) == number(want.Value.(string)))
		}
		return truth(string(n) == want.Value.(string))
	case "bool":
		b, ok := got.(bool)
		if !ok {
			return unlike
		}
		return truth(b == want.Value.(bool))
	case "float":
		f, ok := got.(float64)
		if !ok {
			return unlike
		}
		return truth(f == number(want.Value.(string)) || float32(f) == float32(number(want.Value.(string))))
	case "enum":
		name, _ := want.Value.(string)
		switch g := got.(type) {
		case string:
			return truth(g == name || strings.HasSuffix(name, "::"+g) || strings.Contains(name, "|") ||
				strings.Contains(g, "|") || g == want.Number || strings.Contains(g, "("))
		case float64:
			return truth(strconv.FormatFloat(g, 'f', -1, 64) == want.Number)
		}
		return unlike
	case "text":
		text, ok := got.(string)
		if !ok {
			return unlike
		}
		if strings.HasPrefix(text, "0x") && want.Value != text { // beyond the depth
			return unlike
		}
		whole, _, cut := strings.Cut(text, "…(+")
		w, _ := want.Value.(string)
		if coded, is := strings.CutPrefix(whole, "base64:"); is {
			raw, _ := base64.StdEncoding.DecodeString(coded[:len(coded)/4*4]) //nolint:errcheck // what there is of it is compared
			whole, text = string(raw), string(raw)
		}
		if cut || len(w) >= 190 {
			n := min(len(whole), len(w))
			return truth(strings.ToValidUTF8(whole[:n], "") == strings.ToValidUTF8(w[:n], ""))
		}
		return truth(text == w)
	case "char":
		return unlike
	}
	return unlike
}

func number(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return f
}
