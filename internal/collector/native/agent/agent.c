// The agent: code that runs in the target, inside hooked functions.
//
// Rules: no libc, no malloc, no locks that a signal handler could meet, no vector registers, bounded
// loops, no system call on the usual path. The daemon never delivers a signal while a thread is
// between critical_lo and critical_hi (entry.S, agent.lds), so nothing here is re-entered, and
// a fault in safe_copy and safe_str goes on at fault_fix. All memory is the shared region, which
// starts with this code; internal/ring/layout.go draws it.
#include "agent.h"

static inline struct strobe_header *ring_at(u32 i) {
	return (struct strobe_header *)(blob_start + STROBE_RINGS_OFF + (u64)i * (STROBE_HEADER_BYTES + CONTROL->ringbytes));
}

static inline u32 slot_of(u64 fs) { return (u32)((fs * 0x9E3779B97F4A7C15ull) >> 51); } // 13 bits

// known returns the ring of the thread with this FS base, 0 if it has none.
static inline struct strobe_header *known(u64 fs) {
	u32 s = slot_of(fs);
	for (u32 k = 0; k < STROBE_THREAD_SLOTS; k++, s = (s + 1) % STROBE_THREAD_SLOTS) {
		u64 have = SLOTS[s].fs;
		if (LIKELY(have == fs)) return ring_at(SLOTS[s].ring - 1);
		if (have == 0) break;
	}
	return 0;
}

// new_thread gives the calling thread a ring: its old one, if only its FS base changed, else a free one. A thread under
// strict seccomp may make no system call: nor may it read the clock, and who traces us gives it a ring when it tries.
static COLD struct strobe_header *new_thread(u64 fs) {
	now();
	struct strobe_header *given = known(fs);
	if (given) return given;
	struct strobe_control *c = CONTROL;
	u32 tid = (u32)sys(SYS_gettid, 0, 0, 0, 0), ring = 0;
	u32 hint = c->ringhint;
	// rings are given out in order: behind the hint's first free one there is none
	for (u32 i = 0; i < c->ringcount && !ring; i++) {
		if (STATES[i] == STROBE_RING_FREE && i >= hint) break;
		if (STATES[i] == STROBE_RING_USED && ring_at(i)->tid == tid) ring = i + 1;
	}
	for (u32 k = 0; k < c->ringcount && !ring; k++) {
		u32 i = (hint + k) % c->ringcount, free = STROBE_RING_FREE;
		if (STATES[i] == free && __atomic_compare_exchange_n(&STATES[i], &free, STROBE_RING_USED, 0, __ATOMIC_ACQ_REL,
				__ATOMIC_RELAXED)) {
			ring = i + 1;
			ring_at(i)->tid = tid;
			lock_thread(ring_at(i));
			ring_at(i)->cachedtail = ring_at(i)->tail - STROBE_SPARE_BYTES;
			c->ringhint = i + 1;
		}
	}
	if (!ring) return 0;
	u32 s = slot_of(fs);
	for (u32 k = 0; k < STROBE_THREAD_SLOTS; k++, s = (s + 1) % STROBE_THREAD_SLOTS) {
		u64 old = SLOTS[s].fs;
		if (old > 1 && old != fs) continue;
		if (old != fs && !__atomic_compare_exchange_n(&SLOTS[s].fs, &old, fs, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		SLOTS[s].tid = tid;
		SLOTS[s].ring = ring;
		return ring_at(ring - 1);
	}
	return ring_at(ring - 1); // the table is full: found again by tid, slowly
}

static COLD struct strobe_header *self_by_base(void) {
	u64 fs;
	if (UNLIKELY(CONTROL->flags & STROBE_FLAG_BY_TID)) fs = 1ull << 63 | (u64)sys(SYS_gettid, 0, 0, 0, 0);
	else if (LIKELY(CONTROL->flags & STROBE_FLAG_FSGS)) asm volatile("rdfsbase %0" : "=r"(fs));
	else fs = slow_fs();
	if (fs < 2) fs = 2; // before libc made the first thread's control block
	struct strobe_header *t = known(fs);
	return LIKELY(t != 0) ? t : new_thread(fs);
}

// self returns the thread's ring. The word at the FS base is only believed where a thread with that base has been given
// a ring, as in entry.S: what a program that uses it otherwise has there is no thread's base.
static inline struct strobe_header *self(void) {
	if (LIKELY((CONTROL->flags & (STROBE_FLAG_FS0 | STROBE_FLAG_BY_TID)) == STROBE_FLAG_FS0)) {
		u64 fs;
		asm volatile("mov %%fs:0, %0" : "=r"(fs));
		const struct strobe_threadslot *s = &SLOTS[slot_of(fs)];
		if (LIKELY(s->fs == fs && fs >= 2)) return ring_at(s->ring - 1);
	}
	return self_by_base();
}

// may_wait reports whether the thread may be kept for a while: not when the wait for this very room was given up, not
// where it could not make the system call, and not when others rely on its coming in time.
static COLD int may_wait(const struct strobe_header *t, u64 seen) {
	if (t->gaveup == seen + 1 || CONTROL->flags & STROBE_FLAG_QUIET) return 0;
	long policy = sys(SYS_sched_getscheduler, 0, 0, 0, 0) & ~0x40000000 /* SCHED_RESET_ON_FORK */;
	return policy != 1 /* SCHED_FIFO */ && policy != 2 /* SCHED_RR */ && policy != 6 /* SCHED_DEADLINE */;
}

// wait_space waits until the daemon consumed something. False when the daemon is gone, or it took too long.
static WAITS int wait_space(struct strobe_header *t, u64 seen) {
	struct { long s, ns; } tick = {0, 2000000};
	u64 from = now(), most = CONTROL->waitticks, at = from;
	if (most && !may_wait(t, seen)) return 0;
	int room = 1;
	while (__atomic_load_n(&t->tail, __ATOMIC_ACQUIRE) == seen) {
		at = now();
		if (stale(at) || (most && at - from > most)) {
			t->gaveup = seen + 1;
			room = 0;
			break;
		}
		__atomic_store_n(&t->waiting, 1, __ATOMIC_SEQ_CST);
		sys(SYS_futex, (long)&t->tail, 0 /* FUTEX_WAIT, shared */, (long)(u32)seen, (long)&tick);
	}
	__atomic_store_n(&t->waiting, 0, __ATOMIC_RELAXED);
	t->waits++;
	t->waited += now() - from;
	return room;
}

#define WAIT_FRAME 512 // more than wait_space and what it calls have on the stack

// wait_there is wait_space, while which signals are delivered: on the stack in the ring's header, a handler's calls of
// Go functions begin below us (go.S).
static COLD int wait_there(struct strobe_header *t, u64 seen) {
	u64 was = t->gostack, here = (u64)__builtin_frame_address(0);
	if (here - (u64)t < STROBE_HEADER_BYTES) *(volatile u64 *)&t->gostack = (here - WAIT_FRAME) & ~15ull;
	int room = wait_space(t, seen);
	*(volatile u64 *)&t->gostack = was;
	return room;
}

static inline struct strobe_record *place(struct strobe_header *t, u64 *head) {
	return (struct strobe_record *)((u8 *)t + STROBE_HEADER_BYTES + (*head & (CONTROL->ringbytes - 1)));
}

// room moves *head over a pad record if need bytes do not fit before the ring's end, and reports whether
// they fit into the ring. spare is what is left free behind them, for records of writes.
static inline int room(struct strobe_header *t, u64 *head, u64 need, u64 spare) {
	u64 size = CONTROL->ringbytes, left = size - (*head & (size - 1)), want = need;
	if (UNLIKELY(left < need)) want += left;
	if (UNLIKELY(*head + want - t->cachedtail > size)) {
		u64 tail = __atomic_load_n(&t->tail, __ATOMIC_ACQUIRE);
		t->cachedtail = tail - STROBE_SPARE_BYTES; // entry.S knows of no spare
		if (*head + want + spare - tail > size) return 0;
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

// report_lost puts a mark into the stream, where records are missing. How many they are is counted apart from it.
static COLD int report_lost(struct strobe_header *t, u64 *head, u64 spare) {
	if (!room(t, head, STROBE_RECORD_BYTES + 24, spare)) return 0;
	struct strobe_record *r = place(t, head);
	u64 *p = (u64 *)(r + 1);
	r->tsc = t->lostlast; r->hook = 0; r->size8 = (STROBE_RECORD_BYTES + 24) / 8; r->kind = STROBE_REC_DROPPED;
	r->flags = 0; r->sp = 0;
	p[0] = t->losttotal; p[1] = t->lostfirst; p[2] = t->lostlast;
	*head += STROBE_RECORD_BYTES + 24;
	t->lost = 0;
	return 1;
}

// reserve returns where to write a record of at most need bytes, or 0 when it is lost (and counted).
static COLD struct strobe_record *reserve_slow(struct strobe_header *t, u64 *head, u64 need, u64 spare) {
	for (;;) {
		u64 tail = __atomic_load_n(&t->tail, __ATOMIC_ACQUIRE);
		u64 lost = t->lost;
		*head = t->head;
		if ((!lost || report_lost(t, head, spare)) && room(t, head, need, spare)) return place(t, head);
		t->lost = lost; // the report is not published without the record behind it
		if (!(CONTROL->flags & STROBE_FLAG_BLOCK) || !wait_there(t, tail)) break;
	}
	u64 at = now();
	if (!t->lost) t->lostfirst = at;
	t->lostlast = at;
	t->lost++;
	__atomic_store_n(&t->losttotal, t->losttotal + 1, __ATOMIC_RELEASE);
	return 0;
}

static inline struct strobe_record *reserve(struct strobe_header *t, u64 *head, u64 need, u64 spare) {
	*head = t->head;
	if (LIKELY(!t->lost && room(t, head, need, spare))) return place(t, head);
	return reserve_slow(t, head, need, spare);
}

// An op may run over the plan's bound by less than this before it is noticed.
#define SLACK 32

static inline void publish(struct strobe_header *t, u64 head) { __atomic_store_n(&t->head, head, __ATOMIC_RELEASE); }

// dropped counts a record of a hook that is not there, where the daemon can read it at any time.
static COLD void dropped(const struct strobe_header *t, u32 id, u32 kind) {
	u32 shard = t ? (t->tid ^ t->tid >> 2) & (STROBE_LOSS_SHARDS - 1) : 0;
	struct strobe_loss *l = LOSSES + (u64)shard * STROBE_MAX_HOOKS + (id & (STROBE_MAX_HOOKS - 1));
	__atomic_fetch_add(kind == STROBE_REC_EXIT ? &l->exits : &l->enters, 1, __ATOMIC_RELAXED);
}

static COLD void no_ring(void) { __atomic_fetch_add(&CONTROL->noringlost, 1, __ATOMIC_RELAXED); }

static inline void record(const u64 *r, const u64 *gprs, u32 n, u32 ops, u32 max, u32 id, u32 kind,
	u32 flags, u64 frame, const u8 *vec) {
	struct strobe_header *t = self();
	if (UNLIKELY(!t)) { no_ring(); dropped(0, id, kind); return; }
	u64 head;
	struct strobe_record *rec = reserve(t, &head, STROBE_RECORD_BYTES + SLACK + (u64)max, STROBE_SPARE_BYTES);
	if (UNLIKELY(!rec)) { dropped(t, id, kind); return; }
	u64 at = now();
	u64 end = (u64)(rec + 1);
	for (u32 i = 0; i < n; i++, end += 8) *(u64 *)end = gprs[i];
	rec->tsc = at;
	rec->hook = id;
	rec->kind = (u8)kind;
	rec->sp = frame;
	if (ops) {
		end = with_ops(t, r, vec, rec, (u64 *)end, ops, max);
		flags |= (u32)end & STROBE_REC_TRUNCATED;
		end &= ~7ull;
	}
	rec->size8 = (u16)((end - (u64)rec) / 8);
	rec->flags = (u8)flags;
	publish(t, head + (end - (u64)rec));
}

struct strobe_header *self_slow(void) {
	struct strobe_header *t = self();
	if (!t) no_ring();
	return t;
}

// reserve_output is reserve for the records of output.c. They have room when calls have none left.
struct strobe_record *reserve_output(struct strobe_header *t, u64 *head, u64 need) {
	struct strobe_record *rec = reserve(t, head, need, 0);
	if (!rec) { // nothing is lost: the bytes come by the file
		t->lost--;
		__atomic_store_n(&t->losttotal, t->losttotal - 1, __ATOMIC_RELEASE);
	}
	return rec;
}

// reserve_record is reserve for records that are counted as lost where they have no room.
struct strobe_record *reserve_record(struct strobe_header *t, u64 *head, u64 need, u32 id) {
	struct strobe_record *rec = reserve(t, head, need, STROBE_SPARE_BYTES);
	if (!rec) dropped(t, id, STROBE_REC_ENTER);
	return rec;
}

void publish_output(struct strobe_header *t, u64 head) { publish(t, head); }

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
	if (c->recorded < STROBE_WHOLE_CALLS) c->next = c->calls + 1; // how the thread begins is recorded as it is
	else c->next = c->calls + 1 + mean / 2 + (mean ? (u32)(now() * 0x9E3779B97F4A7C15ull >> 40) % mean : 0);
	c->recorded++;
	return 1;
}

#include "written.h"

// record_enter returns 1 when the stub must not make a frame: the function was reached by a tail call from a hooked
// one, so that its return address is a stub's, or the call is not recorded.
u32 record_enter(const u64 *r, u64 id, u64 frame, const u8 *vec) {
	const struct strobe_hook *h = &HOOKS[id];
	u32 flags = 0;
	if (UNLIKELY(h->flags & STROBE_HOOK_OUTPUT)) return output_enter(r, id, frame);
	if (UNLIKELY(h->flags & STROBE_HOOK_LOCK)) return lock_enter(r, (u32)id, frame + 8, *(u64 *)frame);
	if (UNLIKELY(h->sample)) {
		if (!sampled(h)) return 1;
		flags = STROBE_REC_SAMPLED;
	}
	u32 tail = in_arena(*(const u64 *)(frame + 8));
	record(r, r, h->entergprs, h->enterops, h->maxenter, (u32)id, STROBE_REC_ENTER,
		flags | (tail ? STROBE_REC_TAIL : 0), frame, vec);
	return tail;
}

void record_exit(const u64 *r, u64 id, u64 frame, const u8 *vec) {
	if (UNLIKELY(id & STROBE_TAIL_ID)) { // by a tail call, which has no result yet
		record(r, r, 0, 0, 0, (u32)id & ~STROBE_TAIL_ID, STROBE_REC_EXIT, STROBE_REC_TAIL, frame, 0);
		return;
	}
	const struct strobe_hook *h = &HOOKS[id];
	if (UNLIKELY(h->flags & STROBE_HOOK_OUTPUT)) { output_exit(r, id, frame, h->entergprs); return; }
	if (UNLIKELY(h->flags & STROBE_HOOK_LOCK)) { lock_exit(r, (u32)id, frame + 8); return; }
	u64 ret[2] = {r[6], r[2]};
	record(r, ret, h->exitgprs, h->exitops, h->maxexit, (u32)id, STROBE_REC_EXIT, 0, frame, vec);
}

#include "golang.h"

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
// we do what the unwind entry says (CFA = rbp+16, return address at CFA-8, rbp at CFA-16) and let it be asked about the
// caller. struct _Unwind_Context has had this layout since gcc 4: reg[18], cfa, ra, lsda, bases{3}, flags, args_size,
// by_value[18]. False when the caller is not that walk.
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

// leave gives back what unwinders allocated for our frames, which a leak check would report, and waits until nobody
// traces us.
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
	if (UNLIKELY(h->flags & STROBE_HOOK_SECCOMP)) { // PR_SET_SECCOMP, or PR_SET_NO_NEW_PRIVS, which comes before
		if (r[0] == 22 || r[0] == 38) __atomic_fetch_or(&CONTROL->flags, STROBE_FLAG_QUIET, __ATOMIC_RELAXED);
		return;
	}
	if (UNLIKELY(h->flags & STROBE_HOOK_SETVBUF)) {
		if (r[0] == CONTROL->stdout) CONTROL->linekind = 0;
		return;
	}
	if (UNLIKELY(h->flags & STROBE_HOOK_FIND_FDE)) {
		if ((CONTROL->flags & STROBE_FLAG_SHADOW) || !skip_stub(r)) register_unwind(h->enterops);
		return;
	}
	if (UNLIKELY(h->flags & STROBE_HOOK_UNWIND)) { register_unwind(h->enterops); return; }
	record(r, r, h->entergprs, h->enterops, h->maxenter, (u32)id, STROBE_REC_ENTER, 0, frame, vec);
}

// cond_failed tells of a condition that could not be evaluated: of the first ones, then of one in each stretch of time.
static COLD void cond_failed(const u64 *r, struct strobe_point *p, u32 id, u64 bad) {
	u64 n = __atomic_add_fetch(&p->failed, 1, __ATOMIC_RELAXED), at = now();
	u64 last = __atomic_load_n(&p->failedtsc, __ATOMIC_RELAXED);
	if (n > 100 && at - last < CONTROL->staleticks) return;
	if (!__atomic_compare_exchange_n(&p->failedtsc, &last, at, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
	u64 said[2] = {n, bad};
	record(r, said, 2, 0, 16, id, STROBE_REC_FAILED, 0, r[7], 0);
}

// point_hit decides about one point at the place where a thread is. It returns the hook ID when the thread is to pause.
static u32 point_hit(const u64 *r, u32 id, const struct strobe_hook *h, const u8 *vec) {
	struct strobe_point *p = &POINTS[h->hot & (STROBE_MAX_POINTS - 1)];
	struct strobe_header *t = self();
	if (UNLIKELY(!t)) { no_ring(); return 0; }
	__atomic_fetch_add(&p->shards[(t->tid ^ t->tid >> 4) & (STROBE_POINT_SHARDS - 1)].hits, 1, __ATOMIC_RELAXED);
	if (p->thread && p->thread != t->tid) return 0;
	if (h->exitops) {
		u64 bad = 0;
		int yes = condition(t, r, h->exitops, &bad);
		if (LIKELY(!yes)) return 0;
		if (yes < 0) { cond_failed(r, p, id, bad); return 0; }
	}
	u64 pass = __atomic_add_fetch(&p->passes, 1, __ATOMIC_RELAXED);
	if (p->hitcount && pass != p->hitcount) return 0;
	if (h->flags & STROBE_HOOK_PAUSE) return stale(now()) ? 0 : id;
	record(r, r, 0, h->enterops, h->maxenter, id, STROBE_REC_POINT, 0, r[7], vec);
	return 0;
}

// probe_hit is called with all registers by DWARF number; vec has xmm0 to xmm15, or is 0. It returns the hook ID of the
// first point that pauses the thread, or 0.
u32 probe_hit(const u64 *r, u32 id, const u8 *vec) {
	u32 pause = 0;
	if (UNLIKELY(HOOKS[id & (STROBE_MAX_HOOKS - 1)].flags & STROBE_HOOK_OUTPUT)) { behind(r, id); return 0; }
	for (u32 n = 0; id && n < STROBE_MAX_POINTS; n++) {
		const struct strobe_hook *h = &HOOKS[id & (STROBE_MAX_HOOKS - 1)];
		if (!(h->flags & STROBE_HOOK_OFF)) {
			u32 hit = point_hit(r, id, h, vec);
			if (!pause) pause = hit;
		}
		id = __atomic_load_n(&h->maxexit, __ATOMIC_ACQUIRE);
	}
	return pause;
}
