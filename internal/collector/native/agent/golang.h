// What is recorded of functions of Go's: a part of agent.c. go.S calls it.
#pragma once

// record_go records one end of a call of a function of Go's: r are its registers by DWARF number. The stack may move
// between the two ends, and goroutines go from thread to thread: calls are told apart by the goroutine and by how deep
// its stack is.
static inline void record_go(const u64 *r, u32 id, struct strobe_header *t, const u8 *vec, u32 n, u32 ops, u32 max,
	u32 kind, u32 flags) {
	static const u8 order[STROBE_GO_REGS] = {0, 3, 2, 5, 4, 8, 9, 10, 11};
	u64 g = r[14], sp = r[7], depth = *(const u64 *)(g + 8) - sp, head;
	struct strobe_record *rec = reserve(t, &head, STROBE_RECORD_BYTES + SLACK + (u64)max, STROBE_SPARE_BYTES);
	if (UNLIKELY(!rec)) { dropped(t, id, kind); return; }
	u64 at = now(), *p = (u64 *)(rec + 1);
	for (u32 i = 0; i < n; i++) *p++ = r[order[i]];
	rec->tsc = at;
	rec->hook = id;
	rec->kind = (u8)kind;
	u64 end = (u64)p;
	if (ops) {
		rec->sp = sp - 8;
		end = with_ops(t, r, vec, rec, p, ops, max);
		flags |= (u32)end & STROBE_REC_TRUNCATED;
		end &= ~7ull;
	}
	rec->sp = (*(const u64 *)(g + CONTROL->goid) << STROBE_GO_DEPTH_BITS) |
		(((1u << STROBE_GO_DEPTH_BITS) - 1 - (depth >> 3)) & ((1u << STROBE_GO_DEPTH_BITS) - 1));
	rec->size8 = (u16)((end - (u64)rec) / 8);
	rec->flags = (u8)flags;
	publish(t, head + (end - (u64)rec));
}

void record_go_enter(const u64 *r, u32 id, struct strobe_header *t, const u8 *vec) {
	const struct strobe_hook *h = &HOOKS[id];
	u32 flags = 0;
	if (UNLIKELY(h->sample)) {
		if (!sampled(h)) return;
		flags = STROBE_REC_SAMPLED;
	}
	record_go(r, id, t, vec, h->entergprs % (STROBE_GO_REGS + 1), h->enterops, h->maxenter, STROBE_REC_ENTER, flags);
}

void record_go_exit(const u64 *r, u32 id, struct strobe_header *t, const u8 *vec) {
	const struct strobe_hook *h = &HOOKS[id];
	record_go(r, id, t, vec, h->exitgprs % (STROBE_GO_REGS + 1), h->exitops, h->maxexit, STROBE_REC_EXIT, 0);
}
