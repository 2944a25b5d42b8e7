// Records of usual values without C: a plan that only follows arguments or results, walks that only follow
// pointers, and the span of a vector or slice. entry.S comes here with FAST_SAVE's frame; whatever is not usual,
// from a bad pointer to a text longer than there is room for, makes it leave everything as it was and go on in
// C, which does the same and the rest (agent.c record, walk.c with_ops: what is written here is written there,
// and both write the same bytes). Nothing is published before the end, so there is nothing to undo.
//
//	rbx record   r10 ring   r15 hook   r13 end of what may be written   rdi where the next byte goes
//	r12 operation   r14 node that is walked   rsi, rcx, edx object at hand: address, bytes, walk | depth << 16
#include "fast_copy.S"

// A bad address, in a subroutine: others are expected behind it, and C asks the kernel about each page (node.h
// faulted).
fast_fix:
	add $8, %rsp
	movl $(1 << 20), HEADER_WARY(%r10)
	xor %eax, %eax
1:	movq $0, HEADER_PAGES(%r10,%rax)
	add $8, %eax
	cmp $(STROBE_PAGE_SLOTS * 8), %eax
	jb 1b
	jmp fast_slow

.macro FAST_LEAVE
	mov F_R12(%rsp), %r12
	mov F_R13(%rsp), %r13
	mov F_R14(%rsp), %r14
	mov F_R15(%rsp), %r15
	lea F_BYTES(%rsp), %rsp
.endm
fast_slow:
	movzbl 14(%rbx), %eax
	FAST_LEAVE
	cmp $STROBE_REC_EXIT, %al
	je exit_saved
	jmp enter_saved

// rcx the hook, r10 the ring. \gprs, \ops, \max: where the hook has them.
.macro FAST_OPS kind, gprs, ops, max, slow
	mov %rdi, (%rsp)
	mov %rsi, 8(%rsp)
	mov %r8, 32(%rsp)
	mov %r9, 40(%rsp)
	cmpl $0, (%rcx)			// flags
	jne \slow
	cmpl $0, HEADER_WARY(%r10)
	jne \slow
	mov \ops(%rcx), %eax
	lea blob_start + STROBE_OPS_OFF(%rip), %r11
	shl $4, %rax
	add %r11, %rax
	cmpb $STROBE_OP_ROOT, (%rax)
	jne \slow
	cmpq $0, 16(%r10)		// lost
	jne \slow
	mov C(36), %edx			// ringbytes
	mov (%r10), %r11		// head
	mov %r11, %rsi
	lea -1(%rdx), %edi
	and %rdi, %rsi
	mov \max(%rcx), %r8d
	lea STROBE_RECORD_BYTES + 32(%rsi,%r8), %rdi	// SLACK
	cmp %rdx, %rdi
	ja \slow			// the ring's end comes first
	lea STROBE_RECORD_BYTES + 32(%r11,%r8), %rdi
	sub 8(%r10), %rdi		// cachedtail
	cmp %rdx, %rdi
	ja \slow
	lea STROBE_HEADER_BYTES(%r10,%rsi), %rbx
	lea -F_BYTES(%rsp), %rsp
	mov %r12, F_R12(%rsp)
	mov %r13, F_R13(%rsp)
	mov %r14, F_R14(%rsp)
	mov %r15, F_R15(%rsp)
	mov %rax, %r12
	mov %rcx, %r15
	lea STROBE_RECORD_BYTES(%rbx,%r8), %r13
	movl $(\kind << 16), 12(%rbx)	// no flags
	movzbl \gprs(%rcx), %ecx
	lea STROBE_RECORD_BYTES(%rbx,%rcx,8), %rdi
.endm

enter_ops:
	FAST_OPS STROBE_REC_ENTER, 4, 8, 16, enter_saved
	mov UP(0), %rax
	mov UP(8), %rdx
	mov %rax, 24(%rbx)
	mov %rdx, 32(%rbx)
	cmp $2, %ecx
	jbe fast_begin
	mov UP(16), %rax
	mov UP(24), %rdx
	mov %rax, 40(%rbx)
	mov %rdx, 48(%rbx)
	mov UP(32), %rax
	mov UP(40), %rdx
	mov %rax, 56(%rbx)
	mov %rdx, 64(%rbx)
	jmp fast_begin
exit_ops:
	FAST_OPS STROBE_REC_EXIT, 5, 12, 20, exit_saved
	mov UP(48), %rax
	mov UP(16), %rdx
	mov %rax, 24(%rbx)
	mov %rdx, 32(%rbx)

// How much the call may record: walk.c begin_nodes.
fast_begin:
	mov UP(FAST_ID), %ecx
	rdtsc
	mov %ecx, 8(%rbx)
	mov %rbp, 16(%rbx)
	shl $32, %rdx
	or %rdx, %rax
	mov %rax, (%rbx)
	mov %rax, %rdx
	sub C(16), %rdx			// heartbeattsc
	jb 1f
	cmp C(24), %rdx			// staleticks
	ja fast_slow
1:	shr $STROBE_SPAN_SHIFT, %rax
	and $(STROBE_SPENTS - 1), %ecx
	cmp HEADER_SPENT(%r10,%rcx,8), %eax
	jne fast_slow
	cmp HEADER_SPENT_ALL(%r10), %eax
	jne fast_slow
	movzwl 6(%r15), %eax		// allow
	shl $14, %eax
	jz 3f
	mov HEADER_SPENT+4(%r10,%rcx,8), %ecx
	movzbl 31(%r15), %edx		// least
	shl $6, %edx
	cmpl $STROBE_STORM_BYTES, HEADER_SPENT_ALL+4(%r10)
	jbe 2f
	shr $2, %eax
	shr $2, %edx
2:	cmp %eax, %ecx
	jbe 3f
	shr $2, %ecx
	cmp %eax, %ecx
	ja 4f
	add %edx, %edx
4:	test %edx, %edx
	jz 3f
	add %rdi, %rdx
	cmp %r13, %rdx
	cmovb %rdx, %r13
3:	mov %rdi, F_BEGAN(%rsp)
	mov %rdi, %r14
	movq $0, F_COUNT(%rsp)
	jmp 6f

// The plan's operations.
5:	add $16, %r12
	movzbl (%r12), %eax
	test %eax, %eax
	jz fast_walk			// STROBE_OP_END
	cmp $STROBE_OP_ROOT, %eax
	jne fast_slow
6:	mov 4(%r12), %eax
	and $(STROBE_MAX_PAYLOAD - 8), %eax
	mov STROBE_RECORD_BYTES(%rbx,%rax), %rsi
	test %rsi, %rsi
	jz 5b
	movslq 8(%r12), %rax
	add %rax, %rsi
	jz 5b
	movzwl 2(%r12), %edx
	mov 12(%r12), %ecx
	movzbl 1(%r12), %eax
	cmp $2, %eax
	je 7f
	or $(1 << 16), %edx
	cmp $1, %eax
	je 8f
7:	call fast_copy
	jmp 5b
8:	call fast_text
	jmp 5b

// The nodes' programs, in the nodes' order.
1:	mov 8(%r14), %eax
	lea STROBE_NODE_BYTES + 7(%r14,%rax), %r14
	and $-8, %r14
fast_walk:
	cmp %rdi, %r14
	jae fast_publish
	movzwl 12(%r14), %eax
	lea blob_start + STROBE_WALKS_OFF(%rip), %rcx
	mov (%rcx,%rax,4), %eax
	test %eax, %eax
	jz 1b
	jns 2f
	and $0x7fffffff, %eax		// STROBE_WALK_ENDS
	mov 14(%r14), %cl
	cmp 30(%r15), %cl		// depth
	jae 1b
2:	cmp $STROBE_MAX_OPS, %eax
	jae fast_slow			// STROBE_WALK_WIPES
	lea NODE_ROOM(%rdi), %rcx
	cmp %r13, %rcx
	ja 8f
	shl $4, %eax
	lea blob_start + STROBE_OPS_OFF(%rip), %r12
	add %rax, %r12
	jmp 4f
3:	add $16, %r12
4:	movzbl (%r12), %eax
	cmp $STROBE_WALK_FOLLOW, %eax
	jne 6f
	mov 8(%r12), %eax
	lea 8(%rax), %rcx
	mov 8(%r14), %r8d
	cmp %r8, %rcx
	ja 1b
	mov STROBE_NODE_BYTES(%r14,%rax), %rsi
	test %rsi, %rsi
	jz 3b
	mov 4(%r12), %eax
	movzwl %ax, %edx
	shr $16, %eax
	mov %eax, %r8d
	and $1, %r8d
	movzbl 14(%r14), %ecx
	add %ecx, %r8d
	movzbl 30(%r15), %ecx
	cmp %ecx, %r8d
	ja 3b
	lea NODE_ROOM(%rdi), %rcx
	cmp %r13, %rcx
	ja 9f
	shl $16, %r8d
	or %r8d, %edx
	mov 12(%r12), %ecx
	test $(STROBE_FOLLOW_TEXT >> 16), %al
	jnz 5f
	call fast_copy
	jmp 3b
5:	call fast_text
	jmp 3b
6:	test %eax, %eax
	jz 1b				// STROBE_OP_END
	cmp $STROBE_WALK_BETWEEN, %eax	// and a span of the same registers, and nothing else
	jne fast_slow
	mov 1(%r12), %ax
	cmp 17(%r12), %ax
	jne fast_slow
	cmpb $STROBE_WALK_SPAN, 16(%r12)
	jne fast_slow
	cmpb $STROBE_OP_END, 32(%r12)
	jne fast_slow
	mov 8(%r12), %eax
	mov 4(%r12), %edx
	mov 8(%r14), %r8d
	lea 8(%rax), %rcx
	cmp %r8, %rcx
	ja 1b
	lea 8(%rdx), %rcx
	cmp %r8, %rcx
	ja 1b
	mov STROBE_NODE_BYTES(%r14,%rax), %r9
	mov STROBE_NODE_BYTES(%r14,%rdx), %rax
	sub %r9, %rax
	mov 12(%r12), %ecx
	lea -1(%rcx), %r8d
	test %ecx, %r8d
	jnz 5f
	bsf %ecx, %ecx
	jz fast_slow
	shr %cl, %rax
	jmp 7f
5:	xor %edx, %edx
	div %rcx
7:	mov (%r14), %rsi		// the made node: two words
	movzwl 20(%r12), %edx
	movzbl 14(%r14), %r8d
	shl $16, %r8d
	or %r8d, %edx
	lea STROBE_NODE_BYTES + 16(%rdi), %rcx
	cmp %r13, %rcx
	ja fast_slow
	push %rax			// also where a subroutine has its return
	DEDUPE fast_give_up
	pop %rax
	mov %rsi, (%rdi)
	movl $16, 8(%rdi)
	mov %edx, 12(%rdi)
	mov %rax, STROBE_NODE_BYTES(%rdi)
	mov %r9, STROBE_NODE_BYTES + 8(%rdi)
	add $(STROBE_NODE_BYTES + 16), %rdi
	mov %r9, %rsi
	test %rsi, %rsi
	jz 1b
	mov 24(%r12), %ecx		// bytes of an element
	imul %rcx, %rax
	mov 28(%r12), %ecx
	cmp %rax, %rcx
	cmova %rax, %rcx
	movzwl 22(%r12), %edx
	movzbl 19(%r12), %eax		// 1: a pointer deeper
	shl $16, %eax
	add %r8d, %eax
	or %eax, %edx
	shr $16, %eax
	cmp 30(%r15), %al
	ja 1b
	call fast_copy
	jmp 1b
8:
9:	CUT
	jmp 1b

fast_publish:
	mov HEADER_SPENT_ALL+4(%r10), %eax
	test %eax, %eax
	js 1f
	mov %rdi, %rdx
	sub F_BEGAN(%rsp), %rdx
	mov 8(%rbx), %ecx
	and $(STROBE_SPENTS - 1), %ecx
	add %edx, HEADER_SPENT+4(%r10,%rcx,8)
	add %edx, %eax
	mov %eax, HEADER_SPENT_ALL+4(%r10)
1:	sub %rbx, %rdi
	lea 512(%rbx,%rdi), %rax
2:	prefetchw (%rax)		// as in FAST_RESERVE, for as much as was used
	sub $64, %rax
	lea 448(%rbx), %rcx
	cmp %rcx, %rax
	ja 2b
	mov %edi, %eax
	shr $3, %eax
	mov %ax, 12(%rbx)
	add (%r10), %rdi
	FAST_LEAVE
	mov %rdi, (%r10)
	STOPS
	mov 72(%rsp), %rbx
	cmp %esp, %esp			// ZF=1, which an exit does not mind
	FULL_RESTORE
	ret $8
