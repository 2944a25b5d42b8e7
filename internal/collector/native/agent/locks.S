// Mutexes that are taken and left, for functions that any code may call: what a call may change by the ABI is free.
//
// The usual case is here: the thread has a ring, and what it takes while it holds others is in its table already. The
// rest is lock_enter in locks.c. All of it happens before the function itself: a lock counts as held while it is waited
// for, and as left before it is.
#define LOCKS 23272
#define HELD (LOCKS + 32)
#define SEEN (LOCKS + 1088)

// r10 the ring's header, ecx how many locks are held.
.macro LOCK_RING slow
	mov C(12), %eax			// flags
	and $(STROBE_FLAG_FS0 | STROBE_FLAG_BY_TID), %eax
	cmp $STROBE_FLAG_FS0, %eax
	jne \slow
	mov %fs:0, %r11
	mov $0x9E3779B97F4A7C15, %r8
	mov %r8, %rax
	imul %r11, %rax
	shr $51, %rax
	shl $4, %eax
	lea blob_start + STROBE_THREADS_OFF(%rip), %rdx
	cmp %r11, (%rdx,%rax)
	jne \slow
	mov 8(%rdx,%rax), %eax		// ring index + 1
	mov C(36), %r10d		// ringbytes
	add $STROBE_HEADER_BYTES, %r10
	dec %eax
	imul %rax, %r10
	lea blob_start + STROBE_RINGS_OFF(%rip), %rdx
	add %rdx, %r10
	mov LOCKS(%r10), %ecx
.endm

lock_take:
	LOCK_RING lock_slow
	cmp $STROBE_MAX_HELD, %ecx
	jae lock_slow
	mov %ecx, %r9d
	shl $5, %r9
	mov HELD+8(%r10,%r9), %rax	// the hash of what is held
	xor %rdi, %rax
	imul %r8, %rax
	test %ecx, %ecx
	jz 1f
	mov %rax, %rdx
	shr $56, %rdx
	cmp %rax, SEEN(%r10,%rdx,8)
	jne lock_slow
1:	mov 16(%rsp), %rdx
	inc %ecx
	mov %rdi, HELD+32(%r10,%r9)
	mov %rax, HELD+40(%r10,%r9)
	mov %rdx, HELD+48(%r10,%r9)
	movq $0, HELD+56(%r10,%r9)	// mode
	mov %ecx, LOCKS(%r10)
	ret $8

lock_leave:
	LOCK_RING lock_slow
	test %ecx, %ecx
	jz 1f
	mov %ecx, %r9d
	shl $5, %r9
	cmp %rdi, HELD(%r10,%r9)
	jne lock_slow
	dec %ecx
	mov %ecx, LOCKS(%r10)
1:	ret $8

lock_call:
lock_slow:
	SAVE
	mov %rsp, %rdi
	mov 80(%rsp), %esi
	lea 88(%rsp), %rdx
	mov %rbp, %rcx
	cld
	CALL_C lock_enter
	RESTORE
	ret $8
