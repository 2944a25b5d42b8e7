/* What the two halves of the parser share: words (words.c), and what they mean (parse.c). */
#ifndef PARSER_H
#define PARSER_H

#include <setjmp.h>

#include "tally.h"

enum kind_of_token { END, NAME, NUMBER, STRING, RAW, SIGN };

struct token { enum kind_of_token kind; const char *from; size_t n; int line; bool fresh; struct value value; };

struct parser {
	struct module *m;
	struct function *fn; /* the innermost around */
	const char *text, *at;
	int line;
	struct token t;
	bool closed; /* an expression of the agent: no names come in */
	jmp_buf fails;
	char *error;
};

/* The text is wrong: goes back to who parses it. */
void parse_fail(struct parser *p, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));
void next_token(struct parser *p);

#endif
