#include <pthread.h>
struct node {
	struct node *next;
	int v;
};
struct node *head;
static struct node pool[2][1024];
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) void push_locked(struct node *n) {
	pthread_mutex_lock(&m);
	n->next = head; // races
	head = n;       // races
	pthread_mutex_unlock(&m);
}
__attribute__((noinline)) void push_fast(struct node *n) {
	n->next = head; // races
	head = n;       // races
}
static void *w(void *a) {
	long id = (long)a;
	for (int i = 0; i < 500000; i++) {
		struct node *n = &pool[id][i & 1023];
		if (id)
			push_locked(n);
		else
			push_fast(n);
	}
	return 0;
}
int main(void) {
	pthread_t t[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, w, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
