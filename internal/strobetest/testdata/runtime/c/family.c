/* Starts children in every way: family.py and family.js are the same. The argument is a program of machine code, "leaf N" or "end N". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int own(int n) { return n; }
int leaf(int n) { return n; }
int main(int argc, char **argv) {
	char command[4200];
	if (argc > 2) {
		leaf(atoi(argv[2]));
		return strcmp(argv[1], "end") ? 0 : 6;
	}
	own(1);
	pid_t pid = fork();
	if (pid == 0) {
		leaf(2);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	pid = fork();
	if (pid == 0) execl(argv[0], argv[0], "leaf", "3", NULL);
	waitpid(pid, NULL, 0);
	snprintf(command, sizeof command, "true; \"%s\" leaf 4; true", argv[0]);
	if (system(command)) return 1;
	if (argc > 1) {
		snprintf(command, sizeof command, "\"%s\" leaf 5", argv[1]);
		if (system(command)) return 1;
	}
	own(7);
	execl(argv[0], argv[0], "end", "8", NULL);
	return 1;
}
