// Calls the functions of corpus_asm.S.
#include <stdint.h>
#include <stdio.h>
typedef int F();
extern F t_asm_one, t_asm_tight, t_asm_after, t_asm_jcc, t_asm_jmp, t_asm_call, t_asm_callmem, t_asm_callstack_s16, t_asm_callfirst_s16, t_asm_callreg, t_asm_helper, t_asm_rip, t_asm_ripimm, t_asm_jrcxz, t_asm_loopins, t_asm_selfloop, t_asm_loopentry, t_asm_interior, t_asm_syscall, t_asm_retpop_s16, t_asm_align, t_asm_align_s8;
extern void *t_asm_lea(void);
extern void check_regs(void);
extern long call_on_stack(F *f, long a, long b, long x), call_popping(F *f, long a, long b);
extern uint64_t seen[64], after[64];

void run_asm(void) {
  t_asm_one();
  printf("asm %d %d %d %d %d\n", t_asm_tight(), t_asm_after(), t_asm_jcc(0), t_asm_jcc(1), t_asm_jmp(4));
  printf("call %d %d %ld %ld %d\n", t_asm_call(), t_asm_callmem(), call_on_stack(t_asm_callstack_s16, (long)t_asm_helper, 0, 1), call_on_stack(t_asm_callfirst_s16, (long)t_asm_helper, 0, 1), t_asm_callreg(t_asm_helper));
  printf("rip %d %d jrcxz %d %d\n", t_asm_rip(), t_asm_ripimm(), t_asm_jrcxz(0l), t_asm_jrcxz(1l));
  printf("loop %d %d %d\n", t_asm_loopins(9l), t_asm_selfloop(7), t_asm_interior(10));
  uint64_t r;
  asm volatile("clc; xorl %%eax,%%eax; sub $256,%%rsp; call t_asm_loopentry; add $256,%%rsp" : "=a"(r) : "D"(5l), "S"(100l) : "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
  printf("loopentry %d\n", r == 504 || r == 505); // the carry at the entry is anybody's, round the loop it is ours
  printf("syscall %d retpop %ld lea %d align %d %ld\n", t_asm_syscall(), call_popping(t_asm_retpop_s16, 30, 12), t_asm_lea() == (void *)t_asm_lea, t_asm_align(), call_on_stack(t_asm_align_s8, 1, 2, 0));
  check_regs();
  for (int i = 0; i < 48; i++) printf("%lx %lx\n", i == 15 ? 0 : seen[i], after[i]);
}
