/* Does one round of calls for each line of its input: rounds.py and rounds.js are the same. */
#include <stdio.h>

int alpha(int n) { return n; }
int alphabet(int n) { return n; }
int beta(int n) { return alpha(n); }
struct Shop { int id; };
int Shop_open(struct Shop *self) { return self->id; }
int Shop_close(struct Shop *self) { return -self->id; }

int main(void) {
	char line[80];
	struct Shop shop = {1};
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int n = 1; fgets(line, sizeof line, stdin); n++) {
		alphabet(n);
		beta(n);
		Shop_open(&shop);
		Shop_close(&shop);
		printf("round %d\n", n);
	}
	printf("bye\n");
	return 5;
}
