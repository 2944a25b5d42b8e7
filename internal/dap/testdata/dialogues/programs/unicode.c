#include <stdio.h>
struct größe { int länge; const char *名前; };
static const char *hallo(const char *wer) { return wer; }
int main(void)
{
	struct größe größe = {3, "世界"};
	/* 世界 🌍 */ const char *наме = hallo("grüß 🌍"); int größer = größe.länge + 1; // @emoji
	printf("%s %s %d\n", наме, größe.名前, größer); fflush(stdout); // @said
	return 0;
}
