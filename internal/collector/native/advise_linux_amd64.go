package native

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strobe-debug/strobe/internal/collector"
	"github.com/strobe-debug/strobe/internal/hook"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/symbol"
)

var _ collector.Adviser = (*Runtime)(nil)

// maxAdvised is how many functions an advised pattern may select: the calls of more are too many to read.
const maxAdvised = 50

// adviser looks for functions in the programs that failed tests ran.
type adviser struct {
	root    string
	user    *symbol.Pattern
	mods    []*symbol.Module
	own     []*userCode
	counted map[string]int
}

// userCode are a program's functions of the user's own.
type userCode struct {
	mod    *symbol.Module
	fns    []*symbol.Function
	byLast map[string][]*symbol.Function // by the last part of the name
	lines  map[string][]symbol.Statement // of a file, as it is named in a failure
}

// spot is a place's address, and the function whose code it is.
type spot struct {
	mod *symbol.Module
	fn  *symbol.Function
	at  symbol.Addr
}

// Advise implements collector.Adviser.
func (rt *Runtime) Advise(ctx context.Context, programs []string, root string, all []collector.Suspect,
	most int) (patterns [][]string, bare []string, err error) {
	user, err := symbol.ParsePattern("@usercode")
	if err != nil {
		return nil, nil, err
	}
	a := &adviser{root: root, user: user, counted: map[string]int{}}
	for _, path := range programs {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		mod, err := rt.open(path, "")
		switch {
		case err != nil: // no program, or gone
		case !mod.HasDWARF:
			bare = append(bare, path)
		default:
			a.add(mod)
		}
	}
	for i := range all {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		patterns = append(patterns, a.advise(&all[i], most))
	}
	return patterns, bare, nil
}

func (a *adviser) add(mod *symbol.Module) {
	c := &userCode{mod: mod, byLast: map[string][]*symbol.Function{}, lines: map[string][]symbol.Statement{}}
	match := a.user.Matcher(a.root)
	for i, fns := 0, mod.Functions(); i < len(fns); i++ {
		if f := &fns[i]; f.HasDWARF && match(f) {
			c.fns = append(c.fns, f)
			last := lastPart(f.Name)
			c.byLast[last] = append(c.byLast[last], f)
		}
	}
	a.mods = append(a.mods, mod)
	if len(c.fns) > 0 {
		a.own = append(a.own, c)
	}
}

// advise finds what a failure calls: first what its expression names, then where it happened and what was called before
// it there, then what those call in any case, and last the file of the first that is not where the failure is.
func (a *adviser) advise(s *collector.Suspect, most int) []string {
	var named, around, below, loose, test []*symbol.Function
	for _, p := range s.Places {
		found := a.busy(a.at(p))
		var before []*symbol.Function
		for _, at := range found {
			for _, c := range a.calls(at) {
				switch {
				case slices.ContainsFunc(s.Names, func(n string) bool { return lastPart(n) == lastPart(c.fn.Name) }):
					named = append(named, c.fn)
				case c.always && c.off < at.at-at.fn.Low:
					before = append(before, c.fn)
				}
			}
			around = append(around, a.outer(at.fn))
		}
		slices.Reverse(before) // the last call before it is the nearest
		below = append(below, before...)
		if len(found) > 0 {
			test = around[len(around)-len(found):] // of the outermost place
		}
	}
	for _, name := range s.Names {
		last := lastPart(name)
		if slices.ContainsFunc(named, func(f *symbol.Function) bool { return lastPart(f.Name) == last }) {
			continue
		}
		loose = append(loose, a.byName(symbolTail(name), last)...)
	}
	for _, name := range s.Before { // of other files, whose calls lead through a table
		below = append(below, a.byName(symbolTail(name), lastPart(name))...)
	}
	var deeper []*symbol.Function
	for _, f := range slices.Concat(named, below) {
		for _, c := range a.callsIn(f) {
			if c.always {
				deeper = append(deeper, c.fn)
			}
		}
	}
	return a.spell(slices.Concat(named, around, loose, below, deeper), test, most)
}

// maxAlike is how many functions a bare name may mean: of more, most are not the one.
const maxAlike = 2

// byName finds functions that no call of which was seen: those of other files of the program, and virtual ones.
func (a *adviser) byName(tail, last string) (found []*symbol.Function) {
	names := map[string]bool{}
	for _, c := range a.own {
		for _, f := range c.byLast[last] {
			if name := symbolName(f); !f.Inlined && strings.HasSuffix(name, tail) && !names[name] {
				names[name] = true
				found = append(found, f)
			}
		}
	}
	if len(found) > maxAlike {
		return nil
	}
	return found
}

// outer is the function that a closure is written in, where that has code.
func (a *adviser) outer(f *symbol.Function) *symbol.Function {
	name, _, inner := strings.Cut(f.Name, "::{{closure}}")
	if !inner {
		return f
	}
	for _, c := range a.own {
		for _, g := range c.byLast[lastPart(name)] {
			if g.Name == name {
				return g
			}
		}
	}
	return f
}

// spell makes patterns of functions, each once: at most most, of which the last is the file of the first that is not of
// the test.
func (a *adviser) spell(fns, test []*symbol.Function, most int) []string {
	var out []string
	file, own := "", ""
	for _, f := range fns {
		text := symbolName(f)
		if len(out) == most-1 || strings.HasPrefix(lastPart(f.Name), "~") || slices.Contains(out, text) || !a.good(text, f) {
			continue
		}
		out = append(out, text)
		switch {
		case slices.Contains(test, f):
			own = cmp.Or(own, a.relative(f.File))
		case file == "":
			file = a.relative(f.File)
		}
	}
	if file = cmp.Or(file, own); file != "" && a.good("file:"+file, nil) {
		out = append(out, "file:"+file)
	}
	return out
}

// good reports whether a pattern selects functions, f among them where it is given, and not too many.
func (a *adviser) good(text string, f *symbol.Function) bool {
	n, known := a.counted[text]
	if !known {
		pat, err := symbol.ParsePattern(text)
		if err == nil && (f == nil || pat.Match(f, a.root) && a.hookable(f)) {
			match := pat.Matcher(a.root)
			for _, c := range a.own {
				in := 0
				for _, g := range c.fns {
					if match(g) {
						in++
					}
				}
				n = max(n, in) // a library's functions are in every program that is linked with it
			}
		}
		a.counted[text] = n
	}
	return n > 0 && n <= maxAdvised
}

// hookable reports whether a function's code can be displaced.
func (a *adviser) hookable(f *symbol.Function) bool {
	mod := a.moduleOf(f)
	if mod == nil {
		return false
	}
	code, err := mod.Code(f)
	if err != nil || len(code) == 0 {
		return false
	}
	if onGoroutine(mod, f) {
		return hook.AnalyzeGo(code, 0).Reason == ""
	}
	rule := mod.EntryRule(f.Low)
	return hook.Analyze(code, f.Low, 0, analysisOptions(mod, jumpTargets(mod))).Patch != hook.PatchNone &&
		!(rule.Known && rule.Signal)
}

func (a *adviser) moduleOf(f *symbol.Function) *symbol.Module {
	for _, mod := range a.mods {
		if mod.FunctionAt(f.Low) == f {
			return mod
		}
	}
	return nil
}

// at finds the code of a line, or of the nearest before it in the same file: a statement may go over several lines.
func (a *adviser) at(p collector.Place) (found []spot) {
	if p.File == "" || p.Line <= 0 {
		return nil
	}
	for _, c := range a.own {
		found = append(found, a.find(c, p)...)
	}
	return found
}

// busy leaves out functions of the line that call nothing, such as the constructor that a macro makes, where another
// does. The body of a test of GoogleTest's stands at the line of its macro beside the constructor of its class, which
// may call more than the body.
func (a *adviser) busy(found []spot) []spot {
	if slices.ContainsFunc(found, func(s spot) bool { return lastPart(s.fn.Name) == "TestBody" }) {
		all := slices.Clone(found)
		found = slices.DeleteFunc(found, func(s spot) bool {
			return lastPart(s.fn.Name) != "TestBody" && besideBody(all, s.fn)
		})
	}
	if i := slices.IndexFunc(found, func(s spot) bool { return len(a.calls(s)) > 0 }); i < 0 {
		return found
	}
	return slices.DeleteFunc(found, func(s spot) bool { return len(a.calls(s)) == 0 })
}

// besideBody reports whether a function is of the class of a test whose body is among some.
func besideBody(found []spot, f *symbol.Function) bool {
	class, _, ok := cutLast(f.Name)
	return ok && slices.ContainsFunc(found, func(s spot) bool {
		other, last, ok := cutLast(s.fn.Name)
		return ok && last == "TestBody" && other == class
	})
}

// cutLast takes the last part off a qualified name.
func cutLast(name string) (before, last string, ok bool) {
	last = lastPart(name)
	before, ok = strings.CutSuffix(name, "::"+last)
	return before, last, ok
}

// maxBefore is how many lines above a failure's the statement may begin that it is in.
const maxBefore = 20

func (a *adviser) find(c *userCode, p collector.Place) (found []spot) {
	line := 0
	for _, s := range a.statements(c, p.File) {
		if s.Line > p.Line || s.Line < p.Line-maxBefore {
			continue
		}
		f := c.around(s.Addr)
		if f == nil {
			continue
		}
		if s.Line != line {
			found, line = nil, s.Line
		}
		if i := slices.IndexFunc(found, func(x spot) bool { return x.fn == f }); i >= 0 {
			found[i].at = max(found[i].at, s.Addr)
			continue
		}
		found = append(found, spot{c.mod, f, s.Addr})
	}
	return found
}

// statements are those of a source file, by line.
func (a *adviser) statements(c *userCode, file string) []symbol.Statement {
	have, ok := c.lines[file]
	if ok {
		return have
	}
	paths := []string{file}
	if !filepath.IsAbs(file) {
		paths = slices.DeleteFunc(c.mod.SourceFiles(file),
			func(f string) bool { return a.relative(f) != filepath.Clean(file) })
	}
	for _, path := range paths {
		have = append(have, c.mod.FileStatements(path)...)
	}
	sorting.By(have, func(a, b symbol.Statement) int { return a.Line - b.Line })
	c.lines[file] = have
	return have
}

// around is the user's function whose code is at a.
func (c *userCode) around(at symbol.Addr) *symbol.Function {
	f, _, ok := c.mod.Lookup(at)
	if !ok {
		return nil
	}
	for _, own := range c.byLast[lastPart(f.Name)] {
		if own == f || f.Fragment && own.Name == f.Name {
			return own
		}
	}
	return nil
}

// call is a call of a function of the user's, directly or by a word of the file's own.
type call struct {
	fn     *symbol.Function
	off    symbol.Addr // in the caller
	slot   symbol.Addr // 0, or where the callee's address stands
	always bool        // no jump goes over it
}

func (a *adviser) calls(s spot) []call { return a.callsOf(s.mod, s.fn) }

func (a *adviser) callsIn(f *symbol.Function) []call { return a.callsOf(a.moduleOf(f), f) }

// callsOf lists whom a function calls, in the order of its code.
func (a *adviser) callsOf(mod *symbol.Module, f *symbol.Function) (out []call) {
	i := slices.IndexFunc(a.own, func(c *userCode) bool { return c.mod == mod })
	if i < 0 {
		return nil
	}
	code, err := mod.Code(f)
	if err != nil {
		return nil
	}
	slots, held := map[symbol.Addr]symbol.Addr{}, map[byte]symbol.Addr{} // held: by registers
	// where the farthest jump goes to; up to where nothing falls through
	var over, dead int64
	var to []symbol.Addr
	for off := 0; off < len(code); {
		in, err := hook.Decode(code[off:])
		if err != nil || in.Len == 0 {
			break
		}
		next := f.Low + symbol.Addr(off+in.Len)
		c := call{off: symbol.Addr(off), always: int64(off) >= max(over, dead)}
		aside := int64(off) < dead && int64(off) >= over // cleaning up for exceptions, mostly
		reg, rm := in.ModRM>>3&7|in.Rex&4<<1, in.ModRM&7|in.Rex&1<<3
		switch in.Flow {
		case hook.FlowJump, hook.FlowCond, hook.FlowLoop:
			switch target := int64(off+in.Len) + in.Rel; {
			case aside:
			case in.Flow == hook.FlowJump:
				dead = max(dead, target)
			default:
				over = max(over, target)
			}
		case hook.FlowCall:
			to, out = append(to, next+symbol.Addr(in.Rel)), append(out, c)
		case hook.FlowCallIndirect:
			if in.RIPRel {
				c.slot = next + symbol.Addr(in.Disp)
			} else if in.HasModRM && in.ModRM>>6 == 3 {
				c.slot = held[rm]
			}
			if c.slot != 0 {
				slots[c.slot] = 0
				to, out = append(to, 0), append(out, c)
			}
			clear(held)
		case hook.FlowNone:
			if in.Enc == hook.EncLegacy && in.Map == 0 && in.Op == 0x8b && in.RIPRel { // mov reg, [rip+…]
				held[reg] = next + symbol.Addr(in.Disp)
			}
		}
		off += in.Len
	}
	if len(slots) > 0 {
		mod.Relocated(slots)
	}
	kept := out[:0]
	for k, c := range out {
		if c.slot != 0 {
			to[k] = slots[c.slot]
		}
		if c.fn = mod.FunctionAt(to[k]); c.fn != nil && c.fn != f && a.own[i].around(c.fn.Low) == c.fn {
			kept = append(kept, c)
		}
	}
	return kept
}

// relative is a path below the root, or "".
func (a *adviser) relative(file string) string {
	roots := []string{a.root}
	if real, err := filepath.EvalSymlinks(a.root); err == nil && real != a.root {
		roots = append(roots, real)
	}
	for _, root := range roots {
		if rel, ok := strings.CutPrefix(file, filepath.Clean(root)+"/"); ok {
			return rel
		}
	}
	return ""
}

// symbolName is a function's name as a pattern: without template arguments, so that it means every instance.
func symbolName(f *symbol.Function) string {
	name := publicName(f)
	if i := strings.IndexByte(name, '<'); i > 0 && !strings.Contains(name, "operator") {
		return plainParts(name)
	}
	return name
}

// plainParts leaves out what stands between < and >.
func plainParts(name string) string {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '<':
			depth++
		case c == '>' && depth > 0:
			depth--
		case depth == 0:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// symbolTail is what the end of a function's name must be for a name in a text to mean it.
func symbolTail(name string) string {
	for _, p := range []string{"crate::", "self::", "super::", "::"} {
		name = strings.TrimPrefix(name, p)
	}
	return name
}

// lastPart is a name behind its last separator.
func lastPart(name string) string {
	if !strings.HasSuffix(name, ">") || !strings.HasPrefix(name, "<") {
		name = plainParts(name)
	}
	if i := strings.LastIndex(name, "::"); i >= 0 {
		name = name[i+2:]
	}
	return name
}
