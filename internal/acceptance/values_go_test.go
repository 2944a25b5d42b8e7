package acceptance

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// goBases are the types that others are made of, with a value of each.
var goBases = [][2]string{
	{"bool", "true"}, {"int", "-5"}, {"int8", "-8"}, {"int16", "-1600"}, {"int32", "-320000"}, {"int64", "-1<<62"},
	{"uint", "7"}, {"uint8", "200"}, {"uint16", "65000"}, {"uint32", "1<<31"}, {"uint64", "1<<63+1"}, {"uintptr", "99"},
	{"float32", "1.5"}, {"float64", "-2.25"}, {"string", `"text ü"`}, {"Named", "3"}, {"Pair", `Pair{1, "p"}`},
	{"*Pair", `&Pair{2, "q"}`}, {"error", `errors.New("bad")`}, {"Small", "Small{1, 2, 3}"}, {"Wide", "Wide{1, 2, 3, 4, 5}"},
	{"func(int) int", "double"}, {"rune", "'x'"}, {"Empty", "Empty{}"},
	{"Nested", `Nested{Pair{3, "n"}, [2]bool{true, false}, nil}`}, {"any", "Pair{4, `i`}"}, {"*int", "(*int)(nil)"},
}

// goWraps make a type of another, and a value of it.
var goWraps = [][2]string{
	{"%s", "%s"}, {"*%s", "ptr[%[2]s](%[1]s)"}, {"[]%s", "[]%[2]s{%[1]s, %[1]s}"}, {"[1]%s", "[1]%[2]s{%[1]s}"},
	{"[3]%s", "[3]%[2]s{%[1]s, %[1]s, %[1]s}"}, {"struct{A %s; B byte}", "struct{A %[2]s; B byte}{%[1]s, 9}"},
	{"map[string]%s", `map[string]%[2]s{"k": %[1]s}`}, {"struct{B bool; A %s}", "struct{B bool; A %[2]s}{true, %[1]s}"},
}

// goValueHead is a program that says what values are, by reflection.
const goValueHead = `package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"unicode/utf8"
)

type Named int
type Empty struct{}
type Pair struct { N int; S string }
type Small struct { A int8; B int16; C int32 }
type Wide struct { A, B, C, D, E int }
type Nested struct { P Pair; On [2]bool; Next *Pair }

var sink int

//go:noinline
func double(n int) int { return 2 * n }
func ptr[T any](v T) *T { return &v }
var _ = errors.New

func tell(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Struct:
		m := map[string]any{}
		for i := 0; i < v.NumField(); i++ { m[v.Type().Field(i).Name] = tell(v.Field(i)) }
		return m
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 && v.Kind() == reflect.Slice {
			if b := v.Bytes(); !utf8.Valid(b) { return "base64:" + base64.StdEncoding.EncodeToString(b) }
			return string(v.Bytes())
		}
		list := []any{}
		for i := 0; i < v.Len(); i++ { list = append(list, tell(v.Index(i))) }
		return list
	case reflect.Pointer:
		if v.IsNil() { return nil }
		return tell(v.Elem())
	case reflect.Interface:
		if v.IsNil() { return nil }
		return map[string]any{"type": v.Elem().Type().String(), "value": tell(v.Elem())}
	case reflect.Map:
		m := map[string]any{}
		for _, k := range v.MapKeys() { m[fmt.Sprint(k)] = tell(v.MapIndex(k)) }
		return m
	case reflect.Func:
		return runtime.FuncForPC(v.Pointer()).Name()
	case reflect.Bool: return v.Bool()
	case reflect.String: return v.String()
	case reflect.Float32, reflect.Float64: return v.Float()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64: return v.Int()
	default: return v.Uint()
	}
}

// say prints what a call is given: pointers to the values, so that their types stay.
func say(name string, at ...any) {
	list := []any{}
	for _, a := range at { list = append(list, tell(reflect.ValueOf(a).Elem())) }
	b, err := json.Marshal(list)
	if err != nil { panic(err) }
	fmt.Printf("%s %s\n", name, b)
}
`

// goValueProgram is a program of n functions with parameters and results of many types.
func goValueProgram(n int) string {
	rng := rand.New(rand.NewPCG(7, 16))
	var b, body strings.Builder
	b.WriteString(goValueHead)
	pick := func(i int) (typ, val string) {
		base, wrap := goBases[i%len(goBases)], goWraps[i/len(goBases)%len(goWraps)]
		return fmt.Sprintf(wrap[0], base[0]), fmt.Sprintf(wrap[1]+"%.0[2]s", base[1], base[0])
	}
	all := len(goBases) * len(goWraps)
	for k := range n {
		types, vals := []string{}, []string{}
		add := func(i int) {
			t, v := pick(i)
			types, vals = append(types, t), append(vals, v)
		}
		add(k % all)
		for k >= all && len(types) < 2+k%9 { // several, which need more registers than there are
			add(rng.IntN(all))
		}
		var params, names, at []string
		fmt.Fprintf(&body, "\t{\n")
		for i, t := range types {
			params, names = append(params, fmt.Sprintf("a%d %s", i, t)), append(names, fmt.Sprintf("a%d", i))
			at = append(at, fmt.Sprintf("&a%d", i))
			fmt.Fprintf(&body, "\t\tvar a%d %s = %s\n", i, t, vals[i])
		}
		fmt.Fprintf(&b, "\n//go:noinline\nfunc f%d(%s) (%s) {\n\tsink++\n\treturn %s\n}\n", k, strings.Join(params, ", "),
			strings.Join(types, ", "), strings.Join(names, ", "))
		fmt.Fprintf(&body, "\t\tsay(\"f%d\", %s)\n\t\tf%d(%s)\n\t}\n", k, strings.Join(at, ", "), k, strings.Join(names, ", "))
	}
	fmt.Fprintf(&b, "\nfunc main() {\n%s}\n", body.String())
	return b.String()
}

// TestGoValues: arguments and results of functions with parameters of many types are what the program says they are, or
// are said to be optimised out.
func TestGoValues(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	strobetest.NeedCommand(t, "go")
	n, ways := 300, [][]string{{"local"}}
	if strobetest.Soaks(t, "other versions of Go, and code that is not optimised") {
		strobetest.NeedNetwork(t)
		ways = append(ways, []string{"local", "-gcflags=-N -l"})
		for _, v := range goVersions {
			ways = append(ways, []string{v}, []string{v, "-gcflags=-N -l"})
		}
	}
	for _, way := range ways {
		t.Run(strings.Join(way, " "), func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for name, text := range map[string]string{"main.go": goValueProgram(n), "go.mod": "module values\n\ngo 1.21\n"} {
				if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			bin := filepath.Join(root, "values")
			cmd := exec.Command("go", append(append([]string{"build", "-o", bin}, way[1:]...), ".")...)
			cmd.Dir, cmd.Env = root, append(os.Environ(), "GOFLAGS=-mod=mod", "GOTOOLCHAIN="+way[0])
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("build: %v\n%s", err, out)
			}
			s := strobetest.Start(t, nil)
			l := s.Launch(t, bin, root, nil, args{"trace": []string{"main.f*"}, "serializationDepth": 6})
			s.WaitEnd(t, l.SessionID, endLimit)
			checkGoValues(t, s, l.SessionID, n)
		})
	}
}

// onlyPlace reports whether a value is shown as it is, but for parts of which the type or the address is.
func onlyPlace(got, want any) bool {
	if text, ok := got.(string); ok && text != want {
		m, boxed := want.(map[string]any)
		return boxed && strings.HasPrefix(text, fmt.Sprintf("<%v at 0x", m["type"])) ||
			want == "main.double" && strings.HasPrefix(text, "0x")
	}
	switch g := got.(type) {
	case []any:
		w, ok := want.([]any)
		for i := 0; ok && i < len(g); i++ {
			ok = len(g) == len(w) && onlyPlace(g[i], w[i])
		}
		return ok
	case map[string]any:
		w, ok := want.(map[string]any)
		for k := range g {
			ok = ok && len(g) == len(w) && onlyPlace(g[k], w[k])
		}
		return ok
	}
	return reflect.DeepEqual(got, want)
}

func checkGoValues(t *testing.T, s *strobetest.Strobe, id string, n int) {
	t.Helper()
	told := map[string][]any{}
	for _, line := range strings.Split(strings.TrimSpace(s.Output(t, id, "stdout")), "\n") {
		name, list, _ := strings.Cut(line, " ")
		var v []any
		if err := json.Unmarshal([]byte(list), &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		told["main."+name] = v
	}
	right, hidden, less, wrong, checked := 0, 0, 0, 0, 0
	compare := func(what string, got, want any) {
		switch {
		case reflect.DeepEqual(got, want):
			right++
		case got == "<optimized out>":
			hidden++
		case onlyPlace(got, want): // docs/limits.md: of some that an interface holds, and of pointers to functions
			less++
		default:
			if wrong++; wrong < 20 {
				t.Errorf("%s is shown as %v, it is %v", what, got, want)
			}
		}
	}
	for after := int64(0); ; {
		var page struct {
			Events []struct {
				ID          int64
				EventType   string
				Function    string
				Arguments   map[string]any
				ReturnValue any
			}
			HasMore bool
		}
		s.Call(t, "debug_query", args{"sessionId": id, "verbose": true, "limit": 500, "afterEventId": after,
			"eventType": []string{"function_enter", "function_exit"}}, &page)
		for _, e := range page.Events {
			after = e.ID
			want := told[e.Function]
			if want == nil {
				t.Errorf("%s was not called", e.Function)
				continue
			}
			checked++
			if e.EventType == "function_enter" {
				for i := range want {
					compare(fmt.Sprintf("%s a%d", e.Function, i), e.Arguments[fmt.Sprintf("a%d", i)], want[i])
				}
			} else if len(want) == 1 {
				compare(e.Function+" result", e.ReturnValue, want[0])
			} else if list, ok := e.ReturnValue.([]any); ok && len(list) == len(want) {
				for i := range want {
					compare(fmt.Sprintf("%s result %d", e.Function, i), list[i], want[i])
				}
			} else {
				compare(e.Function+" results", e.ReturnValue, any(want))
			}
		}
		if !page.HasMore {
			break
		}
	}
	t.Logf("%d calls and returns, %d values are right, %d optimized out, of %d only the type, %d wrong", checked, right,
		hidden, less, wrong)
	if checked != 2*n || hidden+less > right/10 {
		t.Errorf("%d of %d calls and returns were seen, %d values are told to be optimised out", checked, 2*n, hidden)
	}
}
