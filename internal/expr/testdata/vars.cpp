// As vars.c, of C++: references, classes, the containers of the library.
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shop {
enum class Mode : unsigned char { off, on = 3 };
struct Base { int base_id = 11; virtual ~Base() {} };
struct Mixin { long mixed = 12; };
struct Item : Base, Mixin {
	std::string name;
	Mode mode = Mode::on;
	int &ref;
	static int count;
	Item(std::string n, int &r) : name(n), ref(r) {}
	Item *self() { return this; }
};
int Item::count = 99;
}

int number = 5;
shop::Item item("apple", number);
shop::Item *ptr = &item;
std::string shortText = "short", longText = "a text that is too long for the inside of a string", empty, accents = "abcdefghij\u00e9";
std::string_view view = "a view";
std::vector<int> ints = { 3, 1, 4, 1, 5 };
std::vector<shop::Item *> items = { &item, nullptr };
std::vector<std::string> names = { "one", "two" };
std::array<short, 3> arr = { 7, 8, 9 };
std::unique_ptr<shop::Item> unique(new shop::Item("unique", number));
std::shared_ptr<shop::Item> shared(new shop::Item("shared", number));
std::unique_ptr<int> none;
char16_t wide = u'\u20ac';

#define VARS(X) X(number) X(item) X(ptr) X(shortText) X(longText) X(empty) X(accents) X(view) X(ints) X(items) X(names) X(arr) X(unique) X(shared) X(none) X(wide)
#define PARAM(v) decltype(v) *v,
#define PRINT(v) printf("%s %p\n", #v, (void *)&v);
#define ARG(v) &v,

__attribute__((noinline)) int probe(VARS(PARAM) int end) { return end + item->self()->base_id; }

int main()
{
	VARS(PRINT)
	printf("shop::Item::count %p\n", (void *)&shop::Item::count);
	printf("end\n");
	fflush(stdout);
	getchar();
	return probe(VARS(ARG) 0);
}
