// Nodes: what the values of a record lead to, behind one another in its payload. walk.c includes this.
//
// Nothing here trusts an address: a bad one ends the copy. All of it is on the way of every call whose values
// are followed: what is usual is inline, what is rare stands apart (COLD).
#pragma once
#include "agent.h"

// Few nodes are found again by looking at their keys, more by hash.
#define FEW 12

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
	u32 nodes, steps, depth, most;
	u8 cut, safe, hashed;
	u8 all;                           // r has all registers by DWARF number, and vec sixteen
	u64 addrs[FEW];                   // of the first nodes; not cleared
	u32 walks[FEW];
};

enum { UNSAFE, SAFE, UNKNOWN }; // of walk.safe: is there anybody who mends our faults?

static inline struct strobe_node *after(const struct strobe_node *n) {
	return (struct strobe_node *)((u8 *)(n + 1) + ((n->n + 7u) & ~7u) + (n->status == STROBE_ST_CUT ? 8 : 0));
}

static inline u32 hash_node(u64 addr, u32 walk) {
	return (u32)(((addr ^ (u64)walk << 48) * 0x9E3779B97F4A7C15ull) >> 53); // 11 bits
}

static COLD void remember(struct walk *w, struct strobe_node *n) {
	u32 h = hash_node(n->addr, n->walk);
	while (w->t->seen[h]) h = (h + 1) % STROBE_SEEN_SLOTS;
	w->t->seen[h] = (u16)(((u8 *)n - w->payload) / 8 + 1);
}

static COLD int seen_of_many(struct walk *w, u64 addr, u32 walk) {
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

// seen reports whether a node is there already.
static inline int seen(struct walk *w, u64 addr, u32 walk) {
	if (UNLIKELY(w->nodes >= FEW)) return seen_of_many(w, addr, walk);
	for (u32 i = 0; i < w->nodes; i++)
		if (w->addrs[i] == addr && w->walks[i] == walk) return 1;
	return 0;
}

static inline void close_node(struct walk *w) {
	if (!w->open) return;
	w->open->n = (u32)(w->p - (u8 *)(w->open + 1));
	w->p = (u8 *)after(w->open);
	w->open = 0;
}

// new_node writes a node's head. 0: it is there already, too deep, or does not fit.
static inline struct strobe_node *new_node(struct walk *w, u64 addr, u32 walk, u32 depth) {
	close_node(w);
	if (depth > w->depth || seen(w, addr, walk)) return 0;
	struct strobe_node *n = (struct strobe_node *)w->p;
	if (UNLIKELY(w->nodes >= STROBE_MAX_NODES || (u8 *)n + STROBE_NODE_BYTES + 8 > w->end)) {
		w->cut = STROBE_REC_TRUNCATED;
		return 0;
	}
	if (LIKELY(w->nodes < FEW)) {
		w->addrs[w->nodes] = addr;
		w->walks[w->nodes] = walk;
	}
	if (!w->nodes++) w->first = n;
	n->addr = addr;
	*(u64 *)&n->n = (u64)walk << 32 | (u64)depth << 48; // n, walk, depth and status
	if (UNLIKELY(w->hashed)) remember(w, n);
	w->p = (u8 *)(n + 1);
	return n;
}
_Static_assert(offsetof(struct strobe_node, n) == 8 && offsetof(struct strobe_node, walk) == 12 &&
	offsetof(struct strobe_node, depth) == 14 && offsetof(struct strobe_node, status) == 15 &&
	STROBE_ST_OK == 0, "new_node");

// A bad address costs a fault that the daemon has to mend. Behind one more are to be expected: for a good while
// the kernel is asked first, once for each page that is good. rt_sigprocmask reads the 8 bytes at its second
// argument before it refuses the first.
#define WARY (1u << 20)

static COLD int mapped(u64 addr) { return sys(SYS_rt_sigprocmask, 99, (long)addr, 0, 8) != -14 /* EFAULT */; }

// faulted takes note of an address that was bad: of the pages that were good one may not be there any more.
static COLD void faulted(struct walk *w) {
	w->t->wary = WARY;
	for (u32 i = 0; i < STROBE_PAGE_SLOTS; i++) w->t->pages[i] = 0;
}

static COLD int mapped_all(struct walk *w, u64 addr, u64 size) {
	w->t->wary--;
	for (u64 at = addr & ~7ull; size && at < addr + size; at = (at | 4095) + 1) {
		u64 page = (at >> 12) + 1, *slot = &w->t->pages[page % STROBE_PAGE_SLOTS];
		if (LIKELY(*slot == page)) continue;
		if (!mapped(at)) { w->t->wary = WARY; return 0; } // it may be good the next time
		*slot = page;
	}
	return 1;
}

// readable reports that bytes look as if they could be copied; the copy tells.
static inline int readable(struct walk *w, u64 addr, u64 size) {
	if (UNLIKELY(w->safe == UNKNOWN)) w->safe = !stale(now());
	if (UNLIKELY(!w->safe || addr < 4096 || addr >> 47 || (addr + size) >> 47)) return 0;
	return LIKELY(!w->t->wary) || mapped_all(w, addr, size);
}

static inline int copied(struct walk *w, void *to, u64 addr, u64 size) {
	if (UNLIKELY(!readable(w, addr, size))) return 0;
	if (LIKELY(!safe_copy(to, (const void *)addr, size))) return 1;
	faulted(w);
	return 0;
}

// Less than this is copied whole or not at all.
#define WHOLE 512

static HOT void copy_node(struct walk *w, u64 addr, u64 size, u32 walk, u32 depth) {
	if (!addr || depth > w->depth) return;
	u64 room = (u64)(w->end - w->p) & ~7ull;
	if (UNLIKELY(size + STROBE_NODE_BYTES + 8 > room) && size <= WHOLE) { w->cut = STROBE_REC_TRUNCATED; return; }
	struct strobe_node *n = new_node(w, addr, walk, depth);
	if (!n) return;
	room = (u64)(w->end - w->p) & ~7ull;
	if (UNLIKELY(size > room)) { size = room; w->cut = STROBE_REC_TRUNCATED; }
	if (UNLIKELY(!copied(w, w->p, addr, size))) { n->status = STROBE_ST_UNREADABLE; return; }
	n->n = (u32)size;
	w->p += (size + 7) & ~7ull;
}

// long_text puts the whole length before the most bytes of a text that goes on behind them.
static COLD void long_text(struct walk *w, struct strobe_node *n, u64 addr, u64 most) {
	const u64 far = 4096;
	strres more = safe_len((const u8 *)addr + most, far);
	u64 *text = (u64 *)w->p;
	for (u32 i = (u32)(most + 7) / 8; i > 0; i--) text[i] = text[i - 1];
	text[0] = (most + far - more.left) | (more.end ? 1ull << 63 : 0);
	n->status = STROBE_ST_CUT;
}

static HOT void text_node(struct walk *w, u64 addr, u64 most, u32 walk, u32 depth) {
	if (!addr || depth > w->depth) return;
	u64 room = (u64)(w->end - w->p) & ~7ull;
	if (UNLIKELY(room < 128)) { w->cut = STROBE_REC_TRUNCATED; return; }
	struct strobe_node *n = new_node(w, addr, walk, depth);
	if (!n) return;
	room = ((u64)(w->end - w->p) & ~7ull) - 8;
	if (most > room) { most = room; w->cut = STROBE_REC_TRUNCATED; }
	strres s = {0, 2};
	if (LIKELY(readable(w, addr, 1))) {
		s = safe_str(w->p, (const void *)addr, most);
		if (UNLIKELY(s.end == 2)) faulted(w);
	}
	if (UNLIKELY(s.end == 2)) { n->status = STROBE_ST_UNREADABLE; return; }
	n->n = (u32)(most - s.left);
	if (UNLIKELY(s.end == 1)) long_text(w, n, addr, most);
	w->p = (u8 *)after(n);
}
