// Functions of Go's: a stub comes here by a jump, with the hook ID in r12d and where to go on in r13, which are free at
// both ends of a function; r14 is the goroutine. Its stack has at least 160 bytes left, which the stub has checked. All
// registers are saved there as struct strobe_proberegs has them; C runs on the stack in the ring's header.
#define GO_SAVED 136
#define GO_SLOW 512	// what finding a ring for a new thread may use of the goroutine's stack
#define HEADER_VEC 240	// x0 to x14
#define GO_STACK 23248	// struct strobe_header.gostack: in a handler of a signal that came while the thread waits in C

.macro GO_ENTRY name, slow, fn, vec, loss
\name:
	lea -GO_SAVED(%rsp), %rsp
	mov %rax, (%rsp)
	mov %rdx, 8(%rsp)
	mov %rcx, 16(%rsp)
	mov %rbx, 24(%rsp)
	mov %rsi, 32(%rsp)
	mov %rdi, 40(%rsp)
	mov %rbp, 48(%rsp)
	lea GO_SAVED(%rsp), %rax
	mov %rax, 56(%rsp)
	mov %r8, 64(%rsp)
	mov %r9, 72(%rsp)
	mov %r10, 80(%rsp)
	mov %r11, 88(%rsp)
	mov %r13, 104(%rsp)
	mov %r14, 112(%rsp)
	mov %rsp, %rbx			// kept by C
	mov C(12), %edx			// flags
	and $(STROBE_FLAG_FSGS | STROBE_FLAG_BY_TID), %edx
	cmp $STROBE_FLAG_FSGS, %edx
	jne \slow
	rdfsbase %r11
	mov $0x9E3779B97F4A7C15, %rax
	imul %r11, %rax
	shr $51, %rax
	shl $4, %eax
	lea blob_start + STROBE_THREADS_OFF(%rip), %rdx
	cmp %r11, (%rdx,%rax)
	jne \slow
	cmp $2, %r11
	jb \slow
	mov 8(%rdx,%rax), %eax		// ring index + 1
	mov C(36), %edx			// ringbytes
	lea STROBE_HEADER_BYTES(%rdx), %r11
	dec %eax
	imul %rax, %r11
	lea blob_start + STROBE_RINGS_OFF(%rip), %rdx
	add %r11, %rdx
1:	lea STROBE_HEADER_BYTES(%rdx), %rsp
	mov GO_STACK(%rdx), %rax
	test %rax, %rax
	cmovnz %rax, %rsp
	xor %ecx, %ecx
	.if \vec
	sub $HEADER_VEC, %rsp
	.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14
	movups %xmm\n, 16*\n(%rsp)
	.endr
	mov %rsp, %rcx
	.endif
	mov %rbx, %rdi
	mov %r12d, %esi
	CALL_C \fn
2:	mov %rbx, %rsp
	mov (%rsp), %rax
	mov 8(%rsp), %rdx
	mov 16(%rsp), %rcx
	mov 24(%rsp), %rbx
	mov 32(%rsp), %rsi
	mov 40(%rsp), %rdi
	mov 64(%rsp), %r8
	mov 72(%rsp), %r9
	mov 80(%rsp), %r10
	mov 88(%rsp), %r11
	mov 104(%rsp), %r13
	lea GO_SAVED(%rsp), %rsp
	jmp *%r13
// The thread has no ring yet, or none that is found without C.
\slow:
	lea -GO_SLOW(%rsp), %rax
	cmp (%r14), %rax
	jb 3f
	and $-16, %rsp
	CALL_C self_slow
	mov %rax, %rdx
	test %rax, %rax
	jnz 1b
3:	mov %r12d, %eax
	shl $4, %rax
	lea blob_start + STROBE_LOSSES_OFF + \loss(%rip), %rdx
	lock incq (%rdx,%rax)
	jmp 2b
.endm
	GO_ENTRY go_enter, go_enter_slow, record_go_enter, 0, 0
	GO_ENTRY go_enter_vec, go_enter_vec_slow, record_go_enter, 1, 0
	GO_ENTRY go_exit, go_exit_slow, record_go_exit, 0, 8
	GO_ENTRY go_exit_vec, go_exit_vec_slow, record_go_exit, 1, 8
