#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int balance;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) int get(void) {
	pthread_mutex_lock(&m);
	int v = balance;
	pthread_mutex_unlock(&m);
	return v;
}
__attribute__((noinline)) void set(int v) {
	pthread_mutex_lock(&m);
	balance = v;
	pthread_mutex_unlock(&m);
}
__attribute__((noinline)) void deposit(int n) {
	int b = get();
	set(b + n);
}
static void *w(void *a) {
	usleep((long)a);
	deposit(10);
	return 0;
}
int main() {
	pthread_t a, b;
	pthread_create(&a, 0, w, (void *)0);
	pthread_create(&b, 0, w, (void *)300);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return balance != 20;
}
