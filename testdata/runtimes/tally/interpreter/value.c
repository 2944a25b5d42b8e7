/* Values, their text, and the lock. */
#define _GNU_SOURCE
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tally.h"

struct thread *tally_threads;
static __thread struct thread *self;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER, taken = PTHREAD_COND_INITIALIZER;
static bool locked;
static volatile int wanted;
static volatile unsigned turn;

void tally_lock(void) {
	pthread_mutex_lock(&mutex);
	wanted++;
	while (locked) pthread_cond_wait(&freed, &mutex);
	wanted--;
	locked = true;
	turn++;
	pthread_cond_broadcast(&taken);
	pthread_mutex_unlock(&mutex);
}

void tally_unlock(void) {
	pthread_mutex_lock(&mutex);
	locked = false;
	pthread_cond_signal(&freed);
	pthread_mutex_unlock(&mutex);
}

/* Lets one that waits have its turn, which a thread that takes the lock again at once would not. */
void tally_yield(void) {
	if (!wanted) return;
	pthread_mutex_lock(&mutex);
	unsigned before = turn;
	locked = false;
	pthread_cond_signal(&freed);
	while (turn == before && wanted) pthread_cond_wait(&taken, &mutex);
	pthread_mutex_unlock(&mutex);
	tally_lock();
}

/* In a child of fork only the thread that forked is there, and has the lock. */
void tally_lock_forked(void) {
	mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	freed = taken = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	wanted = 0;
	locked = true;
	tally_threads = self;
	self->next = NULL;
	self->id = pthread_self();
	self->tid = (int)syscall(SYS_gettid);
}

void tally_outside(struct thread *t, const char *what) {
	t->outside = what;
	tally_unlock();
}

void tally_inside(struct thread *t) {
	tally_lock();
	t->outside = NULL;
}

struct thread *tally_self(void) { return self; }

struct thread *tally_thread_new(struct text *name) {
	struct thread *t = calloc(1, sizeof *t);
	self = t;
	t->id = pthread_self();
	t->tid = (int)syscall(SYS_gettid);
	t->name = name;
	struct thread **end = &tally_threads;
	while (*end) end = &(*end)->next;
	*end = t;
	return t;
}

struct text *text_new(const char *b, size_t n) {
	struct text *t = malloc(sizeof *t + n + 1);
	t->n = n;
	if (b) memcpy(t->b, b, n);
	t->b[n] = 0;
	return t;
}

struct text *text_of(const char *s) { return text_new(s, strlen(s)); }
struct value textv(const char *s) { return (struct value){TEXT, .text = text_of(s)}; }
struct value intv(int64_t i) { return (struct value){INT, .i = i}; }
struct value listv(void) { return (struct value){LIST, .list = calloc(1, sizeof(struct list))}; }
struct value mapv(void) { return (struct value){MAP, .map = calloc(1, sizeof(struct map))}; }

/* The old array stays as it is: somebody may look at it. */
void list_push(struct list *l, struct value v) {
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 4;
		struct value *more = malloc(room * sizeof v);
		if (l->n) memcpy(more, l->v, l->n * sizeof v);
		l->v = more;
		l->room = room;
	}
	l->v[l->n++] = v;
}

struct value *map_at(struct map *m, struct value k) {
	for (size_t i = 0; i < m->n; i++)
		if (same(m->e[i].k, k)) return &m->e[i].v;
	return NULL;
}

void map_set(struct map *m, struct value k, struct value v) {
	struct value *at = map_at(m, k);
	if (at) {
		*at = v;
		return;
	}
	if (m->n == m->room) {
		size_t room = m->room ? 2 * m->room : 4;
		struct pair *more = malloc(room * sizeof *more);
		if (m->n) memcpy(more, m->e, m->n * sizeof *more);
		m->e = more;
		m->room = room;
	}
	m->e[m->n++] = (struct pair){k, v};
}

struct value map_text(struct value m, const char *key) {
	if (m.tag == MAP)
		for (size_t i = 0; i < m.map->n; i++)
			if (m.map->e[i].k.tag == TEXT && !strcmp(m.map->e[i].k.text->b, key)) return m.map->e[i].v;
	return (struct value){NONE};
}

bool same(struct value a, struct value b) {
	if (a.tag == INT && b.tag == FLOAT) return (double)a.i == b.f;
	if (a.tag == FLOAT && b.tag == INT) return a.f == (double)b.i;
	if (a.tag != b.tag) return false;
	switch (a.tag) {
	case NONE: case UNSET: return true;
	case TRUTH: return a.truth == b.truth;
	case INT: return a.i == b.i;
	case FLOAT: return a.f == b.f;
	case TEXT: case BYTES: return a.text->n == b.text->n && !memcmp(a.text->b, b.text->b, a.text->n);
	default: return a.text == b.text;
	}
}

bool holds(struct value v) {
	switch (v.tag) {
	case NONE: case UNSET: return false;
	case TRUTH: return v.truth;
	case INT: return v.i != 0;
	case FLOAT: return v.f != 0;
	case TEXT: case BYTES: return v.text->n > 0;
	case LIST: return v.list->n > 0;
	case MAP: return v.map->n > 0;
	default: return true;
	}
}

const char *type_name(struct value v) {
	static const char *const names[] = {"none", "truth", "int", "float", "text", "bytes", "list", "map", "record",
		"function", "kind", "function", "module", "function", "unset"};
	return v.tag == RECORD ? v.record->kind->name->b : names[v.tag];
}

static void show(FILE *out, struct value v, bool quoted, int depth) {
	switch (v.tag) {
	case NONE: case UNSET: fputs("none", out); break;
	case TRUTH: fputs(v.truth ? "true" : "false", out); break;
	case INT: fprintf(out, "%lld", (long long)v.i); break;
	case FLOAT: fprintf(out, "%.17g", v.f); break;
	case TEXT: case BYTES:
		if (!quoted) {
			fwrite(v.text->b, 1, v.text->n, out);
			break;
		}
		fputc('\'', out);
		for (size_t i = 0; i < v.text->n; i++) {
			char c = v.text->b[i];
			if (c == '\n') fputs("\\n", out);
			else if (c == '\'' || c == '\\') fprintf(out, "\\%c", c);
			else fputc(c, out);
		}
		fputc('\'', out);
		break;
	case LIST:
		fputc('[', out);
		for (size_t i = 0; i < v.list->n && depth < 3; i++) {
			if (i) fputs(", ", out);
			show(out, v.list->v[i], true, depth + 1);
		}
		fputc(']', out);
		break;
	case MAP:
		fputc('{', out);
		for (size_t i = 0; i < v.map->n && depth < 3; i++) {
			if (i) fputs(", ", out);
			show(out, v.map->e[i].k, true, depth + 1);
			fputs(": ", out);
			show(out, v.map->e[i].v, true, depth + 1);
		}
		fputc('}', out);
		break;
	case RECORD:
		fprintf(out, "%s(", v.record->kind->name->b);
		for (size_t i = 0; i < v.record->kind->fields.n && depth < 3; i++) {
			fprintf(out, i ? ", %s=" : "%s=", v.record->kind->fields.v[i].text->b);
			show(out, v.record->f[i], true, depth + 1);
		}
		fputc(')', out);
		break;
	case FUNCTION: fputs(v.closure->fn->name->b, out); break;
	case KIND: fputs(v.kind->name->b, out); break;
	case BUILTIN: fputs(v.builtin->name, out); break;
	case MODULE: fputs(v.module->name->b, out); break;
	case FOREIGN: fputs(v.foreign->name, out); break;
	}
}

struct value shown(struct value v, bool quoted) {
	if (v.tag == TEXT && !quoted) return v;
	char *b;
	size_t n;
	FILE *out = open_memstream(&b, &n);
	show(out, v, quoted, 0);
	fclose(out);
	struct value t = {TEXT, .text = text_new(b, n)};
	free(b);
	return t;
}

struct function *method_of(struct kind *k, struct text *name) {
	for (size_t i = 0; i < k->methods.n; i++) {
		struct function *fn = k->methods.v[i].closure->fn;
		const char *last = strrchr(fn->name->b, '.') + 1;
		if (!strcmp(last, name->b)) return fn;
	}
	return NULL;
}

struct kind *kind_new(const char *name) {
	struct kind *k = calloc(1, sizeof *k);
	k->name = text_of(name);
	return k;
}

/* The kinds of what the interpreter throws itself; a program may throw anything. */
struct kind *kind_standard(const char *name) {
	static const char *const names[] = {"TypeError", "KeyError", "ValueError", "StackError", "ImportError", "SystemError"};
	static struct kind *kinds[sizeof names / sizeof *names];
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(names[i], name)) continue;
		if (!kinds[i]) {
			kinds[i] = kind_new(name);
			list_push(&kinds[i]->fields, textv("message"));
		}
		return kinds[i];
	}
	return NULL;
}

struct value error_new(struct thread *t, const char *kind, const char *format, ...) {
	char b[512];
	va_list args;
	va_start(args, format);
	vsnprintf(b, sizeof b, format, args);
	va_end(args);
	struct record *r = malloc(sizeof *r + sizeof(struct value));
	r->kind = kind_standard(kind);
	r->f[0] = textv(b);
	t->result = (struct value){RECORD, .record = r};
	thrown(t);
	return (struct value){NONE};
}
