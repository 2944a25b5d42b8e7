#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>
class Queue {
	std::deque<int> items;
	std::mutex m;
	std::condition_variable c;
	bool closed = false;

  public:
	void push(int n) {
		{
			std::lock_guard<std::mutex> l(m);
			items.push_back(n);
		}
		c.notify_one();
	}
	void close() {
		closed = true;
		c.notify_all();
	}
	bool pop(int &n) {
		std::unique_lock<std::mutex> l(m);
		while (items.empty() && !closed)
			c.wait(l);
		if (items.empty())
			return false;
		n = items.front();
		items.pop_front();
		return true;
	}
};
int main() {
	Queue q;
	long sum = 0;
	std::thread t([&] {
		int n;
		while (q.pop(n))
			sum += n;
	});
	for (int i = 0; i < 20; i++)
		q.push(i);
	std::this_thread::sleep_for(std::chrono::milliseconds(1));
	q.close();
	t.join();
	printf("%ld\n", sum);
	return sum != 190;
}
