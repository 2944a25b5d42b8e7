// Entry points of the agent, called from stubs (internal/hook). They keep every register: callers
// of local functions may rely on more than the ABI promises (gcc -fipa-ra).
//
// A stub pushes a 32-bit value (hook ID, or byte count) and calls; we return with `ret 8`.
#include "ring_abi.h"

	.section .blobheader,"ax",@progbits
	.globl blob_start
blob_start:
	.quad 0x424f4c42454f5254
	.quad enter - blob_start, enter_vec - blob_start, enter_only - blob_start
	.quad exit_ - blob_start, exit_vec - blob_start, exit_st0 - blob_start, exit_st01 - blob_start, exit_trap - blob_start
	.quad copy_window - blob_start
	.quad critical_lo - blob_start, critical_hi - blob_start
	.quad fault_lo - blob_start, fault_hi - blob_start, fault_fix - blob_start
	.quad copy_lo - blob_start, copy_hi - blob_start
	.quad probe - blob_start, probe_vec - blob_start, probe_trap - blob_start
	.quad rest - blob_start
	.quad code_lo - blob_start, stop_trap - blob_start
	.quad fast_lo - blob_start, fast_hi - blob_start, fast_fix - blob_start
	.quad go_enter - blob_start, go_enter_vec - blob_start, go_exit - blob_start, go_exit_vec - blob_start
	.quad lock_take - blob_start, lock_leave - blob_start, lock_call - blob_start

	.text
	.globl critical_lo
critical_lo:

// Memory from rsp up, in DWARF-free order known to agent.c: rdi rsi rdx rcx r8 r9 rax r10 r11.
.macro SAVE
	push %r11
	push %r10
	push %rax
	push %r9
	push %r8
	push %rcx
	push %rdx
	push %rsi
	push %rdi
.endm
.macro RESTORE
	pop %rdi
	pop %rsi
	pop %rdx
	pop %rcx
	pop %r8
	pop %r9
	pop %rax
	pop %r10
	pop %r11
.endm

#include "frame.S"

// [rsp] return to the stub, [rsp+8] hook ID, rbp the stub's frame. Returns ZF=0 for a tail call.
enter:
	FAST_SAVE
	mov FAST_ID(%rsp), %ecx
	shl $5, %rcx
	lea blob_start + STROBE_HOOKS_OFF(%rip), %r10
	cmpl $0, 24(%r10,%rcx)		// sample
	jne 5f
	mov 8(%rbp), %rcx		// a return into an arena: a tail call
	mov C(44), %edx			// arenacount
	lea C(ARENAS), %rax
	test %edx, %edx
	jz 2f
1:	cmp (%rax), %rcx		// lo
	jb 4f
	cmp 8(%rax), %rcx		// hi
	jb enter_slow
4:	add $32, %rax
	dec %edx
	jnz 1b
2:	FAST_RING enter_slow
	cmpl $0, 8(%rcx)		// enterops
	jne enter_ops
	FAST_RESERVE enter_slow, 4
	mov %rdi, 24(%rbx)
	mov %rsi, 32(%rbx)
	cmp $2, %ecx
	jbe 3f
	mov 16(%rsp), %rax
	mov 24(%rsp), %rdx
	mov %rax, 40(%rbx)
	mov %rdx, 48(%rbx)
	mov %r8, 56(%rbx)
	mov %r9, 64(%rbx)
3:	FAST_PUBLISH STROBE_REC_ENTER
	FAST_RESTORE
	cmp %esp, %esp			// ZF=1
	ret $8
// A function of which few calls are recorded: count this one in the thread's ring header; agent.c decides and counts
// those that may be recorded.
5:	mov C(12), %edx
	test $STROBE_FLAG_FS0, %edx
	jz enter_slow
	test $STROBE_FLAG_BY_TID, %edx
	jnz enter_slow
	mov %fs:0, %r11
	mov $0x9E3779B97F4A7C15, %rax
	imul %r11, %rax
	shr $51, %rax
	shl $4, %eax
	lea blob_start + STROBE_THREADS_OFF(%rip), %rdx
	cmp %r11, (%rdx,%rax)
	jne enter_slow
	mov 8(%rdx,%rax), %eax
	dec %eax
	mov C(36), %edx
	lea STROBE_HEADER_BYTES(%rdx), %r11
	imul %rax, %r11
	movzwl 28(%r10,%rcx), %eax	// hot
	lea blob_start + STROBE_RINGS_OFF(%rip), %rdx
	add %rdx, %r11
	shl $5, %eax
	mov 192(%r11,%rax), %rdx	// calls
	inc %rdx
	cmp 200(%r11,%rax), %rdx	// next
	jae enter_slow
	mov %rdx, 192(%r11,%rax)
	FAST_RESTORE
	cmp $0, %rsp			// ZF=0: no frame
	ret $8
enter_slow:
	FULL_SAVE
enter_saved:
	FULL_SAVED
	xor %ecx, %ecx
	CALL_C record_enter
	test %eax, %eax
	FULL_RESTORE
	ret $8

enter_vec:
	SAVE
	mov %rsp, %rdi
	mov 80(%rsp), %esi
	mov %rbp, %rdx
	sub $136, %rsp
	movups %xmm0, (%rsp)
	movups %xmm1, 16(%rsp)
	movups %xmm2, 32(%rsp)
	movups %xmm3, 48(%rsp)
	movups %xmm4, 64(%rsp)
	movups %xmm5, 80(%rsp)
	movups %xmm6, 96(%rsp)
	movups %xmm7, 112(%rsp)
	mov %rsp, %rcx
	CALL_C record_enter
	test %eax, %eax
	lea 136(%rsp), %rsp
	RESTORE
	ret $8

// No frame of the stub's: [rsp+16] is the function's return address, the alignment is unknown,
// flags are kept too.
enter_only:
	pushfq
	SAVE
	mov %rsp, %rdi
	mov 88(%rsp), %esi
	lea 88(%rsp), %rdx
	push %rbp
	mov %rsp, %rbp
	and $-16, %rsp
	sub $128, %rsp
	movups %xmm0, (%rsp)
	movups %xmm1, 16(%rsp)
	movups %xmm2, 32(%rsp)
	movups %xmm3, 48(%rsp)
	movups %xmm4, 64(%rsp)
	movups %xmm5, 80(%rsp)
	movups %xmm6, 96(%rsp)
	movups %xmm7, 112(%rsp)
	mov %rsp, %rcx
	cld
	CALL_C record_enter_only
	mov %rbp, %rsp
	pop %rbp
	RESTORE
	popfq
	ret $8

// A point, anywhere in a function: [rsp] return to the stub, [rsp+8] hook ID, then the 128 bytes of the red zone, which
// the stub left. All registers are saved as struct strobe_proberegs. Flags go back without popfq, which is slow, unless
// the direction flag is set, or one that sahf does not know.
#define PROBE_UP (17 * 8 + 16 + 128)
#define USUAL_FLAGS 0x8d7		// status flags and interrupts
.macro PROBE_SAVE
	pushfq
	push %r15
	push %r14
	push %r13
	push %r12
	push %r11
	push %r10
	push %r9
	push %r8
	push %rsp
	push %rbp
	push %rdi
	push %rsi
	push %rbx
	push %rcx
	push %rdx
	push %rax
	lahf
	seto %al
	mov %rsp, %rbp
	lea PROBE_UP(%rsp), %rdi
	mov %rdi, 56(%rsp)
	mov %eax, %ebx			// kept by C
	mov %rsp, %rdi
	mov 17*8+8(%rsp), %esi
	and $-16, %rsp
	cld
.endm
probe:
	PROBE_SAVE
	xor %edx, %edx
	call probe_hit
probe_done:
	STOPS
	mov %rbp, %rsp
	test %eax, %eax
	jnz 8f
7:	testl $~(USUAL_FLAGS | 0x202), 128(%rsp)
	jnz 9f
	mov %ebx, %eax
	add $0x7f, %al			// the overflow flag
	sahf
	mov (%rsp), %rax
	mov 8(%rsp), %rdx
	mov 16(%rsp), %rcx
	mov 24(%rsp), %rbx
	mov 32(%rsp), %rsi
	mov 40(%rsp), %rdi
	mov 48(%rsp), %rbp
	mov 64(%rsp), %r8
	mov 72(%rsp), %r9
	mov 80(%rsp), %r10
	mov 88(%rsp), %r11
	lea 17*8(%rsp), %rsp
	ret $8
8:	mov %rsp, %rdi			// a breakpoint: the tracer takes the registers from here, and the thread to the place
	.globl probe_trap
probe_trap:
	int3
	jmp 7b
9:	mov (%rsp), %rax
	mov 8(%rsp), %rdx
	mov 16(%rsp), %rcx
	mov 24(%rsp), %rbx
	mov 32(%rsp), %rsi
	mov 40(%rsp), %rdi
	mov 48(%rsp), %rbp
	mov 64(%rsp), %r8
	mov 72(%rsp), %r9
	mov 80(%rsp), %r10
	mov 88(%rsp), %r11
	lea 128(%rsp), %rsp
	popfq
	ret $8
probe_vec:
	PROBE_SAVE
	sub $256, %rsp
	.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	movups %xmm\n, 16*\n(%rsp)
	.endr
	mov %rsp, %rdx
	call probe_hit
	jmp probe_done

.macro EXIT name, space, save, restore
\name:
	SAVE
	mov %rsp, %rdi
	mov 80(%rsp), %esi
	mov %rbp, %rdx
	sub $\space, %rsp
	\save
	mov %rsp, %rcx
	CALL_C record_exit
	\restore
	add $\space, %rsp
	RESTORE
	ret $8
.endm
.macro SAVE_X
	movups %xmm0, (%rsp)
	movups %xmm1, 16(%rsp)
.endm
.macro SAVE_ST0
	fstpt 32(%rsp)
.endm
.macro LOAD_ST0
	fldt 32(%rsp)
.endm
.macro SAVE_ST01
	fstpt 32(%rsp)
	fstpt 48(%rsp)
.endm
.macro LOAD_ST01
	fldt 48(%rsp)
	fldt 32(%rsp)
.endm
// Exits without a frame of ours on the way.
exit_:
	FAST_SAVE
	FAST_RING exit_slow
	cmpl $0, 12(%rcx)		// exitops
	jne exit_ops
	FAST_RESERVE exit_slow, 5
	mov 48(%rsp), %rax
	mov 16(%rsp), %rdx
	mov %rax, 24(%rbx)
	mov %rdx, 32(%rbx)
	FAST_PUBLISH STROBE_REC_EXIT
	FAST_RESTORE
	ret $8
exit_slow:
	FULL_SAVE
exit_saved:
	FULL_SAVED
	mov %rsp, %rcx
	CALL_C record_exit
	FULL_RESTORE
	ret $8
	EXIT exit_vec, 40, SAVE_X
	EXIT exit_st0, 72, SAVE_ST0, LOAD_ST0
	EXIT exit_st01, 72, SAVE_ST01, LOAD_ST01

// At a ret instruction: [rsp+16] is the function's return address.
exit_trap:
	pushfq
	SAVE
	mov %rsp, %rdi
	mov 88(%rsp), %esi
	lea 88(%rsp), %rdx
	push %rbp
	mov %rsp, %rbp
	and $-16, %rsp
	sub $64, %rsp
	SAVE_X
	mov %rsp, %rcx
	cld
	CALL_C record_exit
	mov %rbp, %rsp
	pop %rbp
	RESTORE
	popfq
	ret $8

// [rsp] return, [rsp+8] byte count, [rsp+16…] destination; the source is the caller's argument
// area above the stub's frame. A window may end behind the stack: the fault ends the copy.
copy_window:
	push %rsi
	push %rdi
	push %rcx
	lea 16(%rbp), %rsi
	lea 40(%rsp), %rdi
	mov 32(%rsp), %ecx
	shr $3, %ecx
copy_lo:
	rep movsq
copy_hi:
	pop %rcx
	pop %rdi
	pop %rsi
	ret $8

	.globl stop_trap
stop_trap:
	int3
	ret

#include "go.S"
#include "locks.S"
#include "safe.S"

	.text
	.globl code_lo
code_lo:			// who leaves what follows, C and the way to it, meets stop_trap
#include "fast.S"

	.section .note.GNU-stack,"",@progbits
