/* Busy until the file "stop" is there, with a file "seen" that grows: loop.py and loop.js are the same. */
#include <fcntl.h>
#include <unistd.h>

int spin(int n) { return n + 1; }
int main(void) {
	int seen = open("seen", O_CREAT | O_WRONLY | O_APPEND, 0600);
	for (int i = 0;; i++) {
		spin(i);
		if (i % 20000) continue;
		if (write(seen, ".", 1) != 1) return 1;
		if (access("stop", F_OK)) continue;
		return write(seen, "7", 1) == 1 ? 7 : 1;
	}
}
