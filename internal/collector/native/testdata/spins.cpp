// One thread waits for a lock by spinning, or computes; the first thread holds the lock and sleeps. Argument: how.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

struct Gate {
  long other;
  int before;
  std::atomic<int> word;
};
struct Node {
  std::atomic<Node *> next;
  std::atomic<int> locked;
};

pthread_spinlock_t g_pthread;
Gate g_gate;
std::atomic_flag g_flag = ATOMIC_FLAG_INIT;
std::atomic<unsigned> g_next, g_serving;
std::atomic<Node *> g_tail;
volatile int g_ready;
std::atomic<long> g_progress;
long g_spins, g_most = 64;
unsigned g_sum;
const char *how;
std::atomic<int> g_began;

static void cpu_relax() { __builtin_ia32_pause(); }

static void spin() {
  if (!strcmp(how, "pthread")) {
    pthread_spin_lock(&g_pthread);
  } else if (!strcmp(how, "exchange")) {
    while (g_gate.word.exchange(1)) {
    }
  } else if (!strcmp(how, "testfirst")) {
    for (;;) {
      while (g_gate.word.load(std::memory_order_relaxed)) cpu_relax();
      if (!g_gate.word.exchange(1)) break;
    }
  } else if (!strcmp(how, "compare")) {
    int none = 0;
    while (!g_gate.word.compare_exchange_weak(none, 1)) {
      none = 0;
      g_spins++;
    }
  } else if (!strcmp(how, "ticket")) {
    unsigned mine = g_next.fetch_add(1);
    while (g_serving.load() != mine) cpu_relax();
  } else if (!strcmp(how, "queue")) {
    Node me{};
    me.locked = 1;
    Node *before = g_tail.exchange(&me);
    if (before) {
      before->next = &me;
      while (me.locked.load()) cpu_relax();
    }
  } else if (!strcmp(how, "flag")) {
    while (g_flag.test_and_set(std::memory_order_acquire)) {
    }
  } else if (!strcmp(how, "backoff")) {
    for (long d = 1; g_gate.word.exchange(1); d = d * 2 < g_most ? d * 2 : g_most)
      for (volatile long i = 0; i < d; i = i + 1) cpu_relax();
  } else if (!strcmp(how, "yield")) {
    while (g_gate.word.load()) sched_yield();
  } else if (!strcmp(how, "owned")) {
    int me = gettid();
    int none = 0;
    while (!g_gate.word.compare_exchange_strong(none, me)) none = 0;
  } else if (!strcmp(how, "ready")) {
    while (!g_ready) g_spins++;
  }
}

static long compute() {
  long sum = 0;
  static unsigned char memory[1 << 16];
  static char text[4096];
  memset(text, 'x', sizeof text - 1);
  if (!strcmp(how, "random")) {
    for (unsigned x = 1;; x = x * 1664525 + 1013904223) {
      g_sum += x >> 7;
      if (x == 0) sum++;
    }
  } else if (!strcmp(how, "clock")) {
    timespec t;
    do clock_gettime(CLOCK_MONOTONIC, &t);
    while (t.tv_sec < 1L << 40);
  } else if (!strcmp(how, "memory")) {
    for (long n = 0; n < 1L << 40; n++)
      for (size_t i = 0; i < sizeof memory; i++) g_sum += memory[i] += n;
  } else if (!strcmp(how, "progress")) {
    for (long seen = 0; seen < 1L << 40;) {
      while (g_progress.load() == seen) cpu_relax();
      seen = g_progress.load();
    }
  } else if (!strcmp(how, "long")) {
    for (unsigned long n = 1; n < 1UL << 60; n++) g_sum ^= text[n % sizeof text];
  }
  return sum;
}

static void *other(void *) {
  g_began = 1;
  spin();
  compute();
  return nullptr;
}

int main(int, char **argv) {
  how = argv[1];
  Node mine{};
  pthread_spin_init(&g_pthread, 0);
  pthread_spin_lock(&g_pthread);
  g_gate.word = strcmp(how, "owned") ? 1 : gettid();
  g_flag.test_and_set();
  g_next = 1;
  g_tail = &mine;
  pthread_t t;
  pthread_create(&t, nullptr, other, nullptr);
  while (!g_began) usleep(1000);
  puts("ready");
  fflush(stdout);
  for (int i = 0; i < 60000; i++) { // a minute
    if (!strcmp(how, "progress")) g_progress++;
    usleep(1000);
  }
  return 0;
}
