package query

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
	"github.com/strobe-debug/strobe/internal/sorting"
	"github.com/strobe-debug/strobe/internal/store"
)

// coverLine is how many bytes of names a line of view coverage has.
const coverLine = 240

// notCovered is what view coverage says of a session that did not record it.
const notCovered = "Which functions ran was not recorded: debug_launch or debug_trace with pattern @coverage does, " +
	"for all functions under projectRoot of C, C++, Rust and Go programs. Of others trace @usercode, and ask view stats " +
	"for what ran.\n"

// checkCoverage prepares view coverage.
func (f *filters) checkCoverage() error {
	r := f.req
	if r.View != "coverage" {
		return nil
	}
	r.Function, r.SourceFile, r.Offset, r.AfterEventID = nil, nil, 0, nil
	whole := Request{SessionID: r.SessionID, View: r.View, Order: r.Order, Limit: r.Limit, MaxTokens: r.MaxTokens,
		WaitMs: r.WaitMs, Verbose: r.Verbose, Cursor: r.Cursor}
	if !reflect.DeepEqual(r, whole) {
		return invalid("view", "Leave the others out.", "coverage takes function, sourceFile, offset and maxTokens")
	}
	return nil
}

// coveredFile is what ran and what did not of one source file.
type coveredFile struct {
	path  string
	ran   int
	never []string // with their lines
}

// coverage is view coverage: which of the user's functions ran at all, and which never did.
func (a *asker) coverage(res *Result) (notes []string) {
	all := a.coveredFunctions()
	if len(all) == 0 {
		res.Text = notCovered
		return nil
	}
	files, ran, total, partly := a.coveredFiles(all)
	res.TotalCount = int64(total)
	if total == 0 {
		res.Text = fmt.Sprintf("none of the %d functions that are watched is meant\n", len(all))
		return nil
	}
	var b strings.Builder
	limit := a.short()
	lines := neverLines(files)
	if a.req.Offset == 0 {
		fmt.Fprintf(&b, "%d of %s ran (%d%%), %d never, in %s\n", ran, plural(int64(total), "function"), ran*100/total,
			total-ran, plural(int64(len(files)), "file"))
		if partly > 0 {
			fmt.Fprintf(&b, "%d of those that never ran were watched in part: a trace or breakpoint came to stand there\n",
				partly)
		}
		wholeFiles(&b, files, limit/3)
		if len(lines) > 0 {
			b.WriteString("never ran, with their lines:\n")
		}
	}
	shown := 0
	for _, l := range lines[min(a.req.Offset, len(lines)):] {
		if b.Len()+len(l) > limit && shown > 0 {
			res.HasMore = true
			break
		}
		b.WriteString(l)
		shown++
	}
	if res.Text = b.String(); res.HasMore {
		notes = append(notes, fmt.Sprintf("Lines %d to %d of %d; offset %d goes on, sourceFile selects.", a.req.Offset+1,
			a.req.Offset+shown, len(lines), a.req.Offset+shown))
	}
	return notes
}

// coveredFunctions are the functions that were watched, each once: instances of one place are one, and calls
// that were recorded count, too.
func (a *asker) coveredFunctions() (all []store.Covered) {
	type key struct {
		name, file string
		line       int
	}
	at := map[key]int{}
	for _, c := range a.st.Coverage() {
		k := key{c.Name, c.File, c.Line}
		i, ok := at[k]
		switch {
		case !ok:
			at[k] = len(all)
			all = append(all, c)
		case c.Ran && (!all[i].Ran || c.FirstTS < all[i].FirstTS):
			all[i] = c
		}
	}
	called := map[string]bool{}
	for _, s := range a.st.FuncStats() {
		if s.Made() > 0 {
			called[a.fn(s.Func).Name] = true
		}
	}
	for i := range all {
		all[i].Ran = all[i].Ran || called[all[i].Name]
	}
	return all
}

// coveredFiles sorts what the filters mean by files, those with the most that never ran first.
func (a *asker) coveredFiles(all []store.Covered) (files []*coveredFile, ran, total, partly int) {
	by := map[string]*coveredFile{}
	root := commonDir(all)
	r := &a.req
	for i := range all {
		c := &all[i]
		fn := event.Function{Name: c.Name, File: c.File}
		if r.Function != nil && !matchName(r.Function, a.name, &fn) || r.SourceFile != nil &&
			!matchFile(r.SourceFile, c.File) {
			continue
		}
		total++
		f := by[c.File]
		if f == nil {
			f = &coveredFile{path: strings.TrimPrefix(c.File, root)}
			by[c.File] = f
			files = append(files, f)
		}
		if c.Ran {
			f.ran++
			ran++
			continue
		}
		if c.State != "" {
			partly++
		}
		f.never = append(f.never, fmt.Sprintf("%s:%d", cut(c.Name, 120), c.Line))
	}
	sorting.By(files, func(x, y *coveredFile) int {
		return cmp.Or(cmp.Compare(len(y.never), len(x.never)), cmp.Compare(x.path, y.path))
	})
	return files, ran, total, partly
}

// commonDir is the folder in which all source files are.
func commonDir(all []store.Covered) string {
	dir := path.Dir(all[0].File) + "/"
	for i := range all {
		for !strings.HasPrefix(all[i].File, dir) {
			if dir = path.Dir(strings.TrimSuffix(dir, "/")) + "/"; dir == "//" || dir == "./" {
				return ""
			}
		}
	}
	return dir
}

// wholeFiles names the files of which all ran, and those of which nothing did.
func wholeFiles(b *strings.Builder, files []*coveredFile, limit int) {
	var allRan, none []string
	for _, f := range files {
		switch {
		case len(f.never) == 0:
			allRan = append(allRan, fmt.Sprintf("%s (%d)", f.path, f.ran))
		case f.ran == 0:
			none = append(none, fmt.Sprintf("%s (%d)", f.path, len(f.never)))
		}
	}
	list(b, "nothing ran in ", none, 20, limit/2)
	list(b, "all ran in ", allRan, 20, limit/2)
}

// neverLines are the functions that never ran, file by file, some to a line.
func neverLines(files []*coveredFile) (lines []string) {
	for _, f := range files {
		head := fmt.Sprintf("  %s, %d of %d: ", f.path, len(f.never), len(f.never)+f.ran)
		for i := 0; i < len(f.never); {
			line := head
			for first := true; i < len(f.never) && (first || len(line)+len(f.never[i]) < coverLine); i++ {
				if !first {
					line += ", "
				}
				line += f.never[i]
				first = false
			}
			lines = append(lines, line+"\n")
			head = "    "
		}
	}
	return lines
}
