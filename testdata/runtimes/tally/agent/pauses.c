/* Threads that stand, and what is asked about them. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

#define PAUSE_DEPTH 2
#define SHOWN_FRAMES 20
#define SHOWN_BYTES 200
#define PAUSES_WITHIN_NS 300000000ULL
#define EVALUATES_WITHIN_NS 5000000000ULL

/* What a ref means, until its thread goes on. */
struct ref { struct mine *mine; int64_t pause; enum { FRAME, ARGUMENTS, LOCALS, GLOBALS, PARTS } kind; struct frame *f;
	struct value of; char *eval; };

static struct ref *refs;
static int ref_count, ref_room;
static int64_t pause_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* taken within the interpreter's lock, or without it */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static int64_t ref_new(struct ref r) {
	if (ref_count == ref_room) refs = realloc(refs, (size_t)(ref_room = 2 * ref_room + 64) * sizeof *refs);
	refs[ref_count++] = r;
	return ref_count;
}

static struct ref *ref_at(int64_t ref) {
	if (ref < 1 || ref > ref_count) return NULL;
	struct ref *r = &refs[ref - 1];
	return r->pause && r->mine->pause == r->pause ? r : NULL;
}

void pauses_forked(void) {
	mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	ref_count = 0;
}

/* A frame as messages have it. */
static void put_frame(struct out *o, struct frame *f) {
	put(o, "\"function\":");
	put_name(o, f->fn->name->b);
	put(o, ",\"file\":");
	put_name(o, f->fn->module->path->b);
	put(o, ",\"module\":");
	put_name(o, f->fn->module->name->b);
	put(o, ",\"line\":%d,\"user\":%s", f->at ? f->at->line : f->fn->line, is_user(f->fn) ? "true" : "false");
}

void put_frames(struct out *o, struct frame *f, int most, int *more, bool locals) {
	for (*more = 0; f; f = f->caller) {
		if (most-- <= 0) {
			++*more;
			continue;
		}
		put(o, "{");
		put_frame(o, f);
		if (locals) {
			put(o, ",\"locals\":");
			put_slots(o, f, 0, (int)f->fn->locals.n, PAUSE_DEPTH);
		}
		put(o, f->caller && most > 0 ? "}," : "}");
	}
}

static void evaluates(struct mine *m);

/* The thread stands here until it is let go. returned: the frame that it has just left. */
void stand(struct mine *m, struct frame *f, const char *point, const char *reason, int64_t hit, const char *note,
	struct frame *returned) {
	struct thread *t = m->thread;
	struct out o = {0};
	m->pause = ++pause_count;
	m->asked = m->go = false;
	m->step = NO_STEP;
	t->stops = 0;
	put(&o, "{\"m\":\"paused\",\"tid\":%d,\"n\":%lld,\"hit\":%lld,\"name\":", t->tid, (long long)m->pause, (long long)hit);
	put_name(&o, t->name->b);
	put(&o, ",\"point\":");
	put_name(&o, point ? point : "");
	put(&o, ",\"reason\":\"%s\",\"note\":", reason);
	put_name(&o, note);
	if (returned) {
		put(&o, ",\"resultOf\":");
		put_name(&o, returned->fn->name->b);
		put(&o, ",\"result\":");
		put_value(&o, t->result, PAUSE_DEPTH);
	}
	int more;
	put(&o, ",\"arguments\":");
	put_slots(&o, f, 0, f->fn->params, PAUSE_DEPTH);
	put(&o, ",\"locals\":");
	put_slots(&o, f, f->fn->params, (int)f->fn->locals.n, PAUSE_DEPTH);
	put(&o, ",\"frames\":[");
	put_frames(&o, f, SHOWN_FRAMES, &more, false);
	put(&o, "],\"more\":%d}", more);
	say(&o);
	while (!m->go && !agent_closed) {
		tally_outside(t, "is paused");
		pthread_mutex_lock(&mutex);
		while (!m->go && !agent_closed && !m->request) pthread_cond_wait(&changed, &mutex);
		pthread_mutex_unlock(&mutex);
		tally_inside(t);
		if (m->request) evaluates(m);
	}
	put(&o, "{\"m\":\"resumed\",\"tid\":%d,\"n\":%lld}", t->tid, (long long)m->pause);
	m->pause = 0;
	say(&o);
}

static void wake(void) {
	pthread_mutex_lock(&mutex);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

void let_go(struct mine *m) {
	pthread_mutex_lock(&mutex);
	m->go = true;
	pthread_mutex_unlock(&mutex);
	wake();
}

void let_all_go(void) {
	for (struct mine *m = all_mine; m; m = m->next) {
		m->step = NO_STEP;
		m->asked = false;
		m->thread->stops = 0;
		let_go(m);
	}
}

static struct mine *standing(int64_t tid) {
	for (struct mine *m = all_mine; m; m = m->next)
		if (m->pause && m->thread->tid == tid) return m;
	return NULL;
}

static bool has_parts(struct value v) {
	return (v.tag == LIST && v.list->n) || (v.tag == MAP && v.map->n) || (v.tag == RECORD && v.record->kind->fields.n);
}

static int64_t count_of(struct value v) {
	return !has_parts(v) ? 0 : v.tag == LIST ? (int64_t)v.list->n : v.tag == MAP ? (int64_t)v.map->n
		: (int64_t)v.record->kind->fields.n;
}

static void put_variable(struct out *o, struct ref *of, const char *name, struct value v, const char *eval) {
	struct text *line = shown(v, true).text;
	size_t n = line->n < SHOWN_BYTES ? line->n : SHOWN_BYTES;
	while (n < line->n && n > 0 && (line->b[n] & 0xc0) == 0x80) n--;
	struct ref parts = {of->mine, of->pause, PARTS, of->f, v, strdup(eval)};
	put(o, "{\"name\":");
	put_name(o, name);
	put(o, ",\"type\":");
	put_name(o, type_name(v));
	put(o, ",\"value\":");
	put_text(o, line->b, n);
	put(o, ",\"eval\":");
	put_name(o, eval);
	put(o, ",\"ref\":%lld,\"count\":%lld,\"list\":%s}", (long long)(has_parts(v) ? ref_new(parts) : 0),
		(long long)count_of(v), v.tag == LIST ? "true" : "false");
}

/* Runs what the control thread asks for, on the thread that it is about, and answers. */
static void evaluates(struct mine *m) {
	struct request r = *m->request;
	char *error = NULL;
	struct value v = {NONE};
	m->deadline = now_ns() + EVALUATES_WITHIN_NS;
	m->late = false;
	v = evaluate(m, r.f, r.text, &error);
	if (!error && r.assigns) {
		struct thread *t = m->thread;
		struct node *to = NULL;
		if (r.expression && !(to = parse_expression(r.f->fn, r.expression, &error)))
			error = error ? error : "this cannot be set";
		struct value result = t->result;
		enum state state = t->state;
		t->state = GOES;
		t->tries++;
		m->quiet = true;
		if (!error && !assign_to(t, r.f, to, v)) error = "this cannot be set";
		m->quiet = false;
		t->tries--;
		t->state = state;
		t->result = result;
	}
	pthread_mutex_lock(&mutex);
	free(m->request);
	m->request = NULL;
	pthread_mutex_unlock(&mutex);
	if (m->late) return; /* it was answered */
	if (error) {
		say_error(r.q, "raised", error);
		return;
	}
	struct ref here = {m, m->pause, FRAME, r.f, v, NULL};
	struct out o = {0};
	put(&o, "{\"m\":\"value\",\"q\":%lld,\"variable\":", (long long)r.q);
	put_variable(&o, &here, r.name ? r.name : r.text, v, r.expression ? r.expression : r.text);
	put(&o, ",\"value\":");
	put_value(&o, v, r.depth > 0 ? r.depth : PAUSE_DEPTH);
	put(&o, "}");
	say(&o);
}

void pauses_late(void) {
	for (struct mine *m = all_mine; m; m = m->next)
		if (m->request && m->deadline && now_ns() > m->deadline && !m->late) {
			m->late = true;
			say_error(m->request->q, "cannot", "it has not come to an end in 5 s, and goes on");
		}
}

static void answer_frames(int64_t q, struct value message) {
	struct mine *m = standing(json_int(message, "tid"));
	if (!m) {
		say_error(q, "not-paused", "the thread is not paused");
		return;
	}
	int64_t from = json_int(message, "from"), n = json_int(message, "n"), i = 0;
	struct out o = {0};
	bool some = false;
	put(&o, "{\"m\":\"frames\",\"q\":%lld,\"frames\":[", (long long)q);
	for (struct frame *f = m->thread->top; f; f = f->caller, i++) {
		if (i < from || (n > 0 && i >= from + n)) continue;
		struct ref r = {m, m->pause, FRAME, f, {NONE}, NULL};
		put(&o, "%s{\"ref\":%lld,", some ? "," : "", (long long)ref_new(r));
		put_frame(&o, f);
		put(&o, "}");
		some = true;
	}
	put(&o, "],\"total\":%lld}", (long long)i);
	say(&o);
}

static void answer_scopes(int64_t q, struct ref *of) {
	struct ref r = *of;
	struct function *fn = r.f->fn;
	bool module = fn == fn->module->body;
	struct out o = {0};
	put(&o, "{\"m\":\"scopes\",\"q\":%lld,\"scopes\":[", (long long)q);
	if (!module) {
		r.kind = ARGUMENTS;
		put(&o, "{\"kind\":\"arguments\",\"ref\":%lld,\"count\":%d},", (long long)ref_new(r), fn->params);
		r.kind = LOCALS;
		put(&o, "{\"kind\":\"locals\",\"ref\":%lld,\"count\":%d},", (long long)ref_new(r), (int)fn->locals.n - fn->params);
	}
	r.kind = GLOBALS;
	put(&o, "{\"kind\":\"globals\",\"ref\":%lld,\"count\":%zu}]}", (long long)ref_new(r), fn->module->names.n);
	say(&o);
}

static void answer_variables(int64_t q, struct ref *ref, int64_t from, int64_t n) {
	struct ref of = *ref; /* the table moves */
	struct out o = {0};
	struct function *fn = of.f->fn;
	struct list *names = of.kind == GLOBALS ? &fn->module->names : &fn->locals;
	int64_t first = of.kind == LOCALS ? fn->params : 0, all = of.kind == PARTS ? count_of(of.of)
		: of.kind == ARGUMENTS ? fn->params : (int64_t)names->n - first, some = 0;
	put(&o, "{\"m\":\"variables\",\"q\":%lld,\"variables\":[", (long long)q);
	for (int64_t i = from; i < all && (n <= 0 || i < from + n); i++) {
		char name[300], eval[600];
		struct value v;
		if (of.kind != PARTS) {
			v = (of.kind == GLOBALS ? fn->module->globals : of.f->slots)[first + i];
			snprintf(name, sizeof name, "%s", names->v[first + i].text->b);
			snprintf(eval, sizeof eval, "%s", name);
			if (v.tag == UNSET) continue;
		} else if (of.of.tag == LIST) {
			v = of.of.list->v[i];
			snprintf(name, sizeof name, "%lld", (long long)i);
			snprintf(eval, sizeof eval, "%s[%lld]", of.eval, (long long)i);
		} else if (of.of.tag == MAP) {
			v = of.of.map->e[i].v;
			bool text = of.of.map->e[i].k.tag == TEXT;
			snprintf(name, sizeof name, "%s", shown(of.of.map->e[i].k, false).text->b);
			snprintf(eval, sizeof eval, text ? "%s[\"%s\"]" : "%s[%s]", of.eval, name);
		} else {
			v = of.of.record->f[i];
			snprintf(name, sizeof name, "%s", of.of.record->kind->fields.v[i].text->b);
			snprintf(eval, sizeof eval, "%s.%s", of.eval, name);
		}
		if (some++) put(&o, ",");
		put_variable(&o, &of, name, v, eval);
	}
	put(&o, "]}");
	say(&o);
}

/* Hands a question to the thread that it is about. */
static void hand(int64_t q, struct ref *r, struct value message, bool assigns) {
	struct mine *m = r->mine;
	if (m->request) {
		say_error(q, "cannot", "the thread still evaluates what was asked before");
		return;
	}
	struct request *one = calloc(1, sizeof *one);
	*one = (struct request){.q = q, .f = r->f, .text = strdup(json_text(message, "text")), .assigns = assigns,
		.depth = (int)json_int(message, "depth")};
	const char *name = json_text(message, "name"), *expression = json_text(message, "expression");
	char to[700];
	if (*name && r->kind == PARTS && r->of.tag == LIST) snprintf(to, sizeof to, "%s[%s]", r->eval, name);
	else if (*name && r->kind == PARTS && r->of.tag == MAP) snprintf(to, sizeof to, "%s[\"%s\"]", r->eval, name);
	else if (*name && r->kind == PARTS) snprintf(to, sizeof to, "%s.%s", r->eval, name);
	else snprintf(to, sizeof to, "%s", *name ? name : expression);
	if (assigns) one->expression = strdup(to), one->name = strdup(*name ? name : to);
	m->deadline = 0;
	pthread_mutex_lock(&mutex);
	m->request = one;
	pthread_mutex_unlock(&mutex);
	wake();
}

static void answer_pause(int64_t q, int64_t tid) {
	struct out o = {0};
	for (struct thread *t = tally_threads; t; t = t->next) {
		struct mine *m = mine_of(t);
		if (m->pause || (tid && tid != t->tid)) continue;
		m->asked = true;
		t->stops = 1;
	}
	bool all = false;
	for (uint64_t until = now_ns() + PAUSES_WITHIN_NS; !all && now_ns() < until;) {
		tally_unlock();
		usleep(1000);
		tally_lock();
		all = true;
		for (struct mine *m = all_mine; m; m = m->next) all = all && (!m->asked || m->pause || m->thread->outside);
	}
	bool some = false;
	put(&o, "{\"m\":\"pausing\",\"q\":%lld,\"later\":[", (long long)q);
	for (struct mine *m = all_mine; m; m = m->next) {
		if (!m->asked || m->pause) continue;
		put(&o, "%s{\"tid\":%d,\"why\":", some ? "," : "", m->thread->tid);
		put_name(&o, m->thread->outside ? m->thread->outside : "it is in a function of C");
		put(&o, "}");
		some = true;
	}
	put(&o, "]}");
	say(&o);
}

static void answer_step(int64_t q, struct mine *m, struct value message) {
	static const char *const hows[] = {"", "over", "into", "out", "line"};
	struct out o = {0};
	struct frame *f = m->thread->top;
	for (int i = OVER; i <= TO_LINE; i++)
		if (!strcmp(hows[i], json_text(message, "how"))) m->step = (enum step)i;
	m->step_frame = f;
	m->step_depth = f ? f->depth : 0;
	m->step_line = m->step == TO_LINE ? (int)json_int(message, "line") : f && f->at ? f->at->line : 0;
	m->step_id = strdup(json_text(message, "id"));
	m->step_file = strdup(json_text(message, "file"));
	m->thread->stops = 1;
	put(&o, "{\"m\":\"going\",\"q\":%lld}", (long long)q);
	say(&o);
	let_go(m);
}

bool pauses_answer(const char *kind, int64_t q, struct value message) {
	struct ref *r = ref_at(json_int(message, "ref"));
	bool by_ref = !strcmp(kind, "scopes") || !strcmp(kind, "variables") || !strcmp(kind, "evaluate") ||
		!strcmp(kind, "assign");
	if (by_ref && (!r || (*kind == 's' && r->kind != FRAME))) say_error(q, "not-paused", "its thread went on");
	else if (!strcmp(kind, "pause")) answer_pause(q, json_int(message, "tid"));
	else if (!strcmp(kind, "go")) {
		struct value tids = map_text(message, "tids");
		for (size_t i = 0; tids.tag == LIST && i < tids.list->n; i++) {
			struct mine *m = standing(tids.list->v[i].i);
			if (m) let_go(m);
		}
		struct out o = {0};
		put(&o, "{\"m\":\"going\",\"q\":%lld}", (long long)q);
		say(&o);
	} else if (!strcmp(kind, "step")) {
		struct mine *m = standing(json_int(message, "tid"));
		if (m) answer_step(q, m, message);
		else say_error(q, "not-paused", "the thread is not paused");
	} else if (!strcmp(kind, "frames")) answer_frames(q, message);
	else if (!strcmp(kind, "scopes")) answer_scopes(q, r);
	else if (!strcmp(kind, "variables")) answer_variables(q, r, json_int(message, "from"), json_int(message, "n"));
	else if (!strcmp(kind, "evaluate")) hand(q, r, message, false);
	else if (!strcmp(kind, "assign")) hand(q, r, message, true);
	else return false;
	return true;
}

void answer_threads(int64_t q) {
	struct out o = {0};
	put(&o, "{\"m\":\"threads\",\"q\":%lld,\"threads\":[", (long long)q);
	for (struct thread *t = tally_threads; t; t = t->next) {
		int more;
		put(&o, "%s{\"tid\":%d,\"name\":", t == tally_threads ? "" : ",", t->tid);
		put_name(&o, t->name->b);
		put(&o, ",\"waits\":");
		put_name(&o, t->outside ? t->outside : "");
		put(&o, ",\"runs\":%s,\"frames\":[", t->outside ? "false" : "true");
		put_frames(&o, t->top, SHOWN_FRAMES, &more, false);
		put(&o, "]}");
	}
	put(&o, "]}");
	say(&o);
}
