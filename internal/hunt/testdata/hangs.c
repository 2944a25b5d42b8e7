// hangs begins a child, writes its number to the file that its argument names, and waits as the child does.
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	pid_t child = fork();
	if (child > 0 && argc > 1) {
		FILE *f = fopen(argv[1], "a");
		if (!f) return 1;
		fprintf(f, "%d\n", child);
		fclose(f);
	}
	for (int i = 0; i < 3000; i++) usleep(100000); // five minutes at most
	return 0;
}
