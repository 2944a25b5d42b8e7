#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct S {
	int magic;
	char pad[60];
};
static struct S *s;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) struct S *lookup(void) {
	pthread_mutex_lock(&m);
	struct S *r = s;
	pthread_mutex_unlock(&m);
	return r;
}
__attribute__((noinline)) int use(struct S *p) { return p->magic == 42; }
__attribute__((noinline)) void drop(void) {
	pthread_mutex_lock(&m);
	struct S *r = s;
	s = 0;
	pthread_mutex_unlock(&m);
	if (r) {
		memset(r, 0xdd, sizeof *r);
		free(r);
	}
}
static void *u(void *a) {
	struct S *p = lookup();
	if (p && !use(p))
		return (void *)1;
	return 0;
}
static void *d(void *a) {
	usleep(400);
	drop();
	return 0;
}
int main() {
	s = malloc(sizeof *s);
	s->magic = 42;
	pthread_t a, b;
	void *r;
	pthread_create(&a, 0, u, 0);
	pthread_create(&b, 0, d, 0);
	pthread_join(a, &r);
	pthread_join(b, 0);
	return r != 0;
}
