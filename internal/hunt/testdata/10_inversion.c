#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static long x, y;
static void move_ab(long n) {
	pthread_mutex_lock(&a);
	x -= n;
	pthread_mutex_lock(&b);
	y += n;
	pthread_mutex_unlock(&b);
	pthread_mutex_unlock(&a);
}
static void move_ba(long n) {
	pthread_mutex_lock(&b);
	y -= n;
	pthread_mutex_lock(&a);
	x += n;
	pthread_mutex_unlock(&a);
	pthread_mutex_unlock(&b);
}
static void *one(void *p) {
	for (int i = 0; i < 5; i++)
		move_ab(i);
	return p;
}
static void *two(void *p) {
	for (volatile int i = 0; i < 200000; i++)
		;
	for (int i = 0; i < 5; i++)
		move_ba(i);
	return p;
}
int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, one, 0);
	pthread_create(&u, 0, two, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	printf("%ld %ld\n", x, y);
	return 0;
}
