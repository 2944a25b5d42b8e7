// What threads hold, and which lock was taken while which other was held; locks.S has the usual case. The tables are in
// the shared region (internal/ring/locks.go): an entry is stored once, with the stack, and made known behind that.
// Nobody waits for anybody here: of two threads that make the same entry at once one's is thrown away.
#include "agent.h"

#define LOCKS ((struct strobe_locks *)(blob_start + STROBE_LOCKS_OFF))
#define MIX 0x9E3779B97F4A7C15ull

#define EDGES ((struct strobe_lockedge *)(blob_start + STROBE_LOCK_EDGES_OFF))
#define STACKS ((struct strobe_lockstack *)(blob_start + STROBE_LOCK_STACKS_OFF))
#define WAITED ((struct strobe_lockwait *)(blob_start + STROBE_LOCK_WAITS_OFF))
static inline struct strobe_lockedge *edge_at(u32 i) { return EDGES + i; }
static inline struct strobe_lockwait *wait_at(u32 i) { return WAITED + i; }
static inline u64 mix(u64 h, u64 v) { h = (h ^ v) * MIX; return h ^ h >> 29; }
// chain is the hash of what is held and of a lock more, as locks.S has it of mutexes: their mode is 0.
static inline u64 chain(u64 h, u64 lock, u32 mode) { return (h ^ (lock + mode)) * MIX; }
static inline void count(u64 *n) { __atomic_fetch_add(n, 1, __ATOMIC_RELAXED); }
static inline u64 word_at(u64 a) { loadres w = safe_load((const void *)a); return w.fault ? 0 : w.word; }

// take reserves one of most entries, 0: they are all in use.
static u32 take(u32 *used, u32 most, u64 *lost) {
	if (__atomic_load_n(used, __ATOMIC_RELAXED) < most) {
		u32 i = __atomic_add_fetch(used, 1, __ATOMIC_RELAXED);
		if (i <= most) return i;
		__atomic_store_n(used, most, __ATOMIC_RELAXED);
	}
	count(lost);
	return 0;
}

void lock_thread(struct strobe_header *t) {
	t->locks.count = t->locks.thread = t->locks.segment = 0;
	t->locks.waiton = 0;
	t->locks.held[0].hash = mix(now(), t->tid); // another than that of the thread before, of which seen tells
}

// me is the thread's index + 1 in the table, 0 where it is full.
static u32 me(struct strobe_header *t) {
	if (t->locks.thread) return t->locks.thread;
	u32 i = take(&LOCKS->threads, STROBE_MAX_LOCK_THREADS, &LOCKS->threadslost);
	if (!i) return 0;
	struct strobe_lockthread *n = &LOCKS->thread[i - 1];
	asm volatile("mov %%fs:0, %0" : "=r"(n->fs));
	n->tsc = now();
	n->tid = t->tid;
	return t->locks.thread = i;
}

// segment begins another stretch of a thread: what it takes from now on is behind, or before, what another one does.
static void segment(struct strobe_header *t) {
	struct strobe_heldlocks *l = &t->locks;
	l->segment++;
	u64 h = l->held[0].hash = mix(l->held[0].hash, l->segment);
	for (u32 i = 1; i <= l->count; i++) h = l->held[i].hash = chain(h, l->held[i].lock, l->held[i].mode);
}

static u32 copy_stack(u8 *to, u64 at, u32 most) {
	if (stale(now())) return 0; // nobody is there to catch the fault at the stack's end
	return most - (u32)safe_copy(to, (const void *)at, most);
}

// listed puts an edge into the list of one of its locks, for ends.
static void listed(u64 lock, u32 *next, u32 ref) {
	u32 *head = &LOCKS->heads[lock * MIX >> 50], was = __atomic_load_n(head, __ATOMIC_RELAXED);
	do *next = was;
	while (!__atomic_compare_exchange_n(head, &was, ref, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

// made notes that the thread made an edge in its present segment. Segments that follow each other are one stretch;
// where there is no room for another one, the thread's last one reaches up to now.
static void made(struct strobe_lockedge *e, struct strobe_header *t) {
	u32 self = me(t), s = t->locks.segment;
	struct strobe_locktaker *mine = 0;
	if (!self) return;
	for (u32 k = 0; k < STROBE_LOCK_THREADS; k++) {
		struct strobe_locktaker *by = &e->threads[k];
		u32 was = __atomic_load_n(&by->thread, __ATOMIC_RELAXED);
		if (was == self) {
			mine = by;
			if (s - by->first <= by->last + 1 - by->first) {
				if (s > by->last) by->last = s;
				return;
			}
		}
		if (was) continue;
		if (!__atomic_compare_exchange_n(&by->thread, &was, self, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			k--;
			continue;
		}
		by->first = by->last = s;
		return;
	}
	if (mine) mine->last = s;
	else count(&LOCKS->morethreads);
}

// fill makes an edge what held[i] and the call at hand say.
static void fill(struct strobe_lockedge *e, struct strobe_header *t, u32 i, u64 to, u32 modes, u64 at, u64 rbp) {
	struct strobe_heldlocks *l = &t->locks;
	const struct strobe_held *from = &l->held[i];
	u32 n = 0;
	for (u32 k = 0; k < STROBE_LOCK_GATES; k++) e->gates[k] = 0;
	for (u32 k = 0; k < STROBE_LOCK_THREADS; k++) e->threads[k].thread = 0;
	for (u32 k = 1; k <= l->count && n < STROBE_LOCK_GATES; k++)
		if (k != i && l->held[k].lock != to) e->gates[n++] = l->held[k].lock;
	e->from = from->lock; e->to = to; e->fromplace = from->place; e->mode = modes; e->rip = *(const u64 *)at;
	u64 lost = 0; // that there is no stack shows
	if (!e->stack) e->stack = take(&LOCKS->stacks, STROBE_MAX_LOCK_STACKS, &lost);
	if (e->stack) {
		struct strobe_lockstack *s = STACKS + (e->stack - 1);
		s->rsp = at + 8; s->rbp = rbp;
		s->bytes = copy_stack(s->stack, at, STROBE_LOCK_STACK_KEPT);
	}
	made(e, t);
	__atomic_store_n(&e->ready, 1, __ATOMIC_RELEASE);
}

static int is_held(const struct strobe_heldlocks *l, u64 lock) {
	for (u32 k = 1; k <= l->count; k++)
		if (l->held[k].lock == lock) return 1;
	return 0;
}

// guarded reports whether what is held beside held[i] is what an edge has as gates. In the last variant it is made so:
// what is not held now is no gate.
static int guarded(struct strobe_lockedge *e, const struct strobe_heldlocks *l, u32 i, u64 to, int last) {
	u32 have = 0, n = 0;
	for (u32 k = 0; k < STROBE_LOCK_GATES; k++) {
		if (!e->gates[k]) continue;
		if (is_held(l, e->gates[k])) have++;
		else if (last) e->gates[k] = 0;
		else return 0;
	}
	for (u32 k = 1; k <= l->count; k++) n += k != i && l->held[k].lock != to;
	return last || have == (n < STROBE_LOCK_GATES ? n : STROBE_LOCK_GATES);
}

// edge notes that to is taken at a place while held[i] is held. One that has ended is made anew where it was.
static void edge(struct strobe_header *t, u32 i, u64 to, u32 mode, u64 at, u64 rbp) {
	struct strobe_heldlocks *l = &t->locks;
	const struct strobe_held *from = &l->held[i];
	u32 modes = from->mode | mode << 16, mine = 0, variant = 0;
	u64 key = mix(mix(mix(0, from->lock), to), modes) | 1;
	u32 b = (u32)(key >> 47);
	for (u32 tries = 0; tries < STROBE_LOCK_BUCKETS; tries++, b = (b + 1) % STROBE_LOCK_BUCKETS) {
		u32 have = __atomic_load_n(&LOCKS->edgeindex[b], __ATOMIC_ACQUIRE), one = 1;
		if (!have) {
			if (!mine) {
				mine = take(&LOCKS->edges, STROBE_MAX_LOCK_EDGES, &LOCKS->edgeslost);
				if (!mine) return;
				edge_at(mine - 1)->key = key;
				fill(edge_at(mine - 1), t, i, to, modes, at, rbp);
			}
			if (__atomic_compare_exchange_n(&LOCKS->edgeindex[b], &have, mine, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
				listed(from->lock, &edge_at(mine - 1)->nextfrom, mine * 2 - 1);
				listed(to, &edge_at(mine - 1)->nextto, mine * 2);
				return;
			}
		}
		struct strobe_lockedge *e = edge_at(have - 1);
		if (e->key != key) continue;
		if (e->dead) {
			if (mine || !__atomic_compare_exchange_n(&e->dead, &one, 2, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) continue;
			e->ready = 0;
			fill(e, t, i, to, modes, at, rbp);
			__atomic_store_n(&e->dead, 0, __ATOMIC_RELEASE);
			return;
		}
		if (!guarded(e, l, i, to, ++variant == STROBE_LOCK_VARIANTS)) continue;
		if (mine) edge_at(mine - 1)->dead = 2;
		made(e, t);
		return;
	}
	count(&LOCKS->edgeslost);
}

// drop takes held[i] out.
static void drop(struct strobe_header *t, u32 i) {
	struct strobe_heldlocks *l = &t->locks;
	for (; i < l->count; i++) {
		u64 hash = chain(l->held[i - 1].hash, l->held[i + 1].lock, l->held[i + 1].mode);
		l->held[i] = l->held[i + 1];
		l->held[i].hash = hash;
	}
	l->count--;
}

// forsaken takes out what the thread does not hold, because its call failed: glibc's mutexes say who has them.
static void forsaken(struct strobe_header *t, const struct strobe_hook *h) {
	for (u32 i = t->locks.count; i > 0 && h->exitgprs; i--) {
		const struct strobe_held *held = &t->locks.held[i];
		if (!held->mode && (u32)word_at(held->lock + 8) != t->tid) drop(t, i);
	}
}

static void hold(struct strobe_header *t, u64 lock, u32 mode, u64 place) {
	struct strobe_heldlocks *l = &t->locks;
	if (l->count >= STROBE_MAX_HELD) { count(&LOCKS->heldlost); return; }
	struct strobe_held *n = &l->held[l->count + 1];
	n->lock = lock;
	n->hash = chain(l->held[l->count].hash, lock, mode);
	n->place = place;
	n->mode = mode;
	l->count++;
}

// taken notes that a lock is taken, by a call that waits until it has it.
static void taken(struct strobe_header *t, const struct strobe_hook *h, u64 lock, u32 mode, u64 at, u64 rbp) {
	struct strobe_heldlocks *l = &t->locks;
	if (l->count) {
		u64 hash = chain(l->held[l->count].hash, lock, mode);
		if (l->seen[hash >> 56] != hash) {
			forsaken(t, h);
			int again = is_held(l, lock);
			for (u32 i = 1; i <= l->count && !again; i++) edge(t, i, lock, mode, at, rbp);
			hash = chain(l->held[l->count].hash, lock, mode);
			if (l->count) l->seen[hash >> 56] = hash;
		}
	}
	hold(t, lock, mode, *(const u64 *)at);
}

static void left(struct strobe_header *t, u64 lock) {
	for (u32 i = t->locks.count; i > 0; i--)
		if (t->locks.held[i].lock == lock) { drop(t, i); return; }
}

// ends forgets a lock, and what threads remember of it.
static void ends(u64 lock) {
	u32 any = 0, ref = __atomic_load_n(&LOCKS->heads[lock * MIX >> 50], __ATOMIC_ACQUIRE);
	for (u32 n = 0; ref && n < STROBE_MAX_LOCK_EDGES; n++) {
		struct strobe_lockedge *e = edge_at((ref - 1) / 2);
		u32 zero = 0;
		if ((ref & 1 ? e->from : e->to) == lock &&
			__atomic_compare_exchange_n(&e->dead, &zero, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) any = 1;
		ref = ref & 1 ? e->nextfrom : e->nextto;
	}
	if (!any) return;
	for (u32 i = 0; i < CONTROL->ringcount && STATES[i] != STROBE_RING_FREE; i++) {
		struct strobe_header *t = (struct strobe_header *)(blob_start + STROBE_RINGS_OFF +
			(u64)i * (STROBE_HEADER_BYTES + CONTROL->ringbytes));
		for (u32 k = 0; k < STROBE_LOCK_SEEN; k++) t->locks.seen[k] = 0;
	}
}

static void link(struct strobe_header *t, u64 fs, u64 tsc, u32 join) {
	u32 i = take(&LOCKS->links, STROBE_MAX_LOCK_LINKS, &LOCKS->linkslost);
	if (!i) return;
	struct strobe_locklink *k = &LOCKS->link[i - 1];
	k->fs = fs; k->tsc = tsc; k->thread = me(t); k->segment = t->locks.segment; k->join = join;
	__atomic_store_n(&k->ready, 1, __ATOMIC_RELEASE);
}

// The calls whose exits matter keep what they were given in the thread's header; those of signal handlers lie above.
static struct strobe_saved *save(struct strobe_header *t, u64 at) {
	while (t->savedcount && t->saved[(t->savedcount - 1) % STROBE_MAX_SAVED].frame <= at) t->savedcount--;
	if (t->savedcount >= STROBE_MAX_SAVED) return 0;
	struct strobe_saved *s = &t->saved[t->savedcount++];
	s->frame = at;
	return s;
}

static u32 remember(struct strobe_header *t, u32 id, u64 at, u64 lock, u64 rbp, u64 owner) {
	struct strobe_saved *s = save(t, at);
	if (!s) return 1;
	s->hook = id;
	s->regs[0] = lock; s->regs[1] = now(); s->regs[2] = rbp; s->regs[3] = owner;
	return 0;
}

// waits begins the wait for a lock.
static u32 waits(struct strobe_header *t, u32 id, u64 at, u64 lock, u64 rbp, u64 owner) {
	if (remember(t, id, at, lock, rbp, owner)) return 1;
	t->locks.waittsc = now();
	t->locks.waiton = lock;
	return 0;
}

static void waited(struct strobe_header *t, const struct strobe_saved *s, u32 kind, u64 at) {
	u64 lock = s->regs[0], end = now(), ticks = end - s->regs[1], place = *(const u64 *)at;
	const struct strobe_held *top = &t->locks.held[t->locks.count];
	if (kind == STROBE_LOCK_WAITS && t->locks.count && top->lock == lock) place = top->place;
	u64 key = mix(mix(mix(0, lock), place), kind) | 1;
	u32 b = (u32)(key >> 52), mine = 0;
	struct strobe_lockwait *w = 0;
	for (u32 tries = 0; tries < STROBE_LOCK_WAIT_PLACES; tries++, b = (b + 1) % STROBE_LOCK_WAIT_PLACES) {
		u32 have = __atomic_load_n(&LOCKS->waitindex[b], __ATOMIC_ACQUIRE);
		if (!have) {
			if (!mine) {
				mine = take(&LOCKS->waits, STROBE_MAX_LOCK_WAITS, &LOCKS->waitslost);
				if (!mine) return;
				w = wait_at(mine - 1);
				w->key = key; w->lock = lock; w->place = place; w->kind = kind; w->first = s->regs[1];
				w->rip = *(const u64 *)at; w->rsp = at + 8; w->rbp = s->regs[2];
				w->bytes = copy_stack(w->stack, at, STROBE_LOCK_WAIT_STACK);
				__atomic_store_n(&w->ready, 1, __ATOMIC_RELEASE);
			}
			if (__atomic_compare_exchange_n(&LOCKS->waitindex[b], &have, mine, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
				break;
		}
		w = wait_at(have - 1);
		if (w->key != key) continue;
		if (mine) wait_at(mine - 1)->dead = 1;
		break;
	}
	if (!w) return;
	count(&w->count);
	__atomic_fetch_add(&w->ticks, ticks, __ATOMIC_RELAXED);
	w->last = end;
	if (ticks > w->most) { w->most = ticks; w->tid = t->tid; w->owner = (u32)s->regs[3]; }
}

// rw_busy reports whether a glibc rwlock may have to be waited for: its readers and phase, then its writers.
static int rw_busy(u64 lock, u32 reads) {
	u64 w = word_at(lock);
	return reads ? (w & 3) == 3 : (w & 2) != 0 || (u32)w >> 3 != 0;
}

u32 lock_enter(const u64 *r, u32 id, u64 at, u64 rbp) {
	const struct strobe_hook *h = &HOOKS[id & (STROBE_MAX_HOOKS - 1)];
	struct strobe_header *t = self_slow();
	if (!t) return 1;
	u64 lock = r[0];
	switch (h->entergprs) {
	case STROBE_LOCK_MUTEX: taken(t, h, lock, 0, at, rbp); break;
	case STROBE_LOCK_UNLOCK: left(t, lock); break;
	case STROBE_LOCK_SPIN: taken(t, h, lock, STROBE_LOCK_MODE_SPIN, at, rbp); break;
	case STROBE_LOCK_READ:
	case STROBE_LOCK_WRITE: {
		u32 reads = h->entergprs == STROBE_LOCK_READ;
		taken(t, h, lock, STROBE_LOCK_MODE_RW | reads, at, rbp);
		if (!h->exitgprs || !rw_busy(lock, reads)) break;
		return waits(t, id, at, lock, rbp, (u32)word_at(lock + 24));
	}
	case STROBE_LOCK_COND:
		left(t, r[1]);
		taken(t, h, r[1], 0, at, rbp);
		break;
	case STROBE_LOCK_END: ends(lock); break;
	case STROBE_LOCK_JOIN:
		segment(t);
		link(t, lock, now(), 1);
		break;
	case STROBE_LOCK_CREATE:
		me(t);
		segment(t);
		return remember(t, id, at, lock, rbp, 0);
	case STROBE_LOCK_TRY:
	case STROBE_LOCK_TRY_READ: return remember(t, id, at, lock, rbp, 0);
	case STROBE_LOCK_WAITS: return waits(t, id, at, lock, rbp, (u32)word_at(lock + 8));
	case STROBE_LOCK_SLOW:
	case STROBE_LOCK_PRIVATE: return waits(t, id, at, lock, rbp, 0);
	}
	return 1;
}

void lock_exit(const u64 *r, u32 id, u64 at) {
	const struct strobe_hook *h = &HOOKS[id & (STROBE_MAX_HOOKS - 1)];
	struct strobe_header *t = self_slow();
	if (!t) return;
	t->locks.waiton = 0; // whatever is known of its beginning: a handler on another stack may have taken that away
	while (t->savedcount && t->saved[(t->savedcount - 1) % STROBE_MAX_SAVED].frame < at) t->savedcount--;
	if (!t->savedcount) return;
	const struct strobe_saved *s = &t->saved[--t->savedcount % STROBE_MAX_SAVED];
	if (s->frame != at || s->hook != id) return;
	u32 result = (u32)r[6];
	switch (h->entergprs) {
	case STROBE_LOCK_TRY:
	case STROBE_LOCK_TRY_READ:
		if (result != 0 && result != 130 /* EOWNERDEAD */) break;
		hold(t, s->regs[0], h->hot, *(const u64 *)at);
		if (h->entergprs == STROBE_LOCK_TRY_READ) t->locks.held[t->locks.count].mode |= STROBE_LOCK_MODE_READ;
		break;
	case STROBE_LOCK_CREATE:
		if (result == 0) link(t, word_at(s->regs[0]), s->regs[1], 0);
		break;
	default: waited(t, s, h->entergprs, at);
	}
}

_Static_assert(sizeof(struct strobe_lockedge) == STROBE_LOCK_EDGE_BYTES &&
	sizeof(struct strobe_lockstack) == STROBE_LOCK_STACK_BYTES &&
	sizeof(struct strobe_lockwait) == STROBE_LOCK_WAIT_BYTES, "internal/ring/locks.go: sizes");
