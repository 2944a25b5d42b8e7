// What a call's values lead to: the operations of plans, and walk programs (internal/ring/abi.go says what each does). Nothing here
// trusts what it reads of the program: loops are bounded, and a bad address ends a copy.
#include "agent.h"

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
	u64 bad;                          // an address that could not be read
	u8 *began;                        // where nodes do
	u32 nodes, steps, depth, most, allow;
	u8 cut, safe, hashed;
	u8 all; // r has all registers by DWARF number, and vec sixteen
};

static inline u64 get(const struct walk *w, u32 n) { return w->all ? w->r[n & 15] : reg(w->r, n); }

enum { UNSAFE, SAFE, UNKNOWN }; // of walk.safe: is there anybody who mends our faults?

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

// A bad address costs a fault that the daemon has to mend. Behind one more are to be expected: for a good while the kernel is asked
// first, once for each page that is good. rt_sigprocmask reads the 8 bytes at its second argument before it refuses the first.
#define WARY (1u << 20)

static COLD int mapped(u64 addr) { return sys(SYS_rt_sigprocmask, 99, (long)addr, 0, 8) != -14 /* EFAULT */; }

// faulted takes note of an address that was bad: of the pages that were good one may not be there any more.
static COLD void faulted(struct walk *w) {
	w->t->wary = WARY;
	for (u32 i = 0; i < STROBE_PAGE_SLOTS; i++) w->t->pages[i] = 0;
}

// readable reports that bytes look as if they could be copied; the copy tells.
static COLD int readable(struct walk *w, u64 addr, u64 size) {
	if (w->safe == UNKNOWN) w->safe = !stale(now());
	if (!w->safe || addr < 4096 || addr >> 47 || (addr + size) >> 47) return 0;
	if (LIKELY(!w->t->wary)) return 1;
	w->t->wary--;
	for (u64 at = addr & ~7ull; at < addr + size; at = (at | 4095) + 1) {
		u64 page = (at >> 12) + 1, *slot = &w->t->pages[page % STROBE_PAGE_SLOTS];
		if (LIKELY(*slot == page)) continue;
		if (!mapped(at)) { w->t->wary = WARY; return 0; } // it may be good the next time
		*slot = page;
	}
	return 1;
}

static inline int copied(struct walk *w, void *to, u64 addr, u64 size) {
	if (!readable(w, addr, size)) return 0;
	if (LIKELY(!safe_copy(to, (const void *)addr, size))) return 1;
	faulted(w);
	return 0;
}

// Less than this is copied whole or not at all.
#define WHOLE 512

static COLD void copy_node(struct walk *w, u64 addr, u64 size, u32 walk, u32 depth) {
	if (!addr) return;
	u64 room = (u64)(w->end - w->p) & ~7ull;
	if (size <= WHOLE && size + STROBE_NODE_BYTES + 8 > room) { w->cut = STROBE_REC_TRUNCATED; return; }
	struct strobe_node *n = new_node(w, addr, walk, depth);
	if (!n) return;
	room = (u64)(w->end - w->p) & ~7ull;
	if (size > room) { size = room; w->cut = STROBE_REC_TRUNCATED; }
	if (!copied(w, w->p, addr, size)) { n->status = STROBE_ST_UNREADABLE; return; }
	n->n = (u32)size;
	w->p = (u8 *)after(n);
}

static COLD void text_node(struct walk *w, u64 addr, u64 most, u32 walk, u32 depth) {
	if (!addr) return;
	u64 room = (u64)(w->end - w->p) & ~7ull;
	if (room < 128) { w->cut = STROBE_REC_TRUNCATED; return; }
	struct strobe_node *n = new_node(w, addr, walk, depth);
	if (!n) return;
	room = ((u64)(w->end - w->p) & ~7ull) - 8;
	if (most > room) { most = room; w->cut = STROBE_REC_TRUNCATED; }
	strres s = {0, 2};
	if (readable(w, addr, 1)) {
		s = safe_str(w->p, (const void *)addr, most);
		if (s.end == 2) faulted(w);
	}
	if (s.end == 2) { n->status = STROBE_ST_UNREADABLE; return; }
	n->n = (u32)(most - s.left);
	if (s.end == 1) {
		const u64 far = 4096;
		strres more = safe_str(0, (const u8 *)addr + most, far);
		u64 *text = (u64 *)w->p;
		for (u32 i = (u32)(most + 7) / 8; i > 0; i--) text[i] = text[i - 1]; // room for the length before it
		text[0] = (most + far - more.left) | (more.end ? 1ull << 63 : 0);
		n->status = STROBE_ST_CUT;
	}
	w->p = (u8 *)after(n);
}

// load reads 1, 2, 4 or 8 bytes of the target.
static inline int load(struct walk *w, u64 addr, u32 size, u64 *v) {
	if ((addr & 4095) <= 4088) {
		if (w->all && (addr ^ w->r[7]) < 4096) { // the stack pointer's page
			*v = *(const u64 *)addr;
			return 1;
		}
		if (!readable(w, addr, 8)) return 0;
		loadres l = safe_load((const void *)addr);
		if (l.fault) { faulted(w); return 0; }
		*v = l.word;
		return 1;
	}
	*v = 0;
	return copied(w, v, addr, size);
}

static inline u64 extend(u64 v, u32 size, u32 sign) {
	u32 shift = 64 - 8 * (size < 8 ? size : 8);
	return sign ? (u64)((long)(v << shift) >> shift) : v << shift >> shift;
}

static inline int alu(u32 op, u64 a, u64 b, u64 *v) {
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
	u32 at = ((const u32 *)(blob_start + STROBE_WALKS_OFF))[id & (STROBE_MAX_WALKS - 1)] & ~STROBE_WALK_ENDS;
	return at < STROBE_MAX_OPS ? at : 0;
}

// ends reports whether all that a walk makes would lie too deep.
static inline int ends(const struct walk *w, const struct strobe_node *n) {
	return n->depth >= w->depth && ((const u32 *)(blob_start + STROBE_WALKS_OFF))[n->walk] & STROBE_WALK_ENDS;
}

// No node fits.
static inline int no_room(const struct walk *w) { return w->p + STROBE_NODE_BYTES + 8 > w->end; }

// run executes a walk program over a node, or over none. False when it ended early.
static __attribute__((noinline)) int run(struct walk *w, u32 pc, struct strobe_node *node) {
	u64 v[16];
	struct { u32 pc; u32 base; } stack[16];
	u32 sp = 0, base = 0;
	const u8 *bytes = node ? (const u8 *)(node + 1) : 0;
	u32 n = node ? node->n : 0, depth = node ? node->depth : 0;
	if (node && node->status == STROBE_ST_CUT) bytes += 8;
#pragma GCC unroll 16
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
		case STROBE_WALK_FOLLOW: {
			u32 at = base + (u32)o->off;
			if ((u64)at + 8 > n) return 0;
			u64 to = *(const u64 *)(bytes + at);
			if (!to) break;
			u32 walk = o->srcoff & (STROBE_MAX_WALKS - 1), deeper = depth + (o->srcoff / STROBE_FOLLOW_DEEPER & 1);
			if (deeper > w->depth) break;
			if (no_room(w)) { w->cut = STROBE_REC_TRUNCATED; return 0; }
			if (o->srcoff & STROBE_FOLLOW_TEXT) text_node(w, to, o->size, walk, deeper);
			else copy_node(w, to, o->size, walk, deeper);
			break;
		}
		case STROBE_WALK_LOADMEM: {
			u64 x;
			if (!load(w, b + (u64)(long)o->off, o->size, &x)) { w->bad = b + (u64)(long)o->off; return 0; }
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
		case STROBE_WALK_OPEN: // what was written before, for another object that has this one as a part, is not written again
			w->open = new_node(w, (node ? node->addr : 0) + base, o->srcoff, depth);
			if (!w->open && w->cut) return 0;
			break;
		case STROBE_WALK_PUSH:
			if (!w->open) break;
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
		case STROBE_WALK_REG: *a = get(w, o->size); break;
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
	head[0] = ok ? (u32)(w->p - w->out) - 8 : 0;
	head[1] = ok ? STROBE_ST_OK : STROBE_ST_UNREADABLE;
	if (!ok) w->p = w->out + 8;
	while (w->p < w->out + 8 + o->size) { *(u64 *)w->p = 0; w->p += 8; } // where the next chunk begins does not vary
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
		if (!w->began && (o->code == STROBE_OP_ROOT || o->code == STROBE_OP_GATHER)) {
			w->began = w->p;
			if (w->allow && w->p + w->allow < w->end) w->end = w->p + w->allow;
		}
		if (o->code == STROBE_OP_ROOT) ptr = *(const u64 *)(w->payload + (o->srcoff & (STROBE_MAX_PAYLOAD - 8)));
		else if (w->p + o->size + 8 > w->end) { w->cut = STROBE_REC_TRUNCATED; break; }
		switch (o->code) {
		case STROBE_OP_REG: *(u64 *)w->p = get(w, o->src); w->p += 8; break;
		case STROBE_OP_SAVED: *(u64 *)w->p = saved(w, frame, id, o->src); w->p += 8; break;
		case STROBE_OP_SAVE: save(w, frame, id); break;
		case STROBE_OP_XMM:
		case STROBE_OP_ST0: {
			const u64 *v = (const u64 *)(vec + (o->code == STROBE_OP_ST0 ? 32 : 0) + 16u * (o->src & (w->all ? 15 : 7)));
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
	for (struct strobe_node *n = w->first; n && (u8 *)n < w->p; n = after(n)) {
		u32 to;
		if (n->status == STROBE_ST_UNREADABLE || !n->walk || ends(w, n) || !(to = walk_op(n->walk))) continue;
		if (no_room(w)) { w->cut = STROBE_REC_TRUNCATED; break; }
		run(w, to, n);
		close_node(w);
	}
}

// lately brings what was spent up to date.
static inline u32 lately(struct strobe_spent *s, u32 span) {
	u32 gone = span - s->span;
	if (UNLIKELY(gone)) { s->bytes = gone > 31 ? 0 : s->bytes >> gone; s->span = span; }
	return s->bytes;
}

// allowed returns how many bytes of what its values lead to a call may record now, 0: as many as fit. A function's first calls, and those of
// one that is not called often, have all; what is called so often that it would fill rings and disk has less.
static inline u32 allowed(const struct strobe_header *t, const struct strobe_hook *h, u32 spent) {
	u32 most = (u32)h->allow * STROBE_ALLOW_BYTES, least = (u32)h->least * STROBE_LEAST_BYTES;
	if (t->spent[STROBE_SPENTS].bytes > STROBE_STORM_BYTES) most /= 4, least /= 4;
	if (!most || spent <= most) return 0;
	return spent / 4 <= most ? 2 * least : least;
}

COLD u64 *with_ops(struct strobe_header *t, const u64 *r, u32 ops, const u8 *vec, u64 frame, u32 id, struct strobe_record *rec, u64 *p, u32 max, u8 *cut, u64 at) {
	struct walk w;
	w.t = t; w.r = r; w.payload = (u8 *)(rec + 1); w.p = (u8 *)p; w.end = w.payload + max;
	w.first = 0; w.open = 0; w.out = 0; w.cfa = frame + 16; w.nodes = 0; w.steps = 0; w.depth = HOOKS[id].depth; w.most = 0;
	w.cut = 0; w.safe = !stale(at); w.hashed = 0; w.bad = 0; w.all = (HOOKS[id].flags & STROBE_HOOK_POINT) != 0;
	struct strobe_spent *s = &t->spent[id % STROBE_SPENTS], *all = &t->spent[STROBE_SPENTS];
	u32 span = (u32)(at >> STROBE_SPAN_SHIFT), spent = lately(s, span);
	lately(all, span);
	w.began = 0; w.allow = allowed(t, &HOOKS[id], spent);
	run_ops(&w, OPS + ops, vec, frame, id);
	if (w.began && all->bytes < 1u << 31) {
		s->bytes += (u32)(w.p - w.began);
		all->bytes += (u32)(w.p - w.began);
	}
	*cut = w.cut;
	return (u64 *)w.p;
}

// condition runs the program of a point. 1: it holds, 0: not, -1: it could not be evaluated, and *bad says where it could not read.
int condition(struct strobe_header *t, const u64 *r, u32 pc, u64 *bad) {
	struct walk w;
	u64 out[3];
	w.t = t; w.r = r; w.payload = w.p = w.out = (u8 *)out; w.end = (u8 *)(out + 3);
	w.first = 0; w.open = 0; w.cfa = 0; w.nodes = 0; w.steps = 0; w.depth = 0; w.most = 8;
	w.cut = 0; w.safe = UNKNOWN; w.hashed = 0; w.bad = 0; w.all = 1;
	w.p += 8;
	out[1] = 0;
	if (LIKELY(run(&w, pc, 0))) return out[1] != 0;
	*bad = w.bad;
	return -1;
}
