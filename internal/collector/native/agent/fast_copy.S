// The nodes that fast.S writes: objects and texts, copied from where they may not be. A fault between fast_lo
// and fast_hi goes on at fast_fix, with the stack as in the subroutine.
//
// Below FAST_SAVE's frame:
#define F_R12 0
#define F_R13 8
#define F_R14 16
#define F_R15 24
#define F_BEGAN 32		// the first node
#define F_COUNT 40		// nodes × 16
#define F_TEXT 48		// the text that is being written
#define F_KEYS 56		// of each node: address, walk
#define F_MOST (8 * 16)
#define F_BYTES (F_KEYS + F_MOST)
#define UP(off) F_BYTES + off(%rsp)	// FAST_SAVE's frame
#define HEADER_WARY 6340
#define HEADER_PAGES 6856
#define HEADER_SPENT 10952
#define HEADER_SPENT_ALL (HEADER_SPENT + STROBE_SPENTS * 8)
#define FAST_COPY 512		// a longer object is copied by C
#define NODE_ROOM (STROBE_NODE_BYTES + 8)

.macro CUT
	orb $STROBE_REC_TRUNCATED, 15(%rbx)
.endm

// Goes to \dup if the node is there already. In a subroutine: the frame is 8 bytes further up.
.macro DEDUPE dup
	mov 8+F_COUNT(%rsp), %rax
71:	sub $16, %rax
	js 73f
	cmp %rsi, 8+F_KEYS(%rsp,%rax)
	jne 71b
	cmp %dx, 8+F_KEYS+8(%rsp,%rax)
	jne 71b
	jmp \dup
73:	mov 8+F_COUNT(%rsp), %rax
	cmp $F_MOST, %rax
	jae fast_give_up
	mov %rsi, 8+F_KEYS(%rsp,%rax)
	mov %dx, 8+F_KEYS+8(%rsp,%rax)
	add $16, %rax
	mov %rax, 8+F_COUNT(%rsp)
.endm

// Writes the node's head, but for its n, after a look at the address: C says of a bad one what is bad. \last: of
// its bytes.
.macro NODE_HEAD last
	lea \last, %rax
	or %rsi, %rax
	shr $47, %rax
	jnz fast_give_up
	cmp $4096, %rsi
	jb fast_give_up
	mov %rsi, (%rdi)
	mov %edx, 12(%rdi)		// walk, depth, STROBE_ST_OK
	add $STROBE_NODE_BYTES, %rdi
.endm

// Copies an object: walk.c copy_node.
fast_copy:
	mov %r13, %rax
	sub %rdi, %rax
	and $-8, %rax
	lea NODE_ROOM(%rcx), %r8
	cmp %rax, %r8
	ja 6f
	mov %rcx, %r11
	DEDUPE 5f
	cmp $FAST_COPY, %r11
	ja fast_give_up
2:	NODE_HEAD "(%rsi,%r11)"
	mov %r11d, -8(%rdi)
	lea 7(%rdi,%r11), %r8
	and $-8, %r8			// rdi is a multiple of 8
	mov %r11, %rcx
fast_lo:
	sub $16, %rcx
	jb 4f
3:	mov (%rsi), %rax
	mov 8(%rsi), %r9
	mov %rax, (%rdi)
	mov %r9, 8(%rdi)
	add $16, %rsi
	add $16, %rdi
	sub $16, %rcx
	jae 3b
4:	add $16, %ecx
	jz 7f
	cmp $8, %ecx
	jb 1f
	mov (%rsi), %rax
	mov %rax, (%rdi)
	sub $8, %ecx
	jz 7f
	mov (%rsi,%rcx), %rax		// the last word lies over the one before it
	mov %rax, (%rdi,%rcx)
7:	mov %r8, %rdi
5:	ret
1:	cmp $8, %r11
	jb 8f
	mov -8(%rsi,%rcx), %rax
	mov %rax, -8(%rdi,%rcx)
	mov %r8, %rdi
	ret
8:	movzbl (%rsi), %eax
	mov %al, (%rdi)
	inc %rsi
	inc %rdi
	dec %ecx
	jnz 8b
	mov %r8, %rdi
	ret
6:	cmp $FAST_COPY, %rcx		// WHOLE in node.h: smaller ones are copied whole or not at all
	jbe 8f
	mov %rax, %r11
	DEDUPE 5b
	cmp $NODE_ROOM, %r11
	jb 8f
	sub $STROBE_NODE_BYTES, %r11
	cmp $FAST_COPY, %r11
	ja fast_give_up
	CUT
	jmp 2b
8:	CUT
	ret
fast_give_up:
	add $8, %rsp
	jmp fast_slow

// Copies a text: walk.c text_node.
fast_text:
	mov %r13, %r11
	sub %rdi, %r11
	and $-8, %r11
	cmp $128, %r11
	jb 8b
	DEDUPE 5b
	NODE_HEAD "1(%rsi)"
	sub $(STROBE_NODE_BYTES + 8), %r11
	cmp %r11, %rcx
	jbe 1f
	mov %r11, %rcx
	CUT
1:	cmp $16, %rcx
	jb fast_give_up
	mov %rdi, 8+F_TEXT(%rsp)
	mov $0x0101010101010101, %r8
	mov $0x8080808080808080, %r9
	mov %esi, %eax			// the first word may not reach into another page, the others are aligned
	and $4095, %eax
	cmp $4088, %eax
	ja fast_give_up
	mov (%rsi), %rax
	mov %rax, %r11
	sub %r8, %r11
	and %r9, %r11
	jz 2f
	not %rax
	and %rax, %r11
	not %rax
	jnz 6f
2:	mov %rax, (%rdi)
	mov %esi, %eax
	or $-8, %rax			// minus the bytes up to the next word
	sub %rax, %rsi
	sub %rax, %rdi
	add %rax, %rcx
	add %rcx, %rsi
	add %rcx, %rdi
	neg %rcx
	add $8, %rcx
	jg fast_give_up
3:	mov -8(%rsi,%rcx), %rax
	mov %rax, %r11
	sub %r8, %r11
	test %r9, %r11
	jnz 5f
4:	mov %rax, -8(%rdi,%rcx)
	add $8, %rcx
	jle 3b
	jmp fast_give_up				// longer than there is room for, or nearly so
5:	and %r9, %r11			// a NUL, or bytes above 0x80
	not %rax
	and %rax, %r11
	not %rax
	jz 4b
	lea -8(%rdi,%rcx), %rdi
6:	mov %r11, %r9			// the bytes before the NUL, and zeros behind them
	sub $1, %r9
	xor %r11, %r9
	shr $8, %r9
	and %r9, %rax
	mov %rax, (%rdi)
	bsf %r11, %r11
	shr $3, %r11
	add %r11, %rdi			// where the text ends
	mov 8+F_TEXT(%rsp), %rax
	mov %rdi, %rcx
	sub %rax, %rcx
	mov %ecx, -8(%rax)
	add $7, %rdi
	and $-8, %rdi
	ret
fast_hi:
