/* Breakpoints and logpoints: where they are, and what becomes of a thread that comes there. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"

#define MOST_PLACES 64

struct point {
	struct value message;            /* as strobe has it */
	struct node *places[MOST_PLACES];
	int count;
	int64_t arrivals, hits;
	char error[200], why[200], note[200];
	bool failed;                     /* a condition that failed was told */
	struct point *next;
};

static struct point *points;

static bool is_exceptions(struct point *p, bool uncaught) {
	return !strcmp(json_text(p->message, "function"), uncaught ? "@uncaught" : "@exceptions");
}

static bool same_message(struct value a, struct value b) {
	static const char *const keys[] = {"id", "function", "file", "line", "condition", "hitCount", "message", "tid"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!same(map_text(a, keys[i]), map_text(b, keys[i]))) return false;
	return true;
}

static void place(struct point *p) {
	const char *function = json_text(p->message, "function"), *file = json_text(p->message, "file");
	int64_t line = json_int(p->message, "line");
	p->count = 0;
	p->why[0] = p->note[0] = 0;
	if (*function == '@') return;
	for (struct function *fn = tally_functions; fn && *function; fn = fn->next)
		if (fn->first && names_match(function, fn) && p->count < MOST_PLACES) p->places[p->count++] = fn->first;
	for (struct module *m = tally_modules; m && *file; m = m->next) {
		size_t n = strlen(m->path->b), end = strlen(file);
		if (end > n || strcmp(m->path->b + n - end, file) || (end < n && m->path->b[n - end - 1] != '/')) continue;
		struct node *at = NULL;
		for (size_t i = 0; i < m->statement_count; i++) {
			struct node *s = m->statements[i];
			if (s->line >= line && (!at || s->line < at->line)) at = s;
		}
		if (at && p->count < MOST_PLACES) p->places[p->count++] = at;
		if (at && at->line != line)
			snprintf(p->note, sizeof p->note, "line %lld has no code; the next one that has is %d", (long long)line, at->line);
	}
	if (!p->count) snprintf(p->why, sizeof p->why, "no code that is loaded is there");
	char *error = NULL;
	const char *condition = json_text(p->message, "condition");
	p->error[0] = 0;
	if (*condition && p->count && !parse_expression(p->places[0]->fn, condition, &error))
		snprintf(p->error, sizeof p->error, "condition %.80s: %.80s", condition, error);
	for (int i = 0; i < p->count && !p->error[0]; i++) p->places[i]->stop = 1;
}

void points_place(void) {
	for (struct module *m = tally_modules; m; m = m->next)
		for (size_t i = 0; i < m->statement_count; i++) m->statements[i]->stop = 0;
	for (struct point *p = points; p && !agent_closed; p = p->next) place(p);
}

void points_set(struct value wanted) {
	struct point *old = points, **end = &points;
	points = NULL;
	for (size_t i = 0; wanted.tag == LIST && i < wanted.list->n; i++) {
		struct point *p = old;
		while (p && !same_message(p->message, wanted.list->v[i])) p = p->next;
		struct point *one = calloc(1, sizeof *one);
		if (p) *one = *p; /* it keeps its hits */
		one->message = wanted.list->v[i];
		one->next = NULL;
		*end = one;
		end = &one->next;
	}
	points_place();
}

void put_points(struct out *o) {
	put(o, ",\"points\":[");
	for (struct point *p = points; p; p = p->next) {
		put(o, p == points ? "{\"id\":" : ",{\"id\":");
		put_name(o, json_text(p->message, "id"));
		put(o, ",\"hits\":%lld,\"locations\":[", (long long)p->hits);
		for (int i = 0; i < p->count && !p->error[0]; i++) {
			struct function *fn = p->places[i]->fn;
			put(o, i ? ",{\"function\":" : "{\"function\":");
			put_name(o, fn->name->b);
			put(o, ",\"file\":");
			put_name(o, fn->module->path->b);
			put(o, ",\"line\":%d}", p->places[i]->line);
		}
		put(o, "]");
		const char *const texts[][2] = {{"error", p->error}, {"why", p->why}, {"note", p->note}};
		for (int i = 0; i < 3; i++) {
			if (!*texts[i][1]) continue;
			put(o, ",\"%s\":", texts[i][0]);
			put_name(o, texts[i][1]);
		}
		put(o, "}");
	}
	put(o, "]");
}

/* What an expression comes to in a frame. What it calls is not recorded, and what it throws is its error. */
struct value evaluate(struct mine *m, struct frame *f, const char *text, char **error) {
	struct thread *t = m->thread;
	struct value result = t->result, v = {NONE};
	enum state state = t->state;
	struct frame *top = t->top;
	char stops = t->stops;
	bool quiet = m->quiet;
	*error = NULL;
	struct node *n = parse_expression(f->fn, text, error);
	if (!n) return v;
	t->state = GOES;
	t->stops = 0;
	t->tries++;
	m->quiet = true;
	v = eval(t, f, n);
	if (t->state == THROWS) {
		struct value e = t->result;
		if (asprintf(error, "%s: %s", type_name(e),
				shown(e.tag == RECORD && e.record->kind->fields.n ? e.record->f[0] : e, false).text->b) < 0) abort();
	}
	m->quiet = quiet;
	t->tries--;
	t->stops |= stops;
	t->state = state;
	t->result = result;
	t->top = top;
	return v;
}

static void put_place(struct out *o, struct frame *f) {
	put(o, ",\"function\":");
	put_name(o, f->fn->name->b);
	put(o, ",\"file\":");
	put_name(o, f->fn->module->path->b);
	put(o, ",\"line\":%d}", f->at ? f->at->line : f->fn->line);
}

static void write_log(struct mine *m, struct frame *f, struct point *p, const char *key, const char *text,
	const char *condition) {
	struct out o = {0};
	put(&o, "{\"breakpointId\":");
	put_name(&o, json_text(p->message, "id"));
	if (condition) {
		put(&o, ",\"condition\":");
		put_name(&o, condition);
	}
	put(&o, ",\"%s\":", key);
	put_name(&o, text);
	put_place(&o, f);
	if (tell_lane(m)) write_record(m, LOG, 0, 0, o.b, o.n, false);
	free(o.b);
}

/* A message with what its {expressions} come to. */
static void log_message(struct mine *m, struct frame *f, struct point *p) {
	struct out o = {0};
	put_raw(&o, "", 0);
	for (const char *at = json_text(p->message, "message"); *at;) {
		const char *close = *at == '{' ? strchr(at, '}') : NULL;
		if (!close) {
			put_raw(&o, at++, 1);
			continue;
		}
		char *text = strndup(at + 1, (size_t)(close - at - 1)), *error;
		struct value v = evaluate(m, f, text, &error);
		struct text *shows = error ? NULL : shown(v, false).text;
		if (error && !p->failed) write_log(m, f, p, "error", error, text);
		p->failed = p->failed || error;
		if (shows) put_raw(&o, shows->b, shows->n);
		else put(&o, "<%s>", error);
		free(text);
		at = close + 1;
	}
	write_log(m, f, p, "message", o.b, NULL);
	free(o.b);
}

/* Whether a thread that has come to a point is to take it; counted. */
static bool takes(struct mine *m, struct frame *f, struct point *p) {
	int64_t tid = json_int(p->message, "tid"), wanted = json_int(p->message, "hitCount");
	if (tid && tid != m->thread->tid) return false;
	const char *condition = json_text(p->message, "condition");
	if (*condition) {
		char *error;
		struct value v = evaluate(m, f, condition, &error);
		if (error && !p->failed) write_log(m, f, p, "error", error, condition);
		p->failed = p->failed || error;
		if (error || !holds(v)) return false;
	}
	p->arrivals++;
	if (wanted && p->arrivals != wanted) return false;
	p->hits++;
	return true;
}

static bool steps_here(struct mine *m, struct frame *f, struct node *n) {
	bool other = f != m->step_frame || n->line != m->step_line;
	switch (m->step) {
	case INTO: return other;
	case OVER: return f->depth < m->step_depth || (f == m->step_frame && other);
	case OUT: return f->depth < m->step_depth;
	case TO_LINE: {
		size_t n_file = strlen(m->step_file), n_path = f->fn->module->path->n;
		return n->line == m->step_line && n_file <= n_path &&
			!strcmp(f->fn->module->path->b + n_path - n_file, m->step_file);
	}
	default: return false;
	}
}

void on_statement(struct thread *t, struct frame *f, struct node *n) {
	struct mine *m = mine_of(t);
	if (m->quiet || agent_closed) return;
	struct point *pauses = NULL;
	for (struct point *p = n->stop ? points : NULL, *next; p; p = next) {
		next = p->next;
		bool here = false;
		for (int i = 0; i < p->count; i++) here = here || p->places[i] == n;
		if (!here || p->error[0] || !takes(m, f, p)) continue;
		if (*json_text(p->message, "message")) log_message(m, f, p);
		else if (!pauses) pauses = p;
	}
	if (pauses) stand(m, f, json_text(pauses->message, "id"), "breakpoint", pauses->hits, "", NULL);
	else if (m->step && steps_here(m, f, n))
		stand(m, f, m->step_id, m->step == TO_LINE ? "until" : "step", 0, "", NULL);
	else if (m->asked) stand(m, f, "", "pause", 0, "", NULL);
}

/* A frame was left: a step of it ends in the one that called it, or, by an exception, in the one that catches that. */
void on_returned(struct thread *t, struct frame *f) {
	struct mine *m = mine_of(t);
	if (m->quiet || agent_closed || f != m->step_frame || m->step == TO_LINE || m->step == NO_STEP) return;
	if (t->state == THROWS) {
		m->step_frame = NULL;
		return;
	}
	if (t->top) stand(m, t->top, m->step_id, "step", 0, "", f);
}

static void write_crash(struct mine *m) {
	struct thread *t = m->thread;
	struct value e = t->result;
	struct text *message = shown(e.tag == RECORD && e.record->kind->fields.n ? e.record->f[0] : e, false).text;
	struct out o = {0};
	put(&o, "{\"type\":");
	put_name(&o, type_name(e));
	put(&o, ",\"message\":");
	put_text(&o, message->b, message->n);
	put(&o, ",\"language\":\"tally\",\"ends\":\"%s\",\"chain\":[],\"frames\":[",
		t == tally_threads ? "process" : "thread");
	int more;
	put_frames(&o, t->top, 40, &more, true);
	put(&o, "],\"more\":%d,\"thread\":", more);
	put_name(&o, t->name->b);
	put(&o, "}");
	if (tell_lane(m)) write_record(m, CRASH, 0, 0, o.b, o.n, true);
	free(o.b);
}

void on_raised(struct thread *t) {
	struct mine *m = mine_of(t);
	if (m->quiet || agent_closed || !t->top) return;
	struct value e = t->result;
	char note[300];
	snprintf(note, sizeof note, "%s: %.200s", type_name(e),
		shown(e.tag == RECORD && e.record->kind->fields.n ? e.record->f[0] : e, false).text->b);
	for (struct point *p = points; p; p = p->next) {
		if (!is_exceptions(p, false) && !(is_exceptions(p, true) && !t->tries)) continue;
		if (!takes(m, t->top, p)) continue;
		if (*json_text(p->message, "message")) log_message(m, t->top, p);
		else {
			stand(m, t->top, json_text(p->message, "id"), "exception", p->hits, note, NULL);
			break;
		}
	}
	if (!t->tries) write_crash(m);
}
