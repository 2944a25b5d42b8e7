/* The agent's life: start, the control socket and its thread, fork, the end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent.h"

#define VERSION 1

char agent_folder[400], agent_prefix[64], agent_root[4200];
enum on_full agent_on_full;
bool agent_closed = true;
struct value agent_rules, agent_points;
static int64_t generation;
static int connection = -1;
static bool amid_program;

void say(struct out *o) {
	put_raw(o, "\n", 1);
	for (size_t at = 0; connection >= 0 && at < o->n;) {
		ssize_t w = send(connection, o->b + at, o->n - at, MSG_NOSIGNAL);
		if (w < 0 && errno == EINTR) continue;
		if (w <= 0) {
			shutdown(connection, SHUT_RDWR); /* half a message may be there: its thread takes everything out */
			break;
		}
		at += (size_t)w;
	}
	free(o->b);
	*o = (struct out){0};
}

void say_error(int64_t q, const char *code, const char *message) {
	struct out o = {0};
	put(&o, "{\"m\":\"error\",\"q\":%lld,\"code\":\"%s\",\"message\":", (long long)q, code);
	put_name(&o, message);
	put(&o, "}");
	say(&o);
}

static void say_applied(int64_t q) {
	struct out o = {0};
	put(&o, "{\"m\":\"applied\",\"q\":%lld,\"gen\":%lld", (long long)q, (long long)generation);
	put_rules(&o);
	put_points(&o);
	put(&o, "}");
	say(&o);
}

static void set(struct value message) {
	const char *full = json_text(message, "onFull"), *root = json_text(message, "root");
	generation = json_int(message, "gen");
	agent_on_full = !strcmp(full, "drop") ? DROP : !strcmp(full, "block") ? HOLD : WAIT;
	if (!*root || !realpath(root, agent_root)) snprintf(agent_root, sizeof agent_root, "%s", root);
	agent_rules = map_text(message, "rules");
	agent_points = map_text(message, "points");
	rules_apply();
	points_set(agent_points);
}

/* Takes everything out: the link ended, which is for good. */
static void take_out(void) {
	files_close(NULL);
	rules_apply();
	points_set((struct value){NONE});
	let_all_go();
	tally_hooks = NULL;
	for (struct thread *t = tally_threads; t; t = t->next)
		for (struct frame *f = t->top; f; f = f->caller) f->entered = 0;
}

/* One message: false where it is the last. */
static bool hears(const char *line) {
	struct value message;
	if (!json_read(line, &message)) return true;
	const char *m = json_text(message, "m");
	int64_t q = json_int(message, "q");
	if (!strcmp(m, "bye")) return false;
	if (!strcmp(m, "set")) set(message);
	if (!strcmp(m, "set") || !strcmp(m, "status")) say_applied(q);
	else if (!strcmp(m, "sync")) {
		struct out o = {0};
		put(&o, "{\"m\":\"synced\",\"q\":%lld}", (long long)q);
		say(&o);
	} else if (!strcmp(m, "threads")) answer_threads(q);
	else if (!pauses_answer(m, q, message) && q) say_error(q, "bad", "the agent does not know this question");
	return true;
}

/* The thread that hears strobe. It has the interpreter's lock for one message after another. */
static void *control(void *of) {
	int fd = (int)(intptr_t)of;
	struct out in = {0};
	bool goes = true;
	while (goes) {
		struct pollfd p = {fd, POLLIN, 0};
		int ready = poll(&p, 1, 200);
		tally_lock();
		pauses_late();
		tally_unlock();
		if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
		char b[64 << 10];
		ssize_t n = read(fd, b, sizeof b);
		if (n < 0 && errno == EINTR) continue;
		if (n <= 0) break;
		put_raw(&in, b, (size_t)n);
		for (char *end; goes && (end = memchr(in.b, '\n', in.n));) {
			*end = 0;
			tally_lock();
			goes = connection == fd && hears(in.b);
			tally_unlock();
			in.n -= (size_t)(end + 1 - in.b);
			memmove(in.b, end + 1, in.n);
		}
	}
	tally_lock();
	if (connection == fd) {
		take_out();
		connection = -1;
	}
	close(fd);
	tally_unlock();
	free(in.b);
	return NULL;
}

static struct hooks hooks;

static bool joins(void) {
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	if (snprintf(to.sun_path, sizeof to.sun_path, "%s/control", agent_folder) >= (int)sizeof to.sun_path) return false;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), high;
	if (fd < 0) return false;
	if ((high = fcntl(fd, F_DUPFD_CLOEXEC, 700)) >= 0) close(fd), fd = high; /* low numbers are the program's */
	struct timeval patience = {2, 0};
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	if (connect(fd, (struct sockaddr *)&to, sizeof to)) return close(fd), false;
	uint64_t nonce = now_ns();
	if (getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) < 0) nonce ^= (uint64_t)getpid() << 32;
	snprintf(agent_prefix, sizeof agent_prefix, "%d-%016llx", getpid(), (unsigned long long)nonce);
	connection = fd;
	files_open();
	rules_apply();
	points_place();
	tally_hooks = &hooks;
	const char *speaks = getenv("TALLY_AGENT_SPEAKS"); /* for a test: a version of another time */
	char exe[PATH_MAX] = "";
	if (readlink("/proc/self/exe", exe, sizeof exe - 1) < 0) *exe = 0;
	struct out o = {0};
	put(&o, "{\"m\":\"hello\",\"v\":%d,\"runtime\":\"tally\",\"version\":\"" TALLY_VERSION "\",\"pid\":%d,\"ppid\":%d",
		speaks ? atoi(speaks) : VERSION, getpid(), getppid());
	put(&o, ",\"nonce\":\"%s\",\"entered\":%s,\"exe\":", strchr(agent_prefix, '-') + 1, amid_program ? "true" : "false");
	put_name(&o, exe);
	put(&o, ",\"argv\":[\"tally\"],\"backend\":\"hooks\",\"can\":[\"trace\",\"points\"]}");
	say(&o);
	say_applied(0);
	sigset_t all, before;
	sigfillset(&all);
	pthread_t id;
	pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's */
	int failed = pthread_create(&id, NULL, control, (void *)(intptr_t)fd);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed) {
		take_out();
		connection = -1;
		return close(fd), false;
	}
	return pthread_detach(id) == 0;
}

static void on_loaded(struct module *m) {
	(void)m;
	if (agent_closed) return;
	rules_apply();
	points_place();
}

static void on_forked(struct thread *t) {
	(void)t;
	if (connection >= 0) close(connection);
	connection = -1;
	agent_closed = true;
	pauses_forked();
	if (!joins()) take_out();
}

static void on_ends(struct thread *t) {
	if (agent_closed) return;
	say_applied(0);
	files_close(t);
}

static struct hooks hooks = {on_enter, on_leave, on_statement, on_returned, on_raised, on_loaded, on_forked,
	on_thread_ends, on_ends};

static bool read_start(struct value *message) {
	char path[512], *text = NULL;
	size_t room = 0;
	snprintf(path, sizeof path, "%s/start.json", agent_folder);
	FILE *f = fopen(path, "re");
	if (!f) return false;
	bool read = getdelim(&text, &room, 0, f) > 0 && json_read(text, message);
	fclose(f);
	free(text);
	return read;
}

/* Called by the interpreter: with its lock before a program begins; amid one, without, on a thread that is no
 * program's. */
__attribute__((visibility("default"))) int tally_agent_start(const char *folder, bool amid) {
	struct value message;
	if (amid) tally_lock();
	int done = -1;
	if (connection < 0 && strlen(folder) < sizeof agent_folder) {
		strcpy(agent_folder, folder);
		amid_program = amid;
		if (amid) {
			char path[512];
			snprintf(path, sizeof path, "%s/inside", folder);
			int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
			if (fd >= 0) close(fd);
		}
		if (read_start(&message)) {
			set(message); /* first: what applied says is of it */
			done = joins() ? 0 : -1;
		}
	}
	if (amid) tally_unlock();
	return done;
}
