// shop has what an adapter shows: locals of several kinds, lists of 1,000, lines to step over, calls, an exception.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

struct Item {
	std::string name;
	int cents;
	Item *next;
};

struct Data {
	int array[1000];
	std::vector<int> list;
	std::string name;
	Item *first;
	long sold;
};

static int twice(int n) { return n * 2; }
static int more(int n) { return n + 1; }

static long work(int n, Data &data)
{
	long a = n;
	long b = a + 1;
	double share = b / 2.0;
	const char *word = "pear";
	a += 1;
	b += a;
	a += 2;
	b += a;
	a += 3;
	b += a;
	a += 4;
	b += a;
	a += 5;
	b += a;
	a += 6;
	b += a;
	a += 7;
	b += a;
	a += 8;
	b += a;
	long c = twice(n) + more(n); // calls
	data.sold += c; // sold
	share += *word;
	a += n; // told
	b += 1;
	return a + b + c + (long)share; // end
}

static void fail(int n)
{
	if (n > 0)
		throw std::runtime_error("too many");
}

int main(int argc, char **argv)
{
	Item pear{"pear", 70, nullptr}, apple{"apple", 50, &pear};
	Data data{{}, {}, "shop", &apple, 0};
	for (int i = 0; i < 1000; i++) {
		data.array[i] = i * 2;
		data.list.push_back(i * 3);
	}
	long rounds = argc > 1 ? atol(argv[1]) : 1000000000, total = 0;
	for (long i = 1; i <= rounds; i++)
		total += work((int)i, data);
	try {
		fail(1);
	} catch (const std::exception &e) {
		printf("caught %s\n", e.what());
	}
	printf("total %ld\n", total);
}
