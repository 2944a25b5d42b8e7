#include <pthread.h>
#include <stdio.h>
static pthread_barrier_t all;
static void *work(void *p)
{
	pthread_barrier_wait(&all);
	return p;
}
int main(void)
{
	pthread_t t[3];
	pthread_barrier_init(&all, 0, 4);
	for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, work, (void *)i);
	puts("begun"); // @begun
	pthread_barrier_wait(&all);
	for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
	puts("joined"); // @joined
	return 0;
}
