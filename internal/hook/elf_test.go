package hook

import (
	"cmp"
	"debug/elf"
	"io"
	"slices"
	"testing"
)

// function is one function symbol of an ELF file, with the padding behind it.
type function struct {
	name string
	addr Addr
	code []byte // with padding
	pad  int
}

// functions reads the functions of an ELF file that have a size, in order of address.
func functions(tb testing.TB, path string) []function {
	tb.Helper()
	f, err := elf.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	syms, _ := f.Symbols()
	dyn, _ := f.DynamicSymbols()
	syms = slices.DeleteFunc(append(syms, dyn...), func(s elf.Symbol) bool {
		t := elf.ST_TYPE(s.Info)
		return s.Section == elf.SHN_UNDEF || s.Section >= elf.SHN_LORESERVE || t != elf.STT_FUNC && t != elf.STT_GNU_IFUNC &&
			t != elf.STT_NOTYPE
	})
	slices.SortFunc(syms, func(a, b elf.Symbol) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(b.Size, a.Size))
	})
	text := map[elf.SectionIndex][]byte{}
	var out []function
	for i, s := range syms {
		if s.Size == 0 || elf.ST_TYPE(s.Info) == elf.STT_NOTYPE || i > 0 && syms[i-1].Value == s.Value {
			continue
		}
		sec := f.Sections[s.Section]
		if sec.Flags&elf.SHF_EXECINSTR == 0 || s.Value < sec.Addr || s.Value+s.Size > sec.Addr+sec.Size {
			continue
		}
		if text[s.Section] == nil {
			if text[s.Section], err = sec.Data(); err != nil {
				tb.Fatal(err)
			}
		}
		limit := sec.Addr + sec.Size
		for _, next := range syms[i+1:] {
			if next.Section == s.Section && next.Value != s.Value {
				limit = min(limit, next.Value)
				break
			}
		}
		end := s.Value + s.Size
		limit = max(limit, end)
		code := text[s.Section][s.Value-sec.Addr : limit-sec.Addr]
		out = append(out, function{s.Name, Addr(s.Value), code, int(limit - end)})
	}
	return out
}

// fileOptions lets Analyze read the tables of a file.
func fileOptions(tb testing.TB, path string) Options {
	tb.Helper()
	f, err := elf.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	type segment struct {
		lo   Addr
		data []byte
		flag elf.ProgFlag
	}
	var list []segment
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		b, err := io.ReadAll(p.Open())
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, segment{Addr(p.Vaddr), b, p.Flags})
	}
	find := func(a Addr) *segment {
		for i := range list {
			if s := &list[i]; a >= s.lo && a-s.lo < Addr(len(s.data)) {
				return s
			}
		}
		return nil
	}
	return Options{
		Data: func(a Addr) []byte {
			if s := find(a); s != nil && s.flag&elf.PF_W == 0 {
				return s.data[a-s.lo:]
			}
			return nil
		},
		InCode: func(a Addr) bool { s := find(a); return s != nil && s.flag&elf.PF_X != 0 },
	}
}
