/* JSON, out and in. */
#define _GNU_SOURCE
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"

#define MOST_BYTES 1024     /* of a text */
#define MOST_ELEMENTS 100
#define MOST_PAYLOAD 15000  /* behind that nothing new is begun */
#define MOST_DEPTH 64

void put_raw(struct out *o, const char *b, size_t n) {
	if (o->n + n + 1 > o->room) o->b = realloc(o->b, o->room = 2 * (o->n + n) + 256);
	memcpy(o->b + o->n, b, n);
	o->b[o->n += n] = 0;
}

void put(struct out *o, const char *format, ...) {
	char b[1024];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(b, sizeof b, format, args);
	va_end(args);
	put_raw(o, b, n < (int)sizeof b ? (size_t)n : sizeof b - 1);
}

/* How many bytes of UTF-8 begin at b: 0 where it is none. */
static size_t character(const char *b, size_t n) {
	unsigned char c = (unsigned char)*b;
	size_t k = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
	if (k == 0 || k > n) return 0;
	for (size_t i = 1; i < k; i++)
		if ((b[i] & 0xc0) != 0x80) return 0;
	return k;
}

void put_text(struct out *o, const char *b, size_t n) {
	put_raw(o, "\"", 1);
	for (size_t i = 0, k; i < n; i += k ? k : 1) {
		unsigned char c = (unsigned char)b[i];
		k = character(b + i, n - i);
		if (c == '"' || c == '\\') put_raw(o, (char[]){'\\', (char)c}, 2);
		else if (c < 0x20) put(o, "\\u%04x", c);
		else if (k) put_raw(o, b + i, k);
		else put(o, "\\ufffd");
	}
	put_raw(o, "\"", 1);
}

void put_name(struct out *o, const char *s) { put_text(o, s, strlen(s)); }

static void put_bytes(struct out *o, struct text *t) {
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = t->n < MOST_BYTES ? t->n : MOST_BYTES;
	put(o, "{\"$\":\"bytes\",\"v\":\"");
	for (size_t i = 0; i < n; i += 3) {
		unsigned v = 0;
		for (size_t k = 0; k < 3; k++) v = v << 8 | (i + k < n ? (unsigned char)t->b[i + k] : 0);
		char four[] = {digits[v >> 18], digits[v >> 12 & 63], i + 1 < n ? digits[v >> 6 & 63] : '=',
			i + 2 < n ? digits[v & 63] : '='};
		put_raw(o, four, 4);
	}
	put(o, "\"");
	if (t->n > n) put(o, ",\"more\":%zu", t->n - n);
	put(o, "}");
}

/* Those that are around a value, to find circles. */
struct around { const void *one; const struct around *next; };

static void put_inner(struct out *o, struct value v, int depth, size_t limit, const struct around *around);

/* A sequence, a mapping by texts, or one by anything. */
static void put_elements(struct out *o, struct value v, int depth, size_t limit, const struct around *around) {
	bool list = v.tag == LIST, texts = true;
	size_t n = list ? v.list->n : v.map->n, most = n < MOST_ELEMENTS ? n : MOST_ELEMENTS, i;
	for (i = 0; !list && i < most; i++)
		texts = texts && v.map->e[i].k.tag == TEXT && v.map->e[i].k.text->b[0] != '$';
	size_t at = o->n;
	put(o, list ? "[" : texts ? "{" : "[");
	for (i = 0; i < most && o->n < limit; i++) {
		if (i) put(o, ",");
		if (!list) {
			if (!texts) put(o, "[");
			put_inner(o, v.map->e[i].k, depth - 1, limit, around);
			put(o, texts ? ":" : ",");
		}
		put_inner(o, list ? v.list->v[i] : v.map->e[i].v, depth - 1, limit, around);
		if (!list && !texts) put(o, "]");
	}
	bool cut = i < n;
	if ((!cut && list) || (!cut && texts)) {
		put(o, list ? "]" : "}");
		return;
	}
	if (!list && texts) { /* with its count it is a dict, of pairs */
		o->n = at;
		put(o, "[");
		size_t told = i;
		for (i = 0; i < told; i++) {
			put(o, i ? ",[" : "[");
			put_inner(o, v.map->e[i].k, depth - 1, limit + 256, around);
			put(o, ",");
			put_inner(o, v.map->e[i].v, depth - 1, limit + 256, around);
			put(o, "]");
		}
	}
	put(o, "]");
	struct out rest = {0};
	put_raw(&rest, o->b + at, o->n - at);
	o->n = at;
	put(o, "{\"$\":\"%s\",\"v\":", list ? "list" : "dict");
	put_raw(o, rest.b, rest.n);
	if (cut) put(o, ",\"more\":%zu", n - i);
	put(o, "}");
	free(rest.b);
}

static void put_inner(struct out *o, struct value v, int depth, size_t limit, const struct around *around) {
	const struct around here = {v.text, around};
	switch (v.tag) {
	case NONE: case UNSET: put(o, "null"); return;
	case TRUTH: put(o, v.truth ? "true" : "false"); return;
	case INT: put(o, "%lld", (long long)v.i); return;
	case FLOAT:
		if (isnan(v.f)) put(o, "{\"$\":\"float\",\"v\":\"NaN\"}");
		else if (isinf(v.f)) put(o, "{\"$\":\"float\",\"v\":\"%sInfinity\"}", v.f < 0 ? "-" : "");
		else put(o, "%.17g", v.f);
		return;
	case TEXT:
		if (v.text->n <= MOST_BYTES) {
			put_text(o, v.text->b, v.text->n);
			return;
		}
		size_t n = MOST_BYTES;
		while (n > 0 && (v.text->b[n] & 0xc0) == 0x80) n--;
		put(o, "{\"$\":\"text\",\"v\":");
		put_text(o, v.text->b, n);
		put(o, ",\"more\":%zu}", v.text->n - n);
		return;
	case BYTES: put_bytes(o, v.text); return;
	case LIST: case MAP: case RECORD: break;
	default: {
		struct text *t = shown(v, false).text;
		put(o, "{\"$\":\"name\",\"v\":");
		put_text(o, t->b, t->n);
		put(o, "}");
		return;
	}
	}
	for (const struct around *a = around; a; a = a->next)
		if (a->one == v.text) {
			put(o, "{\"$\":\"cycle\",\"a\":\"%p\"}", (const void *)v.text);
			return;
		}
	if (depth <= 0) {
		put(o, "{\"$\":\"depth\",\"t\":");
		put_name(o, type_name(v));
		put(o, "}");
		return;
	}
	if (v.tag != RECORD) {
		put_elements(o, v, depth, limit, &here);
		return;
	}
	struct list *fields = &v.record->kind->fields;
	put(o, "{\"$\":\"obj\",\"t\":");
	put_name(o, type_name(v));
	put(o, ",\"v\":{");
	size_t i;
	for (i = 0; i < fields->n && o->n < limit; i++) {
		if (i) put(o, ",");
		put_text(o, fields->v[i].text->b, fields->v[i].text->n);
		put(o, ":");
		put_inner(o, v.record->f[i], depth - 1, limit, &here);
	}
	put(o, "}");
	if (i < fields->n) put(o, ",\"more\":%zu", fields->n - i);
	put(o, "}");
}

void put_value(struct out *o, struct value v, int depth) {
	put_inner(o, v, depth < MOST_DEPTH ? depth : MOST_DEPTH, o->n + MOST_PAYLOAD, NULL);
}

/* Values of a frame, by their names: an object. */
void put_slots(struct out *o, struct frame *f, int from, int to, int depth) {
	size_t limit = o->n + MOST_PAYLOAD;
	bool some = false;
	put(o, "{");
	for (int i = from; i < to && i < (int)f->fn->locals.n; i++) {
		if (f->slots[i].tag == UNSET) continue;
		if (some) put(o, ",");
		some = true;
		put_text(o, f->fn->locals.v[i].text->b, f->fn->locals.v[i].text->n);
		put(o, ":");
		put_inner(o, f->slots[i], o->n < limit ? depth : 0, limit, NULL);
	}
	put(o, "}");
}

/* Reading: values of Tally's own. */
static bool read_value(const char **at, struct value *v, int depth);

static void blank(const char **at) { *at += strspn(*at, " \t\r\n"); }

static void put_rune(struct out *o, unsigned c) {
	char b[4];
	size_t n;
	if (c < 0x80) b[0] = (char)c, n = 1;
	else if (c < 0x800) b[0] = (char)(0xc0 | c >> 6), b[1] = (char)(0x80 | (c & 63)), n = 2;
	else if (c < 0x10000)
		b[0] = (char)(0xe0 | c >> 12), b[1] = (char)(0x80 | (c >> 6 & 63)), b[2] = (char)(0x80 | (c & 63)), n = 3;
	else {
		b[0] = (char)(0xf0 | c >> 18), b[1] = (char)(0x80 | (c >> 12 & 63));
		b[2] = (char)(0x80 | (c >> 6 & 63)), b[3] = (char)(0x80 | (c & 63)), n = 4;
	}
	put_raw(o, b, n);
}

static unsigned four(const char *at) {
	char b[5] = {0};
	strncpy(b, at, 4);
	return (unsigned)strtoul(b, NULL, 16);
}

static bool read_text(const char **at, struct value *v) {
	struct out o = {0};
	put_raw(&o, "", 0);
	for ((*at)++; **at != '"';) {
		char c = *(*at)++;
		if (!c) return free(o.b), false;
		if (c != '\\') {
			put_raw(&o, &c, 1);
			continue;
		}
		c = *(*at)++;
		if (!c) return free(o.b), false;
		const char *from = "nrtbf", *to = "\n\r\t\b\f", *one = strchr(from, c);
		if (c == 'u' && strnlen(*at, 4) == 4) {
			unsigned r = four(*at);
			*at += 4;
			if (r >= 0xd800 && r < 0xdc00 && (*at)[0] == '\\' && (*at)[1] == 'u' && strnlen(*at, 6) == 6) {
				r = 0x10000 + ((r - 0xd800) << 10) + (four(*at + 2) - 0xdc00);
				*at += 6;
			}
			put_rune(&o, r);
		} else put_raw(&o, one ? to + (one - from) : &c, 1);
	}
	(*at)++;
	*v = (struct value){TEXT, .text = text_new(o.b, o.n)};
	free(o.b);
	return true;
}

static bool read_value(const char **at, struct value *v, int depth) {
	blank(at);
	if (depth > MOST_DEPTH) return false;
	static const struct { const char *word; struct value v; } words[] = {
		{"null", {NONE}}, {"true", {TRUTH, .truth = true}}, {"false", {TRUTH, .truth = false}}};
	for (int i = 0; i < 3; i++) {
		size_t n = strlen(words[i].word);
		if (!strncmp(*at, words[i].word, n)) return *v = words[i].v, *at += n, true;
	}
	if (**at == '"') return read_text(at, v);
	if (**at == '[' || **at == '{') {
		char end = *(*at)++ == '[' ? ']' : '}';
		*v = end == ']' ? listv() : mapv();
		for (blank(at); **at != end; blank(at)) {
			struct value k, one;
			if (end == '}') {
				if (**at != '"' || !read_text(at, &k)) return false;
				blank(at);
				if (*(*at)++ != ':') return false;
			}
			if (!read_value(at, &one, depth + 1)) return false;
			if (end == ']') list_push(v->list, one);
			else map_set(v->map, k, one);
			blank(at);
			if (**at == ',') (*at)++;
			else if (**at != end) return false;
		}
		return (*at)++, true;
	}
	char *end;
	*v = intv(strtoll(*at, &end, 10));
	if (*end == '.' || *end == 'e' || *end == 'E') *v = (struct value){FLOAT, .f = strtod(*at, &end)};
	if (end == *at) return false;
	*at = end;
	return true;
}

bool json_read(const char *text, struct value *v) {
	if (!read_value(&text, v, 0)) return false;
	blank(&text);
	return !*text && v->tag == MAP;
}

int64_t json_int(struct value m, const char *key) {
	struct value v = map_text(m, key);
	return v.tag == INT ? v.i : 0;
}

const char *json_text(struct value m, const char *key) {
	struct value v = map_text(m, key);
	return v.tag == TEXT ? v.text->b : "";
}
