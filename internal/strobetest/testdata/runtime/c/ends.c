/* Ends in the way that its argument names: ends.py and ends.js are the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int last(int n) { return n; }
void dies(int n) { last(n); abort(); }
int main(int argc, char **argv) {
	last(1);
	if (argc < 2) return 0;
	if (!strcmp(argv[1], "code")) exit(3);
	if (!strcmp(argv[1], "quick")) _exit(4);
	if (!strcmp(argv[1], "uncaught")) dies(2);
	if (!strcmp(argv[1], "term")) {
		puts("waits");
		fflush(stdout);
		pause();
	}
	return 0;
}
