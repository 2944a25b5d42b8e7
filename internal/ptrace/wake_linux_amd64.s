#include "textflag.h"

// The handler of the wake signal does nothing: its only purpose is that a blocked wait4 returns EINTR,
// which the Go runtime's own handlers (SA_RESTART) never let happen.
TEXT ·wakeHandler(SB), NOSPLIT|NOFRAME, $0
	RET

TEXT ·wakeRestorer(SB), NOSPLIT|NOFRAME, $0
	MOVQ $15, AX // rt_sigreturn
	SYSCALL
	INT $3

// func wakeAddrs() (handler, restorer uintptr)
TEXT ·wakeAddrs(SB), NOSPLIT, $0-16
	LEAQ ·wakeHandler(SB), AX
	MOVQ AX, handler+0(FP)
	LEAQ ·wakeRestorer(SB), AX
	MOVQ AX, restorer+8(FP)
	RET
