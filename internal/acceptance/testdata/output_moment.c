#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int work(int i){ volatile int s=0; for(int k=0;k<200;k++) s+=k; return s+i; }
__attribute__((noinline)) void say(int i){ printf("line %d\n", i); }
__attribute__((noinline)) void sayerr(int i){ fprintf(stderr,"eline %d\n", i); }
int main(int c,char**v){ for(int i=0;i<300;i++){ work(i); say(i); work(i); sayerr(i); if(c>1) usleep(1000);} return 0; }
