#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
static atomic_int turns, stop;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shared;
static int work(int n) {
  return n * 3 + 1;
}
static void *spin(void *arg) {
  while (!stop)
    turns++;
  return arg;
}
static void *adds(void *arg) {
  for (int i = 0; i < 100; i++) {
    pthread_mutex_lock(&lock);
    shared += work(i);
    pthread_mutex_unlock(&lock);
  }
  return arg;
}
static int mine(int n) {
  int r = 0;
  for (int i = 0; i < n; i++)
    r += work(i);
  return r;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, spin, NULL);
  pthread_create(&b, NULL, adds, NULL);
  int r = mine(2);
  r += work(r);
  pthread_mutex_lock(&lock);
  r += 1;
  pthread_mutex_unlock(&lock);
  pthread_join(b, NULL);
  stop = 1;
  pthread_join(a, NULL);
  printf("%d %d\n", r, shared);
  return 0;
}
