// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/clock.h"
#include "run/cli.h"
#include "run/signals.h"

#define RANDOM		".XXXXXX"
#define UNFINISHED	".part"
#define READER_MS	50	/* between two looks whether a FIFO has a reader */

static char file_name[PATH_MAX];
static char unfinished[sizeof(file_name) + sizeof(RANDOM UNFINISHED)];	/* empty: the file has its name */

static void set_name(const char *name)
{
	if (snprintf(file_name, sizeof(file_name), "%s", name) >= (int)sizeof(file_name))
		cli_die(EXIT_FAILURE, "the name of the output file is too long: '%s'", name);
}

static FILE *stream_of(int fd)
{
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		cli_die(EXIT_FAILURE, "cannot open '%s': %s", file_name, strerror(errno));
	return file;
}

FILE *output_file_new(const char *name, mode_t mode)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	set_name(name);
	snprintf(unfinished, sizeof(unfinished), "%s" RANDOM UNFINISHED, file_name);
	fd = mkostemps(unfinished, strlen(UNFINISHED), O_CLOEXEC);
	if (fd < 0)
		*unfinished = 0;
	else if (fchmod(fd, mode & ~mask))
		cli_die(EXIT_FAILURE, "cannot set the mode of '%s': %s", unfinished, strerror(errno));
	return stream_of(fd);
}

/* Another's FIFO would make the tool wait for him; what has a second name may be somebody's that is linked here. */
static bool is_written_in_place(const struct stat *file)
{
	return file->st_nlink == 1 &&
	       (S_ISCHR(file->st_mode) || (S_ISFIFO(file->st_mode) && file->st_uid == geteuid()));
}

static int open_in_place(const char *name, bool fifo, uint64_t patience_ns)
{
	uint64_t began = clock_ns();
	struct pollfd signal = { .fd = signals_fd(), .events = POLLIN };
	int fd;

	/* without O_NONBLOCK, it would wait for a FIFO's reader, or for a modem, without an end */
	while ((fd = open(name, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)) < 0 && errno == ENXIO && fifo)
		if (poll(&signal, 1, READER_MS) > 0 || (patience_ns && clock_ns() - began >= patience_ns))
			cli_die(EXIT_FAILURE, "cannot write to '%s': nobody reads it", name);
	return fd;
}

FILE *output_file_open(const char *name, mode_t mode, uint64_t patience_ns)
{
	struct stat file;
	int fd;

	if (lstat(name, &file) || S_ISREG(file.st_mode) || S_ISLNK(file.st_mode))
		return output_file_new(name, mode);
	set_name(name);
	fd = is_written_in_place(&file) ? open_in_place(name, S_ISFIFO(file.st_mode), patience_ns) : -1;
	if (!is_written_in_place(&file) || (fd >= 0 && (fstat(fd, &file) || !is_written_in_place(&file))))
		cli_die(EXIT_FAILURE, "cannot write to '%s': it is no file, no character device and no FIFO of your own",
			name);
	if (fd >= 0)
		fcntl(fd, F_SETFL, O_WRONLY);
	return stream_of(fd);
}

const char *output_file_name(void)
{
	return file_name;
}

void output_file_publish(void)
{
	if (*unfinished && rename(unfinished, file_name)) {
		int error = errno;
		char kept[sizeof(unfinished)];

		memcpy(kept, unfinished, sizeof(kept));
		*unfinished = 0;	/* so that it is not removed */
		cli_die(EXIT_FAILURE, "cannot rename '%s' to '%s': %s", kept, file_name, strerror(error));
	}
	*unfinished = 0;
}

void output_file_remove(void)
{
	if (*unfinished)
		unlink(unfinished);
}
