// A program under load that notices whatever is done to it: every blocking call is checked for interruptions, short counts and
// wrong results, every computation has a known sum. It runs until its standard input ends, then tells.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int stop;
static atomic_long wrong, rounds[32], worst_ns;
static const char *names[32];

__attribute__((noinline)) uint64_t mix(uint64_t x, uint64_t salt) {
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x + salt;
}

__attribute__((noinline)) long tally(long n) { return n * 3 + 1; }

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void complain(const char *what, long got) {
	if (atomic_fetch_add(&wrong, 1) < 20) fprintf(stderr, "wrong: %s: %ld, errno %d (%s)\n", what, got, errno, strerror(errno));
}

#define EXPECT(what, got, want) do { errno = 0; long g_ = (long)(got); if (g_ != (long)(want)) complain(what, g_); } while (0)

static void round_of(int i, const char *name) {
	names[i] = name;
	atomic_fetch_add(&rounds[i], 1);
}

// lasted checks that a wait took its time, but for what the kernel itself may take off.
static void lasted(const char *what, int64_t from, int64_t ns, int64_t off) {
	int64_t took = now() - from;
	if (took < ns - off) complain(what, took);
}

static void *spinner(void *arg) {
	uint64_t salt = (uintptr_t)arg, x = 88172645463325252ull + salt;
	while (!stop) {
		uint64_t a = x, b = x;
		int64_t before = now();
		for (int i = 0; i < 200; i++) a = mix(a, salt);
		for (int i = 0; i < 200; i++) {
			b ^= b << 13;
			b ^= b >> 7;
			b ^= b << 17;
			b += salt;
		}
		int64_t took = now() - before, worst = worst_ns;
		while (took > worst && !atomic_compare_exchange_weak(&worst_ns, &worst, took)) {}
		if (a != b) complain("sum", (long)(a ^ b));
		x = a;
		round_of((int)salt, "spin");
	}
	return 0;
}

static int wake[2], sock[2], echo[2], pipes[2], msgs, sems, listener;
static struct sockaddr_un name;

static void *epoller(void *arg) { // waits for ever
	int ep = epoll_create1(0);
	struct epoll_event e = {.events = EPOLLIN};
	epoll_ctl(ep, EPOLL_CTL_ADD, wake[0], &e);
	while (!stop) {
		EXPECT("epoll_wait", epoll_wait(ep, &e, 1, -1), 1);
		uint64_t n;
		EXPECT("read eventfd", read(wake[0], &n, 8), 8);
		round_of(4, "epoll");
	}
	return arg;
}

static void *epoll_timer(void *arg) {
	int ep = epoll_create1(0);
	struct epoll_event e;
	while (!stop) {
		int64_t from = now();
		EXPECT("epoll_wait timeout", epoll_wait(ep, &e, 1, 7), 0);
		lasted("epoll_wait", from, 7000000, 1000000);
		round_of(5, "epoll timeout");
	}
	return arg;
}

static void *sleeper(void *arg) {
	while (!stop) {
		struct timespec t = {0, 6000000}, left = {1, 2};
		int64_t from = now();
		EXPECT("nanosleep", nanosleep(&t, &left), 0);
		lasted("nanosleep", from, 6000000, 1000000);
		from = now();
		EXPECT("clock_nanosleep", clock_nanosleep(CLOCK_REALTIME, 0, &t, &left), 0);
		EXPECT("poll", poll(0, 0, 5), 0);
		struct timeval tv = {0, 5000};
		EXPECT("select", select(0, 0, 0, 0, &tv), 0);
		lasted("sleeps", from, 15000000, 1000000);
		struct timespec p = {0, 4000000};
		sigset_t none;
		sigfillset(&none);
		EXPECT("ppoll", ppoll(0, 0, &p, &none), 0);
		round_of(6, "sleep");
	}
	return arg;
}

static void *receiver(void *arg) { // a timeout that the kernel does not restart
	struct timeval tv = {0, 60000};
	setsockopt(sock[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
	while (!stop) {
		char b[64];
		int64_t from = now();
		errno = 0;
		long n = recv(sock[0], b, sizeof b, 0);
		if (n != -1 || (errno != EAGAIN && errno != EWOULDBLOCK)) complain("recv timeout", n);
		lasted("recv", from, 60000000, 6000000); // it counts in jiffies of 4 ms, which a busy virtual machine counts late
		round_of(7, "recv timeout");
	}
	return arg;
}

static void *echoer(void *arg) { // full blocks through a socket
	char b[4096];
	for (;;) { // until the asker has had its last answer
		long n = recv(echo[1], b, sizeof b, MSG_WAITALL);
		if (n == 0) break;
		if (n != sizeof b) complain("recv all", n);
		EXPECT("send", send(echo[1], b, sizeof b, 0), sizeof b);
	}
	return arg;
}

static void *asker(void *arg) {
	char b[4096], c[4096];
	for (long i = 0; !stop; i++) {
		memset(b, (int)(i & 0x7f), sizeof b);
		EXPECT("send", send(echo[0], b, sizeof b, 0), sizeof b);
		EXPECT("recv", recv(echo[0], c, sizeof c, MSG_WAITALL), sizeof c);
		if (memcmp(b, c, sizeof b)) complain("echo", i);
		round_of(8, "echo");
		usleep(500);
	}
	shutdown(echo[0], SHUT_RDWR);
	return arg;
}

static void *pipe_writer(void *arg) {
	char b[8192];
	for (long i = 0; !stop; i++) {
		memset(b, (int)(i & 0xff), sizeof b);
		EXPECT("write pipe", write(pipes[1], b, sizeof b), sizeof b);
		if (i % 16 == 0) usleep(1000);
	}
	close(pipes[1]);
	return arg;
}

static void *pipe_reader(void *arg) {
	unsigned char b[4096];
	for (long i = 0;; i++) {
		long n = read(pipes[0], b, sizeof b);
		if (n == 0) break;
		if (n != sizeof b || b[0] != ((i / 2) & 0xff) || b[4095] != b[0]) complain("read pipe", n);
		round_of(9, "pipe");
	}
	return arg;
}

static void *message_reader(void *arg) {
	struct { long type; char text[16]; } m;
	while (!stop) {
		EXPECT("msgrcv", msgrcv(msgs, &m, sizeof m.text, 0, 0), 16);
		round_of(10, "msgrcv");
	}
	return arg;
}

static void *semaphore(void *arg) {
	while (!stop) {
		struct sembuf down = {0, -1, 0};
		EXPECT("semop", semop(sems, &down, 1), 0);
		round_of(11, "semop");
	}
	return arg;
}

static void *timed_signal(void *arg) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	while (!stop) {
		struct timespec t = {0, 9000000};
		int64_t from = now();
		errno = 0;
		int n = sigtimedwait(&set, 0, &t);
		if (n != -1 || errno != EAGAIN) complain("sigtimedwait", n);
		lasted("sigtimedwait", from, 9000000, 1000000);
		round_of(12, "sigtimedwait");
	}
	return arg;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void *cond_timer(void *arg) {
	while (!stop) {
		struct timespec t;
		clock_gettime(CLOCK_REALTIME, &t);
		if ((t.tv_nsec += 5000000) >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
		pthread_mutex_lock(&mutex);
		EXPECT("cond_timedwait", pthread_cond_timedwait(&cond, &mutex, &t), ETIMEDOUT);
		pthread_mutex_unlock(&mutex);
		round_of(13, "cond");
	}
	return arg;
}

static void *short_life(void *arg) { return (void *)(mix((uintptr_t)arg, 5)); }

static void *creator(void *arg) {
	for (long i = 1; !stop; i++) {
		pthread_t t[3];
		void *got;
		for (int k = 0; k < 3; k++) EXPECT("pthread_create", pthread_create(&t[k], 0, short_life, (void *)(i + k)), 0);
		for (int k = 0; k < 3; k++) {
			pthread_join(t[k], &got);
			if ((uint64_t)got != (uint64_t)short_life((void *)(i + k))) complain("thread", i);
		}
		round_of(14, "threads");
		usleep(3000);
	}
	return arg;
}

static void *acceptor(void *arg) {
	while (!stop) {
		int c = accept(listener, 0, 0);
		if (c < 0) complain("accept", c);
		close(c);
		round_of(15, "accept");
	}
	return arg;
}

static int forks = 1;

static void *forker(void *arg) {
	for (int i = 0; forks && !stop; i++) {
		pid_t pid = fork();
		if (pid == 0) _exit(tally(i) % 100);
		int status = 0;
		EXPECT("waitpid", waitpid(pid, &status, 0), pid);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != (i * 3 + 1) % 100) complain("child", status);
		round_of(16, "fork");
		usleep(20000);
	}
	return arg;
}

static void *ticker(void *arg) { // keeps the others busy, and writes
	for (long i = 0; !stop; i++) {
		uint64_t one = 1;
		struct { long type; char text[16]; } m = {1, "message"};
		struct sembuf up = {0, 1, 0};
		EXPECT("write eventfd", write(wake[0], &one, 8), 8);
		EXPECT("msgsnd", msgsnd(msgs, &m, sizeof m.text, 0), 0);
		EXPECT("semop up", semop(sems, &up, 1), 0);
		int c = socket(AF_UNIX, SOCK_STREAM, 0);
		EXPECT("connect", connect(c, (struct sockaddr *)&name, sizeof name), 0);
		close(c);
		printf("tick %ld %ld\n", i, tally(i));
		if (fflush(stdout)) complain("fflush", i);
		round_of(17, "tick");
		usleep(2000);
	}
	return arg;
}

static atomic_long alarms;
static void on_alarm(int sig) { (void)sig; atomic_fetch_add(&alarms, 1); }

int main(int argc, char **argv) {
	sigset_t all, mine;
	forks = argc < 3 || atoi(argv[2]);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &mine);
	wake[0] = eventfd(0, 0);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock) || socketpair(AF_UNIX, SOCK_STREAM, 0, echo) || pipe(pipes)) return 2;
	msgs = msgget(IPC_PRIVATE, 0600);
	sems = semget(IPC_PRIVATE, 1, 0600);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	name.sun_family = AF_UNIX;
	snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "strobe-loaded-%d", getpid());
	if (bind(listener, (struct sockaddr *)&name, sizeof name) || listen(listener, 64)) return 2;
	void *(*kinds[])(void *) = {epoller, epoll_timer, sleeper, receiver, echoer, asker, pipe_writer, pipe_reader, message_reader, semaphore, timed_signal, cond_timer, creator, acceptor, forker};
	enum { KINDS = sizeof kinds / sizeof *kinds };
	pthread_t threads[KINDS], spin[2], tick;
	for (int i = 0; i < KINDS; i++) pthread_create(&threads[i], 0, kinds[i], 0);
	int spinners = argc > 1 ? atoi(argv[1]) : 2;
	for (long i = 0; i < spinners && i < 2; i++) pthread_create(&spin[i], 0, spinner, (void *)(i + 1));
	pthread_create(&tick, 0, ticker, 0);
	pthread_sigmask(SIG_SETMASK, &mine, 0);
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	sigaction(SIGALRM, &sa, 0);
	struct itimerval it = {{0, 10000}, {0, 10000}};
	setitimer(ITIMER_REAL, &it, 0);
	printf("ready %d\n", getpid());
	fflush(stdout);
	char c;
	EXPECT("read stdin", read(0, &c, 1), 0);
	stop = 1;
	for (int i = 0; i < spinners && i < 2; i++) pthread_join(spin[i], 0);
	pthread_join(tick, 0);
	uint64_t one = 1; // whoever waits for ever
	struct { long type; char text[16]; } m = {1, "last"};
	struct sembuf up = {0, 1, 0};
	if (write(wake[0], &one, 8) != 8 || msgsnd(msgs, &m, sizeof m.text, 0) || semop(sems, &up, 1)) complain("wake", 0);
	int last = socket(AF_UNIX, SOCK_STREAM, 0);
	if (connect(last, (struct sockaddr *)&name, sizeof name)) complain("connect", 0);
	for (int i = 0; i < KINDS; i++) pthread_join(threads[i], 0);
	msgctl(msgs, IPC_RMID, 0);
	semctl(sems, 0, IPC_RMID);
	for (int i = 0; i < 32; i++)
		if (names[i]) printf("%s=%ld ", names[i], rounds[i]);
	printf("alarms=%ld worst_us=%ld\nwrong=%ld\n", alarms, worst_ns / 1000, wrong);
	return wrong != 0;
}
