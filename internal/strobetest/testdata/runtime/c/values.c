/* One function for each kind of value, which gives it back: values.py and values.js are the same. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct Node { int id; struct Node *next; };
struct Item { int id; const char *name; };
struct Box { int id; struct Box *inner; };
struct Many { int of[101]; };

int small(int x) { return x; }
int negative(int x) { return x; }
long long large(long long x) { return x; }
double fraction(double x) { return x; }
double notNumber(double x) { return x; }
double infinite(double x) { return x; }
const char *text(const char *x) { return x; }
const char *longText(const char *x) { return x; }
const char *hugeText(const char *x) { return x; }
bool truth(bool x) { return x; }
void *missing(void *x) { return x; }
struct Item *instance(struct Item *x) { return x; }
struct Node *cycle(struct Node *x) { return x; }
struct Box *nested(struct Box *x) { return x; }
struct Many *many(struct Many *x) { return x; }
struct Node *big(struct Node *x) { return x; }
int (*func(int (*x)(int)))(int) { return x; }
struct Item *changed(struct Item *x) {
	x->id = 99;
	return x;
}

int main(void) {
	small(42);
	negative(-7);
	large(9223372036854775807LL);
	fraction(0.5);
	notNumber(NAN);
	infinite(INFINITY);
	text("na\xc3\xafve \xf0\x9f\x98\x80");
	char *t = calloc(1, (1 << 20) + 1);
	memset(t, 'a', 1025);
	longText(t);
	memset(t, 'a', 1 << 20);
	hugeText(t);
	truth(true);
	missing(NULL);
	struct Item item = {7, "pear"};
	instance(&item);
	struct Node self = {1, NULL};
	self.next = &self;
	cycle(&self);
	struct Box boxes[8];
	for (int i = 0; i < 8; i++) boxes[i] = (struct Box){i, i < 7 ? &boxes[i + 1] : NULL};
	nested(boxes);
	struct Many all;
	for (int i = 0; i < 101; i++) all.of[i] = i;
	many(&all);
	struct Node *nodes = calloc(100000, sizeof *nodes);
	for (int i = 0; i < 99999; i++) nodes[i] = (struct Node){i, nodes + i + 1};
	big(nodes);
	func(small);
	changed(&item);
	return 0;
}
