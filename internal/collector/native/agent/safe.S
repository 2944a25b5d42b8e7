// Reads of memory that may not be there; entry.S includes it. A fault between fault_lo and fault_hi goes on at
// fault_fix, with what is left to read in rcx. uint64_t safe_copy(dst, src, n): bytes not copied, because of a fault.
// Up to SMALL bytes go by words: a rep takes longer to begin.
#define SMALL 320
	.globl safe_copy
safe_copy:
	mov %rdx, %rcx
	cmp $SMALL, %rdx
	jbe 0f
fault_lo:				// here a thread that is to leave the agent is helped: finishCopy
	rep movsb
	jmp fault_fix
0:	cmp $32, %rcx
	jb 2f
1:	mov (%rsi), %rax
	mov 8(%rsi), %r8
	mov 16(%rsi), %r9
	mov 24(%rsi), %r10
	mov %rax, (%rdi)
	mov %r8, 8(%rdi)
	mov %r9, 16(%rdi)
	mov %r10, 24(%rdi)
	add $32, %rsi
	add $32, %rdi
	sub $32, %rcx
	cmp $32, %rcx
	jae 1b
2:	cmp $8, %rcx
	jb 4f
3:	mov (%rsi), %rax
	mov %rax, (%rdi)
	add $8, %rsi
	add $8, %rdi
	sub $8, %rcx
	cmp $8, %rcx
	jae 3b
4:	test %ecx, %ecx
	jz 6f
	cmp $8, %rdx
	jb 5f
	mov -8(%rsi,%rcx), %rax		// a word that ends where the last one has to
	mov %rax, -8(%rdi,%rcx)
	xor %ecx, %ecx
	jmp 6f
5:	movzbl (%rsi), %eax
	mov %al, (%rdi)
	inc %rsi
	inc %rdi
	dec %ecx
	jnz 5b
6:	mov %rcx, %rax
	ret
// {uint64_t fault, word} safe_load(src): the 8 bytes at src.
	.globl safe_load
safe_load:
	mov $1, %ecx
	mov (%rdi), %rdx
	xor %eax, %eax
	ret
// What safe_str and safe_len know of the word in rax: r10 has a bit at the first NUL in it, and none if there is none.
.macro FIND_NUL
	mov %rax, %r10
	mov %rax, %r11
	sub %r8, %r10
	not %r11
	and %r9, %r11
	and %r11, %r10
.endm
.macro FIND_NUL_CONSTANTS
	mov $0x0101010101010101, %r8
	mov $0x8080808080808080, %r9
.endm
// {uint64_t left, end} safe_str(dst, src, n): copies up to n bytes and stops at a NUL, which is not copied.
// Returns the bytes not used; end: 0 ended at a NUL, 1 no NUL in n bytes, 2 fault. No word is read that reaches into a
// page that its first byte is not in: the first is unaligned, where its page allows that, those behind it are aligned
// and may lie over it.
	.globl safe_str
safe_str:
	mov %rdx, %rcx
	FIND_NUL_CONSTANTS
	mov $2, %edx
	cmp $8, %rcx
	jb 5f
	mov %esi, %eax
	and $4095, %eax
	cmp $4088, %eax
	ja 5f
	mov (%rsi), %rax
	FIND_NUL
	jnz 7f
	mov %rax, (%rdi)
	mov %esi, %eax
	and $7, %eax
	sub $8, %rax
	sub %rax, %rdi
	sub %rax, %rsi
	add %rax, %rcx
6:	cmp $8, %rcx
	jb 5f
	mov (%rsi), %rax
	FIND_NUL
	jnz 7f
	mov %rax, (%rdi)
	add $8, %rdi
	add $8, %rsi
	sub $8, %rcx
	jmp 6b
5:	test %rcx, %rcx			// byte by byte
	jz 3f
	movzbl (%rsi), %eax
	test %al, %al
	jz 2f
	mov %al, (%rdi)
	inc %rdi
	inc %rsi
	dec %rcx
	test $7, %sil
	jnz 5b
	jmp 6b
7:	lea -1(%r10), %r11		// the bytes before the NUL, and zeros behind them
	xor %r10, %r11
	shr $8, %r11
	and %r11, %rax
	mov %rax, (%rdi)
	bsf %r10, %r10
	shr $3, %r10
	sub %r10, %rcx
2:	xor %edx, %edx
	mov %rcx, %rax
	ret
3:	mov $1, %edx
	xor %eax, %eax
	ret
// {uint64_t left, end} safe_len(src, n): safe_str that only counts.
	.globl safe_len
safe_len:
	mov %rsi, %rcx
	FIND_NUL_CONSTANTS
	mov $2, %edx
1:	test $7, %dil
	jnz 5f
6:	cmp $8, %rcx
	jb 5f
	mov (%rdi), %rax
	FIND_NUL
	jnz 5f
	add $8, %rdi
	sub $8, %rcx
	jmp 6b
5:	test %rcx, %rcx
	jz 3b
	cmpb $0, (%rdi)
	je 2b
	inc %rdi
	dec %rcx
	jmp 1b
fault_hi:
fault_fix:
	mov %rcx, %rax
	ret

// The rest of a write or read of which the daemon's stop let only a part be done. A thread is sent here in place of the
// system call's end, with the call's registers moved on by that part, and on its stack, beyond the red zone:
//
//	rsp+0 bytes done, 8 rsi, 16 rdx, 24 address behind the system call, 32 rsp
//
// It needs neither the daemon nor any memory but the stack. An error is left for the program's next call to meet.
	.section .text.waits,"ax",@progbits
rest:
	syscall
	pushfq
	test %rax, %rax
	jns 1f
	xor %eax, %eax
1:	add 8(%rsp), %rax
	popfq
	mov 8(%rsp), %rsi
	mov 16(%rsp), %rdx
	mov 24(%rsp), %rcx
	mov 32(%rsp), %rsp
	jmp *%rcx
