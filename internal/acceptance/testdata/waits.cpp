// Programs that stand still for ever, and some that only take their time.
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

static std::mutex a, b;
static std::condition_variable never;
static volatile bool flag;
static sem_t rung; // all zeros: nobody rang
static volatile unsigned long sink;

static void take(std::mutex &first, std::mutex &second) {
	first.lock();
	usleep(50000);
	second.lock();
}

static unsigned long work(int ms) {
	auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
	unsigned long x = 1;
	while (std::chrono::steady_clock::now() < end)
		for (int i = 0; i < 100000; i++) x = x * 6364136223846793005ul + 1442695040888963407ul;
	return x;
}

// listener is a socket that listens, at an address of its own.
static int listener(sockaddr_in &at) {
	int l = socket(AF_INET, SOCK_STREAM, 0);
	at = {};
	at.sin_family = AF_INET;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	socklen_t n = sizeof at;
	if (bind(l, (sockaddr *)&at, n) || listen(l, 1) || getsockname(l, (sockaddr *)&at, &n)) _exit(1);
	return l;
}

// stray runs f in a process of a session of its own, whose parents have ended.
template <class F> static void stray(F f) {
	if (fork() == 0) {
		setsid();
		if (fork() == 0) { f(); _exit(0); }
		_exit(0);
	}
	wait(nullptr);
}

static int stuck(const std::string &how) {
	if (how == "mutexes") { std::thread t(take, std::ref(a), std::ref(b)); take(b, a); t.join(); }
	if (how == "three") {
		static std::mutex m[3];
		std::vector<std::thread> all;
		for (int i = 0; i < 3; i++) all.emplace_back(take, std::ref(m[i]), std::ref(m[(i + 1) % 3]));
		for (auto &t : all) t.join();
	}
	if (how == "self") { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_mutex_lock(&m); pthread_mutex_lock(&m); }
	if (how == "condvar") { std::unique_lock<std::mutex> l(a); never.wait(l, [] { return flag; }); }
	if (how == "join") { std::thread t([] { pause(); }); t.join(); }
	if (how == "semaphore") { sem_t s; sem_init(&s, 0, 0); sem_wait(&s); }
	if (how == "barrier") { pthread_barrier_t w; pthread_barrier_init(&w, 0, 2); pthread_barrier_wait(&w); }
	if (how == "rwlock") { pthread_rwlock_t w = PTHREAD_RWLOCK_INITIALIZER; pthread_rwlock_wrlock(&w); std::thread t([&] { pthread_rwlock_rdlock(&w); }); t.join(); }
	if (how == "pipefull") { int p[2]; if (pipe(p)) return 1; char big[1 << 17] = {}; return write(p[1], big, sizeof big) < 0; }
	if (how == "pipeempty") { int p[2]; if (pipe(p)) return 1; char c; return read(p[0], &c, 1) < 0; }
	if (how == "forever") { sleep(1000000); }
	if (how == "pause") { pause(); }
	if (how == "pollnothing") { poll(nullptr, 0, -1); }
	if (how == "selectnothing") { select(0, nullptr, nullptr, nullptr, nullptr); }
	if (how == "child") { pid_t c = fork(); if (c == 0) { pause(); _exit(0); } waitpid(c, nullptr, 0); }
	if (how == "childpipe") {
		int p[2];
		if (pipe(p)) return 1;
		if (fork() == 0) { char c; _exit(read(p[0], &c, 1) < 0); } // it has the writing end, too
		wait(nullptr);
	}
	if (how == "inherit") {
		static pthread_mutex_t m, n;
		pthread_mutexattr_t kind; pthread_mutexattr_init(&kind); pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT); pthread_mutex_init(&m, &kind); pthread_mutex_init(&n, &kind);
		pthread_mutex_lock(&m);
		std::thread t([] { pthread_mutex_lock(&n); usleep(50000); pthread_mutex_lock(&m); }); usleep(100000); pthread_mutex_lock(&n); t.join();
	}
	if (how == "stream") { flockfile(stdout); std::thread t([] { a.lock(); puts("x"); }); usleep(50000); a.lock(); t.join(); }
	if (how == "once") { static std::once_flag x, y; std::thread t([] { std::call_once(x, [] { usleep(50000); std::call_once(y, [] {}); }); }); std::call_once(y, [] { usleep(50000); std::call_once(x, [] {}); }); t.join(); }
	if (how == "future") { std::promise<int> p; return p.get_future().get(); }
	if (how == "flock") { int x = open("lock", O_CREAT | O_RDWR, 0600), y = open("lock", O_RDWR); flock(x, LOCK_EX); flock(y, LOCK_EX); }
	if (how == "lockf") { int x = open("lock", O_CREAT | O_RDWR, 0600); if (lockf(x, F_LOCK, 0)) return 1; pid_t c = fork(); if (c == 0) _exit(lockf(x, F_LOCK, 0)); waitpid(c, nullptr, 0); }
	if (how == "socketpair") { int s[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, s); char c; return read(s[0], &c, 1) < 0; }
	if (how == "connection") { sockaddr_in at; int l = listener(at), c = socket(AF_INET, SOCK_STREAM, 0); if (connect(c, (sockaddr *)&at, sizeof at)) return 1; int s = accept(l, nullptr, nullptr); char x; return recv(s, &x, 1, 0) < 0; }
	if (how == "eventfd") { int e = eventfd(0, 0); pollfd p = {e, POLLIN, 0}; poll(&p, 1, -1); }
	if (how == "epoll") { int e = epoll_create1(0), p[2]; if (pipe(p)) return 1; epoll_event v = {}; v.events = EPOLLIN; epoll_ctl(e, EPOLL_CTL_ADD, p[0], &v); epoll_ctl(e, EPOLL_CTL_ADD, eventfd(0, 0), &v); epoll_wait(e, &v, 1, -1); }
	if (how == "owner") { std::thread t([] { a.lock(); }); t.join(); a.lock(); }
	return 0;
}

static int slow(const std::string &how) {
	if (how == "cpu") sink = work(4000);
	if (how == "sleep") sleep(4);
	if (how == "naps") for (int i = 0; i < 40; i++) usleep(100000);
	if (how == "child") { pid_t c = fork(); if (c == 0) { sink = work(3500); _exit(0); } waitpid(c, nullptr, 0); }
	if (how == "sleepingchild") { if (system("sleep 4")) return 1; }
	if (how == "thread") { std::thread t([] { usleep(3500000); }); t.join(); }
	if (how == "condvar") { std::thread t([] { usleep(3500000); flag = true; never.notify_all(); }); { std::unique_lock<std::mutex> l(a); never.wait(l, [] { return flag; }); } t.join(); }
	if (how == "lock") { a.lock(); std::thread t([] { a.lock(); }); usleep(3500000); a.unlock(); t.join(); }
	if (how == "pipe") { int p[2]; if (pipe(p)) return 1; if (fork() == 0) { usleep(3500000); _exit(write(p[1], "x", 1) != 1); } char c; if (read(p[0], &c, 1) != 1) return 1; wait(nullptr); }
	if (how == "network") {
		int l = socket(AF_INET, SOCK_STREAM, 0);
		sockaddr_in at{}; at.sin_family = AF_INET; at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		socklen_t n = sizeof at;
		if (bind(l, (sockaddr *)&at, n) || listen(l, 1) || getsockname(l, (sockaddr *)&at, &n)) return 1;
		if (fork() == 0) { int c = socket(AF_INET, SOCK_STREAM, 0); if (connect(c, (sockaddr *)&at, n)) _exit(1); for (int i = 0; i < 3; i++) { usleep(1200000); if (send(c, "x", 1, 0) != 1) _exit(1); } _exit(0); }
		int c = accept(l, 0, 0);
		char x;
		for (int i = 0; i < 3; i++) if (recv(c, &x, 1, 0) != 1) return 1;
		wait(nullptr);
	}
	if (how == "timedwait") { std::unique_lock<std::mutex> l(a); never.wait_for(l, std::chrono::milliseconds(3500), [] { return flag; }); }
	timespec most = {4, 0};
	if (how == "sigtimedwait") { sigset_t set; sigemptyset(&set); sigaddset(&set, SIGUSR1); pthread_sigmask(SIG_BLOCK, &set, nullptr); sigtimedwait(&set, nullptr, &most); }
	if (how == "semtimedop") {
		int id = semget(IPC_PRIVATE, 1, 0600);
		sembuf down = {0, -1, 0};
		semtimedop(id, &down, 1, &most);
		semctl(id, 0, IPC_RMID);
	}
	if (how == "timedlock") { static std::timed_mutex m; m.lock(); bool got = true; std::thread t([&] { got = m.try_lock_for(std::chrono::milliseconds(3500)); }); t.join(); return got; }
	if (how == "stray") { pid_t me = getpid(); signal(SIGUSR1, [](int) {}); stray([=] { usleep(3500000); kill(me, SIGUSR1); }); pause(); }
	if (how == "strayflag") { pid_t me = getpid(); signal(SIGUSR1, [](int) { flag = true; }); stray([=] { usleep(3500000); kill(me, SIGUSR1); }); while (!flag) sink = 1; }
	if (how == "straymutex") {
		struct shared { pthread_mutex_t m; volatile bool held; };
		shared *s = (shared *)mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		pthread_mutexattr_t kind; pthread_mutexattr_init(&kind); pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED); pthread_mutex_init(&s->m, &kind);
		stray([=] { pthread_mutex_lock(&s->m); s->held = true; usleep(3500000); pthread_mutex_unlock(&s->m); });
		while (!s->held) usleep(1000);
		pthread_mutex_lock(&s->m);
	}
	if (how == "flockalarm") { int x = open("lock", O_CREAT | O_RDWR, 0600), y = open("lock", O_RDWR); struct sigaction act = {}; act.sa_handler = [](int) {}; sigaction(SIGALRM, &act, nullptr); flock(x, LOCK_EX); syscall(SYS_alarm, 4); flock(y, LOCK_EX); }
	if (how == "recvtimeout") { int s[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, s); timeval most = {3, 500000}; setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most); char c; if (read(s[0], &c, 1) == 1) return 1; }
	if (how == "timerfd") { int e = epoll_create1(0), t = timerfd_create(CLOCK_MONOTONIC, 0); itimerspec at = {{0, 0}, {3, 500000000}}; timerfd_settime(t, 0, &at, nullptr); epoll_event v = {}; v.events = EPOLLIN; epoll_ctl(e, EPOLL_CTL_ADD, t, &v); epoll_wait(e, &v, 1, -1); }
	if (how == "timer") {
		sigevent by = {};
		by.sigev_notify = SIGEV_THREAD;
		by.sigev_notify_function = [](sigval) { sem_post(&rung); };
		timer_t timer;
		itimerspec once = {{0, 0}, most};
		timer_create(CLOCK_MONOTONIC, &by, &timer);
		timer_settime(timer, 0, &once, nullptr);
		while (sem_wait(&rung)) {}
	}
	if (how == "alarm") { signal(SIGALRM, [](int) {}); syscall(SYS_alarm, 4); pause(); } // by number: a program that calls alarm may do so in any child
	return 0;
}

int main(int argc, char **argv) {
	if (argc != 3) return 2;
	int bad = !strcmp(argv[1], "stuck") ? stuck(argv[2]) : slow(argv[2]);
	puts(bad ? "1 failed, 0 passed" : "0 failed, 1 passed");
	return bad;
}
