package collector

// AbsentQuestion asks what is known, without running anything, of why a function does not run.
type AbsentQuestion struct {
	Name        string
	Paths       []string // files of the program, its own first
	SymbolsPath string
}

// Absent is what files say of a function.
type Absent struct {
	Found   []StaticFunction // functions of that name that have code
	NoCode  []StaticFunction // those that have none, with why
	Callers []StaticCall     // who calls it, and who calls those, the nearest first
	More    int              // callers that are left out
	Near    []string         // like names, where there is none
	Read    []string         // files that were looked at
	Unread  []string         // those that could not be, with why
}

// StaticFunction is a function of a file.
type StaticFunction struct {
	Name, File, Module string
	Line               int
	Why                string // of one without code
}

// StaticCall is a place in the code where one function calls another one, or takes its address.
type StaticCall struct {
	Caller, Callee string
	File           string // of the call
	Line           int
	Taken          bool
	Depth          int // 1: calls the function itself
}
