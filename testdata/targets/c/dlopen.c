// Loads a library late, calls it, unloads it, loads it again; from several threads too.
// usage: dlopen [rounds]; the library dlopen_lib.so stands next to the program.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <libgen.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[4096];

__attribute__((noinline)) int back(int x) { return x * 10; }

__attribute__((noinline)) int use(void) {
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	int (*call)(int) = (int (*)(int))dlsym(lib, "lib_call");
	int (*with)(int (*)(int), int) = (int (*)(int (*)(int), int))dlsym(lib, "lib_back");
	int r = 0;
	for (int i = 0; i < 10; i++) r += call(i);
	r += with(back, 1);
	dlclose(lib);
	return r;
}

static void *run(void *p) {
	*(int *)p = use();
	return p;
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 20;
	char self[4000];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n < 0) return 2;
	self[n] = 0;
	snprintf(path, sizeof path, "%s/dlopen_lib.so", dirname(self));
	int first = use(), same = 1, r[4] = {0};
	for (int i = 0; i < rounds; i++) same &= use() == first;
	pthread_t t[4];
	for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, run, &r[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		same &= r[i] == first;
	}
	printf("rounds=%d first=%d same=%d\n", rounds, first, same);
	return same ? 0 : 1;
}
