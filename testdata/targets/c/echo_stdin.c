// Reads lines from standard input to its end and says each back with its length; the sum is the result.
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) unsigned long answer(const char *line, size_t n) {
	printf("%zu: %s\n", n, line);
	return n;
}

int main(void) {
	char line[65536];
	unsigned long lines = 0, bytes = 0;
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		bytes += answer(line, strlen(line));
		lines++;
	}
	printf("lines=%lu bytes=%lu\n", lines, bytes);
	return 0;
}
