#include <pthread.h>
#include <stdlib.h>
static int n = 1, taken;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) int has(void) {
	pthread_mutex_lock(&m);
	int r = n > 0;
	pthread_mutex_unlock(&m);
	return r;
}
__attribute__((noinline)) void take(void) {
	pthread_mutex_lock(&m);
	n--;
	taken++;
	pthread_mutex_unlock(&m);
}
static void spin(int k) {
	for (volatile int i = 0; i < k; i++)
		;
}
static void *w(void *a) {
	spin((long)a);
	pthread_mutex_lock(&m);
	if (n > 0) {
		n--;
		taken++;
	}
	pthread_mutex_unlock(&m);
	return 0;
}
int main() {
	pthread_t a, b;
	pthread_create(&a, 0, w, (void *)1000);
	pthread_create(&b, 0, w, (void *)200000);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return n < 0;
}
