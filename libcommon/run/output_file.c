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

#include "base/clock.h"
#include "run/cli.h"
#include "run/signals.h"

#define RANDOM     ".XXXXXX"
#define UNFINISHED ".part"
#define READER_MS  50 /* between two looks whether a FIFO has a reader */

static struct output_file {
	const FILE *file;
	char name[PATH_MAX];
	char unfinished[PATH_MAX + sizeof(RANDOM UNFINISHED)]; /* empty: the file has its name */
} files[MAX_OUTPUT_FILES];

/* a place for another file: a place whose file has its name is free */
static struct output_file *place_for(const char *name)
{
	static size_t last;
	struct output_file *f = NULL;

	for (size_t i = 1; i <= MAX_OUTPUT_FILES && !f; i++)
		if (!*files[(last + i) % MAX_OUTPUT_FILES].unfinished)
			f = &files[last = (last + i) % MAX_OUTPUT_FILES];
	if (!f)
		cli_die(EXIT_FAILURE, "too many output files: '%s'", name);
	if (snprintf(f->name, sizeof(f->name), "%s", name) >= (int)sizeof(f->name))
		cli_die(EXIT_FAILURE, "the name of the output file is too long: '%s'", name);
	return f;
}

static FILE *stream_of(struct output_file *f, int fd)
{
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		cli_die(EXIT_FAILURE, "cannot open '%s': %s", f->name, strerror(errno));
	for (size_t i = 0; i < MAX_OUTPUT_FILES; i++)
		if (files[i].file == file) /* one that was closed */
			files[i].file = NULL;
	f->file = file;
	return file;
}

FILE *output_file_new(const char *name, mode_t mode)
{
	struct output_file *f = place_for(name);
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	snprintf(f->unfinished, sizeof(f->unfinished), "%s" RANDOM UNFINISHED, f->name);
	fd = mkostemps(f->unfinished, strlen(UNFINISHED), O_CLOEXEC);
	if (fd < 0)
		*f->unfinished = 0;
	else if (fchmod(fd, mode & ~mask))
		cli_die(EXIT_FAILURE, "cannot set the mode of '%s': %s", f->unfinished,
			strerror(errno));
	return stream_of(f, fd);
}

/*
 * Another user's FIFO would make the tool wait; a file with a second name may be another user's
 * file that is linked here.
 */
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
	while ((fd = open(name, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)) < 0 &&
	       errno == ENXIO && fifo)
		if (poll(&signal, 1, READER_MS) > 0 ||
		    (patience_ns && clock_ns() - began >= patience_ns))
			cli_die(EXIT_FAILURE, "cannot write to '%s': no process reads it", name);
	return fd;
}

FILE *output_file_open(const char *name, mode_t mode, uint64_t patience_ns)
{
	struct output_file *f;
	struct stat file;
	int fd;

	if (lstat(name, &file) || S_ISREG(file.st_mode) || S_ISLNK(file.st_mode))
		return output_file_new(name, mode);
	f = place_for(name);
	fd = is_written_in_place(&file) ? open_in_place(name, S_ISFIFO(file.st_mode), patience_ns)
					: -1;
	if (!is_written_in_place(&file) ||
	    (fd >= 0 && (fstat(fd, &file) || !is_written_in_place(&file))))
		cli_die(EXIT_FAILURE,
			"cannot write to '%s': it is not a regular file, a character device or a FIFO of your own",
			name);
	if (fd >= 0)
		fcntl(fd, F_SETFL, O_WRONLY);
	return stream_of(f, fd);
}

static struct output_file *find(const FILE *file)
{
	for (size_t i = 0; i < MAX_OUTPUT_FILES; i++)
		if (files[i].file == file)
			return &files[i];
	return NULL;
}

const char *output_file_name(const FILE *file)
{
	const struct output_file *f = find(file);

	return f ? f->name : "";
}

bool output_file_publish(const FILE *file)
{
	struct output_file *f = find(file);
	bool published = !f || !*f->unfinished || !rename(f->unfinished, f->name);

	if (!published)
		cli_warn("the report stays in '%s': it cannot be renamed to '%s': %s",
			 f->unfinished, f->name, strerror(errno));
	if (f)
		*f->unfinished = 0; /* so that it is not removed */
	return published;
}

void output_file_discard(const FILE *file)
{
	struct output_file *f = find(file);

	if (!f || !*f->unfinished)
		return;
	unlink(f->unfinished);
	*f->unfinished = 0;
}

void output_file_remove(void)
{
	for (size_t i = 0; i < MAX_OUTPUT_FILES; i++)
		if (*files[i].unfinished)
			unlink(files[i].unfinished);
}
