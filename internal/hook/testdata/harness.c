// Runs the corpus in one process, unhooked or with stubs that the Go test wrote: maps the arena, installs
// the patches, and stands in for the agent. Prints what the corpus prints; the counts go to a file.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define MAX_HOOKS 4096
#define MAX_DEPTH 200000

struct patch { uint64_t site, entry; uint32_t len; uint8_t bytes[8]; uint32_t pad; };
struct header { uint64_t arena, arena_len, arena_map, npatches, eh; };

extern void __register_frame(void *);
extern char agent_enter[], agent_exit[], agent_copy[], agent_enter_only[], agent_ret[];
void run_corpus(void);
void run_corpus_cc(void);

static struct header head;
static struct patch *patches;
static uint64_t enters[MAX_HOOKS], exits[MAX_HOOKS], tails[MAX_HOOKS];
static uint64_t unwound, mismatches, traps;

struct frame { uint64_t sp; uint32_t id; };
static __thread struct frame *shadow;
static __thread int depth;

#define AGENT __attribute__((target("general-regs-only"), used, noinline))

static AGENT int in_arena(uint64_t a) { return a - head.arena < head.arena_len; }

static AGENT void push_frame(uint64_t id, uint64_t sp) {
  if (!shadow) shadow = mmap(0, MAX_DEPTH * sizeof *shadow, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  while (depth > 0 && shadow[depth - 1].sp <= sp) { depth--; __atomic_fetch_add(&unwound, 1, __ATOMIC_RELAXED); }
  if (depth < MAX_DEPTH) shadow[depth++] = (struct frame){sp, (uint32_t)id};
}

// sp is the address of the return address throughout.
AGENT uint64_t c_enter(uint64_t id, uint64_t sp) {
  __atomic_fetch_add(&enters[id], 1, __ATOMIC_RELAXED);
  if (in_arena(*(uint64_t *)sp)) { __atomic_fetch_add(&tails[id], 1, __ATOMIC_RELAXED); return 1; }
  push_frame(id, sp);
  return 0;
}
AGENT void c_exit(uint64_t id, uint64_t sp) {
  __atomic_fetch_add(&exits[id], 1, __ATOMIC_RELAXED);
  while (depth > 0 && shadow[depth - 1].sp < sp) { depth--; __atomic_fetch_add(&unwound, 1, __ATOMIC_RELAXED); }
  if (depth > 0 && shadow[depth - 1].sp == sp && shadow[depth - 1].id == (uint32_t)id) depth--;
  else __atomic_fetch_add(&mismatches, 1, __ATOMIC_RELAXED);
}
AGENT void c_enter_only(uint64_t id) { __atomic_fetch_add(&enters[id], 1, __ATOMIC_RELAXED); }
AGENT void c_ret(uint64_t id) { __atomic_fetch_add(&exits[id], 1, __ATOMIC_RELAXED); }

#define SAVE "push %rax; push %rcx; push %rdx; push %rsi; push %rdi; push %r8; push %r9; push %r10; push %r11; push %rbx\n"
#define REST "pop %rbx; pop %r11; pop %r10; pop %r9; pop %r8; pop %rdi; pop %rsi; pop %rdx; pop %rcx; pop %rax\n"
#define CALL(f) "mov %rsp,%rbx; and $-16,%rsp; cld; call " f "; mov %rbx,%rsp\n"
// Above ten saved registers: [rsp+80] return address into the stub, [rsp+88] the id.
asm(".text\n"
    ".globl agent_enter\nagent_enter:\n" SAVE "mov 88(%rsp),%rdi; lea 8(%rbp),%rsi\n" CALL("c_enter") "test %eax,%eax\n" REST "ret $8\n"
    ".globl agent_exit\nagent_exit:\n" SAVE "mov 88(%rsp),%rdi; lea 8(%rbp),%rsi\n" CALL("c_exit") REST "ret $8\n"
    ".globl agent_enter_only\nagent_enter_only:\n pushfq\n" SAVE "mov 96(%rsp),%rdi\n" CALL("c_enter_only") REST "popfq; ret $8\n"
    ".globl agent_ret\nagent_ret:\n pushfq\n" SAVE "mov 96(%rsp),%rdi\n" CALL("c_ret") REST "popfq; ret $8\n"
    ".globl agent_copy\nagent_copy:\n push %rsi; push %rdi; push %rcx\n"
    " lea 16(%rbp),%rsi; lea 40(%rsp),%rdi; mov 32(%rsp),%rcx; cld; rep movsb\n"
    " pop %rcx; pop %rdi; pop %rsi; ret $8\n");

static void on_trap(int sig, siginfo_t *info, void *context) {
  ucontext_t *c = context;
  uint64_t at = c->uc_mcontext.gregs[REG_RIP] - 1;
  for (uint64_t lo = 0, hi = head.npatches; lo < hi;) {
    uint64_t mid = (lo + hi) / 2;
    if (patches[mid].site == at) {
      __atomic_fetch_add(&traps, 1, __ATOMIC_RELAXED);
      c->uc_mcontext.gregs[REG_RIP] = patches[mid].entry;
      return;
    }
    if (patches[mid].site < at) lo = mid + 1; else hi = mid;
  }
  fprintf(stderr, "stray trap at %#lx\n", at);
  _exit(99);
}

static void need(int ok, const char *what) { if (!ok) { perror(what); _exit(98); } }

static void install(const char *path) {
  FILE *f = fopen(path, "rb");
  need(f && fread(&head, sizeof head, 1, f) == 1, "read header");
  uint8_t *arena = mmap((void *)head.arena, head.arena_map, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  need(arena == (void *)head.arena, "map arena");
  need(fread(arena, 1, head.arena_len, f) == head.arena_len, "read arena");
  patches = malloc(head.npatches * sizeof *patches);
  need(fread(patches, sizeof *patches, head.npatches, f) == head.npatches, "read patches");
  uint8_t *eh = malloc(head.eh);
  need(fread(eh, 1, head.eh, f) == head.eh, "read eh_frame");
  fclose(f);
  void *slots[] = {agent_enter, agent_exit, agent_copy, agent_enter_only, agent_ret};
  memcpy(arena, slots, sizeof slots);
  __register_frame(eh);
  struct sigaction sa = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGTRAP, &sa, 0);
  for (uint64_t i = 0; i < head.npatches; i++) {
    struct patch *p = &patches[i];
    uint64_t page = p->site & ~4095ull;
    need(mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0, "mprotect");
    memcpy((void *)p->site, p->bytes, p->len);
  }
}

static void report(const char *path, int nids) {
  FILE *f = fopen(path, "w");
  need(f != 0, "write counts");
  fprintf(f, "unwound %lu\nmismatches %lu\ntraps %lu\n", unwound + depth, mismatches, traps);
  for (int i = 0; i < nids; i++)
    if (enters[i] || exits[i]) fprintf(f, "%d %lu %lu %lu\n", i, enters[i], exits[i], tails[i]);
  fclose(f);
}

int main(int argc, char **argv) {
  if (argc > 2) install(argv[1]);
  run_corpus();
  run_corpus_cc();
  fflush(stdout);
  if (argc > 2) report(argv[2], MAX_HOOKS);
  return 0;
}
