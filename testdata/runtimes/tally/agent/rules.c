/* Which functions are recorded. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "agent.h"

#define MOST_NEAR 2000

bool glob_matches(const char *g, const char *s, char separator) {
	for (; *g; g++, s++) {
		if (g[0] == '*' && g[1] == '*') {
			/* Between two separators, or at the beginning, it also stands for nothing. */
			if (g[2] == separator && glob_matches(g + 3, s, separator)) return true;
			for (;; s++) {
				if (glob_matches(g + 2, s, separator)) return true;
				if (!*s) return false;
			}
		}
		if (*g == '*') {
			for (;; s++) {
				if (glob_matches(g + 1, s, separator)) return true;
				if (!*s || *s == separator) return false;
			}
		}
		if (!*s || (*g != *s && (*g != '?' || *s == separator))) return false;
	}
	return !*s;
}

/* On the whole name, and on the part without the module. */
bool names_match(const char *glob, struct function *fn) {
	const char *name = fn->name->b, *dot = strchr(name, '.');
	return glob_matches(glob, name, '.') || (dot && glob_matches(glob, dot + 1, '.'));
}

bool is_user(struct function *fn) {
	size_t n = strlen(agent_root);
	return n > 0 && !strncmp(fn->module->path->b, agent_root, n) && fn->module->path->b[n] == '/';
}

static bool takes(struct value rule, struct function *fn) {
	const char *on = json_text(rule, "on"), *glob = json_text(rule, "glob");
	if (!strcmp(on, "name")) return names_match(glob, fn);
	if (!strcmp(on, "user")) return is_user(fn);
	if (!strcmp(on, "contains")) return strstr(fn->module->path->b, glob) != NULL;
	if (!strcmp(on, "path")) return is_user(fn) && glob_matches(glob, fn->module->path->b + strlen(agent_root) + 1, '/');
	return false;
}

static struct value rule_at(size_t i) { return agent_rules.list->v[i]; }
static size_t rule_count(void) { return agent_rules.tag == LIST ? agent_rules.list->n : 0; }

void rules_apply(void) {
	for (struct function *fn = tally_functions; fn; fn = fn->next) {
		int depth = 0;
		for (size_t i = 0; i < rule_count() && depth >= 0; i++) {
			if (!takes(rule_at(i), fn)) continue;
			if (map_text(rule_at(i), "not").truth) depth = -1;
			else if (json_int(rule_at(i), "depth") > depth) depth = (int)json_int(rule_at(i), "depth");
			else if (!depth) depth = 3;
		}
		fn->seen = depth > 0 && !agent_closed;
		if (depth <= 0 || fn->depth == depth) continue;
		fn->depth = depth;
		if (fn->told) fn->number = ++tally_function_count, fn->told = 0; /* a number has one depth */
	}
}

void put_rules(struct out *o) {
	int functions = 0;
	bool lacking = false;
	for (struct function *fn = tally_functions; fn; fn = fn->next) functions += fn->seen;
	put(o, ",\"functions\":%d,\"rules\":[", functions);
	for (size_t i = 0; i < rule_count(); i++) {
		int matched = 0;
		for (struct function *fn = tally_functions; fn; fn = fn->next) matched += takes(rule_at(i), fn);
		put(o, "%s{\"id\":%lld,\"matched\":%d}", i ? "," : "", (long long)json_int(rule_at(i), "id"), matched);
		lacking = lacking || (!matched && !strcmp(json_text(rule_at(i), "on"), "name"));
	}
	put(o, "]");
	if (!lacking) return;
	put(o, ",\"near\":[");
	int n = 0;
	for (struct function *fn = tally_functions; fn && n < MOST_NEAR; fn = fn->next, n++) {
		if (n) put(o, ",");
		put_text(o, fn->name->b, fn->name->n);
	}
	put(o, "]");
}
