#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void say(int to, const char *text) { if (write(to, text, strlen(text)) < 0) exit(9); }
int main(int argc, char **argv)
{
	char line[100], where[4096];
	if (argc > 1 && !strcmp(argv[1], "read")) {
		while (fgets(line, sizeof line, stdin)) { say(1, "read "); say(1, line); }
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "many")) {
		for (int i = 0; i < 20000; i++) printf("line %d\n", i);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "halves")) {
		say(1, "\xe4\xb8"); usleep(200000); say(1, "\x96\xe7\x95\x8c\n");
		return 0; // @halves
	}
	say(1, "MARK="); say(1, getenv("MARK") ? getenv("MARK") : "none");
	say(1, " MORE="); say(1, getenv("MORE") ? getenv("MORE") : "none");
	say(1, " in "); say(1, getcwd(where, sizeof where)); say(1, "\n");
	say(2, "without an end"); // @middle
	say(1, "世界\n");
	return 0; // @end
}
