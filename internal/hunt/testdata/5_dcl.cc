#include <cstdlib>
#include <cstring>
#include <pthread.h>
struct Conf {
	int level;
	char *name;
};
static Conf *volatile inst;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) char *load_name() { return strdup("hello"); }
__attribute__((noinline)) Conf *get() {
	if (!inst) {
		pthread_mutex_lock(&m);
		if (!inst) {
			inst = (Conf *)calloc(1, sizeof(Conf));
			inst->level = 3;
			inst->name = load_name();
		}
		pthread_mutex_unlock(&m);
	}
	return inst;
}
static void *w(void *a) {
	for (volatile long i = 0; i < (long)a; i++)
		;
	Conf *c = get();
	return c->name ? 0 : (void *)1;
}
int main() {
	pthread_t a, b;
	void *x, *y;
	pthread_create(&a, 0, w, (void *)10);
	pthread_create(&b, 0, w, (void *)120000);
	pthread_join(a, &x);
	pthread_join(b, &y);
	return x || y;
}
