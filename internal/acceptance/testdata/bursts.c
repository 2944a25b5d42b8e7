// Calls functions in random bursts from several threads and counts the calls in a file that it shares with who started it:
// bursts FILE SEED THREADS CALLS END. The words of the file: how often f0 to f7 were called and left, then 1 where all is done.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct { char name[24]; int n[8]; const char *text; } item;
static volatile uint64_t *made, *left, *done;
static long calls;
static pthread_barrier_t begin;

static void up(volatile uint64_t *p) { __atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST); }
#define NOINLINE __attribute__((noinline, noclone))
#define IN(k) up(&made[k])
#define OUT(k) up(&left[k])
NOINLINE int f0(int a) { IN(0); OUT(0); return a + 1; }
NOINLINE int f1(int a, int b) { IN(1); OUT(1); return a * b; }
NOINLINE long f2(const char *s) { IN(2); long n = strlen(s); OUT(2); return n; }
NOINLINE int f3(item *i) { IN(3); i->n[0]++; OUT(3); return i->n[0]; }
NOINLINE double f4(double d) { IN(4); OUT(4); return d / 2; }
NOINLINE int f5(int n) { IN(5); int r = n > 0 ? f5(n - 1) + 1 : 0; OUT(5); return r; }
NOINLINE int f6(int n) { IN(6); int r = f0(n) + f1(n, 2); OUT(6); return r; }
NOINLINE void f7(item *i, int n) { IN(7); for (int k = 0; k < n; k++) f3(i); OUT(7); }

static uint64_t next(uint64_t *s) { *s ^= *s << 13; *s ^= *s >> 7; *s ^= *s << 17; return *s; }

static void *run(void *arg) {
	uint64_t s = (uint64_t)(uintptr_t)arg;
	static const char text[] = "a text of some length, of which a part is read at each call, whatever it costs to read it there";
	item it = {"item", {1, 2, 3}, text};
	volatile long sum = 0;
	pthread_barrier_wait(&begin);
	for (long i = 0; i < calls;) {
		uint64_t r = next(&s);
		long n = 1 + r % (1ul << (r >> 8) % 14);
		for (long k = 0; k < n && i < calls; k++, i++)
			switch (r >> 32 & 7) {
			case 0: sum += f0(k); break;
			case 1: sum += f1(k, i); break;
			case 2: sum += f2(text + k % 40); break;
			case 3: sum += f3(&it); break;
			case 4: sum += f4(k); break;
			case 5: sum += f5(k % 20); break;
			case 6: sum += f6(k); break;
			case 7: f7(&it, k % 5); break;
			}
		if ((r >> 40) % 16 == 0) usleep((r >> 44) % 3000);
	}
	return 0;
}

int main(int argc, char **argv) {
	if (argc < 6) return 2;
	int fd = open(argv[1], O_RDWR);
	made = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (made == MAP_FAILED) return 2;
	left = made + 8;
	done = made + 16;
	uint64_t seed = strtoull(argv[2], 0, 10) * 0x9E3779B97F4A7C15ull | 1;
	int threads = atoi(argv[3]);
	calls = atol(argv[4]);
	const char *end = argv[5];
	pthread_t t[16];
	pthread_barrier_init(&begin, 0, threads);
	for (int i = 0; i < threads; i++) pthread_create(&t[i], 0, run, (void *)(uintptr_t)(seed + 2 * i));
	if (!strcmp(end, "killed")) { // in the midst of it
		usleep(next(&seed) % 50000);
		kill(getpid(), SIGKILL);
	}
	if (!strcmp(end, "exits")) {
		usleep(next(&seed) % 50000);
		_exit(3);
	}
	for (int i = 0; i < threads; i++) pthread_join(t[i], 0);
	pthread_barrier_init(&begin, 0, 1);
	calls = 100;
	run((void *)(uintptr_t)seed);
	*done = 1;
	if (!strcmp(end, "sleep")) for (;;) pause();
	if (!strcmp(end, "_exit")) _exit(0);
	if (!strcmp(end, "kill")) kill(getpid(), SIGKILL);
	if (!strcmp(end, "abort")) abort();
	if (!strcmp(end, "crash")) *(volatile int *)0 = 1;
	if (!strcmp(end, "exec")) execl("/bin/true", "true", (char *)0);
	return 0;
}
