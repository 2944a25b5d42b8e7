// A small order pricing service with one honest bug. Three workers take orders from a queue, price them and
// compare each price with what the web shop quoted. Some orders are off; the output says which, not why.
// See README.md for the finding, if you do not want to look for it yourself.
//
// usage: pricing [seconds, default 20]
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace shop {

enum class Tier { bronze, silver, gold, platinum };

struct Customer {
	int id;
	const char *name;
	int orders_last_year;
	int years;
};

struct Order {
	int id;
	const Customer *customer;
	int items;
	long unit_cents;
	long quoted_cents; // what the web shop promised
};

struct Price {
	long net_cents;
	long discount_cents;
	long gross_cents;
};

static const Customer customers[] = {
	{1, "Abel", 3, 1},    {2, "Berta", 9, 4},   {3, "Carl", 17, 6},  {4, "Dora", 24, 2},
	{5, "Emil", 12, 20},  {6, "Frieda", 33, 3}, {7, "Gustav", 5, 11}, {8, "Hanna", 30, 8},
};

// --- loyalty -------------------------------------------------------------------------------------------

// As on the customer card.
using Points = std::int8_t;

Points loyalty_points(int orders, int years) {
	return static_cast<Points>(orders * 3 + years * 5);
}

Tier tier_for(Points points) {
	if (points >= 100) return Tier::platinum;
	if (points >= 60) return Tier::gold;
	if (points >= 30) return Tier::silver;
	return Tier::bronze;
}

double tier_rate(Tier tier) {
	switch (tier) {
	case Tier::platinum: return 0.15;
	case Tier::gold: return 0.10;
	case Tier::silver: return 0.05;
	default: return 0.0;
	}
}

double loyalty_rate(const Customer *customer) {
	return tier_rate(tier_for(loyalty_points(customer->orders_last_year, customer->years)));
}

// --- pricing -------------------------------------------------------------------------------------------

double volume_rate(int items) {
	return items >= 50 ? 0.08 : items >= 10 ? 0.03 : 0.0;
}

long discount(const Order &order, long net) {
	double rate = loyalty_rate(order.customer) + volume_rate(order.items);
	return static_cast<long>(net * rate + 0.5);
}

long add_tax(long cents) { return cents + (cents * 19 + 50) / 100; }

Price price_order(const Order &order) {
	Price p{};
	p.net_cents = order.items * order.unit_cents;
	p.discount_cents = discount(order, p.net_cents);
	p.gross_cents = add_tax(p.net_cents - p.discount_cents);
	return p;
}

bool check(const Order &order, const Price &price) {
	return price.gross_cents == order.quoted_cents;
}

// --- the service ---------------------------------------------------------------------------------------

struct Queue {
	std::mutex mu;
	std::condition_variable ready;
	std::deque<Order> orders;
	int open = 0; // orders not yet priced
	bool closed = false;
};

struct Totals {
	std::mutex mu;
	int orders = 0, wrong = 0;
	long gross_cents = 0;
};

bool take(Queue &queue, Order &order) {
	std::unique_lock<std::mutex> lock(queue.mu);
	queue.ready.wait(lock, [&] { return queue.closed || !queue.orders.empty(); });
	if (queue.orders.empty()) return false;
	order = queue.orders.front();
	queue.orders.pop_front();
	return true;
}

void book(Totals &totals, const Order &order, const Price &price, bool right) {
	std::lock_guard<std::mutex> lock(totals.mu);
	totals.orders++;
	totals.gross_cents += price.gross_cents;
	if (!right) {
		totals.wrong++;
		std::printf("order %d (%s): priced %ld.%02ld, quoted %ld.%02ld\n", order.id, order.customer->name,
		            price.gross_cents / 100, price.gross_cents % 100, order.quoted_cents / 100, order.quoted_cents % 100);
	}
}

void work(Queue &queue, Totals &totals) {
	Order order;
	while (take(queue, order)) {
		Price price = price_order(order);
		book(totals, order, price, check(order, price));
		std::lock_guard<std::mutex> lock(queue.mu);
		if (--queue.open == 0) queue.ready.notify_all();
	}
}

// What the web shop, another program, quotes: it knows the rate of each customer, not how it came about.
long quote(int customer, int items, long unit) {
	static const int percent[] = {0, 5, 10, 10, 15, 15, 10, 15}; // Abel … Hanna
	long net = items * unit;
	double rate = percent[customer] / 100.0 + (items >= 50 ? 0.08 : items >= 10 ? 0.03 : 0.0);
	long reduced = net - static_cast<long>(net * rate + 0.5);
	return reduced + (reduced * 19 + 50) / 100;
}

std::vector<Order> next_batch(int batch) {
	std::vector<Order> orders;
	for (int i = 0; i < 8; i++) {
		int n = batch * 8 + i, who = (n * 5 + 2) % 8, items = 1 + n * 7 % 60;
		long unit = 199 + n * 37 % 2300;
		orders.push_back({1000 + n, &customers[who], items, unit, quote(who, items, unit)});
	}
	return orders;
}

} // namespace shop

int main(int argc, char **argv) {
	using namespace shop;
	int seconds = argc > 1 ? std::atoi(argv[1]) : 20;
	Queue queue;
	Totals totals;
	std::vector<std::thread> workers;
	for (int i = 0; i < 3; i++) workers.emplace_back([&] { work(queue, totals); });
	auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
	for (int batch = 0; std::chrono::steady_clock::now() < end; batch++) {
		std::vector<Order> orders = next_batch(batch);
		{
			std::unique_lock<std::mutex> lock(queue.mu);
			queue.orders.insert(queue.orders.end(), orders.begin(), orders.end());
			queue.open = static_cast<int>(orders.size());
			queue.ready.notify_all();
			queue.ready.wait(lock, [&] { return queue.open == 0; });
		}
		std::printf("batch %d: %d orders so far, %d wrong\n", batch, totals.orders, totals.wrong);
		std::fflush(stdout);
		std::this_thread::sleep_for(std::chrono::milliseconds(200));
	}
	{
		std::lock_guard<std::mutex> lock(queue.mu);
		queue.closed = true;
		queue.ready.notify_all();
	}
	for (auto &w : workers) w.join();
	std::printf("%d orders, %d wrong, %ld.%02ld in all\n", totals.orders, totals.wrong, totals.gross_cents / 100,
	            totals.gross_cents % 100);
	return totals.wrong ? 1 : 0;
}
