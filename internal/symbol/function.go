package symbol

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Language is a source language as the timeline names it.
type Language string

// The languages that names and calling conventions depend on. The empty language is unknown.
const (
	LangUnknown Language = ""
	LangC       Language = "c"
	LangCPP     Language = "c++"
	LangRust    Language = "rust"
	LangGo      Language = "go"
	LangAsm     Language = "asm"
	LangOther   Language = "other"
)

// Function is one function with code in a module. There is one per entry address.
type Function struct {
	Name     string   // demangled, qualified, no parameters, no clone suffix; template arguments kept
	Raw      string   // the symbol as linked ("_ZN1a1bEv", "f.isra.0"), or Name
	Aliases  []string // demangled names of other symbols at the same address (identical code folding, versions)
	Low      Addr     // entry address
	High     Addr     // first address behind the function's (first) range
	File     string   // absolute source path of the declaration, or ""
	Line     int      // 1-based, or 0
	Language Language
	HasDWARF bool // Signature works
	Inlined  bool // some calls of it were inlined elsewhere and will not be seen by a hook
	NoReturn bool // declared so
	Ifunc    bool // an indirect function's resolver, called once by the dynamic linker
	// Fragment marks a part of a function that is jumped to, never called (".cold"). Functions
	// never holds one; Lookup may return one. It must not be hooked.
	Fragment bool
	// SizeGuessed is set when neither symbol nor DWARF gave a size: High is the next function or section end.
	SizeGuessed bool

	die dieRef // concrete DIE, or its unit's where only lines are known; 0 when HasDWARF is false
}

// Size returns the length of the function's (first) range in bytes.
func (f *Function) Size() uint64 { return uint64(f.High - f.Low) }

// Full returns the demangled name with parameters where the symbol has them (C++), else Name.
func (f *Function) Full() string {
	if !isMangled(f.Raw) || f.Language == LangC && strings.HasPrefix(f.Raw, f.Name) {
		return f.Name
	}
	full, err := demangle.ToString(withUnderscores(f.Raw), demangle.NoClones)
	if err != nil {
		return f.Name
	}
	return stripRustHash(full)
}

// Unhookable is a function that exists in the debug information but has no code to hook.
type Unhookable struct {
	Function string // demangled, qualified
	Reason   string // one sentence
	File     string
	Line     int
}
