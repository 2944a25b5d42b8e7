// The agent: code that runs in the target, inside hooked functions.
//
// Rules: no libc, no malloc, no locks that a signal handler could meet, no vector registers, bounded
// loops, no system call on the usual path. The daemon never delivers a signal while a thread is
// between critical_lo and critical_hi (entry.S, agent.lds), so nothing here is re-entered, and
// a fault in safe_copy and safe_str goes on at fault_fix. All memory is the shared region, which
// starts with this code; internal/ring/layout.go draws it.
#include "ring_abi.h"

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;

extern u8 blob_start[] __attribute__((visibility("hidden")));
u64 safe_copy(void *dst, const void *src, u64 n);
typedef struct { u64 left, end; } strres;
strres safe_str(void *dst, const void *src, u64 n);
typedef struct { u64 fault, word; } loadres;
loadres safe_load(const void *src);

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WAITS __attribute__((section(".text.waits"), noinline))
#define COLD __attribute__((noinline, cold, section(".text.slow")))

// What the usual records in entry.S know of the layout.
#define AT(type, field, off) _Static_assert(offsetof(struct strobe_##type, field) == off, "entry.S: " #type "." #field)
AT(control, flags, 12); AT(control, ringbytes, 36); AT(control, arenacount, 44); AT(control, arenas, 336);
AT(arena, lo, 0); AT(arena, hi, 8); AT(threadslot, fs, 0); AT(threadslot, ring, 8);
AT(hook, entergprs, 4); AT(hook, exitgprs, 5); AT(hook, enterops, 8); AT(hook, exitops, 12);
AT(hook, sample, 24); AT(hook, hot, 28); AT(hot, calls, 0); AT(hot, next, 8);
_Static_assert(offsetof(struct strobe_header, hot) == 192 && sizeof(struct strobe_hot) == 32, "entry.S: header.hot");
AT(header, head, 0); AT(header, cachedtail, 8); AT(header, lost, 16);
AT(record, tsc, 0); AT(record, hook, 8); AT(record, size8, 12); AT(record, kind, 14); AT(record, sp, 16);
_Static_assert(sizeof(struct strobe_arena) == 32 && sizeof(struct strobe_threadslot) == 16 && sizeof(struct strobe_hook) == 32 &&
	STROBE_THREAD_SLOTS == 1 << 13, "entry.S: sizes");

#define CONTROL ((struct strobe_control *)(blob_start + STROBE_CONTROL_OFF))
#define HOOKS ((struct strobe_hook *)(blob_start + STROBE_HOOKS_OFF))
#define OPS ((struct strobe_op *)(blob_start + STROBE_OPS_OFF))
#define SLOTS ((struct strobe_threadslot *)(blob_start + STROBE_THREADS_OFF))
#define STATES ((u32 *)(blob_start + STROBE_STATES_OFF))

enum { SYS_sched_yield = 24, SYS_getpid = 39, SYS_arch_prctl = 158, SYS_gettid = 186, SYS_futex = 202, SYS_clock_gettime = 228 };

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

static inline struct strobe_header *ring_at(u32 i) {
	return (struct strobe_header *)(blob_start + STROBE_RINGS_OFF + (u64)i * (STROBE_HEADER_BYTES + CONTROL->ringbytes));
}

static COLD u64 slow_fs(void) {
	u64 fs = 0;
	sys(SYS_arch_prctl, 0x1003 /* ARCH_GET_FS */, (long)&fs, 0, 0);
	return fs;
}

static inline u32 slot_of(u64 fs) { return (u32)((fs * 0x9E3779B97F4A7C15ull) >> 51); } // 13 bits

// new_thread gives the calling thread a ring: its old one, if only its FS base changed, else a free one.
static COLD struct strobe_header *new_thread(u64 fs) {
	struct strobe_control *c = CONTROL;
	u32 tid = (u32)sys(SYS_gettid, 0, 0, 0, 0), ring = 0;
	for (u32 i = 0; i < STROBE_THREAD_SLOTS && !ring; i++)
		if (SLOTS[i].fs > 1 && SLOTS[i].tid == tid) ring = SLOTS[i].ring;
	u32 hint = c->ringhint;
	for (u32 k = 0; k < c->ringcount && !ring; k++) {
		u32 i = (hint + k) % c->ringcount, free = STROBE_RING_FREE;
		if (STATES[i] == free && __atomic_compare_exchange_n(&STATES[i], &free, STROBE_RING_USED, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			ring = i + 1;
			ring_at(i)->tid = tid;
			c->ringhint = i + 1;
		}
	}
	if (!ring) return 0;
	u32 s = slot_of(fs);
	for (u32 k = 0; k < STROBE_THREAD_SLOTS; k++, s = (s + 1) % STROBE_THREAD_SLOTS) {
		u64 old = SLOTS[s].fs;
		if (old > 1 && old != fs) continue;
		if (old != fs && !__atomic_compare_exchange_n(&SLOTS[s].fs, &old, fs, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) continue;
		SLOTS[s].tid = tid;
		SLOTS[s].ring = ring;
		return ring_at(ring - 1);
	}
	return ring_at(ring - 1); // the table is full: found again by tid, slowly
}

static inline struct strobe_header *self(void) {
	u64 fs;
	if (LIKELY(CONTROL->flags & STROBE_FLAG_FSGS)) asm volatile("rdfsbase %0" : "=r"(fs));
	else fs = slow_fs();
	if (fs < 2) fs = 2; // before libc made the first thread's control block
	u32 s = slot_of(fs);
	for (u32 k = 0; k < STROBE_THREAD_SLOTS; k++, s = (s + 1) % STROBE_THREAD_SLOTS) {
		u64 have = SLOTS[s].fs;
		if (LIKELY(have == fs)) return ring_at(SLOTS[s].ring - 1);
		if (have == 0) break;
	}
	return new_thread(fs);
}

// wait_space waits until the daemon consumed something. False when the daemon is gone.
static WAITS int wait_space(struct strobe_header *t, u64 seen) {
	struct { long s, ns; } tick = {0, 2000000};
	while (__atomic_load_n(&t->tail, __ATOMIC_ACQUIRE) == seen) {
		if (stale(now())) return 0;
		__atomic_store_n(&t->waiting, 1, __ATOMIC_SEQ_CST);
		sys(SYS_futex, (long)&t->tail, 0 /* FUTEX_WAIT, shared */, (long)(u32)seen, (long)&tick);
	}
	__atomic_store_n(&t->waiting, 0, __ATOMIC_RELAXED);
	return 1;
}

static inline struct strobe_record *place(struct strobe_header *t, u64 *head) {
	return (struct strobe_record *)((u8 *)t + STROBE_HEADER_BYTES + (*head & (CONTROL->ringbytes - 1)));
}

// room moves *head over a pad record if need bytes do not fit before the ring's end, and reports whether
// they fit into the ring.
static inline int room(struct strobe_header *t, u64 *head, u64 need) {
	u64 size = CONTROL->ringbytes, left = size - (*head & (size - 1)), want = need;
	if (UNLIKELY(left < need)) want += left;
	if (UNLIKELY(*head + want - t->cachedtail > size)) {
		t->cachedtail = __atomic_load_n(&t->tail, __ATOMIC_ACQUIRE);
		if (*head + want - t->cachedtail > size) return 0;
	}
	if (UNLIKELY(left < need)) {
		struct strobe_record *r = place(t, head);
		if (left >= STROBE_RECORD_BYTES) {
			r->size8 = (u16)(left / 8);
			r->kind = STROBE_REC_PAD;
		}
		*head += left;
	}
	return 1;
}

// report_lost puts the count of dropped records into the stream, where they are missing.
static COLD int report_lost(struct strobe_header *t, u64 *head) {
	if (!room(t, head, STROBE_RECORD_BYTES + 24)) return 0;
	struct strobe_record *r = place(t, head);
	u64 *p = (u64 *)(r + 1);
	r->tsc = t->lostlast; r->hook = 0; r->size8 = (STROBE_RECORD_BYTES + 24) / 8; r->kind = STROBE_REC_DROPPED; r->flags = 0; r->sp = 0;
	p[0] = t->lost; p[1] = t->lostfirst; p[2] = t->lostlast;
	*head += STROBE_RECORD_BYTES + 24;
	t->lost = 0;
	return 1;
}

// reserve returns where to write a record of at most need bytes, or 0 when it is lost (and counted).
static COLD struct strobe_record *reserve_slow(struct strobe_header *t, u64 *head, u64 need) {
	for (;;) {
		u64 tail = __atomic_load_n(&t->tail, __ATOMIC_ACQUIRE);
		u64 lost = t->lost;
		*head = t->head;
		if ((!lost || report_lost(t, head)) && room(t, head, need)) return place(t, head);
		t->lost = lost; // the report is not published without the record behind it
		if (!(CONTROL->flags & STROBE_FLAG_BLOCK) || !wait_space(t, tail)) break;
	}
	u64 at = now();
	if (!t->lost) t->lostfirst = at;
	t->lostlast = at;
	__atomic_store_n(&t->lost, t->lost + 1, __ATOMIC_RELEASE);
	return 0;
}

static inline struct strobe_record *reserve(struct strobe_header *t, u64 *head, u64 need) {
	*head = t->head;
	if (LIKELY(!t->lost && room(t, head, need))) return place(t, head);
	return reserve_slow(t, head, need);
}

// Index in the saved registers of each DWARF register number.
static inline u64 reg(const u64 *r, u32 n) {
	static const u8 at[16] = {6, 2, 3, 255, 1, 0, 255, 255, 4, 5, 7, 8, 255, 255, 255, 255};
	u8 i = at[n & 15];
	return i == 255 ? 0 : r[i];
}

// walk is one record while its operations run.
struct walk {
	struct strobe_header *t;
	const u64 *r;                     // saved registers
	u8 *payload, *p, *end;            // where the next byte goes, and the last one may
	struct strobe_node *first, *open; // the first node; the made one that is being written
	u8 *out;                          // head of the output of OpEval, 0 outside
	u64 cfa;
	u32 nodes, steps, depth, most;
	u8 cut, safe, hashed, bad;
};

static inline struct strobe_node *after(struct strobe_node *n) {
	return (struct strobe_node *)((u8 *)(n + 1) + ((n->n + 7u) & ~7u) + (n->status == STROBE_ST_CUT ? 8 : 0));
}

static inline u32 hash_node(u64 addr, u32 walk) {
	return (u32)(((addr ^ (u64)walk << 48) * 0x9E3779B97F4A7C15ull) >> 53); // 11 bits
}

static void remember(struct walk *w, struct strobe_node *n) {
	u32 h = hash_node(n->addr, n->walk);
	while (w->t->seen[h]) h = (h + 1) % STROBE_SEEN_SLOTS;
	w->t->seen[h] = (u16)(((u8 *)n - w->payload) / 8 + 1);
}

// seen reports whether a node is there already. A few are looked at one by one, many by hash.
static COLD int seen(struct walk *w, u64 addr, u32 walk) {
	if (w->nodes < 12) {
		for (struct strobe_node *n = w->first; (u8 *)n < w->p; n = after(n))
			if (n->addr == addr && n->walk == walk) return 1;
		return 0;
	}
	if (!w->hashed) {
		w->hashed = 1;
		u64 *z = (u64 *)w->t->seen;
		for (u32 i = 0; i < STROBE_SEEN_SLOTS / 4; i++) z[i] = 0;
		for (struct strobe_node *n = w->first; (u8 *)n < w->p; n = after(n)) remember(w, n);
	}
	for (u32 h = hash_node(addr, walk); w->t->seen[h]; h = (h + 1) % STROBE_SEEN_SLOTS) {
		struct strobe_node *n = (struct strobe_node *)(w->payload + (w->t->seen[h] - 1) * 8);
		if (n->addr == addr && n->walk == walk) return 1;
	}
	return 0;
}

static COLD void close_node(struct walk *w) {
	if (!w->open) return;
	w->open->n = (u32)(w->p - (u8 *)(w->open + 1));
	w->p = (u8 *)after(w->open);
	w->open = 0;
}

// new_node writes a node's head. 0: it is there already, too deep, or does not fit.
static COLD struct strobe_node *new_node(struct walk *w, u64 addr, u32 walk, u32 depth) {
	close_node(w);
	if (depth > w->depth) return 0;
	if (w->nodes && seen(w, addr, walk)) return 0;
	if (w->nodes >= STROBE_MAX_NODES || w->p + STROBE_NODE_BYTES + 8 > w->end) { w->cut = STROBE_REC_TRUNCATED; return 0; }
	struct strobe_node *n = (struct strobe_node *)w->p;
	if (!w->nodes++) w->first = n;
	n->addr = addr; n->n = 0; n->walk = (u16)walk; n->depth = (u8)depth; n->status = STROBE_ST_OK;
	if (w->hashed) remember(w, n);
	w->p = (u8 *)(n + 1);
	return n;
}

static COLD void copy_node(struct walk *w, u64 addr, u64 size, u32 walk, u32 depth) {
	if (!addr) return;
	struct strobe_node *n = new_node(w, addr, walk, depth);
	if (!n) return;
	u64 room = (u64)(w->end - w->p) & ~7ull;
	if (size > room) { size = room; w->cut = STROBE_REC_TRUNCATED; }
	if (!w->safe || safe_copy(w->p, (const void *)addr, size)) { n->status = STROBE_ST_UNREADABLE; return; }
	n->n = (u32)size;
	w->p = (u8 *)after(n);
}

static COLD void text_node(struct walk *w, u64 addr, u64 most, u32 walk, u32 depth) {
	if (!addr) return;
	struct strobe_node *n = new_node(w, addr, walk, depth);
	if (!n) return;
	u64 room = (u64)(w->end - w->p) & ~7ull;
	room = room > 8 ? room - 8 : 0;
	if (most > room) { most = room; w->cut = STROBE_REC_TRUNCATED; }
	strres s = {0, 2};
	if (w->safe) s = safe_str(w->p, (const void *)addr, most);
	if (s.end == 2) { n->status = STROBE_ST_UNREADABLE; return; }
	n->n = (u32)(most - s.left);
	if (s.end == 1) {
		const u64 far = 65536;
		strres more = safe_str(0, (const u8 *)addr + most, far);
		u64 *text = (u64 *)w->p;
		for (u32 i = (u32)(most + 7) / 8; i > 0; i--) text[i] = text[i - 1]; // room for the length before it
		text[0] = (most + far - more.left) | (more.end ? 1ull << 63 : 0);
		n->status = STROBE_ST_CUT;
	}
	w->p = (u8 *)after(n);
}

// load reads 1, 2, 4 or 8 bytes of the target.
static COLD int load(struct walk *w, u64 addr, u32 size, u64 *v) {
	if (!w->safe) return 0;
	if ((addr & 4095) <= 4088) {
		loadres l = safe_load((const void *)addr);
		if (l.fault) return 0;
		*v = l.word;
		return 1;
	}
	*v = 0;
	return !safe_copy(v, (const void *)addr, size);
}

static inline u64 extend(u64 v, u32 size, u32 sign) {
	u32 shift = 64 - 8 * (size < 8 ? size : 8);
	return sign ? (u64)((long)(v << shift) >> shift) : v << shift >> shift;
}

static COLD int alu(u32 op, u64 a, u64 b, u64 *v) {
	long x = (long)a, y = (long)b;
	switch (op) {
	case STROBE_ALU_ADD: *v = a + b; break;
	case STROBE_ALU_SUB: *v = a - b; break;
	case STROBE_ALU_MUL: *v = a * b; break;
	case STROBE_ALU_UDIV: if (!b) return 0; *v = a / b; break;
	case STROBE_ALU_UREM: if (!b) return 0; *v = a % b; break;
	case STROBE_ALU_SDIV: if (!b) return 0; *v = y == -1 ? 0 - a : (u64)(x / y); break;
	case STROBE_ALU_SREM: if (!b) return 0; *v = y == -1 ? 0 : (u64)(x % y); break;
	case STROBE_ALU_AND: *v = a & b; break;
	case STROBE_ALU_OR: *v = a | b; break;
	case STROBE_ALU_XOR: *v = a ^ b; break;
	case STROBE_ALU_SHL: *v = a << (b & 63); break;
	case STROBE_ALU_SHR: *v = a >> (b & 63); break;
	case STROBE_ALU_SAR: *v = (u64)(x >> (b & 63)); break;
	case STROBE_ALU_EQ: *v = a == b; break;
	case STROBE_ALU_NE: *v = a != b; break;
	case STROBE_ALU_ULT: *v = a < b; break;
	case STROBE_ALU_SLT: *v = x < y; break;
	case STROBE_ALU_ULE: *v = a <= b; break;
	case STROBE_ALU_SLE: *v = x <= y; break;
	default: return 0;
	}
	return 1;
}

static inline u32 walk_op(u32 id) {
	u32 at = ((const u32 *)(blob_start + STROBE_WALKS_OFF))[id & (STROBE_MAX_WALKS - 1)];
	return at < STROBE_MAX_OPS ? at : 0;
}

// run executes a walk program over a node, or over none. False when it ended early.
static COLD int run(struct walk *w, u32 pc, struct strobe_node *node) {
	u64 v[16];
	struct { u32 pc; u32 base; } stack[16];
	u32 sp = 0, base = 0;
	const u8 *bytes = node ? (const u8 *)(node + 1) : 0;
	u32 n = node ? node->n : 0, depth = node ? node->depth : 0;
	if (node && node->status == STROBE_ST_CUT) bytes += 8;
	for (u32 i = 0; i < 16; i++) v[i] = 0;
	if (!pc) return 1;
	for (;;) {
		if (++w->steps > STROBE_MAX_STEPS || pc >= STROBE_MAX_OPS) { w->cut = STROBE_REC_TRUNCATED; return 0; }
		const struct strobe_op *o = OPS + pc++;
		u64 *a = &v[o->src & 15];
		u64 b = v[o->slot & 15];
		switch (o->code) {
		case STROBE_OP_END:
			if (!sp) return 1;
			sp--;
			pc = stack[sp].pc;
			base = stack[sp].base;
			break;
		case STROBE_WALK_LOAD: {
			u32 at = base + (u32)o->off;
			if ((u64)at + o->size > n || o->size > 8) return 0;
			u64 x = 0;
			u8 *to = (u8 *)&x;
			if (o->size == 8) x = *(const u64 *)(bytes + at);
			else for (u32 i = 0; i < o->size; i++) to[i] = bytes[at + i];
			*a = extend(x, o->size, o->srcoff);
			break;
		}
		case STROBE_WALK_LOADMEM: {
			u64 x;
			if (!load(w, b + (u64)(long)o->off, o->size, &x)) return 0;
			*a = extend(x, o->size, o->srcoff);
			break;
		}
		case STROBE_WALK_CONST: *a = o->srcoff | (u64)o->size << 32; break;
		case STROBE_WALK_ALU: if (!alu(o->srcoff, b, v[o->dst & 15], a)) return 0; break;
		case STROBE_WALK_ALUIMM: if (!alu(o->srcoff, b, (u64)(long)o->off, a)) return 0; break;
		case STROBE_WALK_JUMP: pc += (u32)o->off; break;
		case STROBE_WALK_JUMPZERO: if (!*a) pc += (u32)o->off; break;
		case STROBE_WALK_JUMPNOT: if (*a) pc += (u32)o->off; break;
		case STROBE_WALK_NODE:
		case STROBE_WALK_TEXT: {
			u64 size = o->slot == STROBE_NO_REG || b > o->size ? o->size : b;
			if (o->code == STROBE_WALK_NODE) copy_node(w, *a, size, o->srcoff, depth + (o->off != 0));
			else text_node(w, *a, size, o->srcoff, depth + (o->off != 0));
			break;
		}
		case STROBE_WALK_OPEN: w->open = new_node(w, (node ? node->addr : 0) + base, o->srcoff, depth); if (!w->open) return 0; break;
		case STROBE_WALK_PUSH:
			if (!w->open) return 0;
			if (w->p + 8 > w->end) { w->cut = STROBE_REC_TRUNCATED; break; }
			*(u64 *)w->p = *a;
			w->p += 8;
			break;
		case STROBE_WALK_CLOSE: close_node(w); break;
		case STROBE_WALK_SUB: {
			u32 to = walk_op(o->srcoff);
			if (sp == 16) return 0;
			if (!to) break; // nothing to do for it
			stack[sp].pc = pc;
			stack[sp++].base = base;
			base += (u32)o->off + (o->slot == STROBE_NO_REG ? 0 : (u32)b);
			pc = to;
			break;
		}
		case STROBE_WALK_ADDR: *a = (node ? node->addr : 0) + base + (u64)(long)o->off; break;
		case STROBE_WALK_OUT: {
			if (!w->out || w->p + 8 > w->out + 8 + w->most || w->p + 8 > w->end) return 0;
			*(u64 *)w->p = *a;
			w->p += 8;
			break;
		}
		case STROBE_WALK_FS: {
			u64 fs;
			if (LIKELY(CONTROL->flags & STROBE_FLAG_FSGS)) asm volatile("rdfsbase %0" : "=r"(fs));
			else fs = slow_fs();
			*a = fs + (u64)(long)o->off;
			break;
		}
		case STROBE_WALK_REG: *a = reg(w->r, o->size); break;
		case STROBE_WALK_CFA: *a = w->cfa + (u64)(long)o->off; break;
		case STROBE_WALK_INFO: *a = o->srcoff == 2 ? n : o->srcoff ? (u64)sys(SYS_getpid, 0, 0, 0, 0) : w->t->tid; break;
		default: return 0;
		}
	}
}

static COLD void eval(struct walk *w, const struct strobe_op *o) {
	w->out = w->p;
	w->most = o->size;
	w->p += 8;
	u32 ok = (u32)run(w, o->srcoff < STROBE_MAX_OPS ? o->srcoff : 0, 0);
	u32 *head = (u32 *)w->out;
	head[0] = (u32)(w->p - w->out) - 8;
	head[1] = ok ? STROBE_ST_OK : STROBE_ST_UNREADABLE;
	w->out = 0;
}

// save keeps a call's arguments. Entries of frames that are gone are below the new frame.
static COLD void save(struct walk *w, u64 frame, u32 id) {
	struct strobe_header *t = w->t;
	while (t->savedcount && t->saved[(t->savedcount - 1) % STROBE_MAX_SAVED].frame <= frame) t->savedcount--;
	if (t->savedcount >= STROBE_MAX_SAVED) return;
	struct strobe_saved *s = &t->saved[t->savedcount++];
	s->frame = frame;
	s->hook = id;
	for (u32 i = 0; i < 6; i++) s->regs[i] = w->r[i];
}

static COLD u64 saved(struct walk *w, u64 frame, u32 id, u32 i) {
	struct strobe_header *t = w->t;
	while (t->savedcount && t->saved[(t->savedcount - 1) % STROBE_MAX_SAVED].frame < frame) t->savedcount--;
	if (!t->savedcount) return 0;
	struct strobe_saved *s = &t->saved[(t->savedcount - 1) % STROBE_MAX_SAVED];
	return s->frame == frame && s->hook == id && i < 6 ? s->regs[i] : 0;
}

// run_ops executes a capture plan's operations, and the walks that they begin. The compiler of plans bounds what the
// operations append; walks look at the end themselves.
static COLD void run_ops(struct walk *w, const struct strobe_op *o, const u8 *vec, u64 frame, u32 id) {
	struct strobe_node *gather = 0;
	for (u32 budget = 512; o->code != STROBE_OP_END && budget; o++, budget--) {
		u32 walk = o->slot | (u32)o->dst << 8;
		u64 ptr = 0;
		if (o->code == STROBE_OP_ROOT) ptr = *(const u64 *)(w->payload + (o->srcoff & (STROBE_MAX_PAYLOAD - 8)));
		else if (w->p + o->size + 8 > w->end) { w->cut = STROBE_REC_TRUNCATED; break; }
		switch (o->code) {
		case STROBE_OP_REG: *(u64 *)w->p = reg(w->r, o->src); w->p += 8; break;
		case STROBE_OP_SAVED: *(u64 *)w->p = saved(w, frame, id, o->src); w->p += 8; break;
		case STROBE_OP_SAVE: save(w, frame, id); break;
		case STROBE_OP_XMM:
		case STROBE_OP_ST0: {
			const u64 *v = (const u64 *)(vec + (o->code == STROBE_OP_ST0 ? 32 : 0) + 16u * (o->src & 7));
			((u64 *)w->p)[0] = v[0];
			if (o->code == STROBE_OP_ST0) ((u64 *)w->p)[1] = v[1] & 0xffff;
			else if (o->size > 8) ((u64 *)w->p)[1] = v[1];
			w->p += o->code == STROBE_OP_ST0 || o->size > 8 ? 16 : 8;
			break;
		}
		case STROBE_OP_STACK:
			if (safe_copy(w->p, (const void *)(w->cfa + (u64)(long)o->off), o->size)) w->cut = STROBE_REC_TRUNCATED;
			w->p += (o->size + 7u) & ~7u;
			break;
		case STROBE_OP_EVAL: eval(w, o); break;
		case STROBE_OP_ROOT:
			if (!ptr) break;
			ptr += (u64)(long)o->off;
			if (o->src == 1) text_node(w, ptr, o->size, walk, 1);
			else copy_node(w, ptr, o->size, walk, o->src == 2 ? 0 : 1);
			break;
		case STROBE_OP_GATHER:
			if (o->src == 0) gather = new_node(w, (u64)(u32)o->off << 32 | 1ull << 63, walk, 0);
			else if (o->src == 1 && gather) {
				const u8 *from = w->payload + (o->srcoff & (STROBE_MAX_PAYLOAD - 1));
				for (u32 i = 0; i < o->size; i++) w->p[i] = from[i];
				w->p += o->size;
				gather->n += o->size;
			} else if (gather) {
				w->p = (u8 *)after(gather);
				gather = 0;
			}
			break;
		}
	}
	for (struct strobe_node *n = w->first; n && (u8 *)n < w->p; n = after(n))
		if (n->status != STROBE_ST_UNREADABLE && n->walk) {
			run(w, walk_op(n->walk), n);
			close_node(w);
		}
}

// An op may run over the plan's bound by less than this before it is noticed.
#define SLACK 32

static inline void publish(struct strobe_header *t, u64 head) { __atomic_store_n(&t->head, head, __ATOMIC_RELEASE); }

static COLD void no_ring(void) { __atomic_fetch_add(&CONTROL->noringlost, 1, __ATOMIC_RELAXED); }

static COLD u64 *with_ops(struct strobe_header *t, const u64 *r, u32 ops, const u8 *vec, u64 frame, u32 id, struct strobe_record *rec, u64 *p, u32 max, u8 *cut, u64 at) {
	struct walk w;
	w.t = t; w.r = r; w.payload = (u8 *)(rec + 1); w.p = (u8 *)p; w.end = w.payload + max;
	w.first = 0; w.open = 0; w.out = 0; w.cfa = frame + 16; w.nodes = 0; w.steps = 0; w.depth = HOOKS[id].depth; w.most = 0;
	w.cut = 0; w.safe = !stale(at); w.hashed = 0; w.bad = 0;
	run_ops(&w, OPS + ops, vec, frame, id);
	*cut = w.cut;
	return (u64 *)w.p;
}

static inline void record(const u64 *r, const u64 *gprs, u32 n, u32 ops, u32 max, u32 id, u32 kind, u32 flags, u64 frame, const u8 *vec) {
	struct strobe_header *t = self();
	if (UNLIKELY(!t)) { no_ring(); return; }
	u64 head;
	struct strobe_record *rec = reserve(t, &head, STROBE_RECORD_BYTES + SLACK + (u64)max);
	if (UNLIKELY(!rec)) return;
	u64 at = now();
	u64 *p = (u64 *)(rec + 1);
	u8 cut = 0;
	for (u32 i = 0; i < n; i++) *p++ = gprs[i];
	if (ops) p = with_ops(t, r, ops, vec, frame, id, rec, p, max, &cut, at);
	u64 size = (u64)((u8 *)p - (u8 *)rec);
	rec->tsc = at;
	rec->hook = id;
	rec->size8 = (u16)(size / 8);
	rec->kind = (u8)kind;
	rec->flags = (u8)(flags | cut);
	rec->sp = frame;
	publish(t, head + size);
}

static inline u32 in_arena(u64 pc) {
	const struct strobe_control *c = CONTROL;
	u32 in = 0;
	for (u32 i = 0; i < c->arenacount; i++) in |= pc - c->arenas[i].lo < c->arenas[i].hi - c->arenas[i].lo;
	return in;
}

// sampled counts a call of a function of which few are recorded, and says whether this one is. The distance between
// two varies, so that no period of the program's hides from it.
static COLD int sampled(const struct strobe_hook *h) {
	struct strobe_header *t = self();
	if (!t) return 1;
	struct strobe_hot *c = &t->hot[h->hot % STROBE_MAX_HOT];
	if (++c->calls < c->next) return 0;
	u32 mean = h->sample;
	c->next = c->calls + 1 + mean / 2 + (mean ? (u32)(now() * 0x9E3779B97F4A7C15ull >> 40) % mean : 0);
	c->recorded++;
	return 1;
}

// record_enter returns 1 when the stub must not make a frame: the function was reached by a tail call from a hooked one,
// so that its return address is a stub's, or the call is not recorded.
u32 record_enter(const u64 *r, u64 id, u64 frame, const u8 *vec) {
	const struct strobe_hook *h = &HOOKS[id];
	u32 flags = 0;
	if (UNLIKELY(h->sample)) {
		if (!sampled(h)) return 1;
		flags = STROBE_REC_SAMPLED;
	}
	u32 tail = in_arena(*(const u64 *)(frame + 8));
	record(r, r, h->entergprs, h->enterops, h->maxenter, (u32)id, STROBE_REC_ENTER, flags | (tail ? STROBE_REC_TAIL : 0), frame, vec);
	return tail;
}

void record_exit(const u64 *r, u64 id, u64 frame, const u8 *vec) {
	const struct strobe_hook *h = &HOOKS[id];
	u64 ret[2] = {r[6], r[2]};
	record(r, ret, h->exitgprs, h->exitops, h->maxexit, (u32)id, STROBE_REC_EXIT, 0, frame, vec);
}

// announce counts one up and waits until the daemon has done what it stands for.
static WAITS void announce(u32 *count, u32 *done) {
	struct { long s, ns; } tick = {0, 10000000};
	u32 seq = __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
	for (u32 k = 0; k < 1000 && !stale(now()); k++) {
		u32 ack = __atomic_load_n(done, __ATOMIC_ACQUIRE);
		if ((int)(ack - seq) >= 0) return;
		sys(SYS_futex, (long)done, 0, (long)ack, (long)&tick);
	}
}

// sync_modules tells the daemon that the loader's list is consistent again, and waits for it to look.
static WAITS void sync_modules(void) {
	struct strobe_control *c = CONTROL;
	if (c->rdebug && *(const u32 *)(c->rdebug + 24) != 0 /* RT_CONSISTENT */) return;
	announce(&c->syncseq, &c->syncack);
}

// register_unwind makes the unwinder that is being entered know the stubs' frames.
static WAITS void register_unwind(u32 k) {
	struct strobe_control *c = CONTROL;
	struct strobe_unwind *u = &c->unwind[k % STROBE_MAX_UNWIND];
	if (LIKELY(u->done == c->arenacount)) return;
	while (__atomic_exchange_n(&u->busy, 1, __ATOMIC_ACQUIRE)) sys(SYS_sched_yield, 0, 0, 0, 0);
	while (u->done < c->arenacount) {
		struct strobe_arena *a = &c->arenas[u->done];
		void *obj = &c->objects[(u->done * STROBE_MAX_UNWIND + k) * STROBE_OBJ_BYTES];
		((void (*)(u64, void *))u->fn)(u->llvm ? a->fde : a->eh, obj);
		u->done++;
	}
	__atomic_store_n(&u->busy, 0, __ATOMIC_RELEASE);
}

// skip_stub takes a stub's frame out of libgcc's walk of the stack, so that a program which prints its backtrace prints
// what it would print untraced. _Unwind_Find_FDE(pc, &context->bases) is asked about each frame; for a frame of ours
// we do what the unwind entry says (CFA = rbp+16, return address at CFA-8, rbp at CFA-16) and let it be asked about the caller.
// struct _Unwind_Context has had this layout since gcc 4: reg[18], cfa, ra, lsda, bases{3}, flags, args_size, by_value[18].
// False when the caller is not that walk.
static WAITS int skip_stub(u64 *r) {
	u64 pc = r[0];
	if (!in_arena(pc)) return 1; // nothing of ours
	u64 *ctx = (u64 *)(r[1] - 168);
	u64 *rbp_at = &ctx[6], *cfa = &ctx[18], *ra = &ctx[19];
	u8 *by_value = (u8 *)&ctx[26];
	if (*ra - 1 != pc && *ra != pc) return 0;
	u64 rbp = by_value[6] ? *rbp_at : *rbp_at ? *(u64 *)*rbp_at : 0;
	if (!rbp || *cfa > rbp || rbp - *cfa > 1 << 20) return 0; // the frame lies just above what it called
	by_value[6] = 0;
	*rbp_at = rbp;
	*cfa = rbp + 16;
	*ra = *(u64 *)(rbp + 8);
	r[0] = *ra - 1;
	return 1;
}

// leave gives back what unwinders allocated for our frames, which a leak check would report, and waits until nobody traces us.
static WAITS void leave(void) {
	struct strobe_control *c = CONTROL;
	for (u32 k = 0; k < c->unwindcount && k < STROBE_MAX_UNWIND; k++) {
		struct strobe_unwind *u = &c->unwind[k];
		while (u->undo && u->done) ((void *(*)(u64))u->undo)(c->arenas[--u->done].eh);
	}
	announce(&c->leaveseq, &c->leaveack);
}

void record_enter_only(u64 *r, u64 id, u64 frame, const u8 *vec) {
	const struct strobe_hook *h = &HOOKS[id];
	if (UNLIKELY(h->flags & STROBE_HOOK_SYNC)) { sync_modules(); return; }
	if (UNLIKELY(h->flags & STROBE_HOOK_LEAVE)) { leave(); return; }
	if (UNLIKELY(h->flags & STROBE_HOOK_FIND_FDE)) {
		if ((CONTROL->flags & STROBE_FLAG_SHADOW) || !skip_stub(r)) register_unwind(h->enterops);
		return;
	}
	if (UNLIKELY(h->flags & STROBE_HOOK_UNWIND)) { register_unwind(h->enterops); return; }
	record(r, r, h->entergprs, h->enterops, h->maxenter, (u32)id, STROBE_REC_ENTER, 0, frame, vec);
}
