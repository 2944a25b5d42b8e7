/* Two threads with names work at once: threads.py and threads.js are the same. */
#define _GNU_SOURCE
#include <pthread.h>

int part(int n) { return n + 1; }
int work(int n) { return part(n); }
static void *worker(void *name) {
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 200; i++) work(i);
	return name;
}
int main(void) {
	pthread_t t[2];
	pthread_create(&t[0], 0, worker, "reader-one");
	pthread_create(&t[1], 0, worker, "reader-two");
	for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
	return 0;
}
