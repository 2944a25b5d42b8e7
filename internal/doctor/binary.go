package doctor

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/strobe-debug/strobe/internal/plainfile"
)

// Binary explains what Strobe will make of an executable: its kind, its debug info, and what to change
// in the build where something is missing.
func Binary(path string) Report {
	report := Report{OK: true}
	add := func(name string, r Result) {
		report.OK = report.OK && r.Status != Fail
		report.Checks = append(report.Checks, Finding{name, r})
	}
	f, err := elf.Open(path)
	if err != nil {
		add("file", notELF(path, err))
		return report
	}
	defer f.Close()
	add("file", elfKind(f))
	add("symbols", elfSymbols(f))
	info, from := debugInfo(f, path)
	add("debug info", info)
	if from != nil {
		add("build", buildKind(from))
		if from != f {
			from.Close()
		}
	}
	return report
}

func notELF(path string, err error) Result {
	info, statErr := os.Stat(path)
	switch {
	case statErr != nil:
		return Result{Fail, statErr.Error(), "Give the path of an executable."}
	case info.IsDir():
		return Result{Fail, path + " is a directory", "Give the path of an executable."}
	}
	if b, readErr := firstBytes(path, 128); readErr == nil && strings.HasPrefix(b, "#!") {
		line, _, _ := strings.Cut(b, "\n")
		return Result{Warn, "a script, run by " + strings.TrimSpace(strings.TrimPrefix(line, "#!")),
			"Output is recorded; trace the interpreter or the program that it starts."}
	}
	return Result{Fail, "not an ELF executable: " + err.Error(), "Give a native Linux program."}
}

func firstBytes(path string, n int64) (string, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, n))
	return string(b), err
}

func elfKind(f *elf.File) Result {
	if f.Class != elf.ELFCLASS64 || f.Machine != elf.EM_X86_64 {
		return Result{Fail, fmt.Sprintf("%v %v", f.Class, f.Machine), "Build for x86-64; other processors come later."}
	}
	kind, linked := "fixed address", "static"
	if f.Type == elf.ET_DYN {
		kind = "position independent"
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			linked = "dynamic"
		}
	}
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return Result{Fail, fmt.Sprintf("ELF of type %v is no program", f.Type), "Give a linked executable."}
	}
	return Result{Status: OK, Detail: "ELF64 x86-64, " + kind + ", " + linked}
}

func elfSymbols(f *elf.File) Result {
	syms, err := f.Symbols()
	if err != nil || len(syms) == 0 {
		return Result{Warn, "no symbol table: the file is stripped",
			"Do not strip it (no -s, no strip), or give symbolsPath."}
	}
	n := 0
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF {
			n++
		}
	}
	return Result{Status: OK, Detail: fmt.Sprintf("%d functions", n)}
}

const buildWithG = "Build with -g (CMake: -DCMAKE_BUILD_TYPE=RelWithDebInfo; Rust: debug = true in the profile)."

// debugInfo finds DWARF in the file or where its build id or debuglink says, and returns the file that has it.
func debugInfo(f *elf.File, path string) (Result, *elf.File) {
	if s := section(f, ".debug_info"); s != nil {
		return Result{Status: OK, Detail: fmt.Sprintf("in the file, %d KiB", s.Size/1024)}, f
	}
	for _, candidate := range debugFiles(f, path) {
		d, err := elf.Open(candidate)
		if err != nil {
			continue
		}
		if section(d, ".debug_info") != nil {
			return Result{Status: OK, Detail: "in " + candidate}, d
		}
		d.Close()
	}
	return Result{Fail, "none: neither in the file nor under /usr/lib/debug", buildWithG}, nil
}

func section(f *elf.File, name string) *elf.Section {
	for _, s := range f.Sections {
		if (s.Name == name || s.Name == ".z"+name[1:]) && s.Type != elf.SHT_NOBITS && s.Size > 0 {
			return s
		}
	}
	return nil
}

// debugFiles lists where distributions and linkers put separate debug info.
func debugFiles(f *elf.File, path string) []string {
	var paths []string
	if s := section(f, ".note.gnu.build-id"); s != nil && s.Size < 1024 {
		if b, err := s.Data(); err == nil && len(b) > 18 {
			id := hex.EncodeToString(b[16:])
			paths = append(paths, filepath.Join("/usr/lib/debug/.build-id", id[:2], id[2:]+".debug"))
		}
	}
	if s := section(f, ".gnu_debuglink"); s != nil && s.Size < 4096 {
		if b, err := s.Data(); err == nil {
			name, _, _ := strings.Cut(string(b), "\x00")
			if name != "" && !strings.Contains(name, "/") {
				dir := filepath.Dir(path)
				paths = append(paths, filepath.Join(dir, name), filepath.Join(dir, ".debug", name),
					filepath.Join("/usr/lib/debug", dir, name))
			}
		}
	}
	return paths
}

// buildKind tells compiler and optimization from the first compile unit that names them.
func buildKind(f *elf.File) Result {
	d, err := f.DWARF()
	if err != nil {
		return Result{Fail, "debug info cannot be read: " + err.Error(), "Build again; the file may be damaged."}
	}
	r := d.Reader()
	const most = 64 // units to look at: the first are often start-up code in assembly
	for range most {
		e, err := r.Next()
		if err != nil {
			return Result{Fail, "debug info is damaged: " + err.Error(), "Build again."}
		}
		if e == nil {
			break
		}
		if producer, ok := e.Val(dwarf.AttrProducer).(string); ok && e.Tag == dwarf.TagCompileUnit &&
			!strings.HasPrefix(producer, "GNU AS") {
			return producerResult(producer)
		}
		r.SkipChildren()
	}
	return Result{Status: OK, Detail: "compiler unknown"}
}

func producerResult(producer string) Result {
	level := ""
	for word := range strings.FieldsSeq(producer) {
		if strings.HasPrefix(word, "-O") {
			level = word
		}
	}
	if level != "" && level != "-O0" && level != "-Og" {
		return Result{Warn, producer, "Inlined functions have no entry to trace and some values are optimized out: build " +
			"with -O0 or -Og to see all."}
	}
	return Result{Status: OK, Detail: producer}
}
