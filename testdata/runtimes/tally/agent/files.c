/* Where events go: segments that are mapped, one stream of them for each thread (docs/agentlink.md, Segments). A record
 * is in the file as soon as its length is written, so that no kill loses any. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

#define HEAD 32
#define AHEAD 16                            /* segments that the reader may be behind */
#define PATIENCE_NS (20 * 1000000000ULL)    /* that a writer waits for a reader that takes nothing */
#define LOOKS_NS 20000000ULL                /* between two looks of a writer that drops */

/* Small ones: an interpreter that does nothing else is far ahead of its reader soon, which a question waits for. */
static const size_t sizes[] = {64 << 10, 128 << 10, 256 << 10};
struct mine *all_mine;
static int streams, lanes;

uint64_t now_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

/* Begins the streams of this process: at the start, and again in a child of fork, which lets its parent's be. */
void files_open(void) {
	for (struct thread *t = tally_threads; t; t = t->next) {
		t->agent = NULL;
		t->stops = 0;
		for (struct frame *f = t->top; f; f = f->caller) f->entered = 0;
	}
	for (struct function *fn = tally_functions; fn; fn = fn->next) fn->told = 0;
	all_mine = NULL;
	streams = lanes = 0;
	agent_closed = false;
}

struct mine *mine_of(struct thread *t) {
	if (t->agent) return t->agent;
	struct mine *m = calloc(1, sizeof *m);
	m->number = ++streams;
	m->lane = ++lanes;
	m->sequence = -1;
	m->thread = t;
	m->next = all_mine;
	all_mine = m;
	t->agent = m;
	return m;
}

static void path_of(char *path, size_t n, struct mine *m, int sequence) {
	snprintf(path, n, "%s/%s-%d-%d.ev", agent_folder, agent_prefix, m->number, sequence);
}

static bool may_open(struct mine *m, int sequence) {
	if (sequence < AHEAD) return true;
	char old[512];
	path_of(old, sizeof old, m, sequence - AHEAD);
	if (m->dropping) {
		if (now_ns() - m->looked < LOOKS_NS) return false;
		m->looked = now_ns();
	}
	if (access(old, F_OK)) return m->dropping = false, true;
	if (m->dropping || agent_on_full == DROP) return m->dropping = true, false;
	uint64_t until = now_ns() + PATIENCE_NS;
	bool free = false;
	tally_outside(m->thread, "waits for strobe");
	while (!agent_closed && !free && (agent_on_full == HOLD || now_ns() < until)) {
		usleep(1000);
		free = access(old, F_OK) != 0;
	}
	tally_inside(m->thread);
	m->dropping = !free;
	return free && !agent_closed;
}

static void header(struct mine *m, enum record_kind kind, int flags, uint32_t fn, size_t payload, size_t length) {
	char *at = m->map + m->position;
	uint64_t now = now_ns();
	uint32_t lane = (uint32_t)m->lane, numbers[4] = {fn, lane, 0, 0};
	uint16_t pad = (uint16_t)(length - HEAD - payload);
	memcpy(at, &now, 8);
	memcpy(at + 8, numbers, 16);
	at[24] = (char)kind;
	at[25] = (char)flags;
	memcpy(at + 26, &pad, 2);
	__atomic_store_n((uint32_t *)(at + 28), (uint32_t)length, __ATOMIC_RELEASE); /* publishes it */
	m->position += length;
}

static void tell_lost(struct mine *of, struct mine *into);

/* Opens the next segment, with room for a record: false where the reader is too far behind. */
static bool turn(struct mine *m, size_t need, bool force) {
	int sequence = m->sequence + 1;
	if (agent_closed || (!force && !may_open(m, sequence))) return false;
	size_t size = sizes[sequence < 3 ? sequence : 2];
	while (size < need + 2 * HEAD) size *= 2;
	char path[512];
	path_of(path, sizeof path, m, sequence);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) return false; /* the folder is gone, or there is no more room */
	char *map = posix_fallocate(fd, 0, (off_t)size) ? MAP_FAILED :
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED) return unlink(path), false;
	uint32_t sized = (uint32_t)size;
	memcpy(map + 8, &sized, 4);
	memcpy(map, "strobe1\n", 8);
	if (m->map) {
		header(m, NEXT, 0, 0, 0, HEAD); /* the next one is there */
		munmap(m->map, m->size);
	}
	m->map = map;
	m->size = size;
	m->position = 16;
	m->limit = size - HEAD;
	m->sequence = sequence;
	if (m->loses) tell_lost(m, m);
	return true;
}

bool write_record(struct mine *m, enum record_kind kind, int flags, uint32_t fn, const char *payload, size_t n,
	bool force) {
	size_t length = HEAD + ((n + 7) & ~(size_t)7);
	if (agent_closed || (m->position + length > m->limit && !turn(m, length, force))) return false;
	memcpy(m->map + m->position + HEAD, payload, n);
	header(m, kind, flags, fn, n, length);
	return true;
}

static bool tell_function(struct mine *m, struct function *fn, bool force) {
	if (fn->told) return true;
	struct out o = {0};
	put(&o, "{\"name\":");
	put_name(&o, fn->name->b);
	put(&o, ",\"file\":");
	put_name(&o, fn->module->path->b);
	put(&o, ",\"line\":%d,\"module\":", fn->line);
	put_name(&o, fn->module->name->b);
	put(&o, ",\"language\":\"tally\",\"kind\":\"function\",\"depth\":%d,\"params\":[", fn->depth);
	for (int i = 0; i < fn->params; i++) {
		if (i) put(&o, ",");
		put_name(&o, fn->locals.v[i].text->b);
	}
	put(&o, "]}");
	fn->told = write_record(m, FUNCTION_TOLD, 0, (uint32_t)fn->number, o.b, o.n, force);
	free(o.b);
	return fn->told;
}

bool tell_lane(struct mine *m) {
	if (m->lane_told) return true;
	struct out o = {0};
	put(&o, "{\"tid\":%d,\"name\":", m->thread->tid);
	put_name(&o, m->thread->name->b);
	put(&o, "}");
	m->lane_told = write_record(m, LANE_TOLD, 0, 0, o.b, o.n, false);
	free(o.b);
	return m->lane_told;
}

/* What could not be written, by function. */
static struct lost *lost_of(struct mine *m, struct function *fn) {
	if (fn->number >= m->lost_room) {
		int room = tally_function_count + 64;
		m->lost = realloc(m->lost, (size_t)room * sizeof *m->lost);
		memset(m->lost + m->lost_room, 0, (size_t)(room - m->lost_room) * sizeof *m->lost);
		m->lost_room = room;
	}
	m->loses = true;
	return &m->lost[fn->number];
}

/* Writes into a stream what another one, or the same, has lost since this was told. */
static void tell_lost(struct mine *of, struct mine *into) {
	if (!of->loses) return;
	struct out o = {0};
	put(&o, "{\"calls\":{");
	bool some = false;
	of->loses = false; /* first: what is told here may open a segment */
	for (struct function *fn = tally_functions; fn; fn = fn->next) {
		if (fn->number >= of->lost_room) continue;
		struct lost *l = &of->lost[fn->number];
		if (!l->enters && !l->exits) continue;
		tell_function(into, fn, true);
		put(&o, "%s\"%d\":[%u,%u,0]", some ? "," : "", fn->number, l->enters, l->exits);
		some = true;
		*l = (struct lost){0};
	}
	put(&o, "}}");
	if (some) write_record(into, LOST, 0, 0, o.b, o.n, true);
	free(o.b);
}

void on_enter(struct thread *t, struct frame *f) {
	struct mine *m = mine_of(t);
	if (m->quiet || agent_closed) return;
	struct function *fn = f->fn;
	m->payload.n = 0;
	put_slots(&m->payload, f, 0, fn->params, fn->depth);
	bool done = tell_function(m, fn, false) && tell_lane(m) &&
		write_record(m, ENTER, 0, (uint32_t)fn->number, m->payload.b, m->payload.n, false);
	f->entered = done ? 1 : 2;
	if (!done) lost_of(m, fn)->enters++;
}

void on_leave(struct thread *t, struct frame *f) {
	struct mine *m = mine_of(t);
	if (agent_closed) return;
	bool thrown = t->state == THROWS;
	if (f->entered == 1) {
		struct value result = t->result;
		m->payload.n = 0;
		put_value(&m->payload, result, f->fn->depth ? f->fn->depth : 3);
		if (write_record(m, EXIT, thrown ? THROWN : 0, (uint32_t)f->fn->number, m->payload.b, m->payload.n, false)) return;
	}
	lost_of(m, f->fn)->exits++;
}

/* What a thread has lost is told at its end; its stream ends with it. */
void on_thread_ends(struct thread *t) {
	struct mine *m = t->agent;
	if (!m) return;
	tell_lost(m, m);
	if (m->map) {
		write_record(m, END_TOLD, 0, 0, "", 0, true);
		munmap(m->map, m->size);
	}
	for (struct mine **at = &all_mine; *at; at = &(*at)->next)
		if (*at == m) {
			*at = m->next;
			break;
		}
	t->agent = NULL;
}

/* The process ends, or the link: nothing is written any more. t is the thread that ends it, or NULL. */
void files_close(struct thread *t) {
	if (agent_closed) return;
	for (struct mine *m = all_mine; m; m = m->next) tell_lost(m, t ? mine_of(t) : m);
	if (t) write_record(mine_of(t), END_TOLD, 0, 0, "", 0, true);
	agent_closed = true;
}
