// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc_status.h"

#include <stdio.h>
#include <string.h>

bool proc_status_number(pid_t tid, const char *field, uint32_t *number)
{
	char path[64], line[256];
	bool found = false;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	status = fopen(path, "re");
	while (status && !found && fgets(line, sizeof(line), status))
		found = !strncmp(line, field, strlen(field)) &&
			sscanf(line + strlen(field), "%u", number) == 1;
	if (status)
		fclose(status);
	return found;
}
