package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// describedLibraries are libraries whose types are shown by the descriptions of internal/natvis/builtin.
var describedLibraries = []struct {
	program string
	header  string // that says that the library is installed
	debian  string
	flags   []string
	config  []string // names for pkg-config
	usual   string   // the build of usual runs
	soak    bool     // what CI does not install
}{
	{program: "types_boost", header: "/usr/include/boost/version.hpp", debian: "libboost-dev", usual: "clang-O0"},
	{program: "types_absl", header: "/usr/include/absl/strings/cord.h", debian: "libabsl-dev", usual: "gcc-O2",
		config: []string{"absl_flat_hash_map", "absl_cord", "absl_statusor", "absl_btree", "absl_inlined_vector"}},
	{program: "types_json", header: "/usr/include/nlohmann/json.hpp",
		debian: "nlohmann-json3-dev libglm-dev libeigen3-dev libfmt-dev", usual: "gcc-O2"},
	{program: "types_qt", header: "/usr/include/x86_64-linux-gnu/qt6/QtCore/QString", debian: "qt6-base-dev",
		usual: "clang-O0", flags: []string{"-fPIC"}, config: []string{"Qt6Core"}},
	{program: "types_qt", header: "/usr/include/x86_64-linux-gnu/qt5/QtCore/QString", debian: "qtbase5-dev",
		flags: []string{"-fPIC"}, config: []string{"Qt5Core"}, soak: true},
	{program: "types_proto", header: "/usr/include/google/protobuf/repeated_field.h", debian: "libprotobuf-dev",
		config: []string{"protobuf"}, soak: true},
}

var describedBuilds = []libraryBuild{
	{variant: "gcc-O0", flags: []string{"-std=gnu++17"}},
	{variant: "clang-O0", flags: []string{"-std=gnu++17"}},
	{variant: "gcc-O2", flags: []string{"-std=gnu++17"}},
	{variant: "clang-O2", flags: []string{"-std=gnu++17"}},
}

// TestDescribedTypes compares objects of libraries that built-in descriptions show with what the libraries' public
// interfaces say. One build of each in usual runs, four where more time is.
func TestDescribedTypes(t *testing.T) { checkDescribed(t, describedBuilds, false) }

// TestSoakDescribedTypes is TestDescribedTypes with every compiler, and with the libraries that CI does not install.
func TestSoakDescribedTypes(t *testing.T) {
	strobetest.Soak(t)
	checkDescribed(t, describedBuilds, true)
}

func checkDescribed(t *testing.T, builds []libraryBuild, soak bool) {
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, lib := range describedLibraries {
		if lib.soak && !soak {
			continue
		}
		flags := append([]string{}, lib.flags...)
		if len(lib.config) > 0 {
			flags = append(flags, pkgConfig(t, lib.config, lib.debian)...)
		}
		for _, b := range builds {
			if !soak && b.variant != lib.usual {
				continue
			}
			b.flags = append(append([]string{}, b.flags...), flags...)
			t.Run(strings.Join([]string{lib.program, lib.debian, b.variant}, "/"), func(t *testing.T) {
				t.Parallel()
				if _, err := os.Stat(lib.header); err != nil {
					strobetest.Lack(t, "%s is not installed", lib.debian)
				}
				checkLibraryTypes(t, s, lib.program, b)
			})
		}
	}
}

func pkgConfig(t *testing.T, names []string, debian string) []string {
	t.Helper()
	out, err := exec.Command("pkg-config", append([]string{"--cflags", "--libs"}, names...)...).Output()
	if err != nil {
		strobetest.Lack(t, "%s is not installed: %v", debian, err)
	}
	return strings.Fields(string(out))
}

// TestDescribedDamaged looks at objects of described types whose memory holds anything.
func TestDescribedDamaged(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	l, file := runLibraryTypes(t, s, "types_damaged_libraries",
		libraryBuild{variant: "gcc-O0", flags: []string{"-std=gnu++17"}})
	defer s.Stop(t, l.SessionID)
	checkDamaged(t, s, l.SessionID, file)
}

// projectNatvis describes the types of describedProgram, in every way that the format has.
const projectNatvis = `<?xml version="1.0" encoding="utf-8"?>
<AutoVisualizer xmlns="http://schemas.microsoft.com/vstudio/debugger/natvis/2010">
  <Type Name="my::Str"><StringView>data,[len]</StringView></Type>
  <Type Name="my::Vec&lt;*&gt;"><DisplayString>{{ size={size} }}</DisplayString>
    <Expand><Item Name="[size]">size</Item><ArrayItems><Size>size</Size><ValuePointer>first</ValuePointer></ArrayItems></Expand></Type>
  <Type Name="my::List"><Expand><LinkedListItems><HeadPointer>head</HeadPointer><NextPointer>next</NextPointer><ValueNode>v</ValueNode></LinkedListItems></Expand></Type>
  <Type Name="my::Tree"><Expand><TreeItems><Size>n</Size><HeadPointer>root</HeadPointer><LeftPointer>l</LeftPointer><RightPointer>r</RightPointer>
    <ValueNode Name="[{key}]">val</ValueNode></TreeItems></Expand></Type>
  <Type Name="my::Point"><DisplayString>({x}, {y}) flags={flags,x} tag={tag}</DisplayString></Type>
  <Type Name="my::Opt&lt;*&gt;"><DisplayString Condition="!has">nullopt</DisplayString><DisplayString>{*($T1*)buf}</DisplayString></Type>
  <Type Name="my::Hash&lt;*,*&gt;"><Expand><CustomListItems><Variable Name="i" InitialValue="0"/>
    <Loop Condition="i &lt; cap"><If Condition="used[i]"><Item Name="[{slots[i].k}]">slots[i].v</Item></If><Exec>i++</Exec></Loop></CustomListItems></Expand></Type>
  <Type Name="my::Mat"><Expand><ArrayItems><Rank>2</Rank><Size>$i == 0 ? rows : cols</Size><ValuePointer>d</ValuePointer></ArrayItems></Expand></Type>
  <Type Name="my::Broken"><DisplayString>{nothing}</DisplayString></Type>
  <Type Name="my::Endless"><Expand><CustomListItems><Variable Name="i" InitialValue="0"/><Loop><Exec>i++</Exec><Item>n</Item></Loop></CustomListItems></Expand></Type>
  <Unheard/>
</AutoVisualizer>
`

const describedProgram = `#include <cstdio>
#include <string>
#include <new>
namespace my {
struct Str { int len; const char *data; };
template <class T> struct Vec { T *first; unsigned size; };
struct Node { Node *next; int v; };
struct List { Node *head; };
struct TNode { TNode *l, *r; int key; std::string val; };
struct Tree { TNode *root; size_t n; };
struct Point { double x, y; int tag : 4; unsigned flags; };
template <class T> struct Opt { alignas(T) unsigned char buf[sizeof(T)]; bool has; };
template <class K, class V> struct Hash { struct Slot { K k; V v; }; Slot *slots; unsigned char *used; int cap; };
struct Mat { int rows, cols; float *d; };
struct Broken { int kept; };
struct Endless { int n; };
}
using namespace my;
template <class T> __attribute__((noinline)) void look(const T &a) { asm volatile("" ::"r"(&a) : "memory"); }
TNode *put(TNode *t, int k) {
  if (!t) return new TNode{nullptr, nullptr, k, "v" + std::to_string(k)};
  TNode *&side = k < t->key ? t->l : t->r;
  side = put(side, k);
  return t;
}
int main() {
  look(Str{5, "hello world"});
  int xs[] = {1, 2, 3};
  look(Vec<int>{xs, 3});
  Node c{nullptr, 3}, b{&c, 2}, a{&b, 1};
  look(List{&a});
  Tree t{nullptr, 0};
  for (int k : {5, 2, 8, 1, 9, 3, 7}) t.root = put(t.root, k), t.n++;
  look(t);
  look(Point{1.5, -2, 3, 255});
  Opt<std::string> o;
  o.has = false;
  look(o);
  new (o.buf) std::string("inside");
  o.has = true;
  look(o);
  Hash<std::string, int>::Slot slots[] = {{"one", 1}, {"", 0}, {"two", 2}};
  unsigned char used[] = {1, 0, 1};
  look(Hash<std::string, int>{slots, used, 3});
  float d[] = {1, 2, 3, 4, 5, 6};
  look(Mat{2, 3, d});
  look(Broken{7});
  look(Endless{1});
}
`

// TestProjectDescriptions shows types by a project's own file, says what of it is not understood, and reads it anew
// when it changes.
func TestProjectDescriptions(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	root := t.TempDir()
	file := filepath.Join(root, "debug", "my.natvis")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(projectNatvis)
	path := strobetest.BuildSource(t, "cpp", "gcc-O0", "described", describedProgram)
	run := func() (strobetest.Launched, []string) {
		l := s.Launch(t, path, root, nil, args{"trace": []string{"look<**>"}, "serializationDepth": 4})
		s.WaitEnd(t, l.SessionID, endLimit)
		var got []string
		for _, e := range s.Query(t, l.SessionID, args{"eventType": "function_enter", "verbose": true}).Events {
			got = append(got, string(e.Arguments))
		}
		return l, got
	}
	l, got := run()
	defer s.Stop(t, l.SessionID)
	want := []string{`{"a":"hello"}`, `{"a":[1,2,3]}`, `{"a":[1,2,3]}`,
		`{"a":{"1":"v1","2":"v2","3":"v3","5":"v5","7":"v7","8":"v8","9":"v9"}}`,
		`{"a":"(1.5, -2) flags=0xff tag=3"}`, `{"a":null}`, `{"a":"inside"}`, `{"a":{"one":1,"two":2}}`,
		`{"a":[[1,2,3],[4,5,6]]}`, `{"a":{"kept":7}}`}
	for i, w := range want {
		if i >= len(got) || got[i] != w {
			t.Errorf("call %d shows %s, want %s", i, append(got, make([]string, len(want))...)[i], w)
		}
	}
	if len(got) != len(want)+1 || !strings.HasPrefix(got[len(got)-1], `{"a":[1,1,1,`) {
		t.Errorf("%d calls, want %d; the endless list shows %.80s", len(got), len(want)+1, got[len(got)-1])
	}
	all := strings.Join(l.Warnings, "\n")
	for _, part := range []string{"my.natvis", "Unheard"} {
		if !strings.Contains(all, part) {
			t.Errorf("the warnings %q have no %q", all, part)
		}
	}
	write(strings.Replace(projectNatvis, "{*($T1*)buf}", "changed", 1))
	l2, got := run()
	defer s.Stop(t, l2.SessionID)
	if len(got) < 7 || got[6] != `{"a":"changed"}` {
		t.Errorf("after the change: %q", got)
	}
}
