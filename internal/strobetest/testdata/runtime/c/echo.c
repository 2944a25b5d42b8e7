/* Shows what it was given: echo.py and echo.js are the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;
static int by(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
int show(const char *what, const char *s) { return printf("%s %s\n", what, s); }
int main(int argc, char **argv) {
	char cwd[4096], line[80];
	int n = 0;
	while (environ[n]) n++;
	qsort(environ, n, sizeof *environ, by);
	for (int i = 0; i < n; i++) show("env", environ[i]);
	for (int i = 1; i < argc; i++) show("arg", argv[i]);
	show("cwd", getcwd(cwd, sizeof cwd));
	while (fgets(line, sizeof line, stdin)) show("in", line);
	fprintf(stderr, "on stderr\n");
	return 9;
}
