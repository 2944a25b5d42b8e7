package snapshot

// Linux's signals, which pictures are of wherever they are read.
const (
	sigILL  = 4
	sigTRAP = 5
	sigABRT = 6
	sigBUS  = 7
	sigFPE  = 8
	sigSEGV = 11
	sigXCPU = 24
	sigXFSZ = 25
	sigSYS  = 31
)

var signalNames = [...]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", sigILL: "SIGILL", sigTRAP: "SIGTRAP", sigABRT: "SIGABRT", sigBUS: "SIGBUS",
	sigFPE: "SIGFPE", 9: "SIGKILL",
	10: "SIGUSR1", sigSEGV: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 16: "SIGSTKFLT",
	17: "SIGCHLD", 18: "SIGCONT",
	19: "SIGSTOP", 20: "SIGTSTP", 21: "SIGTTIN", 22: "SIGTTOU", 23: "SIGURG", sigXCPU: "SIGXCPU", sigXFSZ: "SIGXFSZ",
	26: "SIGVTALRM", 27: "SIGPROF",
	28: "SIGWINCH", 29: "SIGIO", 30: "SIGPWR", sigSYS: "SIGSYS",
}
