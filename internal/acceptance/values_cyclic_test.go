package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/strobetest"
)

// No compiler writes debug information that leads back to itself where it must not; damage, and tools that rewrite it,
// do. cyclic writes a program with such types, origins, expressions and unwind tables, byte by byte. Every function has
// one parameter, v, and a local variable w of the same type.
type cyclic struct {
	subs, code, calls strings.Builder
	n, crashes        int
}

// abbrevs are the tags and attributes in use: a name is text, at an address, size and off a ULEB128, expr an
// expression, and what refers to another entry four bytes from the unit's beginning.
const abbrevs = `
unit 0x11 1 lang=0x13:0x0f name=0x03:0x08 low=0x11:0x01 high=0x12:0x07
space 0x39 1 name=0x03:0x08
typedef 0x16 0 name=0x03:0x08 type=0x49:0x13
const 0x26 0 type=0x49:0x13
pointer 0x0f 0 type=0x49:0x13
reference 0x10 0 type=0x49:0x13
struct 0x13 1 name=0x03:0x08 size=0x0b:0x0f
anon 0x13 1 size=0x0b:0x0f
union 0x17 1 name=0x03:0x08 size=0x0b:0x0f
member 0x0d 0 name=0x03:0x08 type=0x49:0x13 off=0x38:0x0f
unnamed 0x0d 0 type=0x49:0x13 off=0x38:0x0f
static 0x0d 0 name=0x03:0x08 type=0x49:0x13 ext=0x3f:0x19
base 0x1c 0 type=0x49:0x13 off=0x38:0x0f
array 0x01 1 type=0x49:0x13
range 0x21 0 count=0x37:0x0b
enum 0x04 1 name=0x03:0x08 type=0x49:0x13 size=0x0b:0x0f
routine 0x15 1 type=0x49:0x13
taken 0x05 0 type=0x49:0x13
spec 0x13 1 name=0x03:0x08 spec=0x47:0x13 size=0x0b:0x0f
decl 0x13 0 name=0x03:0x08 spec=0x47:0x13 decl=0x3c:0x19
sibling 0x13 1 sibling=0x01:0x13 name=0x03:0x08 size=0x0b:0x0f
param 0x2f 0 name=0x03:0x08 type=0x49:0x13
parts 0x33 1 discr=0x15:0x13
parttype 0x33 1 type=0x49:0x13
part 0x19 1 value=0x16:0x0b
int 0x24 0 name=0x03:0x08 size=0x0b:0x0f enc=0x3e:0x0b
ptrmember 0x1f 0 type=0x49:0x13 within=0x1d:0x13
sub 0x2e 1 name=0x03:0x08 low=0x11:0x01 high=0x12:0x07 frame=0x40:0x18 type=0x49:0x13
subsibling 0x2e 1 sibling=0x01:0x13 name=0x03:0x08 low=0x11:0x01 high=0x12:0x07 frame=0x40:0x18 type=0x49:0x13
origin 0x2e 1 origin=0x31:0x13 low=0x11:0x01 high=0x12:0x07 frame=0x40:0x18
formal 0x05 0 name=0x03:0x08 type=0x49:0x13 loc=0x02:0x18
formalorigin 0x05 0 origin=0x31:0x13 loc=0x02:0x18
var 0x34 0 name=0x03:0x08 type=0x49:0x13 loc=0x02:0x18
varorigin 0x34 0 origin=0x31:0x13 loc=0x02:0x18
inlined 0x1d 1 origin=0x31:0x13 low=0x11:0x01 high=0x12:0x07
block 0x0b 1 low=0x11:0x01 high=0x12:0x07
`

// abbrevNumbers are the numbers of abbrevs.
func abbrevNumbers() (numbers map[string]int, section string) {
	numbers = map[string]int{}
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(abbrevs), "\n") {
		words := strings.Fields(line)
		numbers[words[0]] = i + 1
		fmt.Fprintf(&b, " .uleb128 %d, %s\n .byte %s\n", i+1, words[1], words[2])
		for _, attr := range words[3:] {
			name, form, _ := strings.Cut(attr[strings.Index(attr, "=")+1:], ":")
			fmt.Fprintf(&b, " .uleb128 %s, %s\n", name, form)
		}
		b.WriteString(" .uleb128 0, 0\n")
	}
	return numbers, b.String() + " .byte 0\n"
}

// entries writes debugging entries from lines: a label or "-", what it is, and its values, text quoted, "@x" another
// entry, "[1,2]" an expression; "end" ends a list of children.
func entries(text string) string {
	numbers, _ := abbrevNumbers()
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if words[0] == "end" {
			b.WriteString(" .byte 0\n")
			continue
		}
		if words[0] != "-" {
			fmt.Fprintf(&b, ".Ldie_%s:\n", words[0])
		}
		fmt.Fprintf(&b, " .uleb128 %d # %s\n", numbers[words[1]], line)
		if numbers[words[1]] == 0 {
			panic("no abbreviation " + line)
		}
		for _, w := range words[2:] {
			switch {
			case w[0] == '"':
				fmt.Fprintf(&b, " .asciz %s\n", strings.ReplaceAll(w, "~", " "))
			case w[0] == '@':
				fmt.Fprintf(&b, " .4byte .Ldie_%s - .Lunit_\n", w[1:])
			case w[0] == '[':
				inner := strings.Trim(w, "[]")
				fmt.Fprintf(&b, " .uleb128 2f - 1f\n1:\n%s2:\n", expression(inner))
			case w[0] == '=':
				fmt.Fprintf(&b, " .8byte %s\n", w[1:])
			case w[0] == '%':
				fmt.Fprintf(&b, " .byte %s\n", w[1:])
			default:
				fmt.Fprintf(&b, " .uleb128 %s\n", w)
			}
		}
	}
	return b.String()
}

// expression writes the bytes of an expression; "@x" is an entry, four bytes from the unit's beginning.
func expression(text string) string {
	var b strings.Builder
	for _, p := range strings.Split(text, ",") {
		switch {
		case p == "":
		case p[0] == '@':
			fmt.Fprintf(&b, " .4byte .Ldie_%s - .Lunit_\n", p[1:])
		case p[0] == '^': // from the section's beginning
			fmt.Fprintf(&b, " .4byte .Ldie_%s\n", p[1:])
		default:
			fmt.Fprintf(&b, " .byte %s\n", p)
		}
	}
	return b.String()
}

// cyclicTypes: each type t of a line leads back to itself. A line begins a type; what follows up to the next belongs to
// it.
const cyclicTypes = `
t1 typedef "t1" @t1
t2 typedef "t2" @t2c
t2c const @t2
t3 struct "t3" 24
- member "a" @t3 0
- member "b" @t3 8
- member "c" @t3 16
end
t4 struct "t4" 24
- base @t4 0
- base @t4 8
- base @t4 16
- member "x" @int 0
end
t5 pointer @t5
t6 array @t6
- range %3
end
t7 array @t7s
- range %2
end
t7s struct "t7s" 32
- member "a" @t7 0
- member "b" @t7 16
end
t8 struct "t8" 16
t8p parts @t8d
t8d unnamed @t8 0
- part %0
- member "A" @t8 0
end
- part %1
- member "B" @t8 0
end
- part %2
- member "C" @t8 8
end
end
end
t9 enum "t9" @t9t 4
end
t9t typedef "t9t" @t9
t10 union "t10" 8
- member "a" @t10 0
- member "b" @t10 0
- member "c" @t10 0
- unnamed @t10 0
end
t11 pointer @t11f
t11f routine @t11
- taken @t11
- taken @t11f
end
t12 spec "t12" @t12 8
- member "a" @t12 0
- member "b" @t12 4
end
t13 const @t13
t14 struct "t14" 16
- member "c" @t14c 0
- member "d" @t14c 8
end
t14c struct "t14c" 16
- member "c" @t14 0
- member "d" @t14 8
end
t15 pointer @t15s
t15s struct "t15s" 24
- member "next" @t15 0
- member "self" @t15s 0
- member "also" @t15s 8
end
t16 decl "t16" @t16
t17 sibling @t17 "t17" 8
- member "x" @int 0
end
t18 struct "t18" 16
- unnamed @t18 0
- unnamed @t18 8
- member "x" @int 0
end
t19 reference @t19
t20 ptrmember @t20 @t20
t21 struct "t21" 24
- param "T" @t21
- param "U" @t21
- static "s" @t21
- member "p" @t21p 0
- member "m" @t21 0
- member "n" @t21 8
end
t21p pointer @t21
t22 struct "t22" 0
- member "a" @t22 0
- member "b" @t22 0
end
t23 array @t23p
- range %200
end
t23p pointer @t23
t24 struct "t24" 24
- member "__0" @t24 0
- member "__1" @t24 8
- member "__2" @t24 16
end
`

// cyclicStd are types that formatters know by their names; every member is the type itself.
const cyclicStd = `
vector<int,std::allocator<int>> _M_impl _M_start _M_finish _M_end_of_storage
map<int,int,std::less<int>,std::allocator<std::pair<const~int,int>>> _M_t _M_impl _M_header _M_node_count
basic_string<char,std::char_traits<char>,std::allocator<char>> _M_dataplus _M_p _M_string_length
unique_ptr<int,std::default_delete<int>> _M_t _M_head_impl
shared_ptr<int> _M_ptr _M_refcount _M_pi
optional<int> _M_payload _M_engaged _M_value
variant<int,char> _M_u _M_index _M_first _M_rest _M_storage
tuple<int,int> _M_head_impl _M_tail
deque<int,std::allocator<int>> _M_impl _M_start _M_finish _M_cur _M_first _M_last _M_node
list<int,std::allocator<int>> _M_impl _M_node _M_next _M_prev _M_storage
unordered_map<int,int> _M_h _M_buckets _M_before_begin _M_element_count
function<int(int)> _M_invoker _M_functor
any _M_manager _M_storage
pair<int,int> first second
array<int,3> _M_elems
`

// cyclicRustStd does so for Rust; the name is qualified.
const cyclicRustStd = `
alloc::vec::Vec<i32,alloc::alloc::Global> buf inner ptr pointer cap len
alloc::string::String vec buf ptr len
alloc::rc::Rc<i32,alloc::alloc::Global> ptr pointer value strong weak
alloc::boxed::Box<i32> __0 __1
core::option::Option<i32> __0
core::cell::RefCell<i32> borrow value
std::collections::hash::map::HashMap<i32,i32> base hash_builder table map ctrl items bucket_mask
alloc::collections::btree::map::BTreeMap<i32,i32> root length height node
core::time::Duration secs nanos __0
alloc::collections::vec_deque::VecDeque<i32> head len buf
`

// add adds a function of a parameter, a local variable and a result of type t, whose location is loc. cfi are bytes of
// its unwind table; a function that has some crashes when the program is told to.
func (c *cyclic) add(kind, t, frame, loc, cfi string) {
	name := fmt.Sprintf("f%d", c.n)
	lead := fmt.Sprintf("%q", name)
	result := " @" + t
	frame, loc = strings.ReplaceAll(frame, "~", name), strings.ReplaceAll(loc, "~", name)
	switch kind {
	case "subsibling":
		lead = "@" + name + " " + lead
	case "origin":
		lead, result = "@"+name, ""
	}
	fmt.Fprintf(&c.subs, "%s %s %s =%s =.Lend_%s-%s [%s]%s\n", name, kind, lead, name, name, name, frame, result)
	fmt.Fprintf(&c.subs, "%s_v formal \"v\" @%s [%s]\n%s_w var \"w\" @%s [%s]\n", name, t, loc, name, t, loc)
	fmt.Fprintf(&c.subs, "- formalorigin @%s_v [%s]\n%s_i inlined @%s =%s =.Lend_%s-%s\n- varorigin @%s_i [%s]\nend\n",
		name, loc0, name, name, name, name, name, name, loc0)
	fmt.Fprintf(&c.subs, "end\n")
	body := " mov %rdi,-8(%rsp)\n mov $1,%eax\n nop\n nop\n"
	if cfi != "" {
		body = " .cfi_escape " + cfi + "\n test %esi,%esi\n jz 1f\n mov 0,%eax\n1: nop\n"
		fmt.Fprintf(&c.calls, " xor %%esi,%%esi\n cmp $%d,%%ebx\n sete %%sil\n", c.crashes)
		c.crashes++
	}
	fmt.Fprintf(&c.code, ".globl %s\n.type %s,@function\n%s:\n.cfi_startproc\n%s ret\n.cfi_endproc\n.Lend_%s:\n.size "+
		"%s,.-%s\n", name, name, name, body, name, name, name)
	fmt.Fprintf(&c.calls, " lea things+%d(%%rip),%%rdi\n call %s\n", 64*(c.n%8), name)
	c.n++
}

// cyclicNesting is how deep types lie in each other that are in each twice: far too many to look at each of them.
const cyclicNesting = 40

// loc0 is "where rdi points", cfa the frame base that compilers write.
const loc0, cfa = "0x75,0", "0x9c"

// cyclicLocations lead back to themselves; "~" is the function's name. The last ones are nested too deeply instead.
var cyclicLocations = []string{
	"0x2f,0xfd,0xff",                   // skip to itself
	"0x31,0x28,0xfc,0xff",              // a branch to itself
	"0x99,@~_w", "0x99,@~_v,0x99,@~_w", // call4
	"0xf2,^~_w,0", "0xf2,^~_v,0", "0xa0,^~_w,0", // implicit pointers to themselves
	"0xf3,4,0xf3,2,0x55,0x9f",                               // entry values
	"0xa3,3,0xa3,1,0x55", "0xfa,@~_v", "0xa8,0", "0xa5,5,0", // typed registers, GNU_parameter_ref
	"0x55,0x93,0,0x55,0x93,0", "0x93,8,0x93,8,0x93,0xff,0xff,0xff,0x7f", // pieces
	"0x91,0", "0x97", "0x98,0,0", "0x9a,^~_w",
	strings.Repeat("0x30,", 3000) + "0x55", strings.Repeat("0x12,", 3000) + "0x06",
}

// cyclicTables are bytes of unwind tables: the frame's address by a loop, by itself, by the frame's own place, and far
// too many states.
var cyclicTables = []string{
	"0x0f,3,0x2f,0xfd,0xff", "0x0f,4,0x31,0x28,0xfc,0xff", "0x0f,1,0x9c", "0x0e,0", "0x0f,2,0x77,0,0x16,16,2,0x77,0",
	strings.Repeat("0x0a,", 5000) + "0x00", strings.Repeat("0x0b,", 100) + "0x00", "0x10,16,3,0x2f,0xfd,0xff", "0x0c,16,0",
	"0x09,16,16",
}

// program writes all of it for a language, DWARF's number of which is lang.
func (c *cyclic) program(lang string, std string) string {
	types := cyclicTypes
	all := []string{"zero0", "union0", "box0"}
	for i := range cyclicNesting { // each twice within the one before
		types += fmt.Sprintf("zero%d struct \"zero%d\" 0\n- member \"a\" @zero%d 0\n- member \"b\" @zero%d 0\nend\n", i, i,
			i+1, i+1)
		types += fmt.Sprintf("union%d union \"union%d\" 8\n- member \"a\" @union%d 0\n- member \"b\" @union%d 0\nend\n", i, i,
			i+1, i+1)
		types += fmt.Sprintf("box%d struct \"box%d\" 24\n- base @box%d 0\n- base @box%d 0\n- member \"p\" @box%dp "+
			"0\nend\nbox%dp pointer @box%d\n", i, i, i+1, i+1, i, i, i+1)
	}
	types += fmt.Sprintf("zero%d struct \"z\" 0\nend\nunion%d union \"u\" 8\nend\nbox%d struct \"b\" 0\nend\n",
		cyclicNesting, cyclicNesting, cyclicNesting)
	for _, line := range strings.Split(strings.TrimSpace(types), "\n") {
		if name := strings.Fields(line)[0]; name != "-" && name != "end" && strings.Trim(name, "0123456789") == "t" {
			all = append(all, name)
		}
	}
	for i, line := range strings.Split(strings.TrimSpace(std), "\n") {
		words := strings.Fields(line)
		path := strings.Split(words[0], "::")
		if strings.HasPrefix(words[0], "alloc") || strings.HasPrefix(words[0], "core") ||
			strings.HasPrefix(words[0], "std::") {
			at := strings.LastIndex(words[0][:max(strings.Index(words[0]+"<", "<"), 1)], "::")
			path = append(strings.Split(words[0][:at], "::"), words[0][at+2:])
		} else {
			path = []string{"std", words[0]}
		}
		name := fmt.Sprintf("s%d", i)
		for _, space := range path[:len(path)-1] {
			types += fmt.Sprintf("- space %q\n", space)
		}
		types += fmt.Sprintf("%s struct %q 24\n- param \"T\" @%s\n- param \"_Tp\" @%s\n", name, path[len(path)-1], name, name)
		for k, m := range words[1:] {
			types += fmt.Sprintf("- member %q @%s %d\n", m, name, 8*(k%3))
		}
		types += strings.Repeat("end\n", len(path))
		all = append(all, name)
	}
	for i, t := range all {
		c.add("sub", t, cfa, []string{"0x55", "0x91,0", loc0}[i%3], "")
		types += fmt.Sprintf("p%s pointer @%s\n", t, t)
		c.add("sub", "p"+t, cfa, "0x55", "")
	}
	for _, loc := range cyclicLocations {
		c.add("sub", "int", cfa, loc, "")
		c.add("sub", "pt3", cfa, loc, "")
		c.add("sub", "int", loc, "0x91,0", "")
	}
	for _, kind := range []string{"subsibling", "origin"} {
		c.add(kind, "pt3", cfa, "0x55", "")
	}
	for _, table := range cyclicTables {
		c.add("sub", "t15", cfa, "0x55", table)
	}
	_, section := abbrevNumbers()
	body := entries(fmt.Sprintf("root unit %s \"cyclic\" =.Lbegin =.Lend-.Lbegin\nint int \"int\" 4 %%5\n%s%send", lang,
		types, c.subs.String()))
	return ".text\n.Lbegin:\n" + c.code.String() + `.globl main
main:
 .cfi_startproc
 push %rbx
 .cfi_adjust_cfa_offset 8
 .cfi_offset 3,-16
 mov $-1,%ebx
 cmp $2,%edi
 jl 1f
 mov 8(%rsi),%rax
 movzbl (%rax),%ebx
 sub $97,%ebx
1:
` + c.calls.String() + ` xor %eax,%eax
 pop %rbx
 ret
 .cfi_endproc
.Lend:
.data
.balign 64
things: .rept 64
 .8byte things+64, things, 2
 .8byte things+128, 1, things+24
 .endr
.section .debug_abbrev
` + section + `
.section .debug_info
.Lunit_:
 .4byte .Lunitend-.Lunitbegin
.Lunitbegin:
 .2byte 4
 .4byte .debug_abbrev
 .byte 8
` + body + `.Lunitend:
.section .debug_frame
.Lframe1: .4byte 24, .Lframe1-.debug_frame
 .8byte main, 100, 0
.Lframe2: .4byte 24, .Lframe3-.debug_frame
 .8byte f0, 8, 0
.Lframe3: .4byte 24, .Lframe2-.debug_frame
 .8byte f1, 8, 0
.section .note.GNU-stack,"",@progbits
`
}

func buildCyclic(t *testing.T, lang, std string) (string, *cyclic) {
	t.Helper()
	dir := t.TempDir()
	var c cyclic
	source := filepath.Join(dir, "cyclic.s")
	if err := os.WriteFile(source, []byte(c.program(lang, std)), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "cyclic")
	if text, err := exec.Command("gcc", source, "-o", out).CombinedOutput(); err != nil {
		t.Fatalf("%v: %.3000s", err, text)
	}
	return out, &c
}

// TestCyclicDebugInformation runs such programs, every function traced, and makes them crash in frames whose tables
// lead nowhere: all calls are told and all crashes, and nothing waits for ever or ends the daemon. Tracing never began
// before.
func TestCyclicDebugInformation(t *testing.T) {
	t.Parallel()
	strobetest.NeedPtrace(t)
	s := strobetest.Start(t, nil)
	for _, lang := range []struct{ name, number, std string }{{"C++", "0x21", cyclicStd},
		{"Rust", "0x1c", cyclicRustStd}} {
		path, c := buildCyclic(t, lang.number, lang.std)
		l := s.Launch(t, path, filepath.Dir(path), nil,
			args{"trace": []string{"f*"}, "onFullBuffer": "block", "serializationDepth": 4})
		if st := s.WaitEnd(t, l.SessionID, endLimit); st.ExitCode == nil || *st.ExitCode != 0 {
			t.Fatalf("%s ended as %+v", lang.name, st)
		}
		if seen := graphCalls(t, s, l.SessionID); len(seen) < c.n {
			t.Errorf("%s: %d functions called, want %d", lang.name, len(seen), c.n)
		}
		s.Stop(t, l.SessionID)
		if lang.name == "Rust" {
			continue
		}
		for k := range c.crashes {
			l := s.Launch(t, path, filepath.Dir(path), []string{string(rune('a' + k))}, args{"trace": []string{"f14*"}})
			s.WaitEnd(t, l.SessionID, endLimit)
			if crashes := crashesOf(t, s, l.SessionID); len(crashes) != 1 {
				t.Errorf("crash %d: told as %+v", k, crashes)
			}
			s.Stop(t, l.SessionID)
		}
	}
}
