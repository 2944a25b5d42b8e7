/* tally FILE ARGUMENTS: runs a program. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tally.h"

char **tally_arguments;
struct module *tally_main;

/* A thread that is none of the program's. */
struct begin { void (*run)(void *); void *argument; };

static void *run_begin(void *of) {
	struct begin b = *(struct begin *)of;
	free(of);
	b.run(b.argument);
	return NULL;
}

int tally_start_thread(void (*run)(void *), void *argument) {
	struct begin *b = malloc(sizeof *b);
	*b = (struct begin){run, argument};
	pthread_t id;
	if (pthread_create(&id, NULL, run_begin, b)) return -1;
	return pthread_detach(id);
}

/* Loads an agent for a folder. amid: the program runs already. */
int tally_load_agent(const char *path, const char *folder, const char *amid) {
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*start)(const char *, bool) = NULL;
	if (library) *(void **)&start = dlsym(library, "tally_agent_start");
	return start ? start(folder, *amid) : -1;
}

int main(int argc, char **argv) {
	if (argc < 2 || !strcmp(argv[1], "--version")) return puts("tally " TALLY_VERSION), argc < 2 ? 2 : 0;
	tally_arguments = argv + 2;
	tally_lock();
	struct thread *t = tally_thread_new(text_of("main"));
	const char *agent = getenv("TALLY_AGENT"), *folder = getenv("STROBE_AGENT");
	if (agent && folder) tally_load_agent(agent, folder, "");
	if (agent) { /* the program has the environment that it would have */
		unsetenv("TALLY_AGENT");
		unsetenv("STROBE_AGENT");
	}
	char *error = NULL;
	if (!(tally_main = parse_module(argv[1], &error))) return fprintf(stderr, "tally: %s\n", error), 2;
	run_module(t, tally_main);
	int code = 0;
	if (t->state == THROWS) {
		struct value e = t->result;
		fprintf(stderr, "%s: %s\n%s", type_name(e),
			shown(e.tag == RECORD && e.record->kind->fields.n ? e.record->f[0] : e, false).text->b, t->trace ? t->trace->b : "");
		code = 1;
	}
	if (tally_hooks) tally_hooks->ends(t);
	return code;
}
