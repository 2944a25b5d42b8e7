// Runs the agent's records without C (agent/fast.S) beside those in C, over random plans, walks and memory, and
// compares what they write. It lays out the shared region itself and is its own tracer: a fault goes on where
// the agent's table says. usage: fast AGENT SEED ROUNDS; exits 1 where they differ, and says how many records
// were made without C.
#define _GNU_SOURCE
#include "../agent/ring_abi.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint8_t u8;

enum { RING = 1 << 20, PAGES = 4, WALKS = 12, OPS = 4096, FORCE_C = 1 << 30 };

static u8 *region, *ring, *memory, *objects[64];
static struct strobe_blobheader *blob;
static struct strobe_header *header;
static u64 rng, faults;

static u32 any(u32 n) {
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(rng >> 33) % n;
}

static void fault(int sig, siginfo_t *info, void *context) {
	(void)info;
	greg_t *rip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	u64 off = (u64)*rip - (u64)region;
	faults++;
	if (off >= blob->faultlo && off < blob->faulthi) *rip = (greg_t)(region + blob->faultfix);
	else if (off >= blob->fastlo && off < blob->fasthi) *rip = (greg_t)(region + blob->fastfix);
	else signal(sig, SIG_DFL);
}

// call makes a call of the agent as a stub does, with r's registers (rdi rsi rdx rcx r8 r9 rax r10 r11 rbx r12
// r13 r14 r15), and puts those that come back there. It returns the zero flag, which an enter's stub looks at.
int call(u64 entry, u64 id, u64 *r);
asm(".text\ncall:\n"
	"push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
	"push %rdx\n push %rdi\n push $0\n push %rbp\n mov %rsp, %rbp\n" // 8(%rbp) the call's return address, 16 entry, 24 r
	"push %rsi\n mov %rdx, %rax\n"
	"mov (%rax), %rdi\n mov 8(%rax), %rsi\n mov 16(%rax), %rdx\n mov 24(%rax), %rcx\n mov 32(%rax), %r8\n mov 40(%rax), %r9\n"
	"mov 56(%rax), %r10\n mov 64(%rax), %r11\n mov 72(%rax), %rbx\n mov 80(%rax), %r12\n mov 88(%rax), %r13\n"
	"mov 96(%rax), %r14\n mov 104(%rax), %r15\n mov 48(%rax), %rax\n"
	"call *16(%rbp)\n"
	"pushfq\n push %rax\n mov 24(%rbp), %rax\n"
	"mov %rdi, (%rax)\n mov %rsi, 8(%rax)\n mov %rdx, 16(%rax)\n mov %rcx, 24(%rax)\n mov %r8, 32(%rax)\n mov %r9, 40(%rax)\n"
	"mov %r10, 56(%rax)\n mov %r11, 64(%rax)\n mov %rbx, 72(%rax)\n mov %r12, 80(%rax)\n mov %r13, 88(%rax)\n"
	"mov %r14, 96(%rax)\n mov %r15, 104(%rax)\n pop 48(%rax)\n pop %rax\n shr $6, %eax\n and $1, %eax\n"
	"pop %rbp\n add $24, %rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret\n");

static u64 word(void) {
	switch (any(8)) {
	case 0: return 0;
	case 1: return any(100);
	case 2: return (u64)memory + PAGES * 4096 + any(64);              // the guard page
	case 3: return any(2) ? 0xffff800000000000ull : 1ull << 46;
	default: return (u64)objects[any(64)] + (any(4) ? 0 : any(40));
	}
}

// fill makes objects of words and texts; some end at the guard page.
static void fill(void) {
	for (u32 i = 0; i < PAGES * 4096; i++) memory[i] = any(30) ? (u8)(1 + any(255)) : 0;
	for (u32 i = 0; i < 64; i++) objects[i] = memory + (i < 8 ? PAGES * 4096 - 1 - any(100) : any(PAGES * 4096 - 64));
	for (u32 i = 8; i < 48; i++)
		for (u32 k = 0, n = any(6); k < n; k++) {
			u64 w = word();
			memcpy(objects[i] + 8 * k, &w, 8);
		}
}

static struct strobe_op *op(u32 i) { return (struct strobe_op *)(region + STROBE_OPS_OFF) + i; }

static u32 walk(void) { return any(5) ? 2 + any(WALKS) : any(2); }

static u32 size(void) {
	static const u32 of[] = {1, 3, 8, 12, 16, 24, 40, 48, 100, 256, 500, 512, 513, 1024, 4096};
	return of[any(sizeof of / sizeof *of)];
}

// program writes a walk's operations, and returns where they end.
static u32 program(u32 at) {
	if (any(3) == 0) { // a span
		u32 first = 8 * any(4), last = any(4) ? first + 8 : 8 * any(4), cap = size();
		*op(at++) = (struct strobe_op){.code = STROBE_WALK_BETWEEN, .src = 0, .slot = 1, .srcoff = last,
			.off = (int)first, .size = any(9) ? 1u << any(6) : 12};
		*op(at++) = (struct strobe_op){.code = STROBE_WALK_SPAN, .src = 0, .slot = 1, .dst = (u8)any(2),
			.srcoff = walk() | walk() << 16, .off = (int)(1 + any(64)), .size = cap};
	}
	for (u32 n = any(4); n; n--) {
		u32 x = walk() | (any(3) ? STROBE_FOLLOW_DEEPER : 0);
		if (any(3) == 0) x = 1 | STROBE_FOLLOW_TEXT;
		*op(at++) = (struct strobe_op){.code = STROBE_WALK_FOLLOW, .srcoff = x,
			.off = (int)(any(8) ? 8 * any(5) : any(40)), .size = size()};
	}
	*op(at++) = (struct strobe_op){.code = STROBE_OP_END};
	return at;
}

static void plan(struct strobe_hook *h, int leave) {
	u32 at = 1, *walks = (u32 *)(region + STROBE_WALKS_OFF);
	for (u32 i = 0; i < WALKS; i++) {
		walks[2 + i] = any(5) ? at | (any(3) ? 0 : STROBE_WALK_ENDS) : 0;
		at = program(at);
	}
	memset(h, 0, sizeof *h);
	h->entergprs = (u8)(1 + any(6));
	h->exitgprs = (u8)(1 + any(2));
	h->depth = (u8)(1 + any(4));
	h->maxenter = h->maxexit = any(3) ? 16384 : 64 + 8 * any(100);
	h->allow = (uint16_t)(any(2) ? any(20) : 0);
	h->least = (u8)any(8);
	h->enterops = at;
	h->exitops = at;
	for (u32 n = 1 + any(4); n; n--)
		*op(at++) = (struct strobe_op){.code = STROBE_OP_ROOT, .src = (u8)any(3), .slot = (u8)walk(),
			.srcoff = 8 * any(leave ? h->exitgprs : h->entergprs),
			.off = any(6) ? 0 : (int)any(16), .size = size()};
	*op(at++) = (struct strobe_op){.code = STROBE_OP_END};
}

struct result { u64 bytes; u8 data[1 << 15]; struct strobe_spent spent, all; };

// run makes one record and keeps it. What lies between nodes is not compared: it is whatever was there.
static int run(struct result *to, int leave, u64 *r, const struct strobe_header *before) {
	u64 was[14], head = before->head & (RING - 1);
	memcpy(was, r, sizeof was);
	memcpy(header, before, sizeof *before);
	memset(ring + STROBE_HEADER_BYTES + head, 0, sizeof to->data);
	int zero = call((u64)region + (leave ? blob->exit : blob->enter), 1, r);
	if (memcmp(was, r, sizeof was) || (!zero && !leave)) { printf("registers are not kept\n"); return 0; }
	to->bytes = header->head - before->head;
	to->spent = header->spent[1];
	to->all = header->spent[STROBE_SPENTS];
	if (to->bytes > sizeof to->data) { printf("a record of %llu bytes\n", (unsigned long long)to->bytes); return 0; }
	memcpy(to->data, ring + STROBE_HEADER_BYTES + head, to->bytes);
	const struct strobe_hook *h = (struct strobe_hook *)(region + STROBE_HOOKS_OFF) + 1;
	for (u64 at = STROBE_RECORD_BYTES + 8 * (leave ? h->exitgprs : h->entergprs); at < to->bytes;) {
		struct strobe_node *n = (struct strobe_node *)(to->data + at);
		u64 end = at + sizeof *n + n->n + (n->status == STROBE_ST_CUT ? 8 : 0), up = (end + 7) & ~7ull;
		if (up > to->bytes) { printf("a node beyond its record\n"); return 0; }
		memset(to->data + end, 0, up - end);
		at = up;
	}
	memset(to->data, 0, 8); // the time
	return 1;
}

int main(int argc, char **argv) {
	if (argc != 4) return 2;
	rng = strtoull(argv[2], 0, 10);
	region = mmap(0, STROBE_RINGS_OFF + STROBE_HEADER_BYTES + RING, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	memory = mmap(0, (PAGES + 1) * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open(argv[1], O_RDONLY);
	if (region == MAP_FAILED || memory == MAP_FAILED || fd < 0 || read(fd, region, STROBE_CODE_BYTES) <= 0) return 2;
	mprotect(memory + PAGES * 4096, 4096, PROT_NONE);
	blob = (struct strobe_blobheader *)region;
	ring = region + STROBE_RINGS_OFF;
	header = (struct strobe_header *)ring;
	struct strobe_control *c = (struct strobe_control *)(region + STROBE_CONTROL_OFF);
	c->flags = STROBE_FLAG_TSC | STROBE_FLAG_FSGS | STROBE_FLAG_FS0;
	c->heartbeattsc = __rdtsc();
	c->staleticks = 1ull << 60;
	c->ringcount = 1;
	c->ringbytes = RING;
	struct sigaction act = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
	sigaction(SIGSEGV, &act, 0);
	sigaction(SIGBUS, &act, 0); // of a mapped file that is shorter

	struct strobe_hook *h = (struct strobe_hook *)(region + STROBE_HOOKS_OFF) + 1;
	struct strobe_header *before = malloc(sizeof *before);
	static struct result fast, slow;
	u64 r[14], made = 0, faulted = 0, rounds = strtoull(argv[3], 0, 10);
	h->exitgprs = 1;
	memset(r, 0, sizeof r);
	call((u64)region + blob->exit, 1, r); // gives the thread its ring
	for (u64 i = 0; i < rounds; i++) {
		if (i % 8 == 0) fill();
		int leave = (int)any(2);
		plan(h, leave);
		header->wary = 0;
		if (header->head % RING > RING / 2) header->head = RING;
		header->tail = header->head;
		header->cachedtail = header->head - STROBE_SPARE_BYTES;
		u32 span = (u32)(__rdtsc() >> STROBE_SPAN_SHIFT);
		header->spent[1] = (struct strobe_spent){span, any(2) ? any(1 << 20) : 0};
		header->spent[STROBE_SPENTS] = (struct strobe_spent){span, any(2) ? any(1 << 24) : 0};
		memcpy(before, header, sizeof *before);
		for (u32 k = 0; k < 14; k++) r[k] = any(6) ? (u64)objects[any(64)] : word();
		u64 faults_before = faults;
		if (!run(&fast, leave, r, before)) return printf("round %llu\n", (unsigned long long)i), 1;
		faulted += faults > faults_before;
		made += faults == faults_before;
		h->flags = FORCE_C;
		if (!run(&slow, leave, r, before)) return printf("round %llu, in C\n", (unsigned long long)i), 1;
		if ((u32)(__rdtsc() >> STROBE_SPAN_SHIFT) != span) continue; // what was spent counts by halves now
		if (memcmp(&fast.spent, &slow.spent, sizeof fast.spent) || memcmp(&fast.all, &slow.all, sizeof fast.all) ||
			fast.bytes != slow.bytes || memcmp(fast.data, slow.data, fast.bytes)) {
			printf("round %llu: %llu bytes, %llu in C\n", (unsigned long long)i,
				(unsigned long long)fast.bytes, (unsigned long long)slow.bytes);
			for (u64 k = 0; k < fast.bytes || k < slow.bytes; k += 8)
				printf("%4llx  %016llx %016llx\n", (unsigned long long)k,
					*(unsigned long long *)(fast.data + k), *(unsigned long long *)(slow.data + k));
			for (const struct strobe_op *o = op(h->enterops); o->code; o++)
				printf("root src=%u walk=%u srcoff=%u off=%d size=%u\n", o->src, o->slot, o->srcoff, o->off, o->size);
			printf("leave=%d depth=%u gprs=%u,%u max=%u allow=%u least=%u spent=%u,%u\n", leave, h->depth, h->entergprs, h->exitgprs,
				h->maxenter, h->allow, h->least, before->spent[1].bytes, before->spent[STROBE_SPENTS].bytes);
			return 1;
		}
	}
	printf("same=%llu faulted=%llu\n", (unsigned long long)made, (unsigned long long)faulted);
	return 0;
}
