// Programs that go round for ever, and some that only take their time. What each does is named by its second argument.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <sched.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

static std::atomic<bool> flag, other;
static volatile unsigned long sink;
static const std::vector<int> sorted = {1, 3, 5, 7, 9, 11, 13, 15};

struct Node { Node *next; int value; };

static int length(Node *n) { int k = 0; while (n) { k++; n = n->next; } return k; }

static int find(int want) { // the middle never moves to the end
	int lo = 0, hi = int(sorted.size());
	while (lo < hi) {
		int mid = (lo + hi) / 2;
		if (sorted[mid] == want) return mid;
		if (sorted[mid] < want) lo = mid; else hi = mid;
	}
	return -1;
}

static std::string skip_blanks(const std::string &text) { // only the first kind of blank is skipped
	size_t at = 0;
	std::string out;
	while (at < text.size()) {
		if (text[at] == ' ') { at++; continue; }
		if (text[at] == '\t') continue;
		out += text[at++];
	}
	return out;
}

static bool connect_once(int attempt) { sink = attempt; return false; }
static int retry() { for (int attempt = 1;; attempt++) if (connect_once(attempt)) return attempt; }

static std::string normal(const std::string &s) { std::string out; for (char c : s) if (c != '/') out += c; return out; }

static double root(double x) { // changes between two neighbours
	double guess = x;
	while (guess * guess != x) guess = (guess + x / guess) / 2;
	return guess;
}

struct SpinLock { std::atomic_flag held = ATOMIC_FLAG_INIT; void lock() { while (held.test_and_set()) ; } void unlock() { held.clear(); } };

static int stuck(const std::string &how) {
	if (how == "flag") while (!flag) ;
	if (how == "empty") for (;;) ;
	if (how == "counter") for (;;) sink = sink + 1;
	if (how == "list") { Node a{nullptr, 1}, b{&a, 2}, c{&b, 3}; a.next = &c; return length(&c); }
	if (how == "search") return find(6);
	if (how == "blanks") return skip_blanks("a b\tc").size();
	if (how == "retry") return retry();
	if (how == "compare") { std::string want = "a/b-with-a-long-name/that/is/on/the/heap"; while (normal(want) != want) sink = sink + 1; }
	if (how == "newton") return int(root(2));
	if (how == "spinlock") { static SpinLock l; l.lock(); l.lock(); }
	if (how == "yield") while (!flag) sched_yield();
	if (how == "naps") while (!flag) usleep(2000);
	if (how == "each") { std::thread t([] { while (!flag) std::this_thread::yield(); other = true; }); while (!other) std::this_thread::yield(); flag = true; t.join(); }
	if (how == "worker") { std::thread t([] { while (!flag) ; }); t.join(); }
	if (how == "spoon") { // each is polite enough to hand it to the other
		static std::atomic<int> owner{0}; static std::atomic<bool> hungry[2] = {true, true};
		auto dine = [](int me) { while (hungry[me]) { if (owner != me) { usleep(1000); continue; } if (hungry[1 - me]) { owner = 1 - me; continue; } hungry[me] = false; } };
		std::thread t(dine, 1); dine(0); t.join();
	}
	if (how == "corridor") { // both step aside, and back
		static std::atomic<int> side[2]; static std::atomic<long> steps;
		auto walk = [](int me) { do { side[me] = 1 - side[me]; steps++; sched_yield(); } while (side[0] >= 0 || side[1] >= 0); };
		std::thread t(walk, 1); walk(0); t.join();
	}
	if (how == "stamps") { std::chrono::steady_clock::time_point last; while (!flag) { last = std::chrono::steady_clock::now(); sink = last.time_since_epoch().count(); } }
	if (how == "map") { std::map<std::string, int> m{{"a", 1}, {"b", 2}}; for (int n = 0; m.count("c") == 0; n++) m["a"] = 5; }
	return 0;
}

static unsigned long collatz(unsigned long n) { unsigned long k = 0; while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; k++; } return k; }

static const auto begun = std::chrono::steady_clock::now();
static bool early() { return std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(4700); }
static bool early_enough(unsigned n) { return n % 1000 != 0 || early(); }

static int slow(const std::string &how) {
	if (how == "count") { unsigned long n = 0; for (long round = 0; round < 1 || early(); round++) for (int i = 0; i < 300000000; i++) n += i & 3; sink = n; }
	if (how == "collatz") for (unsigned long n = 1; early_enough(unsigned(n)); n++) sink = collatz(n);
	if (how == "fib") { struct F { static long f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); } }; for (int i = 0; early(); i++) sink = F::f(30); }
	if (how == "deadline") while (early()) ;
	if (how == "spinwait") { std::thread t([] { usleep(4700000); flag = true; }); while (!flag) ; t.join(); }
	if (how == "pollwait") { std::thread t([] { usleep(4700000); flag = true; }); while (!flag) usleep(1000); t.join(); }
	if (how == "computes") { std::thread t([] { unsigned long x = 1; for (int i = 0; early(); i++) for (int k = 0; k < 1000000; k++) x = x * 6364136223846793005ul + 1; sink = x; flag = true; }); while (!flag) sched_yield(); t.join(); }
	if (how == "sort") { std::vector<unsigned> v(20000); unsigned x = 1; for (auto &e : v) e = x = x * 1664525 + 1013904223; while (early()) { auto w = v; for (size_t i = 1; i < w.size(); i++) for (size_t k = i; k > 0 && w[k - 1] > w[k]; k--) std::swap(w[k - 1], w[k]); sink = w[0]; } }
	if (how == "series") { double s = 0; for (long k = 0; k % 100000 || early(); k++) s += (k % 2 ? -1.0 : 1.0) / (2 * k + 1); sink = s * 4; }
	if (how == "text") { std::string s; while (early()) { s += "x"; if (s.size() > 100000) s.clear(); } sink = s.size(); }
	if (how == "cycle") { unsigned x = 1; do x = x * 1103515245 + 12345; while (x != 1 || early()); sink = x; }
	if (how == "alarmedchild") { pid_t c = fork(); if (c == 0) { alarm(4); pause(); _exit(1); } int st; waitpid(c, &st, 0); return !WIFSIGNALED(st); }
	if (how == "wait4child") { if (system("i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done")) return 1; }
	if (how == "handoff") {
		std::atomic<int> turn{0}; int done[2] = {}; const int rounds = 400000;
		auto play = [&](int me) { while (done[me] < rounds) { while (turn != me) std::this_thread::yield(); done[me]++; turn = 1 - me; } };
		std::thread t(play, 1); play(0); t.join();
	}
	if (how == "tickets") { // what is handed on is how far they are
		static std::atomic<int> turn{0}; const int last = 60;
		auto play = [](int me) { for (;;) { int now = turn; if (now >= last) return; if (now % 2 != me) { usleep(500); continue; } usleep(80000); turn = now + 1; } };
		std::thread t(play, 1); play(0); t.join();
	}
	if (how == "hidden") { volatile unsigned a[64] = {}; while (early_enough(a[0])) for (int i = 0; i < 64; i++) if (++a[i]) break; } // a counter of many words
	return 0;
}

int main(int argc, char **argv) {
	if (argc < 3) return 2;
	int bad = std::string(argv[1]) == "stuck" ? stuck(argv[2]) : slow(argv[2]);
	puts(bad ? "1 failed, 0 passed" : "0 failed, 1 passed");
	return bad;
}
