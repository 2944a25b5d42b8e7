/* Runs nodes. An exception is a state of its thread, never a jump, so that it may lead through functions of C. */
#define _GNU_SOURCE
#include <alloca.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"
#include "tally.h"

struct hooks *volatile tally_hooks;
struct value tally_watcher;

#define MAX_DEPTH 2500
static const struct value nothing = {NONE};

static void run(struct thread *t, struct frame *f, struct node *n);

/* What t->result has is thrown. */
void thrown(struct thread *t) {
	t->state = THROWS;
	if (tally_hooks) tally_hooks->raised(t);
	if (t->tries) return;
	char *b;
	size_t n;
	FILE *out = open_memstream(&b, &n);
	for (struct frame *f = t->top; f; f = f->caller)
		fprintf(out, "  in %s, line %d\n", f->fn->name->b, f->at ? f->at->line : f->fn->line);
	fclose(out);
	t->trace = text_new(b, n);
	free(b);
}

/* A program's own hook: watch(handler) has it called with what happens, and the function's name. */
static void watched(struct thread *t, const char *what, struct function *fn) {
	struct value handler = tally_watcher, result = t->result, args[] = {textv(what), {TEXT, .text = fn->name}};
	enum state state = t->state;
	tally_watcher = nothing;
	t->state = GOES;
	call_value(t, handler, 2, args);
	if (tally_watcher.tag == NONE) tally_watcher = handler;
	if (t->state != THROWS) t->state = state, t->result = result;
}

static struct value invoke(struct thread *t, struct function *fn, struct frame *outer, int n, struct value *args) {
	int most = fn->rest ? fn->params - 1 : fn->params;
	if (n < fn->required || (n > most && !fn->rest))
		return error_new(t, "TypeError", "%s takes %d arguments, not %d", fn->name->b, fn->params, n);
	struct frame *f = fn->inner ? calloc(1, sizeof *f) : alloca(sizeof *f);
	size_t slots = fn->locals.n;
	*f = (struct frame){.fn = fn, .caller = t->top, .outer = outer, .at = fn->first,
		.depth = t->top ? t->top->depth + 1 : 0};
	if (f->depth > MAX_DEPTH) return error_new(t, "StackError", "calls are nested deeper than %d", MAX_DEPTH);
	f->slots = fn->inner ? malloc((slots + 1) * sizeof(struct value)) : alloca((slots + 1) * sizeof(struct value));
	for (size_t i = 0; i < slots; i++) f->slots[i].tag = UNSET;
	for (int i = 0; i < most; i++) f->slots[i] = i < n ? args[i] : fn->defaults[i];
	if (fn->rest) {
		f->slots[most] = listv();
		for (int i = most; i < n; i++) list_push(f->slots[most].list, args[i]);
	}
	t->top = f;
	tally_yield();
	bool shows = tally_watcher.tag != NONE && fn != fn->module->body &&
		!(tally_watcher.tag == FUNCTION && tally_watcher.closure->fn == fn);
	if (__builtin_expect(fn->seen, 0) && tally_hooks) tally_hooks->enter(t, f);
	if (shows) watched(t, "call", fn);
	run(t, f, fn->body);
	if (shows) watched(t, t->state == THROWS ? "throw" : "return", fn);
	if (t->state != THROWS && t->state != RETURNS) t->result = nothing;
	if (__builtin_expect(f->entered, 0) && tally_hooks) tally_hooks->leave(t, f);
	t->top = f->caller;
	if (__builtin_expect(t->stops, 0) && tally_hooks) tally_hooks->returned(t, f);
	if (t->state == THROWS) return nothing;
	t->state = GOES;
	return t->result;
}

struct foreign_call { struct thread *t; struct value callee; };

/* What C calls back: with the thread's lock, as a call of Tally. */
static long back(void *of, long n) {
	struct foreign_call *c = of;
	if (c->t->state == THROWS) return 0;
	struct value arg = intv(n), v = call_value(c->t, c->callee, 1, &arg);
	return v.tag == INT ? v.i : 0;
}

/* A function of C is long f(long n, long (*back)(void *of, long n), void *of). */
static struct value call_foreign(struct thread *t, struct foreign *fn, int n, struct value *args) {
	long (*call)(long, long (*)(void *, long), void *) = (long (*)(long, long (*)(void *, long), void *))fn->call;
	if (n < 1 || args[0].tag != INT) return error_new(t, "TypeError", "%s takes a number and a function", fn->name);
	struct foreign_call c = {t, n > 1 ? args[1] : nothing};
	long result = call(args[0].i, back, &c);
	return t->state == THROWS ? nothing : intv(result);
}

static struct value instance(struct thread *t, struct kind *k, int n, struct value *args) {
	struct record *r = calloc(1, sizeof *r + k->fields.n * sizeof(struct value));
	r->kind = k;
	struct value self = {RECORD, .record = r};
	struct function *make = k->methods.n ? method_of(k, text_of("constructor")) : NULL;
	if (!make) {
		if ((size_t)n != k->fields.n) return error_new(t, "TypeError", "%s has %zu fields, not %d", k->name->b,
			k->fields.n, n);
		for (int i = 0; i < n; i++) r->f[i] = args[i];
		return self;
	}
	struct value with[MAX_PARAMS + 1] = {self};
	memcpy(with + 1, args, (size_t)n * sizeof *args);
	invoke(t, make, NULL, n + 1, with);
	return self;
}

struct value call_value(struct thread *t, struct value callee, int n, struct value *args) {
	switch (callee.tag) {
	case FUNCTION: return invoke(t, callee.closure->fn, callee.closure->outer, n, args);
	case BUILTIN: return callee.builtin->call(t, n, args);
	case KIND: return instance(t, callee.kind, n, args);
	case FOREIGN: return call_foreign(t, callee.foreign, n, args);
	default: return error_new(t, "TypeError", "%s is no function", type_name(callee));
	}
}

static struct value *field(struct value of, struct text *name) {
	if (of.tag == RECORD)
		for (size_t i = 0; i < of.record->kind->fields.n; i++)
			if (!strcmp(of.record->kind->fields.v[i].text->b, name->b)) return &of.record->f[i];
	if (of.tag == MODULE)
		for (size_t i = 0; i < of.module->names.n; i++)
			if (!strcmp(of.module->names.v[i].text->b, name->b)) return &of.module->globals[i];
	return NULL;
}

/* A method that a call is made on, or NULL. */
static struct function *method(struct value of, struct text *name) {
	struct kind *k = of.tag == RECORD ? of.record->kind : of.tag == KIND ? of.kind : NULL;
	return k && !field(of, name) ? method_of(k, name) : NULL;
}

static struct value member(struct thread *t, struct value of, struct text *name) {
	struct value *at = field(of, name);
	if (at) return *at;
	struct function *fn = method(of, name);
	if (!fn) return error_new(t, "KeyError", "a %s has no %s", type_name(of), name->b);
	if (fn->getter && of.tag == RECORD) return invoke(t, fn, NULL, 1, &of);
	struct closure *c = calloc(1, sizeof *c);
	c->fn = fn;
	return (struct value){FUNCTION, .closure = c};
}

static struct value *element(struct thread *t, struct value of, struct value at) {
	if (of.tag == LIST && at.tag == INT) {
		int64_t i = at.i < 0 ? at.i + (int64_t)of.list->n : at.i;
		if (i >= 0 && i < (int64_t)of.list->n) return &of.list->v[i];
		error_new(t, "KeyError", "the list has %zu elements, and no %lld", of.list->n, (long long)at.i);
		return NULL;
	}
	struct value *v = of.tag == MAP ? map_at(of.map, at) : NULL;
	if (!v) error_new(t, "KeyError", "a %s has no %s", type_name(of), shown(at, true).text->b);
	return v;
}

static struct value arithmetic(struct thread *t, int op, struct value a, struct value b) {
	if (op == EQUAL || op == UNEQUAL) return (struct value){TRUTH, .truth = same(a, b) == (op == EQUAL)};
	if (a.tag == INT && b.tag == INT) {
		switch (op) {
		case ADD: return intv((int64_t)((uint64_t)a.i + (uint64_t)b.i));
		case SUBTRACT: return intv((int64_t)((uint64_t)a.i - (uint64_t)b.i));
		case MULTIPLY: return intv((int64_t)((uint64_t)a.i * (uint64_t)b.i));
		case DIVIDE: case MODULO:
			if (!b.i) return error_new(t, "ValueError", "division by zero");
			if (b.i == -1) return op == DIVIDE ? intv((int64_t)-(uint64_t)a.i) : intv(0);
			return intv(op == DIVIDE ? a.i / b.i : a.i % b.i);
		case LESS: return (struct value){TRUTH, .truth = a.i < b.i};
		case LESS_EQUAL: return (struct value){TRUTH, .truth = a.i <= b.i};
		case MORE: return (struct value){TRUTH, .truth = a.i > b.i};
		case MORE_EQUAL: return (struct value){TRUTH, .truth = a.i >= b.i};
		}
	}
	if (op == ADD && (a.tag == TEXT || b.tag == TEXT)) {
		struct text *x = shown(a, false).text, *y = shown(b, false).text, *both = text_new(NULL, x->n + y->n);
		memcpy(both->b, x->b, x->n);
		memcpy(both->b + x->n, y->b, y->n);
		return (struct value){TEXT, .text = both};
	}
	if (op == MULTIPLY && a.tag == TEXT && b.tag == INT && b.i >= 0 && b.i < 1 << 28) {
		struct text *many = text_new(NULL, a.text->n * (size_t)b.i);
		for (int64_t i = 0; i < b.i; i++) memcpy(many->b + (size_t)i * a.text->n, a.text->b, a.text->n);
		return (struct value){TEXT, .text = many};
	}
	bool numbers = (a.tag == INT || a.tag == FLOAT) && (b.tag == INT || b.tag == FLOAT);
	if (!numbers) return error_new(t, "TypeError", "%s and %s do not go together", type_name(a), type_name(b));
	double x = a.tag == INT ? (double)a.i : a.f, y = b.tag == INT ? (double)b.i : b.f;
	switch (op) {
	case ADD: return (struct value){FLOAT, .f = x + y};
	case SUBTRACT: return (struct value){FLOAT, .f = x - y};
	case MULTIPLY: return (struct value){FLOAT, .f = x * y};
	case DIVIDE: return (struct value){FLOAT, .f = x / y};
	case MODULO: return (struct value){FLOAT, .f = fmod(x, y)};
	case LESS: return (struct value){TRUTH, .truth = x < y};
	case LESS_EQUAL: return (struct value){TRUTH, .truth = x <= y};
	case MORE: return (struct value){TRUTH, .truth = x > y};
	default: return (struct value){TRUTH, .truth = x >= y};
	}
}

static struct value call(struct thread *t, struct frame *f, struct node *n) {
	struct value args[MAX_PARAMS + 1], callee;
	struct function *fn = NULL;
	int count = 0;
	if (n->a->op == MEMBER) {
		struct value of = eval(t, f, n->a->a);
		if (t->state) return nothing;
		if ((fn = method(of, n->a->value.text)) && !fn->getter) {
			if (of.tag == RECORD) args[count++] = of;
		} else fn = NULL, callee = member(t, of, n->a->value.text);
	} else callee = eval(t, f, n->a);
	if (t->state) return nothing;
	for (int i = 0; i < n->n; i++) {
		args[count++] = eval(t, f, n->list[i]);
		if (t->state) return nothing;
	}
	return fn ? invoke(t, fn, NULL, count, args) : call_value(t, callee, count, args);
}

struct value *variable(struct frame *f, struct node *n) {
	if (n->op == GLOBAL) return &f->fn->module->globals[n->slot];
	for (int i = 0; i < n->hops && f; i++) f = f->outer;
	return f && (size_t)n->slot < f->fn->locals.n ? &f->slots[n->slot] : NULL;
}

struct value eval(struct thread *t, struct frame *f, struct node *n) {
	struct value a, b, *at;
	switch (n->op) {
	case CONSTANT: return n->value;
	case LOCAL: case GLOBAL:
		at = variable(f, n);
		if (at && at->tag != UNSET) return *at;
		struct list *names = n->op == GLOBAL ? &f->fn->module->names : &f->fn->locals;
		return error_new(t, "KeyError", "%s has no value", n->hops ? "a name" : names->v[n->slot].text->b);
	case MAKES_LIST:
		a = listv();
		for (int i = 0; i < n->n && !t->state; i++) list_push(a.list, eval(t, f, n->list[i]));
		return a;
	case MAKES_MAP:
		a = mapv();
		for (int i = 0; i < n->n; i += 2) {
			b = eval(t, f, n->list[i]);
			if (t->state) return nothing;
			struct value v = eval(t, f, n->list[i + 1]);
			if (t->state) return nothing;
			map_set(a.map, b, v);
		}
		return a;
	case CALL: return call(t, f, n);
	case MEMBER:
		a = eval(t, f, n->a);
		return t->state ? nothing : member(t, a, n->value.text);
	case INDEX:
		a = eval(t, f, n->a);
		b = t->state ? nothing : eval(t, f, n->b);
		if (t->state) return nothing;
		at = element(t, a, b);
		return at ? *at : nothing;
	case AND: case OR:
		a = eval(t, f, n->a);
		return t->state || holds(a) == (n->op == OR) ? a : eval(t, f, n->b);
	case NOT:
		a = eval(t, f, n->a);
		return (struct value){TRUTH, .truth = !holds(a)};
	case NEGATE:
		a = eval(t, f, n->a);
		return t->state ? nothing : arithmetic(t, SUBTRACT, a.tag == FLOAT ? (struct value){FLOAT, .f = -0.0} : intv(0), a);
	case CLOSURE: {
		struct closure *c = malloc(sizeof *c);
		*c = (struct closure){n->fn, n->fn->within ? f : NULL};
		return (struct value){FUNCTION, .closure = c};
	}
	default:
		a = eval(t, f, n->a);
		b = t->state ? nothing : eval(t, f, n->b);
		return t->state ? nothing : arithmetic(t, n->op, a, b);
	}
}

bool assign_to(struct thread *t, struct frame *f, struct node *to, struct value v) {
	if (to->op == LOCAL || to->op == GLOBAL) {
		struct value *at = variable(f, to);
		if (at) *at = v;
		return at != NULL;
	}
	if (to->op != MEMBER && to->op != INDEX) return false;
	struct value of = eval(t, f, to->a), *at = NULL;
	if (t->state) return false;
	if (to->op == MEMBER) {
		at = field(of, to->value.text);
		if (!at) error_new(t, "KeyError", "a %s has no %s", type_name(of), to->value.text->b);
	} else {
		struct value key = eval(t, f, to->b);
		if (t->state) return false;
		if (of.tag == MAP) return map_set(of.map, key, v), true;
		at = element(t, of, key);
	}
	if (at) *at = v;
	return at != NULL;
}

static void run_try(struct thread *t, struct frame *f, struct node *n) {
	t->tries++;
	run(t, f, n->a);
	t->tries--;
	if (t->state != THROWS) return;
	struct value e = t->result;
	if (n->value.tag == TEXT && strcmp(n->value.text->b, type_name(e))) return;
	t->state = GOES;
	*variable(f, n->b) = e;
	run(t, f, n->c);
}

static bool loops(struct thread *t) {
	if (t->state == CONTINUES) t->state = GOES;
	if (t->state == BREAKS) return t->state = GOES, false;
	tally_yield();
	return !t->state;
}

static void run_for(struct thread *t, struct frame *f, struct node *n) {
	struct value over = eval(t, f, n->b), *at = variable(f, n->a);
	if (t->state) return;
	if (over.tag != LIST && over.tag != INT) {
		error_new(t, "TypeError", "for goes through a list, or counts to a number");
		return;
	}
	for (int64_t i = 0; i < (over.tag == INT ? over.i : (int64_t)over.list->n); i++) {
		*at = over.tag == INT ? intv(i) : over.list->v[i];
		run(t, f, n->c);
		if (!loops(t)) return;
	}
}

static void run(struct thread *t, struct frame *f, struct node *n) {
	if (n->op == BLOCK) {
		for (int i = 0; i < n->n && !t->state; i++) run(t, f, n->list[i]);
		return;
	}
	f->at = n;
	if (__builtin_expect(n->stop | t->stops, 0) && tally_hooks) {
		tally_hooks->statement(t, f, n);
		if (t->state) return;
	}
	struct value v;
	switch (n->op) {
	case EXPRESSION: eval(t, f, n->a); break;
	case ASSIGN:
		v = eval(t, f, n->b);
		if (!t->state) assign_to(t, f, n->a, v);
		break;
	case IF:
		v = eval(t, f, n->a);
		if (t->state) return;
		if (holds(v)) run(t, f, n->b);
		else if (n->c) run(t, f, n->c);
		break;
	case WHILE:
		while (v = eval(t, f, n->a), !t->state && holds(v)) {
			run(t, f, n->b);
			if (!loops(t)) break;
		}
		break;
	case FOR: run_for(t, f, n); break;
	case RETURN:
		v = n->a ? eval(t, f, n->a) : nothing;
		if (!t->state) t->result = v, t->state = RETURNS;
		break;
	case THROW:
		v = eval(t, f, n->a);
		if (t->state) return;
		t->result = v;
		thrown(t);
		break;
	case TRY: run_try(t, f, n); break;
	case BREAK: t->state = BREAKS; break;
	case CONTINUE: t->state = CONTINUES; break;
	case IMPORT: {
		struct module *m = module_load(t, n->value.text->b, f->fn->module->path->b);
		if (m) *variable(f, n->a) = (struct value){MODULE, .module = m};
		break;
	}
	}
}

struct value run_module(struct thread *t, struct module *m) {
	if (tally_hooks) tally_hooks->loaded(m);
	return invoke(t, m->body, NULL, 0, NULL);
}

struct module *module_load(struct thread *t, const char *name, const char *beside) {
	for (struct module *m = tally_modules; m; m = m->next)
		if (!strcmp(m->name->b, name)) return m;
	char *path, *error = NULL;
	const char *slash = strrchr(beside, '/');
	if (asprintf(&path, "%.*s%s.tally", slash ? (int)(slash + 1 - beside) : 0, beside, name) < 0) abort();
	struct module *m = parse_module(path, &error);
	free(path);
	if (!m) {
		error_new(t, "ImportError", "%s: %s", name, error);
		return NULL;
	}
	run_module(t, m);
	return t->state ? NULL : m;
}
