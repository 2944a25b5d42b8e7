/* From text to words. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parser.h"

void parse_fail(struct parser *p, const char *format, ...) {
	char b[256], *whole;
	va_list args;
	va_start(args, format);
	vsnprintf(b, sizeof b, format, args);
	va_end(args);
	if (asprintf(&whole, p->closed ? "%s" : "%s in line %d", b, p->t.line) < 0) abort();
	p->error = whole;
	longjmp(p->fails, 1);
}

static size_t utf8(char *to, unsigned c) {
	if (c < 0x80) return to[0] = (char)c, 1;
	if (c < 0x800) return to[0] = (char)(0xc0 | c >> 6), to[1] = (char)(0x80 | (c & 63)), 2;
	if (c < 0x10000)
		return to[0] = (char)(0xe0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 63)), to[2] = (char)(0x80 | (c & 63)), 3;
	to[0] = (char)(0xf0 | c >> 18), to[1] = (char)(0x80 | (c >> 12 & 63));
	return to[2] = (char)(0x80 | (c >> 6 & 63)), to[3] = (char)(0x80 | (c & 63)), 4;
}

static void string(struct parser *p, enum tag tag) {
	char *b = malloc(strlen(p->at) + 4), *to = b;
	for (p->at++; *p->at != '"';) {
		if (!*p->at || *p->at == '\n') parse_fail(p, "a text has no end");
		if (*p->at != '\\') {
			*to++ = *p->at++;
			continue;
		}
		char c = p->at[1];
		p->at += 2;
		switch (c) {
		case 'n': *to++ = '\n'; break;
		case 't': *to++ = '\t'; break;
		case '0': *to++ = 0; break;
		case 'x': *to++ = (char)strtoul((char[]){p->at[0], p->at[1], 0}, NULL, 16); p->at += 2; break;
		case 'u': {
			char *end;
			to += utf8(to, (unsigned)strtoul(p->at + 1, &end, 16));
			p->at = end + 1; /* in braces */
			break;
		}
		default: *to++ = c;
		}
	}
	p->at++;
	p->t.kind = STRING;
	p->t.value = (struct value){tag, .text = text_new(b, (size_t)(to - b))};
	free(b);
}

void next_token(struct parser *p) {
	p->t.fresh = false;
	for (;; p->at++) {
		if (*p->at == '#') while (*p->at && *p->at != '\n') p->at++;
		if (*p->at == '\n') p->line++, p->t.fresh = true;
		if (!isspace((unsigned char)*p->at)) break;
	}
	p->t.from = p->at;
	p->t.line = p->line;
	char c = *p->at;
	if (!c) p->t.kind = END;
	else if (c == '"') string(p, TEXT);
	else if (c == 'b' && p->at[1] == '"') p->at++, string(p, BYTES);
	else if (isalpha((unsigned char)c) || c == '_') {
		while (isalnum((unsigned char)*p->at) || *p->at == '_') p->at++;
		p->t.kind = NAME;
	} else if (isdigit((unsigned char)c)) {
		char *end;
		p->t.kind = NUMBER;
		p->t.value = intv(strtoll(p->at, &end, 10));
		if (*end == '.' && isdigit((unsigned char)end[1])) p->t.value = (struct value){FLOAT, .f = strtod(p->at, &end)};
		p->at = end;
	} else {
		bool two = strchr("=!<>", c) && p->at[1] == '=';
		p->at += two ? 2 : 1;
		p->t.kind = SIGN;
	}
	p->t.n = (size_t)(p->at - p->t.from);
}
