// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/save.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/json.h"
#include "report/names_count.h"
#include "report/stack_report.h"

/* as of -o: it holds kernel addresses and others' command lines */
#define MODE 0600

static int write_to(int fd, const struct live_shown *shown, const struct stack_format *format)
{
	struct stack_writer writer = shown->writer;
	struct stack_summary summary = shown->summary;
	bool json = format == stack_format_json;
	int error;

	writer.out = fdopen(fd, "w");
	writer.top = 0;
	if (!writer.out) {
		close(fd);
		return -ENOMEM;
	}
	if (json)
		json_print(writer.out, json_object_get(shown->start));
	error = names_count(&summary.names, &writer.names, shown->entries, shown->nr_all);
	if (!error)
		error = format->write(&writer, &summary, shown->entries, json ? shown->nr_all : shown->nr);
	if (!error && fflush(writer.out))
		error = -errno;
	if (fclose(writer.out) && !error)
		error = -errno;
	return error;
}

int live_save(const struct live_shown *shown, const char *name, bool replace)
{
	const struct stack_format *format = stack_format_of(name);
	char part[PATH_MAX];
	int fd, error;

	if (!format)
		return -EINVAL;
	if (!replace && !faccessat(AT_FDCWD, name, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	if (snprintf(part, sizeof(part), "%s.XXXXXX.part", name) >= (int)sizeof(part))
		return -ENAMETOOLONG;
	fd = mkostemps(part, sizeof(".part") - 1, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	fchmod(fd, MODE);
	error = write_to(fd, shown, format);
	/* a file that has come meanwhile is not replaced either */
	if (!error && (replace ? rename(part, name) : link(part, name)))
		error = -errno;
	if (error || !replace)
		unlink(part);
	return error;
}
