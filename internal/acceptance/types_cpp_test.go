package acceptance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// libraryTypes are the programs of testdata/targets/types: what they print says how each of their objects is shown.
var libraryTypes = []string{"types_text", "types_sequences", "types_owners", "types_mixed", "types_objects",
	"types_virtual", "types_derived",
	"types_recursive"}

// libraryBuild is one way to build them.
type libraryBuild struct {
	variant  string
	flags    []string
	programs []string // nil: all
	soak     bool     // left to make soak: its compiler, library and level each stand in another one
}

var libraryBuilds = []libraryBuild{
	{variant: "gcc-O0", flags: []string{"-std=gnu++20"}},
	{variant: "gcc-O2", flags: []string{"-std=gnu++20"}, soak: true},
	{variant: "clang-O0", flags: []string{"-std=gnu++20"}, soak: true},
	{variant: "clang-O2", flags: []string{"-std=gnu++17"}, programs: libraryTypes[:4]},
	{variant: "clang-O2", flags: []string{"-std=gnu++17"}, programs: libraryTypes[4:], soak: true},
	{variant: "clang-O0", flags: []string{"-std=gnu++20", "-stdlib=libc++"}},
	{variant: "clang-O2", flags: []string{"-std=gnu++17", "-stdlib=libc++"}, soak: true},
	// Strings and lists before the ABI of C++11; containers that check their use; clang's leaving out of what the library
	// describes.
	{variant: "gcc-O0", flags: []string{"-std=gnu++17", "-D_GLIBCXX_USE_CXX11_ABI=0"},
		programs: []string{"types_text", "types_sequences"}},
	{variant: "gcc-O2-dwarf4", flags: []string{"-std=gnu++17", "-D_GLIBCXX_DEBUG"}, programs: []string{"types_sequences"}},
	{variant: "clang-O0", flags: []string{"-std=gnu++17"}, programs: []string{"types_text", "types_owners"}},
}

// TestLibraryTypesCPP compares objects of the C++ libraries, as debug_query shows them, with what the program says of
// them: equal, or with optimization <optimized out>.
func TestLibraryTypesCPP(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, b := range libraryBuilds {
		if b.soak && !strobetest.Soaks(t, "three of nine builds, and half of a fourth") {
			continue
		}
		programs := b.programs
		if programs == nil {
			programs = libraryTypes
		}
		for _, program := range programs {
			t.Run(fmt.Sprintf("%s/%s/%s", program, b.variant, strings.Join(b.flags, " ")), func(t *testing.T) {
				t.Parallel()
				checkLibraryTypes(t, s, program, b)
			})
		}
	}
}

// runLibraryTypes runs a program to its end. It returns the file that the program has written.
func runLibraryTypes(t *testing.T, s *strobetest.Strobe, program string, b libraryBuild) (strobetest.Launched, string) {
	t.Helper()
	if slices.Contains(b.flags, "-stdlib=libc++") {
		if found, _ := filepath.Glob("/usr/lib/llvm-*/include/c++/v1/vector"); len(found) == 0 {
			strobetest.Lack(t, "libc++-dev is not installed")
		}
	}
	path := strobetest.BuildSource(t, "cpp", b.variant, program, librarySource(t, program), b.flags...)
	root, err := strobetest.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "expected")
	l := s.Launch(t, path, root, []string{file}, args{"trace": []string{"take_*", "point_*", "pass_*", "make_*"},
		"serializationDepth": 6, "onFullBuffer": "block"})
	st := s.WaitEnd(t, l.SessionID, endLimit)
	if st.ExitCode == nil || *st.ExitCode != 0 || st.DroppedEvents != 0 {
		t.Fatalf("ended as %+v", st)
	}
	return l, file
}

func checkLibraryTypes(t *testing.T, s *strobetest.Strobe, program string, b libraryBuild) {
	l, file := runLibraryTypes(t, s, program, b)
	defer s.Stop(t, l.SessionID)
	var sc typeScore
	seen := allCalls(t, s, l.SessionID)
	for _, want := range expectations(t, file) {
		sc.judge(t, want, seen, strings.HasSuffix(b.variant, "-O0"))
	}
	t.Logf("%d hooked: %d right, %d optimized out, %d not described, %d wrong", l.HookedFunctions, sc.right, sc.missing,
		sc.absent, sc.wrong)
	if sc.right < sc.missing+sc.absent || sc.right == 0 {
		t.Errorf("only %d values right, %d optimized out, %d not described", sc.right, sc.missing, sc.absent)
	}
}

// TestDamagedTypesCPP looks at objects whose memory holds anything: the program lives, no call is lost, and what is
// shown is JSON.
func TestDamagedTypesCPP(t *testing.T) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, b := range libraryBuilds {
		if b.programs != nil || !strings.HasSuffix(b.variant, "-O0") {
			continue
		}
		t.Run(b.variant+"/"+strings.Join(b.flags, " "), func(t *testing.T) {
			t.Parallel()
			l, file := runLibraryTypes(t, s, "types_damaged", b)
			defer s.Stop(t, l.SessionID)
			checkDamaged(t, s, l.SessionID, file)
		})
	}
}

// checkDamaged compares the number of calls seen with the program's own.
func checkDamaged(t *testing.T, s *strobetest.Strobe, id, file string) {
	t.Helper()
	var want int
	data, err := os.ReadFile(file)
	if _, scanErr := fmt.Sscan(string(data), &want); err != nil || scanErr != nil {
		t.Fatal(err, scanErr)
	}
	if got := len(allCalls(t, s, id)["take_damaged"]); got != want {
		t.Errorf("%d calls seen, want %d", got, want)
	}
}

// librarySource returns a program's text, with show.h in the place of its #include.
func librarySource(t *testing.T, program string) string {
	t.Helper()
	dir := filepath.Join(strobetest.TargetsDir(t), "types")
	header, err := os.ReadFile(filepath.Join(dir, "show.h"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(dir, program+".cc"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(header), "#pragma once\n", "", 1)
	return strings.Replace(string(source), "#include \"show.h\"\n", text, 1)
}

// expectation is a line that the program printed.
type expectation struct {
	Case, Arg       string
	Want, Like, Has json.RawMessage
	Also            string
	alsos           []string
	call            int // which call of the function, from 0
}

func expectations(t *testing.T, file string) []*expectation {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []*expectation
	calls := map[string]int{}
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		e := new(expectation)
		if err := json.Unmarshal(sc.Bytes(), e); err != nil {
			t.Fatalf("%v: %s", err, sc.Bytes())
		}
		if e.Also != "" {
			last := out[len(out)-1]
			last.alsos = append(last.alsos, e.Also)
			continue
		}
		e.call = calls[e.Case]
		calls[e.Case]++
		out = append(out, e)
	}
	return out
}

// libraryCall finds the case in a function's name, also in one that lists its parameters.
var libraryCall = regexp.MustCompile(`^(?:take|point|pass|make)_\w+`)

// allCalls reads the arguments and results of all calls, by function.
func allCalls(t *testing.T, s *strobetest.Strobe, id string) map[string][]map[string]json.RawMessage {
	t.Helper()
	return allCallsOf(t, s, id, libraryCall.FindString)
}

func allCallsOf(t *testing.T, s *strobetest.Strobe, id string,
	nameOf func(string) string) map[string][]map[string]json.RawMessage {
	t.Helper()
	seen := map[string][]map[string]json.RawMessage{}
	for after := int64(0); ; {
		p := s.Query(t, id, args{"eventType": []string{"function_enter", "function_exit"}, "verbose": true, "limit": 500,
			"afterEventId": after})
		for _, e := range p.Events {
			name := nameOf(e.Function)
			calls := seen[name]
			if e.EventType == "function_exit" {
				if e.Return != nil && len(calls) > 0 {
					calls[len(calls)-1]["return"] = e.Return
				}
				continue
			}
			values := map[string]json.RawMessage{}
			if err := json.Unmarshal(e.Arguments, &values); err != nil {
				t.Fatalf("arguments of %s: %v: %s", e.Function, err, e.Arguments)
			}
			seen[name] = append(calls, values)
		}
		if !p.HasMore || len(p.Events) == 0 {
			return seen
		}
		after = p.LastEventID
	}
}

type typeScore struct{ right, missing, absent, wrong int }

func (sc *typeScore) judge(t *testing.T, want *expectation, seen map[string][]map[string]json.RawMessage, exact bool) {
	calls := seen[want.Case]
	if want.call >= len(calls) {
		sc.wrong++
		t.Errorf("%s: %d calls seen, want more", want.Case, len(calls))
		return
	}
	got, ok := calls[want.call][want.Arg]
	switch {
	case !ok && !exact:
		sc.absent++
		return
	case !exact && bytes.Contains(got, []byte(optimizedOut)):
		sc.missing++
		t.Logf("%s %s: %.100s", want.Case, want.Arg, got)
		return
	case ok && want.holds(string(got)):
		sc.right++
		return
	}
	if sc.wrong++; sc.wrong <= 60 {
		t.Errorf("%s\n   %s = %.700s\n  want %.700s%.700s%.700s %q", want.Case, want.Arg, got, want.Want, want.Like, want.Has,
			want.alsos)
	}
}

func (want *expectation) holds(got string) bool {
	for _, a := range want.alsos {
		if !strings.Contains(got, a) {
			return false
		}
	}
	switch {
	case want.Like != nil:
		var part string
		return json.Unmarshal(want.Like, &part) == nil && strings.Contains(got, part)
	case want.Has != nil:
		return covers(decoded(want.Has), decoded([]byte(got)))
	}
	return sameValue(decoded(want.Want), decoded([]byte(got))) &&
		slices.Equal(memberNames(want.Want), memberNames([]byte(got)))
}

// memberNames lists the names of all members of all objects, in order: that of a map is its order of iteration.
func memberNames(text []byte) []string {
	var names []string
	d := json.NewDecoder(bytes.NewReader(text))
	var inObject []bool // of what encloses the token
	name := false
	for {
		tok, err := d.Token()
		if err != nil {
			return names
		}
		if s, ok := tok.(string); ok && name {
			names, name = append(names, s), false
			continue
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			inObject = append(inObject, tok == json.Delim('{'))
		case json.Delim('}'), json.Delim(']'):
			inObject = inObject[:len(inObject)-1]
		}
		name = len(inObject) > 0 && inObject[len(inObject)-1]
	}
}

func decoded(text []byte) any {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return fmt.Errorf("no JSON: %s", text)
	}
	return v
}

// sameValue compares exactly, but for how a floating-point number is written and the blanks in a type's name.
func sameValue(want, got any) bool {
	switch w := want.(type) {
	case json.Number:
		g, ok := got.(json.Number)
		if !ok || w == g {
			return ok
		}
		a, _ := w.Float64()
		b, _ := g.Float64()
		return a == b && strings.ContainsAny(string(w)+string(g), ".e")
	case string:
		g, ok := got.(string)
		return ok && (w == g || strings.Contains(w, "<") && strings.ReplaceAll(w, " ", "") == strings.ReplaceAll(g, " ", ""))
	case map[string]any:
		g, ok := got.(map[string]any)
		return ok && len(w) == len(g) && covers(want, got)
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) != len(g) {
			return false
		}
		for i := range w {
			if !sameValue(w[i], g[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(want, got)
}

// covers reports whether got has all that want has: its objects may have more members.
func covers(want, got any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for k := range w {
			if !covers(w[k], g[k]) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) != len(g) {
			return false
		}
		for i := range w {
			if !covers(w[i], g[i]) {
				return false
			}
		}
		return true
	}
	return sameValue(want, got)
}
