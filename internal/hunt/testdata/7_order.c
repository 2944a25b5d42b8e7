#include <pthread.h>
#include <stdlib.h>
static pthread_t *volatile self;
static int bad;
__attribute__((noinline)) void init_self(pthread_t t) {
	static pthread_t v;
	v = t;
	self = &v;
}
static void *w(void *a) {
	for (volatile int i = 0; i < 12000000; i++)
		;
	if (!self)
		bad = 1;
	return 0;
}
int main() {
	pthread_t t;
	pthread_create(&t, 0, w, 0);
	init_self(t);
	pthread_join(t, 0);
	return bad;
}
