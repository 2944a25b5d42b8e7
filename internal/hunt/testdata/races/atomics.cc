#include <atomic>
#include <thread>
std::atomic<long> n;
std::atomic<int> turn;
int main() {
	auto f = [](int id) {
		for (int i = 0; i < 200000; i++)
			n.fetch_add(1);
		for (int i = 0; i < 10000; i++) {
			while (turn.load() != id)
				std::this_thread::yield();
			turn.store(!id);
		}
	};
	std::thread a(f, 0), b(f, 1);
	a.join();
	b.join();
	return n == 400000 ? 0 : 1;
}
