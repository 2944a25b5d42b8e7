/* N calls as fast as can be; with "kill", it kills itself behind them: burst.py and burst.js are the same. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) int tick(int n) { return n + 1; }
int main(int argc, char **argv) {
	int n = atoi(argv[1]);
	for (int i = 0; i < n; i++) tick(i);
	if (argc > 2) kill(getpid(), SIGKILL);
	printf("called %d\n", n);
	return 0;
}
