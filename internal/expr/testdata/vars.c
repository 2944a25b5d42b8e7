// Variables for the tests of package expr: each is printed with its address, and the types are those of
// probe's parameters, in the same order and under the same names.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum color { RED, GREEN = 5, BLUE = -2 };
enum flags { NONE, FLAG_A = 1, FLAG_B = 2 };
typedef struct inner { int x; uint8_t raw[6]; } inner_t;
struct node {
	int id;
	unsigned char level;
	signed char delta;
	unsigned low : 3;
	int mid : 5;
	unsigned long high : 40;
	char name[16];
	const char *title;
	struct node *next;
	inner_t in;
	inner_t many[4];
	union { int as_int; float as_float; };
	double weight;
	enum color color;
	bool ok;
	int (*fn)(int);
	void *opaque;
	__int128 wide;
	long double ext;
};
struct hidden;

struct node tail = { .id = 7, .name = "tail", .color = BLUE, .weight = -1.5 };
struct node head = { .id = -3, .level = 200, .delta = -100, .low = 5, .mid = -9, .high = 0xfedcba9876,
	.name = "head of the list", .title = "a title", .next = &tail, .in = { 42, { 1, 2, 3, 250 } },
	.many = { { 10 }, { 20 }, { 30 }, { 40, { 9, 8, 7 } } }, .as_int = 0x3f800000, .weight = 2.25, .color = GREEN, .ok = true,
	.opaque = &tail, .wide = ((__int128)1 << 64) + 5, .ext = 1.5L };
struct node *list = &head;
int8_t i8 = -128; uint8_t u8 = 255; int16_t i16 = -32768; uint16_t u16 = 65535;
int i32 = -2147483647 - 1; unsigned u32 = 4294967295u; int64_t i64 = INT64_MIN; uint64_t u64 = UINT64_MAX;
char c = 'x'; bool yes = true, no = false; wchar_t wc = 0x20ac;
float f32 = 0.1f; double f64 = 1e300;
int numbers[10] = { 0, 1, 4, 9, 16, 25, 36, 49, 64, 81 }; int grid[3][4] = { { 0, 1, 2, 3 }, { 10, 11, 12, 13 }, { 20, 21, 22, 23 } };
char text[8] = "abc"; char full[4] = { 'w', 'x', 'y', 'z' }; const char *str = "hello, world"; const char *nothing = NULL;
enum flags bits = FLAG_A | FLAG_B; char page[1500] = { [0 ... 1498] = 'y' }; char *paged = page; char *endless; struct hidden *secret = (struct hidden *)&head; void *raw = &head; char *wild = (char *)8;

#define VARS(X) X(list) X(head) X(tail) X(i8) X(u8) X(i16) X(u16) X(i32) X(u32) X(i64) X(u64) X(c) X(yes) X(no) X(wc) X(f32) X(f64) \
	X(numbers) X(grid) X(text) X(full) X(str) X(nothing) X(page) X(paged) X(endless) X(bits) X(secret) X(raw) X(wild)
#define PARAM(v) __typeof__(v) *v,
#define PRINT(v) printf("%s %p\n", #v, (void *)&v);
#define ARG(v) &v,

__attribute__((noinline)) int probe(VARS(PARAM) int end) { return end; }

int main(void)
{
	endless = malloc(1 << 17);
	memset(endless, 'e', 1 << 17);
	VARS(PRINT)
	printf("end\n");
	fflush(stdout);
	getchar();
	return probe(VARS(ARG) 0);
}
