// Starts as many processes as its argument says, which do nothing until it ends; it ends when its input does.
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
	int n = argc > 1 ? atoi(argv[1]) : 0;
	pid_t parent = getpid();
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();
		if (pid < 0)
			return 1; // those that there are end with us
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(0);
			for (;;)
				pause();
		}
	}
	char c = '.';
	if (write(1, &c, 1) != 1)
		return 1;
	while (read(0, &c, 1) > 0) {
	}
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	while (wait(NULL) > 0) {
	}
	return 0;
}
