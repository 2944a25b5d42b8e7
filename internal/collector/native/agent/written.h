// Hooks of write and writev, in programs that were attached to: what goes to descriptors 1 and 2 is recorded when the
// kernel has taken it, as much as it took. Calls for other descriptors leave at once, without a frame.
static COLD u32 output_enter(const u64 *r, u64 id, u64 frame) {
	const u32 tls = HOOKS[id].hot;
	if (!tls && r[0] != 1 && r[0] != 2) return 1;
	struct strobe_header *t = self();
	if (!t) { no_ring(); return 1; }
	while (t->savedcount && t->saved[(t->savedcount - 1) % STROBE_MAX_SAVED].frame <= frame) t->savedcount--;
	if (t->savedcount >= STROBE_MAX_SAVED) return 1; // deeper in signal handlers than anybody goes
	struct strobe_saved *s = &t->saved[t->savedcount++];
	s->frame = frame;
	s->hook = id;
	for (u32 i = 0; i < 4; i++) s->regs[i] = r[i];
	if (tls) s->regs[4] = now();
	return 0;
}

// put_output records n bytes at src; more of the same write are not recorded.
static COLD void put_output(struct strobe_header *t, u32 id, u64 frame, u64 fd, u64 src, u64 n, u64 more) {
	u64 head;
	struct strobe_record *rec = reserve(t, &head,
		STROBE_RECORD_BYTES + sizeof(struct strobe_output) + ((n + 7) & ~7ull), 0);
	if (!rec) { dropped(t, id, STROBE_REC_OUTPUT); return; }
	struct strobe_output *o = (struct strobe_output *)(rec + 1);
	u64 left = safe_copy(o + 1, (const void *)src, n);
	o->fd = (u32)fd;
	o->n = (u32)(n - left);
	o->more = more + left;
	rec->tsc = now();
	rec->hook = id;
	rec->size8 = (u16)((STROBE_RECORD_BYTES + sizeof *o + ((n + 7) & ~7ull)) / 8);
	rec->kind = STROBE_REC_OUTPUT;
	rec->flags = 0;
	rec->sp = frame;
	publish(t, head + rec->size8 * 8u);
}

static COLD void output_exit(const u64 *r, u64 id, u64 frame, u32 vector) {
	struct strobe_header *t = self();
	if (!t) return;
	while (t->savedcount && t->saved[(t->savedcount - 1) % STROBE_MAX_SAVED].frame < frame) t->savedcount--;
	if (!t->savedcount) return;
	const struct strobe_saved *s = &t->saved[--t->savedcount % STROBE_MAX_SAVED];
	u64 done = r[6];
	if (s->frame != frame || s->hook != id || (long)done <= 0) return;
	if (HOOKS[id].hot) { tls_call(t, s->regs, (u32)id, frame, done); return; }
	u64 fd = s->regs[0], at = s->regs[1], src = at, piece = done, chunks = 0;
	for (u64 k = 0; done;) {
		if (vector) { // the next struct iovec
			loadres base = safe_load((const void *)(at + k * 16)), len = safe_load((const void *)(at + k * 16 + 8));
			if (base.fault || len.fault || k++ >= s->regs[2]) break;
			src = base.word;
			piece = len.word < done ? len.word : done;
		}
		while (piece) {
			u64 n = piece < STROBE_OUTPUT_CHUNK ? piece : STROBE_OUTPUT_CHUNK;
			u32 last = ++chunks == STROBE_OUTPUT_CHUNKS;
			piece -= n;
			done -= n;
			put_output(t, (u32)id, frame, fd, src, n, last ? done : 0);
			if (last) return;
			src += n;
		}
	}
}
