# Hand-written functions that no compiler would make: bodies of 1 to 4 bytes without padding, a loop whose
# head is the entry, a private register convention, results in flags, a second entry point.
	.intel_syntax noprefix
	.text

	.macro FUNC name
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	.endm
	.macro END name
	.cfi_endproc
	.size \name, .-\name
	.endm

FUNC tiny1              # 1 byte
	ret
END tiny1

FUNC tiny2              # 2 bytes: rep ret
	.byte 0xf3, 0xc3
END tiny2

FUNC tiny3              # 3 bytes: eax = edi would need 3; here: xor eax,eax; ret
	xor eax, eax
	ret
END tiny3

FUNC tiny4              # 4 bytes: mov rax,rdi; ret
	mov rax, rdi
	ret
END tiny4

# long loop_head(long n): the branch goes back to the very first byte
FUNC loop_head
	dec rdi
	jnz loop_head
	mov eax, 77
	ret
END loop_head

# long loop_second(long n): the branch goes to the second instruction, inside the first five bytes
FUNC loop_second
	xor eax, eax
1:	add rax, rdi
	dec rdi
	jnz 1b
	ret
END loop_second

# Private convention: argument in r10 and xmm9, result in r11 and xmm9; called by use_private only.
FUNC private_regs
	lea r11, [r10 + r10*2]
	addsd xmm9, xmm9
	ret
END private_regs

# long use_private(long a): checks that every caller-saved register that private_regs leaves alone survives
FUNC use_private
	mov r10, rdi
	mov rax, 1
	mov rcx, 2
	mov rdx, 3
	mov rsi, 4
	mov r8, 5
	mov r9, 6
	cvtsi2sd xmm9, rdi
	movq xmm0, rax
	movq xmm15, rcx
	call private_regs
	add rax, rcx
	add rax, rdx
	add rax, rsi
	add rax, r8
	add rax, r9              # 21
	movq rcx, xmm0
	add rax, rcx             # 22
	movq rcx, xmm15
	add rax, rcx             # 24
	cvttsd2si rcx, xmm9
	add rax, rcx             # 24 + 2a
	add rax, r11             # 24 + 5a
	ret
END use_private

# is_even: result in the carry flag only; rax is left as it was
FUNC even_in_carry
	test dil, 1
	stc
	jz 1f
	clc
1:	ret
END even_in_carry

# long use_carry(long a)
FUNC use_carry
	mov eax, 1000
	call even_in_carry
	adc rax, 0
	ret
END use_carry

# Two names at one address
FUNC alias_one
	.globl alias_two
	.type alias_two, @function
alias_two:
	lea rax, [rdi + 1]
	ret
END alias_one
	.size alias_two, .-alias_two

# second_entry is a function in the middle of first_entry, four bytes behind it
FUNC first_entry
	add rdi, 100
	.globl second_entry
	.type second_entry, @function
second_entry:
	lea rax, [rdi + rdi]
	ret
END first_entry
	.size second_entry, .-second_entry

# reads its own return address from the stack without a frame
FUNC return_address
	mov rax, [rsp]
	ret
END return_address

# pops the return address and jumps there: never executes a ret
FUNC pop_and_jump
	pop rcx
	lea rax, [rdi + 5]
	jmp rcx
END pop_and_jump

# first instruction relative to rip
FUNC rip_first
	mov rax, [rip + constant]
	add rax, rdi
	ret
END rip_first

# first instruction is a short conditional jump, then a call inside the first bytes
FUNC jump_first
	jrcxz 1f
	call tiny4
	ret
1:	mov eax, 9
	ret
END jump_first

FUNC call_first
	call tiny3
	lea rax, [rax + rdi]
	ret
END call_first

	.section .rodata
	.align 8
constant:
	.quad 0x1234
	.section .note.GNU-stack,"",@progbits
