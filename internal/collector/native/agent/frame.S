// What the entry points (entry.S) and the records without C (fast.S) are made of.
//
// The usual record, of registers only, without a call: it goes on at \slow with nothing done and nothing
// changed unless the thread has a ring with room before its end for the largest such record, nothing was
// lost, and the CPU has rdfsbase and an even rdtsc. Only what it uses is saved. agent.c does
// the same in C: record, self, reserve.
//
// The frame is that of SAVE, for the way on into C, with rbx above it:
//
//	rsp+0 rdi, 8 rsi, 16 rdx, 24 rcx, 32 r8, 40 r9, 48 rax, 56 r10, 64 r11, 72 rbx, 80 return to the stub, 88 hook ID
#define FAST_ID 88
#define FAST_MOST (STROBE_RECORD_BYTES + 6 * 8)
#define C(off) blob_start + STROBE_CONTROL_OFF + off(%rip)
#define ARENAS 336
#define STOPREQ 9044
// Who traces us waits for the thread to leave C, which may take long, to deliver a signal behind it.
.macro CALL_C fn
	call \fn
	STOPS
.endm
.macro STOPS
	cmpl $0, C(STOPREQ)
	je 88f
	call stop_trap
88:
.endm

#define FAST_FLAGS (STROBE_FLAG_FSGS | STROBE_FLAG_TSC)

.macro FAST_SAVE
	lea -80(%rsp), %rsp
	mov %rdx, 16(%rsp)
	mov %rcx, 24(%rsp)
	mov %rax, 48(%rsp)
	mov %r10, 56(%rsp)
	mov %r11, 64(%rsp)
	mov %rbx, 72(%rsp)
.endm
.macro FAST_RESTORE
	mov 16(%rsp), %rdx
	mov 24(%rsp), %rcx
	mov 48(%rsp), %rax
	mov 56(%rsp), %r10
	mov 64(%rsp), %r11
	mov 72(%rsp), %rbx
	lea 80(%rsp), %rsp
.endm
// The rest of what C may change, where the frame above is there.
.macro FULL_SAVE
	mov %rdi, (%rsp)
	mov %rsi, 8(%rsp)
	mov %r8, 32(%rsp)
	mov %r9, 40(%rsp)
.endm
// What C is called with.
.macro FULL_SAVED
	mov 72(%rsp), %rbx
	mov %rsp, %rdi
	mov FAST_ID(%rsp), %esi
	mov %rbp, %rdx
.endm
.macro FULL_RESTORE
	mov (%rsp), %rdi
	mov 8(%rsp), %rsi
	mov 16(%rsp), %rdx
	mov 24(%rsp), %rcx
	mov 32(%rsp), %r8
	mov 40(%rsp), %r9
	mov 48(%rsp), %rax
	mov 56(%rsp), %r10
	mov 64(%rsp), %r11
	lea 80(%rsp), %rsp
.endm
// r10 the ring, rcx the hook, edx the ring's size.
.macro FAST_RING slow
	mov C(12), %edx			// flags
	mov %edx, %eax
	and $(FAST_FLAGS | STROBE_FLAG_BY_TID), %eax
	cmp $FAST_FLAGS, %eax
	jne \slow
	test $STROBE_FLAG_FS0, %edx
	jz 7f
	mov %fs:0, %r11
	jmp 8f
7:	rdfsbase %r11
8:	mov $0x9E3779B97F4A7C15, %rax
	imul %r11, %rax
	shr $51, %rax
	shl $4, %eax
	lea blob_start + STROBE_THREADS_OFF(%rip), %rdx
	cmp %r11, (%rdx,%rax)
	jne \slow
	cmp $2, %r11
	jb \slow
	mov 8(%rdx,%rax), %eax		// ring index + 1
	mov FAST_ID(%rsp), %ecx
	shl $5, %rcx
	lea blob_start + STROBE_HOOKS_OFF(%rip), %r10
	add %r10, %rcx
	mov C(36), %edx			// ringbytes
	lea STROBE_HEADER_BYTES(%rdx), %r11
	dec %eax
	imul %rax, %r11
	lea blob_start + STROBE_RINGS_OFF(%rip), %r10
	add %r11, %r10
.endm
// r11 the ring's head, rbx the record, ecx the number of registers to record.
.macro FAST_RESERVE slow, gprs
	movzbl \gprs(%rcx), %ecx
	cmpq $0, 16(%r10)		// lost
	jne \slow
	mov (%r10), %r11		// head
	lea -1(%rdx), %ebx
	and %r11, %rbx
	lea FAST_MOST(%rbx), %rax
	cmp %rdx, %rax
	ja \slow			// the ring's end comes first
	lea FAST_MOST(%r11), %rax
	sub 8(%r10), %rax		// cachedtail
	cmp %rdx, %rax
	ja \slow
	lea STROBE_HEADER_BYTES(%r10,%rbx), %rbx
	prefetchw 512(%rbx)		// the reader has had these lines: fetch them back before they are needed
.endm
.macro FAST_PUBLISH kind
	mov FAST_ID(%rsp), %eax
	mov %eax, 8(%rbx)
	lea (STROBE_RECORD_BYTES / 8) + (\kind << 16)(%rcx), %eax
	mov %eax, 12(%rbx)		// size8, kind, no flags
	mov %rbp, 16(%rbx)
	lea STROBE_RECORD_BYTES(%r11,%rcx,8), %r11
	rdtsc
	mov %eax, (%rbx)
	mov %edx, 4(%rbx)
	mov %r11, (%r10)
.endm
