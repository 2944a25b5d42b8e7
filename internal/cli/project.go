package cli

import (
	"bufio"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	// maxUnitsRead bounds how many units are asked for their source: the first may be the C library's start code.
	maxUnitsRead = 64
	// maxInfoBytes bounds the debug information that is read for this; of more, the program's own directory must do.
	maxInfoBytes = 64 << 20
	maxShebang   = 256 // the kernel's own bound
)

// interpreter is what programs are called whose code is in files of their own.
var interpreter = regexp.MustCompile(`^(python[\d.]*|node|nodejs|bun|deno|npm|npx|uv|poetry|pytest|` +
	`java|mvn|mvnw|gradle|gradlew|kotlin|scala|clojure)$`)

// projectOf returns the project of a command line that is run in dir: the repository around dir if the program or
// its source lies there, else the one around its source, else the one around the program. Of an interpreter it is the
// script that counts. Another command without a slash is taken from PATH and says nothing of the project.
func projectOf(dir string, args []string) string {
	here, command := repository(dir), args[0]
	if interpreter.MatchString(filepath.Base(command)) {
		return repository(placeOfScript(dir, args))
	}
	if !strings.ContainsRune(command, filepath.Separator) {
		return here
	}
	if !filepath.IsAbs(command) {
		command = filepath.Join(dir, command)
	}
	program, err := filepath.EvalSymlinks(command)
	if err != nil || under(here, command) || under(here, program) {
		return here
	}
	if interpreter.MatchString(shebang(program)) {
		return repository(placeOfScript(dir, []string{"", command}))
	}
	sources := sourcesOf(program)
	for _, s := range sources {
		if under(here, s) {
			return here
		}
	}
	for _, s := range sources {
		if _, err := os.Stat(s); err == nil && !under("/usr", s) {
			return repository(filepath.Dir(s))
		}
	}
	return repository(filepath.Dir(program))
}

// shebang is the name of the program that a script's first line has run it, "" of what is none.
func shebang(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, maxShebang)).ReadString('\n')
	rest, ok := strings.CutPrefix(line, "#!")
	words := strings.Fields(rest)
	if !ok || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) == "env" {
		words = slices.DeleteFunc(words[1:], func(w string) bool {
			return strings.HasPrefix(w, "-") || strings.Contains(w, "=")
		})
	}
	if len(words) == 0 {
		return ""
	}
	return filepath.Base(words[0])
}

func under(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// sourcesOf returns the absolute paths of a program's first source files; none where it does not say.
func sourcesOf(program string) (paths []string) {
	f, err := elf.Open(program)
	if err != nil {
		return nil
	}
	defer f.Close()
	info := f.Section(".debug_info")
	if info == nil || info.Size > maxInfoBytes {
		return nil
	}
	data, err := f.DWARF()
	if err != nil {
		return nil
	}
	raw, err := info.Data()
	if err != nil {
		return nil
	}
	r := data.Reader()
	for at := 0; at+16 <= len(raw) && len(paths) < maxUnitsRead; {
		next, header := unitAt(f.ByteOrder, raw[at:])
		if next <= 0 {
			break
		}
		r.Seek(dwarf.Offset(at + header))
		if unit, err := r.Next(); err == nil && unit != nil && unit.Tag == dwarf.TagCompileUnit {
			name, _ := unit.Val(dwarf.AttrName).(string)
			dir, _ := unit.Val(dwarf.AttrCompDir).(string)
			if !filepath.IsAbs(name) {
				name = filepath.Join(dir, name)
			}
			if filepath.IsAbs(name) {
				paths = append(paths, filepath.Clean(name))
			}
		}
		if next > len(raw)-at {
			break
		}
		at += next
	}
	return paths
}

// unitAt returns the length of the unit at b's start and of its header; 0 where it is none of DWARF 2 to 5 in 32 bits.
func unitAt(order binary.ByteOrder, b []byte) (length, header int) {
	n := order.Uint32(b)
	if n >= 0xfffffff0 {
		return 0, 0
	}
	switch version, kind := order.Uint16(b[4:]), b[6]; {
	case version >= 2 && version <= 4:
		header = 11
	case version == 5 && (kind == 1 || kind == 3): // compile, partial
		header = 12
	case version == 5:
		header = 20 // with a unit or type id; its first entry is no compile unit's
	default:
		return 0, 0
	}
	return int(n) + 4, header
}
