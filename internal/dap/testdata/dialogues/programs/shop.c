#include <stdio.h>
#include <stdlib.h>
struct price { int cents; const char *currency; };
struct item { const char *name; struct price price; int stock[4]; struct item *next; };
int total;
// @nocode

static int sum(struct item *item, int n) // @function
{
	int line = item->price.cents * n; // @product
	total += line;                    // @add
	printf("sold %d %s\n", n, item->name); // @told
	return line;                      // @result
}
int main(int argc, char **argv)
{
	struct item pear = {"pear", {70, "EUR"}, {4, 3, 2, 1}, NULL}, apple = {"apple", {50, "EUR"}, {1, 2, 3, 4}, &pear};
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i <= 3; i++)
		sum(&apple, i); // @call
	fprintf(stderr, "total %d of %d arguments\n", total, argc - 1); // @end
	return argc > 1 ? atoi(argv[1]) : 7; // @return
} // @brace
