#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>
struct Q {
	std::mutex m;
	std::vector<int> v;
	bool empty() {
		std::lock_guard<std::mutex> g(m);
		return v.empty();
	}
	int front() {
		std::lock_guard<std::mutex> g(m);
		return v.empty() ? -1 : v.back();
	}
	void pop() {
		std::lock_guard<std::mutex> g(m);
		if (!v.empty())
			v.pop_back();
	}
	void push(int x) {
		std::lock_guard<std::mutex> g(m);
		v.push_back(x);
	}
} q;
static int bad;
__attribute__((noinline)) void consume() {
	if (!q.empty()) {
		int x = q.front();
		if (x < 0)
			bad = 1;
		q.pop();
	}
}
int main() {
	q.push(1);
	std::thread a([] { consume(); }), b([] {
		usleep(250);
		consume();
	});
	a.join();
	b.join();
	return bad;
}
