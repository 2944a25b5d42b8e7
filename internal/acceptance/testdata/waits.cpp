// Programs that stand still for ever, and some that only take their time.
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
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
	if (how == "alarm") { signal(SIGALRM, [](int) {}); alarm(4); pause(); }
	return 0;
}

int main(int argc, char **argv) {
	if (argc != 3) return 2;
	int bad = !strcmp(argv[1], "stuck") ? stuck(argv[2]) : slow(argv[2]);
	puts(bad ? "1 failed, 0 passed" : "0 failed, 1 passed");
	return bad;
}
