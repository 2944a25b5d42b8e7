// Reads of memory that may not be there; entry.S includes it. A fault between fault_lo and fault_hi goes on at fault_fix.
// uint64_t safe_copy(dst, src, n): bytes not copied, because of a fault.
	.globl safe_copy
safe_copy:
	mov %rdx, %rcx
fault_lo:
	rep movsb
	jmp fault_fix
// {uint64_t fault, word} safe_load(src): the 8 bytes at src.
	.globl safe_load
safe_load:
	mov $1, %ecx
	mov (%rdi), %rdx
	xor %ecx, %ecx
	jmp fault_fix
// uint64_t safe_str(dst, src, n): copies up to n bytes and stops at a NUL, which is not copied.
// Returns the bytes not used; rdx: 0 ended at a NUL, 1 no NUL in n bytes, 2 fault.
// dst may be 0: then it only counts. Whole words are read where they are aligned: none reaches into a page that its first byte is not in.
	.globl safe_str
safe_str:
	mov %rdx, %rcx
	mov $2, %edx
	mov $0x0101010101010101, %r8
	mov $0x8080808080808080, %r9
1:	test $7, %sil
	jnz 5f
6:	cmp $8, %rcx
	jb 5f
	mov (%rsi), %rax
	mov %rax, %r10
	mov %rax, %r11
	sub %r8, %r10
	not %r11
	and %r11, %r10
	test %r9, %r10
	jnz 5f // one of the eight is the NUL
	test %rdi, %rdi
	jz 7f
	mov %rax, (%rdi)
	add $8, %rdi
7:	add $8, %rsi
	sub $8, %rcx
	jmp 6b
5:	test %rcx, %rcx
	jz 3f
	movzbl (%rsi), %eax
	test %al, %al
	jz 2f
	test %rdi, %rdi
	jz 4f
	mov %al, (%rdi)
	inc %rdi
4:	inc %rsi
	dec %rcx
	jmp 1b
3:	mov $1, %edx
	jmp fault_fix
2:	xor %edx, %edx
	jmp fault_fix
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
