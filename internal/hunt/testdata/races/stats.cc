#include <mutex>
#include <thread>
struct Stats {
	std::mutex m;
	long n = 0, sum = 0;
	void add(long v) {
		std::lock_guard<std::mutex> g(m);
		n++;      // races
		sum += v; // races
	}
	__attribute__((noinline)) long avg() {
		if (!n) // races
			return 0;
		return sum / n; // races
	}
} st;
int main() {
	std::thread a([] {
		for (int i = 0; i < 1000000; i++)
			st.add(i);
	});
	long sum = 0;
	std::thread b([&] {
		for (int i = 0; i < 1500000; i++) {
			sum += st.avg();
			asm volatile("" ::: "memory");
		}
	});
	a.join();
	b.join();
	return sum == 1;
}
