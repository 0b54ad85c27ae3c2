// SPDX-License-Identifier: GPL-2.0-or-later
/* replay DIRECTORY: runs a fuzz target over each file there, without libFuzzer, and prints TAP. */
#include <dirent.h>

#include "fuzz.h"

static int replay(const char *directory, const char *name)
{
	static uint8_t bytes[1 << 20];
	char path[4096];
	uint8_t *exact;
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "r");
	if (!file)
		return 1;
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	exact = malloc(size ? size : 1); /* so that the sanitizer sees a read past its end */
	memcpy(exact, bytes, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	return 0;
}

int main(int argc, char **argv)
{
	DIR *directory = opendir(argv[argc - 1]);
	struct dirent *entry;
	int nr = 0;

	while (directory && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		if (replay(argv[argc - 1], entry->d_name)) {
			printf("not ok %s/%s\n", argv[argc - 1], entry->d_name);
			closedir(directory);
			return 1;
		}
		nr++;
	}
	if (directory)
		closedir(directory);
	printf("%sok %s: %d inputs\n", nr ? "" : "not ", argv[argc - 1], nr);
	return !nr;
}
