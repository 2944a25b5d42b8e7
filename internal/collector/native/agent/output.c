// Output of programs that were launched: the daemon reads what they write from a pipe or terminal, and here is recorded
// who wrote how much of it and when. A probe stands behind the system calls that write; the arguments are in their
// registers still.
#include "agent.h"

// stream_of tells which of our files a descriptor is: 1 or 2, 0 none.
static u32 stream_of(struct strobe_header *t, u64 fd, u64 at) {
	struct strobe_control *c = CONTROL;
	if (UNLIKELY(c->flags & STROBE_FLAG_QUIET)) return fd == 1 || fd == 2 ? (u32)fd : 0;
	struct strobe_otherfile *o = &t->others[fd % STROBE_OTHER_FILES];
	u32 known = o->fd == fd + 1;
	if (fd > 2 && known && o->count > 64 && at < o->until) return 0;
	u64 st[18]; // struct stat: its first words are device and inode
	if (sys(SYS_fstat, (long)fd, (long)st, 0, 0) < 0) return 0;
	for (u32 i = 0; i < 2; i++)
		if (c->out[i].ino == st[1] && c->out[i].dev == st[0] && st[1]) {
			if (known) o->count = 0;
			return i + 1;
		}
	o->count = known ? o->count + 1 : 0;
	o->fd = (u32)fd + 1;
	o->until = at + c->staleticks / 1024; // a file that becomes one of ours meanwhile is noticed 2 ms later
	return 0;
}

u64 piece(u8 *to, u32 kind, u64 src, u64 count, u64 from, u64 n) {
	u64 got = 0;
	if (kind != STROBE_WRITE_VECTOR) return n - safe_copy(to, (const void *)(src + from), n);
	for (u64 k = 0; k < count && k < 1024 && got < n; k++) {
		loadres base = safe_load((const void *)(src + k * 16)), len = safe_load((const void *)(src + k * 16 + 8));
		if (base.fault || len.fault) break;
		if (from >= len.word) { from -= len.word; continue; }
		u64 m = len.word - from < n - got ? len.word - from : n - got;
		u64 left = safe_copy(to + got, (const void *)(base.word + from), m);
		got += m - left;
		from = 0;
		if (left) break;
	}
	return got;
}

// set_lines makes the C library's stdout line-buffered, or fully. Its lock is held by this thread, which is writing for
// it, or the word is another's to change at the same time: glibc's flags are changed as a whole.
static void set_lines(struct strobe_control *c, u32 lines) {
	if (c->linekind == 1) {
		if (lines) __atomic_fetch_or((u32 *)c->stdout, 0x200 /* _IO_LINE_BUF */, __ATOMIC_RELAXED);
		else __atomic_fetch_and((u32 *)c->stdout, ~0x200u, __ATOMIC_RELAXED);
	} else {
		*(volatile int *)(c->stdout + 144 /* lbf */) = lines ? '\n' : -1;
	}
	c->linefull = !lines;
}

// pace lets stdout flush each line as long as it does not flush too many: then its buffer is filled before it is
// written, as it would be without us, until it has written less for a while.
static void pace(struct strobe_control *c, u64 at) {
	u64 most = c->linemost, left = c->lineleft, more = (at - c->linetsc) / c->lineticks;
	if (at < c->linetsc) return;
	if (more) {
		left = left + more < most ? left + more : most;
		c->linetsc = at;
	}
	if (c->linefull) {
		if (left >= most / 4) set_lines(c, 1);
	} else if (left) {
		left--;
	} else {
		set_lines(c, 0);
	}
	c->lineleft = left;
}

void wrote(const u64 *r, u32 id) {
	const struct strobe_hook *h = &HOOKS[id & (STROBE_MAX_HOOKS - 1)];
	struct strobe_control *c = CONTROL;
	u32 kind = h->entergprs;
	if (h->exitgprs) { // which call it was is in a register
		u64 nr = r[(h->exitgprs - 1) & 15];
		if (nr == 1 || nr == 18) kind = 0;
		else if (nr == 20 || nr == 296 || nr == 328 || nr == 278) kind = STROBE_WRITE_VECTOR;
		else return;
	}
	if (kind == STROBE_WRITE_NONE) return;
	u64 n = r[0], fd = kind == STROBE_WRITE_SPLICE ? r[1] : kind == STROBE_WRITE_TEE ? r[4] : r[5];
	if ((long)n <= 0 || fd > 1 << 20) return;
	struct strobe_header *t = self_slow();
	if (!t) return;
	u64 at = now();
	u32 stream = stream_of(t, fd, at);
	if (!stream) return;
	if (c->linekind && fd == 1) pace(c, at);
	u64 head;
	struct strobe_record *rec = reserve_output(t, &head, STROBE_RECORD_BYTES + sizeof(struct strobe_wrote));
	if (!rec) return;
	struct strobe_wrote *w = (struct strobe_wrote *)(rec + 1);
	u64 print = n < STROBE_WROTE_PRINT ? n : STROBE_WROTE_PRINT;
	w->stream = stream;
	w->n = n;
	w->known = 0;
	if (kind <= STROBE_WRITE_VECTOR && piece(w->head, kind, r[4], r[1], 0, print) == print &&
		piece(w->tail, kind, r[4], r[1], n - print, print) == print)
		w->known = (u32)print;
	rec->tsc = at;
	rec->hook = id;
	rec->size8 = (STROBE_RECORD_BYTES + sizeof *w) / 8;
	rec->kind = STROBE_REC_WROTE;
	rec->flags = 0;
	rec->sp = h->flags & STROBE_HOOK_GO ? go_place(r) : r[7];
	publish_output(t, head + rec->size8 * 8u);
}

void behind(const u64 *r, u32 id) {
	const struct strobe_hook *h = &HOOKS[id & (STROBE_MAX_HOOKS - 1)];
	if (h->flags & STROBE_HOOK_BEFORE) {
		struct strobe_header *t = CONTROL->flags & STROBE_FLAG_SOCKET ? self_slow() : 0;
		if (t) {
			t->callsp = r[7];
			t->calltsc = now();
		}
		return;
	}
	if (CONTROL->flags & STROBE_FLAG_SOCKET) socket_call(r, id, h->exitgprs ? r[(h->exitgprs - 1) & 15] : h->enterops);
	wrote(r, id);
}
