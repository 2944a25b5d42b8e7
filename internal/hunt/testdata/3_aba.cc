#include <atomic>
#include <thread>
struct N {
	N *next;
	int v;
};
static N a{nullptr, 1}, b{nullptr, 2}, c{nullptr, 3};
std::atomic<N *> top;
__attribute__((noinline)) N *pop() {
	N *o = top.load();
	while (o) {
		N *nx = o->next;
		if (top.compare_exchange_strong(o, nx))
			return o;
	}
	return nullptr;
}
__attribute__((noinline)) void push(N *n) {
	N *o = top.load();
	do
		n->next = o;
	while (!top.compare_exchange_strong(o, n));
}
int main() {
	c.next = nullptr;
	b.next = &c;
	a.next = &b;
	top = &a;
	N *got1 = nullptr;
	N *t2[2];
	std::thread x([&] { got1 = pop(); });
	std::thread y([&] {
		for (volatile int i = 0; i < 60000; i++)
			;
		N *p = pop();
		N *q = pop();
		t2[0] = p;
		t2[1] = q;
		if (p)
			push(p);
	});
	x.join();
	y.join(); // q is owned by y; it must not be on the stack
	for (N *n = top.load(); n; n = n->next) {
		if (n == t2[1])
			return 1;
	}
	return 0;
}
