package collector

import "context"

// CodeViewer is a Viewer of a program of machine code. It need not be paused.
type CodeViewer interface {
	Code(ctx context.Context, q CodeQuery) (CodeAnswer, error)
}

// CodeKind is what a CodeQuery asks for.
type CodeKind string

// The kinds.
const (
	CodeFunctions    CodeKind = "functions"    // names of functions
	CodeGlobals      CodeKind = "globals"      // and of global variables
	CodeModules      CodeKind = "modules"      // files that are loaded
	CodeSources      CodeKind = "sources"      // source files of those that are the user's
	CodeInstructions CodeKind = "instructions" // machine code
	CodeCalls        CodeKind = "calls"        // functions that the rest of a line calls
	CodeLines        CodeKind = "lines"        // where a line of a function begins
)

// CodeQuery is a question about machine code.
type CodeQuery struct {
	Kind  CodeKind
	PID   int    // 0: the first process
	Name  string // how names begin, or one of their parts does
	At    uint64 // an address in the code: of instructions the one that they are counted from
	From  int    // of instructions: the first, may be below 0
	Count int    // how many at most
	File  string // of lines
	Line  int
}

// CodeAnswer is what was found.
type CodeAnswer struct {
	Names        []string      `json:"names,omitempty"`
	Modules      []Module      `json:"modules,omitempty"`
	Instructions []Instruction `json:"instructions,omitempty"`
	Places       []Location    `json:"places,omitempty"` // of calls: what is called
}

// Module is a file whose code is loaded.
type Module struct {
	Path    string `json:"path"`
	From    string `json:"from"` // "0x…"
	To      string `json:"to"`
	Symbols string `json:"symbols,omitempty"` // the file that has its debug information; "": there is none
	System  bool   `json:"system,omitempty"`  // a library of the system's
}

// Instruction is one of machine code. Without Text there is none at the address.
type Instruction struct {
	Address string `json:"address"`
	Bytes   string `json:"bytes,omitempty"` // as hexadecimal digits
	Text    string `json:"text,omitempty"`
	Symbol  string `json:"symbol,omitempty"` // function, and how far behind its beginning
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
}
