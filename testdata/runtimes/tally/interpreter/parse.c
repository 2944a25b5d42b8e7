/* From text to nodes. Names become slots here: of this call, of one that is around it, of the module. */
#define _GNU_SOURCE
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"
#include "parser.h"

struct module *tally_modules;
struct function *tally_functions;
int tally_function_count;

static struct node *expression(struct parser *p);
static struct node *block(struct parser *p);

static bool is(struct parser *p, const char *what) {
	return (p->t.kind == SIGN || p->t.kind == NAME) && p->t.n == strlen(what) && !memcmp(p->t.from, what, p->t.n);
}

static bool accept(struct parser *p, const char *what) {
	if (!is(p, what)) return false;
	next_token(p);
	return true;
}

static void expect(struct parser *p, const char *what) {
	if (!accept(p, what)) parse_fail(p, "%s is missing before %.*s", what, (int)p->t.n, p->t.from);
}

static struct text *name(struct parser *p) {
	static const char *const words[] = {"fn", "get", "record", "if", "else", "while", "for", "in", "return", "throw",
		"try", "catch", "break", "continue", "import", "and", "or", "not", "true", "false", "none", "let", NULL};
	for (int i = 0; words[i]; i++)
		if (is(p, words[i])) parse_fail(p, "%s is no name", words[i]);
	if (p->t.kind != NAME) parse_fail(p, "a name is missing before %.*s", (int)p->t.n, p->t.from);
	struct text *t = text_new(p->t.from, p->t.n);
	next_token(p);
	return t;
}

static struct node *node(struct parser *p, enum op op) {
	struct node *n = calloc(1, sizeof *n);
	n->op = op;
	n->line = p->t.line;
	n->fn = p->fn;
	return n;
}

static struct node *pair(struct parser *p, enum op op, struct node *a, struct node *b) {
	struct node *n = node(p, op);
	n->a = a, n->b = b;
	if (a) n->line = a->line;
	return n;
}

static void add(struct node *n, struct node *one) {
	n->list = realloc(n->list, (size_t)(n->n + 1) * sizeof one);
	n->list[n->n++] = one;
}

static int slot_of(struct list *names, struct text *name) {
	for (size_t i = 0; i < names->n; i++)
		if (!strcmp(names->v[i].text->b, name->b)) return (int)i;
	return -1;
}

static int add_name(struct parser *p, struct list *names, struct text *name) {
	int at = slot_of(names, name);
	if (at >= 0) return at;
	if (names == &p->m->names) {
		if (names->n == MAX_GLOBALS) parse_fail(p, "there are too many names");
		p->m->globals[names->n].tag = UNSET;
	}
	list_push(names, (struct value){TEXT, .text = name});
	return (int)names->n - 1;
}

/* A name where it is used; declare: it comes to be here, if it is not there. */
static struct node *variable_named(struct parser *p, struct text *name, bool declare) {
	struct node *n = node(p, LOCAL);
	for (struct function *fn = p->fn; fn && fn != p->m->body; fn = fn->within, n->hops++)
		if ((n->slot = slot_of(&fn->locals, name)) >= 0) return n;
	n->hops = 0;
	if (declare && p->fn != p->m->body) {
		n->slot = add_name(p, &p->fn->locals, name);
		return n;
	}
	n->op = GLOBAL;
	if ((n->slot = slot_of(&p->m->names, name)) >= 0) return n;
	if (!declare) {
		n->op = CONSTANT;
		if ((n->value.kind = kind_standard(name->b))) return n->value.tag = KIND, n;
		for (const struct builtin *b = tally_builtins; b->name; b++)
			if (!strcmp(b->name, name->b)) return n->value = (struct value){BUILTIN, .builtin = b}, n;
		n->op = GLOBAL;
		if (p->closed) parse_fail(p, "there is no %s", name->b);
	}
	n->slot = add_name(p, &p->m->names, name);
	return n;
}

/* fn NAME(PARAMETERS) BLOCK, behind its name. */
static struct function *function(struct parser *p, struct text *own, const char *from) {
	struct function *fn = calloc(1, sizeof *fn);
	struct text *around = p->fn == p->m->body ? p->m->name : p->fn->name;
	char b[512];
	snprintf(b, sizeof b, "%s.%s", around->b, own->b);
	fn->name = text_of(b);
	fn->module = p->m;
	fn->line = p->t.line;
	fn->from = (size_t)(from - p->text);
	if (p->fn != p->m->body) fn->within = p->fn, p->fn->inner = true;
	struct function *outer = p->fn;
	p->fn = fn;
	fn->defaults = calloc(MAX_PARAMS, sizeof(struct value));
	expect(p, "(");
	while (!is(p, ")")) {
		fn->rest = accept(p, "*");
		if (add_name(p, &fn->locals, name(p)) != fn->params || ++fn->params > MAX_PARAMS)
			parse_fail(p, "these parameters are too many, or have the same name");
		if (accept(p, "=")) {
			if (p->t.kind != NUMBER && p->t.kind != STRING) parse_fail(p, "a default is a number or a text");
			fn->defaults[fn->params - 1] = p->t.value;
			next_token(p);
		} else if (!fn->rest) fn->required = fn->params;
		if (fn->rest || !accept(p, ",")) break;
	}
	expect(p, ")");
	fn->body = block(p);
	fn->first = fn->body->n ? fn->body->list[0] : NULL;
	fn->to = (size_t)(p->t.from - p->text);
	while (fn->to > fn->from && isspace((unsigned char)p->text[fn->to - 1])) fn->to--;
	p->fn = outer;
	fn->number = ++tally_function_count;
	struct function **end = &tally_functions;
	while (*end) end = &(*end)->next;
	*end = fn;
	return fn;
}

static struct value closure_of(struct function *fn) {
	struct closure *c = calloc(1, sizeof *c);
	c->fn = fn;
	return (struct value){FUNCTION, .closure = c};
}

static struct node *primary(struct parser *p) {
	struct node *n = node(p, CONSTANT);
	if (p->t.kind == NUMBER || p->t.kind == STRING) return n->value = p->t.value, next_token(p), n;
	if (accept(p, "none")) return n;
	if (is(p, "true") || is(p, "false")) return n->value = (struct value){TRUTH, .truth = p->t.n == 4}, next_token(p), n;
	if (accept(p, "(")) {
		n = expression(p);
		return expect(p, ")"), n;
	}
	if (accept(p, "[")) {
		n->op = MAKES_LIST;
		while (!is(p, "]")) {
			add(n, expression(p));
			if (!accept(p, ",")) break;
		}
		return expect(p, "]"), n;
	}
	if (accept(p, "{")) {
		n->op = MAKES_MAP;
		while (!is(p, "}")) {
			add(n, expression(p));
			expect(p, ":");
			add(n, expression(p));
			if (!accept(p, ",")) break;
		}
		return expect(p, "}"), n;
	}
	const char *from = p->t.from;
	if (!p->closed && accept(p, "fn")) {
		n->op = CLOSURE;
		return n->fn = function(p, text_of("fn"), from), n;
	}
	return variable_named(p, name(p), false);
}

static struct node *postfix(struct parser *p) {
	struct node *n = primary(p);
	for (;;) {
		if (!p->t.fresh && accept(p, "(")) {
			n = pair(p, CALL, n, NULL);
			while (!is(p, ")")) {
				add(n, expression(p));
				if (n->n > MAX_PARAMS) parse_fail(p, "too many arguments");
				if (!accept(p, ",")) break;
			}
			expect(p, ")");
		} else if (!p->t.fresh && accept(p, "[")) {
			n = pair(p, INDEX, n, expression(p));
			expect(p, "]");
		} else if (accept(p, ".")) {
			n = pair(p, MEMBER, n, NULL);
			n->value = (struct value){TEXT, .text = name(p)};
		} else return n;
	}
}

static struct node *unary(struct parser *p) {
	if (accept(p, "-")) return pair(p, NEGATE, unary(p), NULL);
	if (accept(p, "not")) return pair(p, NOT, unary(p), NULL);
	return postfix(p);
}

static const struct { const char *sign; enum op op; int binds; } binary[] = {
	{"or", OR, 1}, {"and", AND, 2}, {"==", EQUAL, 3}, {"!=", UNEQUAL, 3}, {"<", LESS, 4}, {"<=", LESS_EQUAL, 4},
	{">", MORE, 4}, {">=", MORE_EQUAL, 4}, {"+", ADD, 5}, {"-", SUBTRACT, 5}, {"*", MULTIPLY, 6}, {"/", DIVIDE, 6},
	{"%", MODULO, 6},
};

static struct node *climb(struct parser *p, int least) {
	struct node *n = unary(p);
	for (;;) {
		size_t i = 0, all = sizeof binary / sizeof *binary;
		while (i < all && !(is(p, binary[i].sign) && binary[i].binds >= least)) i++;
		if (i == all || p->t.fresh) return n;
		next_token(p);
		n = pair(p, binary[i].op, n, climb(p, binary[i].binds + 1));
	}
}

static struct node *expression(struct parser *p) { return climb(p, 1); }

static void record(struct parser *p) {
	struct text *own = name(p);
	struct kind *k = kind_new(own->b);
	p->m->globals[add_name(p, &p->m->names, own)] = (struct value){KIND, .kind = k};
	expect(p, "{");
	while (!is(p, "}")) {
		list_push(&k->fields, (struct value){TEXT, .text = name(p)});
		if (!accept(p, ",")) break;
	}
	expect(p, "}");
}

/* A function with a name: of the module, of a record's kind, or within another one. */
static struct node *definition(struct parser *p, const char *from, bool getter) {
	struct text *own = name(p);
	bool top = p->fn == p->m->body;
	if (top && accept(p, ".")) {
		int at = slot_of(&p->m->names, own);
		if (at < 0 || p->m->globals[at].tag != KIND) parse_fail(p, "%s is no record's kind", own->b);
		struct text *method = name(p);
		char b[256];
		snprintf(b, sizeof b, "%s.%s", own->b, method->b);
		struct function *fn = function(p, text_of(b), from);
		fn->getter = getter;
		list_push(&p->m->globals[at].kind->methods, closure_of(fn));
		return NULL;
	}
	if (top) {
		int at = add_name(p, &p->m->names, own);
		p->m->globals[at] = closure_of(function(p, own, from));
		return NULL;
	}
	struct node *to = variable_named(p, own, true), *made = node(p, CLOSURE);
	made->fn = function(p, own, from);
	return pair(p, ASSIGN, to, made);
}

static struct node *simple(struct parser *p) {
	struct node *n;
	if (accept(p, "return")) {
		n = pair(p, RETURN, NULL, NULL);
		if (!p->t.fresh && !is(p, "}")) n->a = expression(p);
		return n;
	}
	if (accept(p, "throw")) return pair(p, THROW, expression(p), NULL);
	if (accept(p, "break")) return node(p, BREAK);
	if (accept(p, "continue")) return node(p, CONTINUE);
	if (accept(p, "import")) {
		n = node(p, IMPORT);
		struct text *of = name(p);
		n->a = variable_named(p, of, true);
		n->value = (struct value){TEXT, .text = of};
		return n;
	}
	bool declare = accept(p, "let");
	if (declare) {
		n = variable_named(p, name(p), true);
		if (!is(p, "=")) parse_fail(p, "= is missing");
	} else n = expression(p);
	if (!p->t.fresh && accept(p, "=")) {
		if (n->op != LOCAL && n->op != GLOBAL && n->op != MEMBER && n->op != INDEX) parse_fail(p, "this cannot be set");
		return pair(p, ASSIGN, n, expression(p));
	}
	return pair(p, EXPRESSION, n, NULL);
}

static struct node *statement(struct parser *p) {
	struct token first = p->t;
	struct node *n;
	size_t at = p->m->statement_count; /* before those that are in it */
	bool fn = is(p, "fn"), get = is(p, "get");
	if (fn || get) {
		next_token(p);
		n = definition(p, first.from, get);
		if (!n) return NULL;
	} else if (accept(p, "record")) return record(p), NULL;
	else if (accept(p, "if")) {
		n = pair(p, IF, expression(p), NULL);
		n->b = block(p);
		if (accept(p, "else")) n->c = is(p, "if") ? statement(p) : block(p);
	} else if (accept(p, "while")) {
		n = pair(p, WHILE, expression(p), NULL);
		n->b = block(p);
	} else if (accept(p, "for")) {
		n = node(p, FOR);
		n->a = variable_named(p, name(p), true);
		expect(p, "in");
		n->b = expression(p);
		n->c = block(p);
	} else if (accept(p, "try")) {
		n = pair(p, TRY, block(p), NULL);
		expect(p, "catch");
		struct text *one = name(p), *kind = NULL;
		if (p->t.kind == NAME) kind = one, one = name(p);
		if (kind) n->value = (struct value){TEXT, .text = kind};
		n->b = variable_named(p, one, true);
		n->c = block(p);
	} else n = simple(p);
	n->line = first.line;
	struct module *m = p->m;
	if (m->statement_count == m->statement_room)
		m->statements = realloc(m->statements, (m->statement_room = 2 * m->statement_room + 16) * sizeof n);
	memmove(m->statements + at + 1, m->statements + at, (m->statement_count++ - at) * sizeof n);
	m->statements[at] = n;
	return n;
}

static struct node *block(struct parser *p) {
	struct node *n = node(p, BLOCK);
	expect(p, "{");
	while (!is(p, "}")) {
		if (p->t.kind == END) parse_fail(p, "} is missing");
		struct node *one = statement(p);
		if (one) add(n, one);
		accept(p, ";");
	}
	next_token(p);
	return n;
}

static struct text *read_file(const char *path) {
	FILE *f = fopen(path, "re");
	if (!f) return NULL;
	char *b = NULL;
	size_t n = 0;
	if (getdelim(&b, &n, 0, f) < 0) b = strdup("");
	fclose(f);
	struct text *t = text_of(b);
	free(b);
	return t;
}

/* Parses what p has, to the end, into all. */
static bool whole(struct parser *p, struct node *all) {
	if (setjmp(p->fails)) return false;
	next_token(p);
	while (p->t.kind != END) {
		struct node *one = statement(p);
		if (one) add(all, one);
		accept(p, ";");
	}
	return true;
}

struct module *parse_module(const char *path, char **error) {
	struct parser p = {.line = 1};
	struct module *m = calloc(1, sizeof *m);
	if (!(m->source = read_file(path))) {
		if (asprintf(error, "%s cannot be read", path) < 0) abort();
		return NULL;
	}
	char *real = realpath(path, NULL), *base = strdup(basename(path));
	m->path = text_of(real ? real : path);
	if (strrchr(base, '.')) *strrchr(base, '.') = 0;
	m->name = text_of(base);
	m->globals = calloc(MAX_GLOBALS, sizeof(struct value));
	m->body = calloc(1, sizeof *m->body);
	m->body->name = m->name;
	m->body->module = m;
	p.m = m, p.fn = m->body;
	p.text = p.at = m->source->b;
	struct node *all = calloc(1, sizeof *all);
	all->op = BLOCK;
	m->body->body = all;
	if (!whole(&p, all)) {
		*error = p.error;
		return NULL;
	}
	struct module **end = &tally_modules;
	while (*end) end = &(*end)->next;
	*end = m;
	return m;
}

struct node *parse_expression(struct function *scope, const char *text, char **error) {
	struct parser p = {.line = 1, .m = scope->module, .fn = scope, .text = text, .at = text, .closed = true};
	if (setjmp(p.fails)) {
		*error = p.error;
		return NULL;
	}
	next_token(&p);
	struct node *n = expression(&p);
	if (p.t.kind != END) parse_fail(&p, "%.*s is too much", (int)p.t.n, p.t.from);
	return n;
}
