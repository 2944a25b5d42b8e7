// Output patterns. usage: output utf8 | nul | line BYTES | flood BYTES | both N | partial | silent
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) int put(int fd, const char *p, size_t n) {
	while (n) {
		ssize_t w = write(fd, p, n);
		if (w <= 0) return -1;
		p += w;
		n -= w;
	}
	return 0;
}

__attribute__((noinline)) int fill(size_t total, int newlines) {
	static char buf[1 << 16];
	for (size_t i = 0; i < sizeof buf; i++) buf[i] = newlines && i % 80 == 79 ? '\n' : 'a' + i % 26;
	for (size_t left = total; left;) {
		size_t n = left < sizeof buf ? left : sizeof buf;
		if (put(1, buf, n)) return 1;
		left -= n;
	}
	return put(1, "\nend\n", 5);
}

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "utf8";
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	if (!strcmp(mode, "utf8")) { // one byte of "ä€😀\n" a write
		const char *s = "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n";
		for (size_t i = 0; i < strlen(s); i++)
			if (put(1, s + i, 1)) return 1;
		return 0;
	}
	if (!strcmp(mode, "nul")) return put(1, "a\0b\0\xff\xfe\n", 7);
	if (!strcmp(mode, "line")) return fill(n, 0);
	if (!strcmp(mode, "flood")) return fill(n, 1);
	if (!strcmp(mode, "both")) {
		for (size_t i = 0; i < n; i++) {
			fprintf(stdout, "out %zu\n", i);
			fprintf(stderr, "err %zu\n", i);
		}
		return 0;
	}
	if (!strcmp(mode, "partial")) return put(1, "no newline at the end", 21);
	return strcmp(mode, "silent") ? 2 : 0;
}
