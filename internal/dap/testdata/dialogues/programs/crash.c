#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
int main(int argc, char **argv)
{
	volatile int *nowhere = 0;
	if (argc > 1) raise(atoi(argv[1]));
	puts("before"); fflush(stdout);
	return *nowhere; // @crash
}
