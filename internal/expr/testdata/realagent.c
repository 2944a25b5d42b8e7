// The agent's own interpreter in a program with the variables of vars.c. It reads programs from stdin, as
// {u32 operations; operations}, runs each as OpEval does, and answers with {u32 status, u32 bytes, u64 word}.
// Only the program's own image can be read, without what the agent itself writes.
#define _GNU_SOURCE
#include <sys/uio.h>
#include <unistd.h>

#define u8 agent_u8 // names that vars.c has too
#define u16 agent_u16
#define u32 agent_u32
#define u64 agent_u64
#include "walk.c"
#undef u8
#undef u16
#undef u32
#undef u64

#define main vars_main
#include "vars.c"
#undef main

agent_u8 blob_start[STROBE_RINGS_OFF] __attribute__((aligned(4096)));
extern agent_u8 __executable_start[], _end[];

static int is_readable(agent_u64 at, agent_u64 n)
{
	agent_u64 blob = (agent_u64)blob_start;
	return at >= (agent_u64)__executable_start && at + n <= (agent_u64)_end && at + n >= at && (at + n <= blob || at >= blob + sizeof(blob_start));
}

agent_u64 safe_copy(void *dst, const void *src, agent_u64 n)
{
	struct iovec to = { dst, n }, from = { (void *)src, n };
	if (!is_readable((agent_u64)src, n)) return n;
	return n - (agent_u64)process_vm_readv(getpid(), &to, 1, &from, 1, 0);
}

loadres safe_load(const void *src)
{
	loadres l = { 0, 0 };
	l.fault = safe_copy(&l.word, src, 8);
	return l;
}

strres safe_str(void *dst, const void *src, agent_u64 n) { return (strres){ n, 2 }; }
strres safe_len(const void *src, agent_u64 n) { return (strres){ n, 2 }; }

int main(void)
{
	VARS(PRINT)
	printf("$image %p\n$end %p\n$blob %p\n$blobend %p\n$fs %p\nend\n", (void *)__executable_start, (void *)_end, (void *)blob_start,
		(void *)(blob_start + sizeof(blob_start)), (void *)slow_fs());
	fflush(stdout);
	struct strobe_header header = { .tid = 77 };
	agent_u32 count;
	while (read(0, &count, 4) == 4) {
		agent_u64 regs[9], out[64];
		agent_u8 *to = (agent_u8 *)(OPS + 1);
		for (agent_u32 left = count * 16; left;) {
			long n = read(0, to, left);
			if (n <= 0) return 1;
			to += n;
			left -= (agent_u32)n;
		}
		for (agent_u32 i = 0; i < 9; i++) regs[i] = 0x123456789abcdef0ull * (i + 1);
		regs[2] = (agent_u64)&tail;
		struct walk w = { .t = &header, .r = regs, .p = (agent_u8 *)out, .end = (agent_u8 *)(out + 64), .cfa = (agent_u64)&tail + 64, .safe = 1 };
		eval(&w, &(struct strobe_op){ .srcoff = 1, .size = 8 });
		agent_u32 *head = (agent_u32 *)out;
		agent_u64 answer[2] = { head[1] | (agent_u64)(w.cut ? 99 : head[0]) << 32, out[1] };
		if (write(1, answer, 16) != 16) return 1;
	}
	return 0;
}
