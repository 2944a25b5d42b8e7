// Hand-written functions: the windows that compilers do not write, and a check of every register.
#define FN(name) .globl name; .type name,@function; .p2align 4; name:
#define END(name) .size name,.-name
	.text

FN(t_asm_one)
	ret
END(t_asm_one)
	.p2align 4
FN(t_asm_tight)                 // three bytes, and code right behind them
	xorl %eax,%eax
	ret
END(t_asm_tight)
	.globl t_asm_after; .type t_asm_after,@function
t_asm_after:
	movl $77,%eax
	ret
END(t_asm_after)

FN(t_asm_jcc)
	testl %edi,%edi
	je 1f
	movl $1,%eax
	ret
1:	movl $2,%eax
	ret
END(t_asm_jcc)

FN(t_asm_jmp)
	jmp 1f
	.skip 20,0x90
1:	leal 3(%rdi),%eax
	ret
END(t_asm_jmp)

FN(t_asm_call)                  // the call is the whole window
	call t_asm_helper
	addl $1,%eax
	ret
END(t_asm_call)

FN(t_asm_callmem)
	call *helper_pointer(%rip)
	addl $2,%eax
	ret
END(t_asm_callmem)

FN(t_asm_callstack_s16)         // its pointer lies on the stack, and the call ends the window
	movl %edi,%eax
	call *8(%rsp)
	addl $3,%eax
	ret
END(t_asm_callstack_s16)

FN(t_asm_callfirst_s16)         // too short: trap, and the call alone is displaced
	call *8(%rsp)
	addl $4,%eax
	ret
END(t_asm_callfirst_s16)

FN(t_asm_callreg)
	xorl %eax,%eax
	nop
	call *%rdi
	addl $5,%eax
	ret
END(t_asm_callreg)

FN(t_asm_helper)
	movl $1000,%eax
	ret
END(t_asm_helper)

FN(t_asm_rip)
	movl counter(%rip),%eax
	addl $1,%eax
	ret
END(t_asm_rip)

FN(t_asm_ripimm)
	cmpl $1234567,counter(%rip)
	sete %al
	movzbl %al,%eax
	ret
END(t_asm_ripimm)

FN(t_asm_jrcxz)
	movq %rdi,%rcx
	jrcxz 1f
	movl $5,%eax
	ret
1:	movl $6,%eax
	ret
END(t_asm_jrcxz)

FN(t_asm_loopins)               // loop to itself inside the window
	movq %rdi,%rcx
1:	loop 1b
	movl %ecx,%eax
	ret
END(t_asm_loopins)

FN(t_asm_selfloop)              // a branch of the window to the entry
	decl %edi
	jnz t_asm_selfloop
	movl %edi,%eax
	ret
END(t_asm_selfloop)

FN(t_asm_loopentry)             // loop head at the entry, red zone in use, flags carried round
	adcl %esi,%eax
	movq %rax,-8(%rsp)
	movq %rsi,-16(%rsp)
	movq %rdi,-128(%rsp)
	xorl %eax,%eax
	movq -128(%rsp),%rdi
	movq -16(%rsp),%rsi
	movq -8(%rsp),%rax
	decl %edi
	stc
	jne t_asm_loopentry
	ret
END(t_asm_loopentry)

FN(t_asm_interior)              // a branch into the window: trap
	xorl %eax,%eax
1:	addl %edi,%eax
	decl %edi
	cmpl $0,%edi
	jg 1b
	ret
END(t_asm_interior)

FN(t_asm_syscall)
	movb $39,%al
	syscall
	testl %eax,%eax
	setg %al
	movzbl %al,%eax
	ret
END(t_asm_syscall)

FN(t_asm_retpop_s16)            // pops its own arguments
	movq 8(%rsp),%rax
	addq 16(%rsp),%rax
	ret $16
END(t_asm_retpop_s16)

FN(t_asm_lea)
	leaq t_asm_lea(%rip),%rax
	ret
END(t_asm_lea)

FN(t_asm_align)                 // says how its stack is aligned
	leaq 8(%rsp),%rax
	andl $15,%eax
	ret
END(t_asm_align)

FN(t_asm_align_s8)
	leaq 8(%rsp),%rax
	andl $15,%eax
	ret
END(t_asm_align_s8)

// t_asm_regs writes what it finds in the registers to seen, and leaves other values in them.
FN(t_asm_regs)
	movq %rax,seen(%rip)
	movq %rcx,8+seen(%rip)
	movq %rdx,16+seen(%rip)
	movq %rbx,24+seen(%rip)
	movq %rsi,32+seen(%rip)
	movq %rdi,40+seen(%rip)
	movq %r8,48+seen(%rip)
	movq %r9,56+seen(%rip)
	movq %r10,64+seen(%rip)
	movq %r11,72+seen(%rip)
	movq %r12,80+seen(%rip)
	movq %r13,88+seen(%rip)
	movq %r14,96+seen(%rip)
	movq %r15,104+seen(%rip)
	.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	movups %xmm\n,128+16*\n+seen(%rip)
	pxor %xmm\n,%xmm\n
	.endr
	.irp r,rax,rcx,rdx,rbx,rsi,rdi,r8,r9,r10,r11,r12,r13,r14,r15
	leaq 0x1111(%\r),%\r
	.endr
	ret
END(t_asm_regs)

// check_regs(out): fills the registers, calls t_asm_regs, stores them.
	.globl check_regs; .type check_regs,@function
check_regs:
	pushq %rbx; pushq %rbp; pushq %r12; pushq %r13; pushq %r14; pushq %r15
	pushq %rdi
	.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	movups 16*\n+fill(%rip),%xmm\n
	.endr
	movabsq $0x0101010101010101,%rbp
	movq %rbp,%rax
	.irp r,rcx,rdx,rbx,rsi,rdi,r8,r9,r10,r11,r12,r13,r14,r15
	addq %rbp,%rax
	movq %rax,%\r
	.endr
	call t_asm_regs
	movq %rax,after(%rip)
	movabsq $0x0101010101010101,%rax
	cmpq %rax,%rbp
	movl $0,%eax
	sete %al
	movq %rax,112+after(%rip)
	movq %rcx,8+after(%rip)
	movq %rdx,16+after(%rip)
	movq %rbx,24+after(%rip)
	movq %rsi,32+after(%rip)
	movq %rdi,40+after(%rip)
	movq %r8,48+after(%rip)
	movq %r9,56+after(%rip)
	movq %r10,64+after(%rip)
	movq %r11,72+after(%rip)
	movq %r12,80+after(%rip)
	movq %r13,88+after(%rip)
	movq %r14,96+after(%rip)
	movq %r15,104+after(%rip)
	.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	movups %xmm\n,128+16*\n+after(%rip)
	.endr
	popq %rdi
	popq %r15; popq %r14; popq %r13; popq %r12; popq %rbp; popq %rbx
	ret
END(check_regs)

// call_on_stack(f, a, b, x): calls f(x) with a and b on the stack, which the caller pops.
	.globl call_on_stack
call_on_stack:
	pushq %rbp; movq %rsp,%rbp
	movq %rdi,%rax
	pushq %rdx
	pushq %rsi
	movq %rcx,%rdi
	call *%rax
	leave
	ret
// call_popping(f, a, b): the same for a function that pops them; returns 0 if it did not.
	.globl call_popping
call_popping:
	pushq %rbp; movq %rsp,%rbp
	movq %rdi,%rax
	pushq %rdx
	pushq %rsi
	call *%rax
	cmpq %rsp,%rbp
	je 1f
	xorl %eax,%eax
1:	leave
	ret

	.data
	.p2align 4
fill:	.rept 256
	.byte 0x40+(.-fill)%191
	.endr
helper_pointer: .quad t_asm_helper
counter: .long 1234567
	.globl seen,after
	.comm seen,512,16
	.comm after,512,16
	.section .note.GNU-stack,"",@progbits
