// What a call's values lead to: the operations of plans, and walk programs (internal/ring/abi.go says what each does).
// Nothing here trusts what it reads of the program: loops are bounded, and a bad address ends a copy.
#include "node.h"

// Index in the saved registers of each DWARF register number.
static inline u64 reg(const u64 *r, u32 n) {
	static const u8 at[16] = {6, 2, 3, 255, 1, 0, 255, 255, 4, 5, 7, 8, 255, 255, 255, 255};
	u8 i = at[n & 15];
	return i == 255 ? 0 : r[i];
}

static inline u64 get(const struct walk *w, u32 n) { return w->all ? w->r[n & 15] : reg(w->r, n); }

// load reads 1, 2, 4 or 8 bytes of the target.
static inline int load(struct walk *w, u64 addr, u32 size, u64 *v) {
	if ((addr & 4095) <= 4088) {
		if (w->all && (addr ^ w->r[7]) < 4096) { // the stack pointer's page
			*v = *(const u64 *)addr;
			return 1;
		}
		if (!readable(w, addr, 8)) return 0;
		loadres l = safe_load((const void *)addr);
		if (UNLIKELY(l.fault)) { faulted(w); return 0; }
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
	u32 at = ((const u32 *)(blob_start + STROBE_WALKS_OFF))[id & (STROBE_MAX_WALKS - 1)] &
		~(STROBE_WALK_ENDS | STROBE_WALK_WIPES);
	return at < STROBE_MAX_OPS ? at : 0;
}

// ends reports whether all that a walk makes would lie too deep.
static inline int ends(const struct walk *w, const struct strobe_node *n) {
	return n->depth >= w->depth && ((const u32 *)(blob_start + STROBE_WALKS_OFF))[n->walk] & STROBE_WALK_ENDS;
}

static inline int wipes(const struct strobe_node *n) {
	return (((const u32 *)(blob_start + STROBE_WALKS_OFF))[n->walk] & STROBE_WALK_WIPES) != 0;
}

// empty takes all out of a node whose secrets were not, and has no reader find it.
static COLD void empty(struct strobe_node *n) {
	for (u8 *at = (u8 *)(n + 1); at < (u8 *)after(n); at++) *at = 0;
	n->walk = 0;
}

// No node fits.
static inline int no_room(const struct walk *w) { return w->p + STROBE_NODE_BYTES + 8 > w->end; }

// follow does a WalkFollow over bytes n of a node. 0: the program ends.
static inline int follow(struct walk *w, const struct strobe_op *o, const u8 *bytes, u32 at, u32 n, u32 depth) {
	if ((u64)at + 8 > n) return 0;
	u64 to = *(const u64 *)(bytes + at);
	u32 walk = o->srcoff & (STROBE_MAX_WALKS - 1), deeper = depth + (o->srcoff / STROBE_FOLLOW_DEEPER & 1);
	if (!to || deeper > w->depth) return 1;
	if (UNLIKELY(no_room(w))) { w->cut = STROBE_REC_TRUNCATED; return 0; }
	if (o->srcoff & STROBE_FOLLOW_TEXT) text_node(w, to, o->size, walk, deeper);
	else copy_node(w, to, o->size, walk, deeper);
	return 1;
}

// open_node begins a made node; what was written before, for another object that has this one as a part, is not written
// again. 0: the program ends.
static inline int open_node(struct walk *w, u64 addr, u32 walk, u32 depth) {
	w->open = new_node(w, addr, walk, depth);
	return LIKELY(w->open != 0) || !w->cut;
}

static inline void push(struct walk *w, u64 word) {
	if (!w->open) return;
	if (UNLIKELY(w->p + 8 > w->end)) { w->cut = STROBE_REC_TRUNCATED; return; }
	*(u64 *)w->p = word;
	w->p += 8;
}

// Where run goes on for each operation, from its end on: a compare for each would be guessed wrong more often.
#define GO(code) [code] = (int)(&&do_##code - &&bad)
#define NEXT goto next

// run executes a walk program over a node, or over none. False when it ended early.
static HOT int run(struct walk *w, u32 pc, struct strobe_node *node) {
	static const int go[64] = {
		GO(STROBE_OP_END), GO(STROBE_WALK_LOAD), GO(STROBE_WALK_LOADMEM), GO(STROBE_WALK_CONST), GO(STROBE_WALK_ALU),
		GO(STROBE_WALK_ALUIMM), GO(STROBE_WALK_JUMP), GO(STROBE_WALK_JUMPZERO), GO(STROBE_WALK_JUMPNOT), GO(STROBE_WALK_NODE),
		GO(STROBE_WALK_TEXT), GO(STROBE_WALK_OPEN), GO(STROBE_WALK_PUSH), GO(STROBE_WALK_CLOSE), GO(STROBE_WALK_SUB),
		GO(STROBE_WALK_ADDR), GO(STROBE_WALK_OUT), GO(STROBE_WALK_FS), GO(STROBE_WALK_REG), GO(STROBE_WALK_CFA),
		GO(STROBE_WALK_INFO), GO(STROBE_WALK_FOLLOW), GO(STROBE_WALK_BETWEEN), GO(STROBE_WALK_SPAN), GO(STROBE_WALK_WIPE),
	};
	u64 v[16];
	struct { u32 pc; u32 base; } stack[16];
	u32 sp = 0, base = 0, steps = w->steps;
	const u8 *bytes = node ? (const u8 *)(node + 1) : 0;
	u32 n = node ? node->n : 0, depth = node ? node->depth : 0;
	if (node && node->status == STROBE_ST_CUT) bytes += 8;
	const struct strobe_op *o = OPS + pc;
	u64 *a, b;
	int ok = 0;
	if (!pc) return 1;
	// The usual program only follows pointers: it has no use for registers.
	for (; o->code == STROBE_WALK_FOLLOW && steps < STROBE_MAX_STEPS; o++, steps++)
		if (!follow(w, o, bytes, (u32)o->off, n, depth)) goto end;
	if (o->code == STROBE_OP_END) { ok = 1; goto end; }
#pragma GCC unroll 16
	for (u32 i = 0; i < 16; i++) v[i] = 0;
	o--;
next:
	o++;
dispatch:
	if (UNLIKELY(++steps > STROBE_MAX_STEPS || (u64)(o - OPS) >= STROBE_MAX_OPS)) {
			w->cut = STROBE_REC_TRUNCATED;
			goto end;
		}
	a = &v[o->src & 15];
	b = v[o->slot & 15];
	if (UNLIKELY(o->code >= 64)) goto bad;
	goto *(&&bad + go[o->code]);
do_STROBE_OP_END:
	if (!sp) { ok = 1; goto end; }
	sp--;
	o = OPS + stack[sp].pc;
	base = stack[sp].base;
	goto dispatch;
do_STROBE_WALK_LOAD: {
		u32 at = base + (u32)o->off;
		if (UNLIKELY((u64)at + o->size > n || o->size > 8)) goto end;
		u64 x = 0;
		u8 *to = (u8 *)&x;
		if (LIKELY(o->size == 8)) x = *(const u64 *)(bytes + at);
		else if (o->size == 4) x = *(const u32 *)(bytes + at);
		else for (u32 i = 0; i < o->size; i++) to[i] = bytes[at + i];
		*a = extend(x, o->size, o->srcoff);
		NEXT;
	}
do_STROBE_WALK_FOLLOW:
	if (UNLIKELY(!follow(w, o, bytes, base + (u32)o->off, n, depth))) goto end;
	NEXT;
do_STROBE_WALK_LOADMEM: {
		u64 x;
		if (UNLIKELY(!load(w, b + (u64)(long)o->off, o->size, &x))) { w->bad = b + (u64)(long)o->off; goto end; }
		*a = extend(x, o->size, o->srcoff);
		NEXT;
	}
do_STROBE_WALK_CONST:
	*a = o->srcoff | (u64)o->size << 32;
	NEXT;
do_STROBE_WALK_ALU:
	if (UNLIKELY(!alu(o->srcoff, b, v[o->dst & 15], a))) goto end;
	NEXT;
do_STROBE_WALK_ALUIMM:
	if (UNLIKELY(!alu(o->srcoff, b, (u64)(long)o->off, a))) goto end;
	NEXT;
do_STROBE_WALK_JUMPZERO:
	if (*a) NEXT;
	o += o->off;
	NEXT;
do_STROBE_WALK_JUMPNOT:
	if (!*a) NEXT;
	o += o->off;
	NEXT;
do_STROBE_WALK_JUMP:
	o += o->off;
	NEXT;
do_STROBE_WALK_NODE:
do_STROBE_WALK_TEXT: {
		u64 size = o->slot == STROBE_NO_REG || b > o->size ? o->size : b;
		if (o->code == STROBE_WALK_NODE) copy_node(w, *a, size, o->srcoff, depth + (o->off != 0));
		else text_node(w, *a, size, o->srcoff, depth + (o->off != 0));
		NEXT;
	}
do_STROBE_WALK_OPEN:
	if (UNLIKELY(!open_node(w, (node ? node->addr : 0) + base, o->srcoff, depth))) goto end;
	NEXT;
do_STROBE_WALK_PUSH:
	push(w, *a);
	NEXT;
do_STROBE_WALK_CLOSE:
	close_node(w);
	NEXT;
do_STROBE_WALK_BETWEEN: {
		u32 first = base + (u32)o->off, last = base + o->srcoff;
		if (UNLIKELY((u64)first + 8 > n || (u64)last + 8 > n || !o->size)) goto end;
		u64 from = *(const u64 *)(bytes + first), bytes_between = *(const u64 *)(bytes + last) - from;
		*a = from;
		v[o->slot & 15] = o->size & (o->size - 1) ? bytes_between / o->size : bytes_between >> __builtin_ctz(o->size);
		NEXT;
	}
do_STROBE_WALK_SPAN: {
		if (UNLIKELY(!open_node(w, (node ? node->addr : 0) + base, o->srcoff & 0xffff, depth))) goto end;
		push(w, b);
		push(w, *a);
		close_node(w);
		u64 size = b * (u32)o->off;
		copy_node(w, *a, size > o->size ? o->size : size, o->srcoff >> 16, depth + o->dst);
		NEXT;
	}
do_STROBE_WALK_WIPE: {
		u8 *at = (u8 *)bytes;
		for (u64 i = base + (u32)o->off, to = i + o->size; i < to && i < n; i++) at[i] = 0;
		NEXT;
	}
do_STROBE_WALK_SUB: {
		u32 to = walk_op(o->srcoff);
		if (UNLIKELY(sp == 16)) goto end;
		if (!to) NEXT; // nothing to do for it
		stack[sp].pc = (u32)(o - OPS) + 1;
		stack[sp++].base = base;
		base += (u32)o->off + (o->slot == STROBE_NO_REG ? 0 : (u32)b);
		o = OPS + to;
		goto dispatch;
	}
do_STROBE_WALK_ADDR:
	*a = (node ? node->addr : 0) + base + (u64)(long)o->off;
	NEXT;
do_STROBE_WALK_OUT:
	if (UNLIKELY(!w->out || w->p + 8 > w->out + 8 + w->most || w->p + 8 > w->end)) goto end;
	*(u64 *)w->p = *a;
	w->p += 8;
	NEXT;
do_STROBE_WALK_FS: {
		u64 fs;
		if (LIKELY(CONTROL->flags & STROBE_FLAG_FSGS)) asm volatile("rdfsbase %0" : "=r"(fs));
		else fs = slow_fs();
		*a = fs + (u64)(long)o->off;
		NEXT;
	}
do_STROBE_WALK_REG:
	*a = get(w, o->size);
	NEXT;
do_STROBE_WALK_CFA:
	*a = w->cfa + (u64)(long)o->off;
	NEXT;
do_STROBE_WALK_INFO:
	*a = o->srcoff == 2 ? n : o->srcoff ? (u64)sys(SYS_getpid, 0, 0, 0, 0) : w->t->tid;
	NEXT;
bad:
end:
	w->steps = steps;
	return ok;
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

// lately brings what was spent up to date.
static inline u32 lately(struct strobe_spent *s, u32 span) {
	u32 gone = span - s->span;
	if (UNLIKELY(gone)) { s->bytes = gone > 31 ? 0 : s->bytes >> gone; s->span = span; }
	return s->bytes;
}

// allowed returns how many bytes of what its values lead to a call may record now, 0: as many as fit. A function's
// first calls, and those of one that is not called often, have all; what is called so often that it would fill rings
// and disk has less.
static inline u32 allowed(const struct strobe_header *t, const struct strobe_hook *h, u32 spent) {
	u32 most = (u32)h->allow * STROBE_ALLOW_BYTES;
	u32 storm = t->spent[STROBE_SPENTS].bytes > STROBE_STORM_BYTES ? 4 : 1;
	if (LIKELY(!most || spent <= most / storm)) return 0;
	u32 least = (u32)h->least * STROBE_LEAST_BYTES / storm;
	return spent / 4 <= most / storm ? 2 * least : least;
}

// begin_nodes is where a record's nodes begin, and ends it where its function may have no more.
static inline void begin_nodes(struct walk *w, const struct strobe_record *rec, const struct strobe_hook *h) {
	struct strobe_header *t = w->t;
	u32 span = (u32)(rec->tsc >> STROBE_SPAN_SHIFT), spent = lately(&t->spent[rec->hook % STROBE_SPENTS], span);
	lately(&t->spent[STROBE_SPENTS], span);
	u32 allow = allowed(t, h, spent);
	w->began = w->p;
	if (UNLIKELY(allow) && w->p + allow < w->end) w->end = w->p + allow;
}

static inline void end_nodes(const struct walk *w, const struct strobe_record *rec) {
	struct strobe_spent *s = &w->t->spent[rec->hook % STROBE_SPENTS], *all = &w->t->spent[STROBE_SPENTS];
	if (UNLIKELY(all->bytes >= 1u << 31)) return;
	s->bytes += (u32)(w->p - w->began);
	all->bytes += (u32)(w->p - w->began);
}

// fixed does the operations that are not nodes' roots.
static HOT struct strobe_node *fixed(struct walk *w, const struct strobe_op *o, const u8 *vec,
	const struct strobe_record *rec,
	struct strobe_node *gather) {
	switch (o->code) {
	case STROBE_OP_REG: *(u64 *)w->p = get(w, o->src); w->p += 8; break;
	case STROBE_OP_SAVED: *(u64 *)w->p = saved(w, rec->sp, rec->hook, o->src); w->p += 8; break;
	case STROBE_OP_SAVE: save(w, rec->sp, rec->hook); break;
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
	case STROBE_OP_WIPE: {
		u8 *at = w->payload + (o->srcoff & (STROBE_MAX_PAYLOAD - 1));
		for (u32 i = 0; i < (u32)o->off && at + i < w->p; i++) at[i] = 0;
		break;
	}
	case STROBE_OP_GATHER:
		if (o->src == 0) return new_node(w, (u64)(u32)o->off << 32 | 1ull << 63, o->slot | (u32)o->dst << 8, 0);
		if (!gather) break;
		if (o->src == 1) {
			const u8 *from = w->payload + (o->srcoff & (STROBE_MAX_PAYLOAD - 1));
			for (u32 i = 0; i < o->size; i++) w->p[i] = from[i];
			w->p += o->size;
			gather->n += o->size;
			break;
		}
		w->p = (u8 *)after(gather);
		return 0;
	}
	return gather;
}

// run_ops executes a capture plan's operations, and the walks that they begin. The compiler of plans bounds what the
// operations append; walks look at the end themselves.
static inline void run_ops(struct walk *w, const struct strobe_op *o, const u8 *vec, const struct strobe_record *rec) {
	const struct strobe_hook *h = &HOOKS[rec->hook];
	struct strobe_node *gather = 0;
	for (u32 budget = 512; o->code != STROBE_OP_END && budget; o++, budget--) {
		if (!w->began && (o->code == STROBE_OP_ROOT || o->code == STROBE_OP_GATHER)) begin_nodes(w, rec, h);
		if (LIKELY(o->code == STROBE_OP_ROOT)) {
			u64 ptr = *(const u64 *)(w->payload + (o->srcoff & (STROBE_MAX_PAYLOAD - 8)));
			u32 walk = o->slot | (u32)o->dst << 8;
			if (!ptr) continue;
			ptr += (u64)(long)o->off;
			if (o->src == 1) text_node(w, ptr, o->size, walk, 1);
			else copy_node(w, ptr, o->size, walk, o->src == 2 ? 0 : 1);
			continue;
		}
		if (UNLIKELY(w->p + o->size + 8 > w->end)) { w->cut = STROBE_REC_TRUNCATED; break; }
		gather = fixed(w, o, vec, rec, gather);
	}
	for (struct strobe_node *n = w->first; n && (u8 *)n < w->p; n = after(n)) {
		u32 to;
		if (n->status == STROBE_ST_UNREADABLE || !n->walk || ends(w, n) || !(to = walk_op(n->walk))) continue;
		if (UNLIKELY(no_room(w))) w->cut = STROBE_REC_TRUNCATED;
		else if (LIKELY(run(w, to, n))) { close_node(w); continue; }
		else close_node(w);
		if (UNLIKELY(wipes(n))) empty(n);
	}
}

HOT u64 with_ops(struct strobe_header *t, const u64 *r, const u8 *vec, struct strobe_record *rec, u64 *p, u32 ops,
	u32 max) {
	const struct strobe_hook *h = &HOOKS[rec->hook];
	struct walk w;
	w.t = t; w.r = r; w.payload = (u8 *)(rec + 1); w.p = (u8 *)p; w.end = w.payload + max;
	w.first = 0; w.open = 0; w.out = 0; w.cfa = rec->sp + 16; w.nodes = 0; w.steps = 0; w.depth = h->depth; w.most = 0;
	w.cut = 0; w.safe = !stale(rec->tsc); w.hashed = 0; w.bad = 0; w.began = 0;
	w.all = (h->flags & (STROBE_HOOK_POINT | STROBE_HOOK_GO)) != 0;
	run_ops(&w, OPS + ops, vec, rec);
	if (w.began) end_nodes(&w, rec);
	return (u64)w.p | w.cut;
}

// condition runs the program of a point. 1: it holds, 0: not, -1: it could not be evaluated, and *bad says where it
// could not read.
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
