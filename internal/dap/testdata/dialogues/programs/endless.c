#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int ends, rounds;
static void told(int s) { ends = s; }
int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGTERM, argc > 1 ? SIG_IGN : told);
	puts("begun");
	while (!ends) {
		rounds++;     // @round
		usleep(1000); // @asleep
	}
	puts("asked to end");
	return 4;
}
