// What is recorded of functions of Go's: a part of agent.c. go.S calls it.
#pragma once

// go_open is where it is noted that a call is recorded, of a function of which few are: then its end is, too. Another
// call may take the place; then that end is missing, as that of a call which a panic left.
static inline u64 *go_open(u64 place, u32 id, u64 *key) {
	*key = (place ^ (u64)id << 40) | 1ull << 63;
	return (u64 *)(blob_start + STROBE_GO_OPEN_OFF) + (*key * 0x9E3779B97F4A7C15ull) / (~0ull / STROBE_GO_OPEN + 1);
}

// record_go records one end of a call of a function of Go's: r are its registers by DWARF number. The stack may move
// between the two ends, and goroutines go from thread to thread: calls are told apart by the goroutine and by how deep
// its stack is.
static inline void record_go(const u64 *r, u32 id, struct strobe_header *t, const u8 *vec, u32 n, u32 ops, u32 max,
	u32 kind, u32 flags) {
	static const u8 order[STROBE_GO_REGS] = {0, 3, 2, 5, 4, 8, 9, 10, 11};
	u64 head;
	struct strobe_record *rec = reserve(t, &head, STROBE_RECORD_BYTES + SLACK + (u64)max, STROBE_SPARE_BYTES);
	if (UNLIKELY(!rec)) { dropped(t, id, kind); return; }
	u64 at = now(), *p = (u64 *)(rec + 1);
	for (u32 i = 0; i < n; i++) *p++ = r[order[i]];
	rec->tsc = at;
	rec->hook = id;
	rec->kind = (u8)kind;
	u64 end = (u64)p;
	if (ops) {
		rec->sp = r[7] - 8;
		end = with_ops(t, r, vec, rec, p, ops, max);
		flags |= (u32)end & STROBE_REC_TRUNCATED;
		end &= ~7ull;
	}
	rec->sp = go_place(r);
	rec->size8 = (u16)((end - (u64)rec) / 8);
	rec->flags = (u8)flags;
	publish(t, head + (end - (u64)rec));
}

void record_go_enter(const u64 *r, u32 id, struct strobe_header *t, const u8 *vec) {
	const struct strobe_hook *h = &HOOKS[id];
	u32 flags = 0;
	if (UNLIKELY(h->sample)) {
		if (h->flags & STROBE_HOOK_OUTPUT) { behind(r, id); return; }
		if (!sampled(h)) return;
		flags = STROBE_REC_SAMPLED;
		u64 key, *open = go_open(go_place(r), id, &key);
		__atomic_store_n(open, key, __ATOMIC_RELAXED);
	}
	record_go(r, id, t, vec, h->entergprs % (STROBE_GO_REGS + 1), h->enterops, h->maxenter, STROBE_REC_ENTER, flags);
}

void record_go_exit(const u64 *r, u32 id, struct strobe_header *t, const u8 *vec) {
	const struct strobe_hook *h = &HOOKS[id];
	if (UNLIKELY(h->sample)) {
		u64 key, *open = go_open(go_place(r), id, &key);
		if (__atomic_load_n(open, __ATOMIC_RELAXED) != key) return;
		__atomic_store_n(open, 0, __ATOMIC_RELAXED);
	}
	record_go(r, id, t, vec, h->exitgprs % (STROBE_GO_REGS + 1), h->exitops, h->maxexit, STROBE_REC_EXIT, 0);
}
