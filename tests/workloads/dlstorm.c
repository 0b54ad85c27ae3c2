// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dlstorm load MILLISECONDS LIBRARY...: loads one after the other, burns that much CPU time in each
 * and keeps them. dlstorm churn SECONDS LIBRARY...: loads, burns 3 ms and unloads them in turn,
 * with the library's base name as the thread's name meanwhile. dlstorm hold LIBRARY...: loads all
 * of them, says "ready", and burns for good in the last.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static int (*load(const char *path, void **handle))(double)
{
	int (*storm)(double);

	*handle = dlopen(path, RTLD_NOW);
	if (!*handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	storm = (int (*)(double))dlsym(*handle, "storm");
	return storm;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL);
	void *handle;

	if (!strcmp(argv[1], "load")) {
		for (int i = 3; i < argc; i++)
			load(argv[i], &handle)(atof(argv[2]) / 1e3);
	} else if (!strcmp(argv[1], "hold")) {
		int (*last)(double) = NULL;

		for (int i = 2; i < argc; i++)
			last = load(argv[i], &handle);
		puts("ready");
		fflush(stdout);
		for (;;)
			last(0.1);
	} else {
		for (end += atoi(argv[2]); time(NULL) < end;) {
			for (int i = 3; i < argc; i++) {
				int (*storm)(double) = load(argv[i], &handle);

				prctl(PR_SET_NAME, strrchr(argv[i], '/') + 1);
				storm(0.003);
				prctl(PR_SET_NAME, "between");
				dlclose(handle);
			}
		}
	}
	return 0;
}
