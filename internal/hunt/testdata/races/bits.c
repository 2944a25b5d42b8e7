#include <pthread.h>
static volatile struct {
	unsigned a : 1, b : 1, n : 14;
} flags;
static void *left(void *p) {
	for (int i = 0; i < 3000000; i++)
		flags.a = i & 1; // races
	return 0;
}
static void *right(void *p) {
	for (int i = 0; i < 3000000; i++)
		flags.b = i & 1; // races
	return 0;
}
int main(void) {
	pthread_t t[2];
	pthread_create(&t[0], 0, left, 0);
	pthread_create(&t[1], 0, right, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
