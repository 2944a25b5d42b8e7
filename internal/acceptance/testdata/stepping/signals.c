#include <signal.h>
#include <stdio.h>
static volatile sig_atomic_t seen, sum;
static void on_user(int sig) {
  seen++;
  sum += sig;
}
static void on_info(int sig, siginfo_t *info, void *context) {
  int code = info->si_signo;
  (void)context;
  sum += code == sig;
}
__attribute__((noinline)) static int raises(int n) {
  for (int i = 0; i < n; i++)
    raise(SIGUSR1);
  return (int)seen;
}
int main(void) {
  struct sigaction sa = {0};
  sa.sa_handler = on_user;
  sigaction(SIGUSR1, &sa, NULL);
  int a = raises(2);
  sa.sa_sigaction = on_info;
  sa.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR2, &sa, NULL);
  raise(SIGUSR2);
  sigset_t set = {0};
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  raise(SIGUSR1);
  int b = (int)seen;
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  int c = (int)seen;
  printf("%d %d %d %d\n", a, b, c, (int)sum);
  return 0;
}
