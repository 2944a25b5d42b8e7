#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
struct Order { std::string name; std::vector<int> prices; std::map<std::string, int> stock; };
__attribute__((noinline)) int look(Order &order, int by)
{
	int n = order.prices[1] * by + (int)order.stock.size(); // @look
	return n;
}
int main()
{
	Order order{"größer 世界", {10, 20, 30}, {{"pear", 4}}};
	printf("%d\n", look(order, 2));
	fflush(stdout);
	throw std::runtime_error("no more");
}
