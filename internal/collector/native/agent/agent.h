// What the agent's files share.
#pragma once
#include "ring_abi.h"

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;

extern u8 blob_start[] __attribute__((visibility("hidden")));
u64 safe_copy(void *dst, const void *src, u64 n);
typedef struct { u64 left, end; } strres;
strres safe_str(void *dst, const void *src, u64 n);
strres safe_len(const void *src, u64 n);
typedef struct { u64 fault, word; } loadres;
loadres safe_load(const void *src);

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WAITS __attribute__((section(".text.waits"), noinline))
#define COLD __attribute__((noinline, cold, section(".text.slow")))
#define HOT __attribute__((noinline))

// What the usual records in entry.S know of the layout.
#define AT(type, field, off) _Static_assert(offsetof(struct strobe_##type, field) == off, "entry.S: " #type "." #field)
AT(control, stopreq, 9044); AT(control, flags, 12); AT(control, ringbytes, 36); AT(control, arenacount, 44);
AT(control, arenas, 336);
AT(arena, lo, 0); AT(arena, hi, 8); AT(threadslot, fs, 0); AT(threadslot, ring, 8);
AT(hook, entergprs, 4); AT(hook, exitgprs, 5); AT(hook, enterops, 8); AT(hook, exitops, 12);
AT(hook, flags, 0); AT(hook, allow, 6); AT(hook, maxenter, 16); AT(hook, maxexit, 20); AT(hook, depth, 30);
AT(hook, least, 31);
AT(control, heartbeattsc, 16); AT(control, staleticks, 24); AT(header, wary, 6340); AT(header, pages, 6856);
AT(header, spent, 10952); AT(header, gostack, 23248);
AT(record, flags, 15); AT(node, addr, 0); AT(node, n, 8); AT(node, walk, 12); AT(node, depth, 14); AT(node, status, 15);
AT(op, code, 0); AT(op, src, 1); AT(op, slot, 2); AT(op, dst, 3); AT(op, srcoff, 4); AT(op, off, 8); AT(op, size, 12);
AT(spent, span, 0); AT(spent, bytes, 4);
_Static_assert(STROBE_ALLOW_BYTES == 1 << 14 && STROBE_LEAST_BYTES == 1 << 6 && STROBE_ST_OK == 0, "fast.S: sizes");
AT(hook, sample, 24); AT(hook, hot, 28); AT(hot, calls, 0); AT(hot, next, 8);
_Static_assert(offsetof(struct strobe_header, hot) == 192 && sizeof(struct strobe_hot) == 32, "entry.S: header.hot");
AT(header, head, 0); AT(header, cachedtail, 8); AT(header, lost, 16);
AT(header, locks, 23272); AT(heldlocks, count, 0); AT(heldlocks, held, 32); AT(heldlocks, seen, 1088);
AT(held, hash, 8); AT(held, place, 16); AT(held, mode, 24);
AT(proberegs, regs, 0); AT(proberegs, flags, 128);
AT(record, tsc, 0); AT(record, hook, 8); AT(record, size8, 12); AT(record, kind, 14); AT(record, sp, 16);
_Static_assert(sizeof(struct strobe_arena) == 32 && sizeof(struct strobe_threadslot) == 16 &&
	sizeof(struct strobe_hook) == 32 &&
	STROBE_THREAD_SLOTS == 1 << 13 && sizeof(struct strobe_held) == 32 && STROBE_LOCK_SEEN == 256, "entry.S: sizes");

#define CONTROL ((struct strobe_control *)(blob_start + STROBE_CONTROL_OFF))
#define HOOKS ((struct strobe_hook *)(blob_start + STROBE_HOOKS_OFF))
#define OPS ((struct strobe_op *)(blob_start + STROBE_OPS_OFF))
#define POINTS ((struct strobe_point *)(blob_start + STROBE_POINTS_OFF))
#define LOSSES ((struct strobe_loss *)(blob_start + STROBE_LOSSES_OFF))
#define SLOTS ((struct strobe_threadslot *)(blob_start + STROBE_THREADS_OFF))
#define STATES ((u32 *)(blob_start + STROBE_STATES_OFF))

enum { SYS_fstat = 5, SYS_rt_sigprocmask = 14, SYS_sched_yield = 24, SYS_getpid = 39, SYS_getsockname = 51,
	SYS_getpeername = 52, SYS_sched_getscheduler = 145, SYS_arch_prctl = 158, SYS_gettid = 186, SYS_futex = 202,
	SYS_clock_gettime = 228 };

static inline long sys(long n, long a, long b, long c, long d) {
	long r;
	register long r10 asm("r10") = d;
	asm volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return r;
}

static COLD u64 slow_clock(void) {
	struct { long s, ns; } t;
	sys(SYS_clock_gettime, 1 /* CLOCK_MONOTONIC */, (long)&t, 0, 0);
	return (u64)t.s * 1000000000u + (u64)t.ns;
}

static inline u64 now(void) {
	if (UNLIKELY(!(CONTROL->flags & STROBE_FLAG_TSC))) return slow_clock();
	u32 lo, hi;
	asm volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (u64)hi << 32 | lo;
}

// stale reports that nobody drains the rings and nobody catches our faults.
static inline int stale(u64 t) {
	u64 beat = CONTROL->heartbeattsc;
	return t > beat && t - beat > CONTROL->staleticks;
}

static COLD __attribute__((unused)) u64 slow_fs(void) {
	u64 fs = 0;
	sys(SYS_arch_prctl, 0x1003 /* ARCH_GET_FS */, (long)&fs, 0, 0);
	return fs;
}

// go_place is how Record.sp has a place on a goroutine's stack.
static inline u64 go_place(const u64 *r) {
	u64 g = r[14], depth = *(const u64 *)(g + 8) - r[7], most = (1u << STROBE_GO_DEPTH_BITS) - 1;
	return (*(const u64 *)(g + CONTROL->goid) << STROBE_GO_DEPTH_BITS) | ((most - (depth >> 3)) & most);
}

// behind is what probes at system calls call, before them and behind; r are the registers by DWARF number.
void behind(const u64 *r, u32 id);
// socket_call records what a call that has just returned did to a socket.
void socket_call(const u64 *r, u32 id, u64 nr);
// tls_call records clear text that a TLS library's function was given or gave; r are its arguments, and behind them the
// clock at its begin.
void tls_call(struct strobe_header *t, const u64 *r, u32 id, u64 frame, u64 ret);
// piece copies n bytes, from the given offset on, of what a call wrote or read: bytes, or with kind
// STROBE_WRITE_VECTOR a vector of count pieces. It returns how many it got.
u64 piece(u8 *to, u32 kind, u64 src, u64 count, u64 from, u64 n);
struct strobe_record *reserve_record(struct strobe_header *t, u64 *head, u64 need, u32 id);

// wrote records what a write that has just returned put into a file of ours; r are its registers by DWARF number.
void wrote(const u64 *r, u32 id);
struct strobe_header *self_slow(void);
struct strobe_record *reserve_output(struct strobe_header *t, u64 *head, u64 need);
void publish_output(struct strobe_header *t, u64 head);

int condition(struct strobe_header *t, const u64 *r, u32 pc, u64 *bad);

// with_ops runs a plan's operations and the walks that they begin, behind the p of a record, whose head is written
// already; its payload has room for max bytes. It returns where the record ends, with the flag that says whether
// something had no room.
u64 with_ops(struct strobe_header *t, const u64 *r, const u8 *vec, struct strobe_record *rec, u64 *p, u32 ops, u32 max);

// What locks.c does where a function that takes, leaves or waits for a lock is entered and left. at is where its return
// address lies; r are the registers as entry.S saves them. lock_enter returns 1 where the exit does not matter.
u32 lock_enter(const u64 *r, u32 id, u64 at, u64 rbp);
void lock_exit(const u64 *r, u32 id, u64 at);
// lock_thread begins with a thread that holds nothing.
void lock_thread(struct strobe_header *t);
