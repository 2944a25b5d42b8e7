/* Functions that every program has. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tally.h"

extern char **environ;
static const struct value nothing = {NONE};

#define BUILTIN(NAME) static struct value do_##NAME(struct thread *t, int n, struct value *args)
#define NEEDS(COUNT, TAG) \
	if (n < (COUNT) || args[0].tag != (TAG)) return error_new(t, "TypeError", "%s does not take this", __func__ + 3)

static void put(struct thread *t, int fd, const char *b, size_t n) {
	tally_outside(t, "writes");
	for (ssize_t w; n > 0 && ((w = write(fd, b, n)) > 0 || errno == EINTR);)
		if (w > 0) b += w, n -= (size_t)w;
	tally_inside(t);
}

BUILTIN(print) {
	struct text *line = text_of("");
	for (int i = 0; i <= n; i++) {
		struct text *one = i < n ? shown(args[i], false).text : text_of("\n");
		bool gap = i > 0 && i < n;
		struct text *more = text_new(NULL, line->n + gap + one->n);
		memcpy(more->b, line->b, line->n);
		if (gap) more->b[line->n] = ' ';
		memcpy(more->b + line->n + gap, one->b, one->n);
		line = more;
	}
	put(t, 1, line->b, line->n);
	return nothing;
}

BUILTIN(write) {
	NEEDS(2, INT);
	struct text *b = shown(args[1], false).text;
	put(t, (int)args[0].i, b->b, b->n);
	return nothing;
}

BUILTIN(input) {
	(void)n, (void)args;
	static char b[1 << 16];
	static size_t have;
	for (;;) {
		char *end = memchr(b, '\n', have);
		if (end || have == sizeof b) {
			size_t line = end ? (size_t)(end - b) : have;
			struct value v = {TEXT, .text = text_new(b, line)};
			line += end != NULL;
			memmove(b, b + line, have -= line);
			return v;
		}
		tally_outside(t, "reads its input");
		ssize_t got = read(0, b + have, sizeof b - have);
		tally_inside(t);
		if (got < 0 && errno == EINTR) continue;
		if (got <= 0) return nothing;
		have += (size_t)got;
	}
}

BUILTIN(sleep) {
	if (n < 1 || (args[0].tag != INT && args[0].tag != FLOAT)) return error_new(t, "TypeError", "sleep takes seconds");
	double s = args[0].tag == INT ? (double)args[0].i : args[0].f;
	struct timespec left = {(time_t)s, (long)((s - floor(s)) * 1e9)};
	tally_outside(t, "sleeps");
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {}
	tally_inside(t);
	return nothing;
}

BUILTIN(exit) {
	if (tally_hooks) tally_hooks->ends(t);
	exit(n > 0 && args[0].tag == INT ? (int)args[0].i : 0);
}

BUILTIN(quit) {
	(void)t;
	_exit(n > 0 && args[0].tag == INT ? (int)args[0].i : 0);
}

BUILTIN(len) {
	switch (n ? args[0].tag : NONE) {
	case TEXT: case BYTES: return intv((int64_t)args[0].text->n);
	case LIST: return intv((int64_t)args[0].list->n);
	case MAP: return intv((int64_t)args[0].map->n);
	default: return error_new(t, "TypeError", "this has no length");
	}
}

BUILTIN(push) {
	NEEDS(2, LIST);
	list_push(args[0].list, args[1]);
	return args[0];
}

BUILTIN(keys) {
	NEEDS(1, MAP);
	struct value all = listv();
	for (size_t i = 0; i < args[0].map->n; i++) list_push(all.list, args[0].map->e[i].k);
	return all;
}

/* A record's own text is what its method text gives. */
BUILTIN(text) {
	struct function *own = n && args[0].tag == RECORD ? method_of(args[0].record->kind, text_of("text")) : NULL;
	if (!own) return n ? shown(args[0], false) : error_new(t, "TypeError", "text of what?");
	struct closure c = {own, NULL};
	return call_value(t, (struct value){FUNCTION, .closure = &c}, 1, args);
}

BUILTIN(quoted) { return n ? shown(args[0], true) : error_new(t, "TypeError", "which text?"); }

BUILTIN(number) {
	NEEDS(1, TEXT);
	char *end;
	int64_t i = strtoll(args[0].text->b, &end, 10);
	if (!*end && args[0].text->n) return intv(i);
	double f = strtod(args[0].text->b, &end); /* nan and inf, too */
	if (!*end && args[0].text->n) return (struct value){FLOAT, .f = f};
	return error_new(t, "ValueError", "%s is no number", args[0].text->b);
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

BUILTIN(environment) {
	(void)t, (void)n, (void)args;
	size_t count = 0;
	while (environ[count]) count++;
	char **sorted = malloc((count + 1) * sizeof *sorted);
	memcpy(sorted, environ, count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, by_text);
	struct value all = listv();
	for (size_t i = 0; i < count; i++) list_push(all.list, textv(sorted[i]));
	free(sorted);
	return all;
}

BUILTIN(arguments) {
	(void)t, (void)n, (void)args;
	struct value all = listv();
	for (char **a = tally_arguments; *a; a++) list_push(all.list, textv(*a));
	return all;
}

BUILTIN(folder) {
	(void)t, (void)n, (void)args;
	char b[4096];
	return textv(getcwd(b, sizeof b) ? b : "");
}

BUILTIN(interpreter) {
	(void)t, (void)n, (void)args;
	char b[4096];
	ssize_t got = readlink("/proc/self/exe", b, sizeof b - 1);
	return b[got > 0 ? got : 0] = 0, textv(b);
}

BUILTIN(script) { return (void)t, (void)n, (void)args, (struct value){TEXT, .text = tally_main->path}; }
BUILTIN(process) { return (void)t, (void)n, (void)args, intv(getpid()); }

BUILTIN(exists) {
	NEEDS(1, TEXT);
	return (struct value){TRUTH, .truth = access(args[0].text->b, F_OK) == 0};
}

BUILTIN(append) {
	NEEDS(2, TEXT);
	int fd = open(args[0].text->b, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0) return error_new(t, "SystemError", "open %s: %s", args[0].text->b, strerror(errno));
	struct text *b = shown(args[1], false).text;
	put(t, fd, b->b, b->n);
	close(fd);
	return nothing;
}

BUILTIN(kill) {
	NEEDS(2, INT);
	return intv(kill((pid_t)args[0].i, (int)args[1].i));
}

BUILTIN(pause) {
	(void)n, (void)args;
	tally_outside(t, "waits for a signal");
	pause();
	tally_inside(t);
	return nothing;
}

static void *begins(void *of) {
	struct thread *from = of, *t;
	tally_lock();
	t = tally_thread_new(from->name);
	pthread_setname_np(pthread_self(), t->name->b);
	call_value(t, from->work, (int)from->args.list->n, from->args.list->v);
	if (t->state == THROWS)
		fprintf(stderr, "%s ends by %s: %s\n%s", t->name->b, type_name(t->result),
			shown(t->result.tag == RECORD ? t->result.record->f[0] : t->result, false).text->b, t->trace->b);
	if (tally_hooks) tally_hooks->thread_ends(t);
	struct thread **at = &tally_threads;
	while (*at && *at != t) at = &(*at)->next;
	if (*at) *at = t->next;
	from->done = true;
	tally_unlock();
	return NULL;
}

static struct value handles = {LIST};

/* thread(function, name, arguments...) gives a number for join. */
BUILTIN(thread) {
	if (n < 2 || args[1].tag != TEXT) return error_new(t, "TypeError", "thread takes a function and a name");
	struct thread *from = calloc(1, sizeof *from);
	from->name = args[1].text;
	from->work = args[0];
	from->args = listv();
	for (int i = 2; i < n; i++) list_push(from->args.list, args[i]);
	if (pthread_create(&from->id, NULL, begins, from)) return error_new(t, "SystemError", "there can be no more threads");
	if (!handles.list) handles = listv();
	list_push(handles.list, (struct value){INT, .i = (int64_t)(intptr_t)from});
	return intv((int64_t)handles.list->n - 1);
}

BUILTIN(join) {
	NEEDS(1, INT);
	if (!handles.list || (uint64_t)args[0].i >= handles.list->n)
		return error_new(t, "ValueError", "there is no such thread");
	struct thread *of = (struct thread *)(intptr_t)handles.list->v[args[0].i].i;
	tally_outside(t, "waits for a thread");
	pthread_join(of->id, NULL);
	tally_inside(t);
	return nothing;
}

BUILTIN(fork) {
	(void)n, (void)args;
	pid_t pid = fork();
	if (pid == 0) {
		tally_lock_forked();
		if (tally_hooks) tally_hooks->forked(t);
	}
	return pid < 0 ? error_new(t, "SystemError", "fork: %s", strerror(errno)) : intv(pid);
}

static struct value ended(struct thread *t, pid_t pid) {
	int status = 0;
	tally_outside(t, "waits for a process");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
	tally_inside(t);
	return intv(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

BUILTIN(wait) {
	NEEDS(1, INT);
	return ended(t, (pid_t)args[0].i);
}

static char **strings(struct value list) {
	char **all = calloc(list.list->n + 1, sizeof *all);
	for (size_t i = 0; i < list.list->n; i++) all[i] = shown(list.list->v[i], false).text->b;
	return all;
}

BUILTIN(exec) {
	NEEDS(1, LIST);
	char **argv = strings(args[0]);
	execvp(argv[0], argv);
	return error_new(t, "SystemError", "exec %s: %s", argv[0], strerror(errno));
}

/* run(command, input) gives the code that it ended with, and what it wrote where it was given input. */
BUILTIN(run) {
	NEEDS(1, LIST);
	char **argv = strings(args[0]);
	bool talks = n > 1 && args[1].tag == TEXT;
	int to[2], from[2];
	if (talks && (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))) return error_new(t, "SystemError", "no more pipes");
	pid_t pid = fork();
	if (pid == 0) {
		if (talks) dup2(to[0], 0), dup2(from[1], 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	free(argv);
	struct text *said = text_of("");
	if (talks) {
		close(to[0]), close(from[1]);
		put(t, to[1], args[1].text->b, args[1].text->n);
		close(to[1]);
		char b[4096];
		tally_outside(t, "reads what a process writes");
		for (ssize_t got; (got = read(from[0], b, sizeof b)) > 0;) {
			struct text *more = text_new(NULL, said->n + (size_t)got);
			memcpy(more->b, said->b, said->n);
			memcpy(more->b + said->n, b, (size_t)got);
			said = more;
		}
		tally_inside(t);
		close(from[0]);
	}
	struct value code = ended(t, pid);
	if (!talks) return code;
	struct value both = listv();
	list_push(both.list, code);
	list_push(both.list, (struct value){TEXT, .text = said});
	return both;
}

/* native(library, name): a function of C. */
BUILTIN(native) {
	NEEDS(2, TEXT);
	void *library = dlopen(args[0].text->b, RTLD_NOW), *call = NULL;
	if (library) call = dlsym(library, shown(args[1], false).text->b);
	if (!call) return error_new(t, "ImportError", "%s", dlerror());
	struct foreign *f = malloc(sizeof *f);
	*f = (struct foreign){call, args[1].text->b};
	return (struct value){FOREIGN, .foreign = f};
}

BUILTIN(watch) {
	(void)t;
	tally_watcher = n ? args[0] : nothing;
	return nothing;
}

BUILTIN(source) {
	NEEDS(1, FUNCTION);
	struct function *fn = args[0].closure->fn;
	return (struct value){TEXT, .text = text_new(fn->module->source->b + fn->from, fn->to - fn->from)};
}

BUILTIN(arity) {
	NEEDS(1, FUNCTION);
	return intv(args[0].closure->fn->params);
}

#define ROW(NAME) {#NAME, do_##NAME}
const struct builtin tally_builtins[] = {
	ROW(print), ROW(write), ROW(input), ROW(sleep), ROW(exit), ROW(quit), ROW(len), ROW(push), ROW(keys), ROW(text),
	ROW(quoted), ROW(number), ROW(environment), ROW(arguments), ROW(folder), ROW(interpreter), ROW(script), ROW(process),
	ROW(exists), ROW(append), ROW(kill), ROW(pause), ROW(thread), ROW(join), ROW(fork), ROW(wait), ROW(exec), ROW(run),
	ROW(native), ROW(watch), ROW(source), ROW(arity), {NULL, NULL},
};
