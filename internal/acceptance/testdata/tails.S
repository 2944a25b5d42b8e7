# Functions without debug information that leave by jumps of every kind, called by tails_all. Nothing keeps to a frame pointer.
	.text
	.macro FN name
	.p2align 4
	.type \name,@function
\name:
	.endm
	.macro END name
	.size \name,.-\name
	.endm
	FN t_direct
	mov $1,%esi
	jmp target
	END t_direct
	FN t_short
	xor %esi,%esi
	jmp target
	END t_short
	FN t_only
	jmp target
	END t_only
	FN t_plt
	mov $10,%edx
	xor %esi,%esi
	jmp labs@PLT
	END t_plt
	FN t_reg
	mov %rdi,%rax
	mov %esi,%edi
	mov $2,%esi
	jmp *%rax
	END t_reg
	FN t_mem
	mov $3,%esi
	jmp *8(%rdx)
	END t_mem
	FN t_rip
	mov $4,%esi
	jmp *vector(%rip)
	END t_rip
	FN t_cond
	mov $5,%esi
	test %edi,%edi
	js target
	lea (%rdi,%rsi),%eax
	ret
	END t_cond
	FN t_condshort
	test %edi,%edi
	js target
	mov %edi,%eax
	ret
	END t_condshort
	FN t_even
	test %edi,%edi
	je 1f
	sub $1,%edi
	jmp t_odd
1:	mov $1,%eax
	ret
	END t_even
	FN t_odd
	test %edi,%edi
	je 1f
	sub $1,%edi
	jmp t_even
1:	xor %eax,%eax
	ret
	END t_odd
	FN t_self
	cmp $3,%edi
	jle 1f
	sub $3,%edi
	jmp t_self
1:	mov %edi,%eax
	ret
	END t_self
	FN t_cold
	push %rbx
	mov %edi,%ebx
	test %edi,%edi
	js t_cold.cold
	mov %ebx,%eax
	pop %rbx
	ret
	END t_cold
	FN t_switch
	cmp $2,%edi
	ja 9f
	mov %edi,%edi
	lea table(%rip),%rdx
	movslq (%rdx,%rdi,4),%rax
	add %rdx,%rax
	jmp *%rax
7:	mov $70,%eax
	ret
8:	mov $6,%esi
	jmp target
9:	mov $-1,%eax
	ret
	.section .rodata
	.p2align 2
table:	.long 7b-table, 8b-table, 9b-table
	.text
	END t_switch
	.section .text.unlikely,"ax",@progbits
	FN t_cold.cold
	neg %ebx
	mov %ebx,%eax
	pop %rbx
	ret
	END t_cold.cold
	.text
	.globl tails_all
	FN tails_all
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	push %r12
	.cfi_adjust_cfa_offset 8
	sub $24,%rsp
	.cfi_adjust_cfa_offset 24
	xor %r12d,%r12d
	mov %edi,%ebx
	.macro GO name
	call \name
	imul $31,%r12d,%r12d
	add %eax,%r12d
	.endm
	mov %ebx,%edi
	GO t_direct
	mov %ebx,%edi
	GO t_short
	mov %ebx,%edi
	GO t_only
	mov $-9,%rdi
	GO t_plt
	lea target(%rip),%rdi
	mov %ebx,%esi
	GO t_reg
	lea vector-8(%rip),%rdx
	mov %ebx,%edi
	GO t_mem
	mov %ebx,%edi
	GO t_rip
	mov %ebx,%edi
	GO t_cond
	mov $-3,%edi
	GO t_cond
	mov %ebx,%edi
	GO t_condshort
	mov $-3,%edi
	GO t_condshort
	mov $7,%edi
	GO t_even
	mov $11,%edi
	GO t_self
	mov $4,%edi
	GO t_cold
	mov $-4,%edi
	GO t_cold
	mov $0,%edi
	GO t_switch
	mov $1,%edi
	GO t_switch
	mov $2,%edi
	GO t_switch
	mov %r12d,%eax
	add $24,%rsp
	.cfi_adjust_cfa_offset -24
	pop %r12
	.cfi_adjust_cfa_offset -8
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	END tails_all
	.data
	.p2align 3
vector:	.quad target
	.section .note.GNU-stack,"",@progbits
