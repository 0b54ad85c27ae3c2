// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/jit/perf_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES (64 << 10)

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads a hexadecimal number and the blanks after it. False: there is none, or it is too large */
static bool parse_hex(const char **p, const char *end, uint64_t *value)
{
	const char *first;

	if (end - *p > 2 && (*p)[0] == '0' && ((*p)[1] | 0x20) == 'x')
		*p += 2;
	first = *p;
	for (*value = 0; *p < end && digit(**p) >= 0; ++*p) {
		if (*value >> 60)
			return false;
		*value = *value << 4 | digit(**p);
	}
	if (*p == first || *p == end || (**p != ' ' && **p != '\t'))
		return false;
	while (*p < end && (**p == ' ' || **p == '\t'))
		++*p;
	return true;
}

static int add_line(struct jit_names *names, const char *line, const char *end)
{
	struct jit_code code = { .until_ns = UINT64_MAX };
	uint64_t size;

	while (end > line && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	if (line == end)
		return 0;
	if (!parse_hex(&line, end, &code.start) || !parse_hex(&line, end, &size) || line == end ||
	    size > UINT64_MAX - code.start) {
		names->bad++;
		return 0;
	}
	if (!size) /* .NET and others write such lines: no address is inside */
		return 0;
	code.end = code.start + size;
	return jit_names_add(names, &code, line, strnlen(line, end - line));
}

/* Reads the complete lines in [text, end), *used bytes. 0 or -ENOMEM */
static int add_lines(struct jit_names *names, const char *text, const char *end, size_t *used)
{
	const char *line = text, *newline;
	int error = 0;

	while (!error && line < end && (newline = memchr(line, '\n', end - line))) {
		error = add_line(names, line, newline);
		line = newline + 1;
	}
	*used = line - text;
	return error;
}

/* up to the end that the file has now: another user may let it grow without end */
static int read_on(struct perf_map *map, int fd, uint64_t end, struct jit_names *names,
		   char *buffer)
{
	while (map->at < end) {
		ssize_t got = pread(fd, buffer, BUFFER_BYTES, map->at);
		size_t used;
		int error;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		error = add_lines(names, buffer, buffer + got, &used);
		if (error)
			return error;
		if (!used && got < BUFFER_BYTES)
			return 0;
		if (!used) { /* a part of a line that is longer than the buffer */
			names->bad++;
			used = got;
		}
		map->at += used;
	}
	return 0;
}

/*
 * Of what was added, only the end is read, from a line's beginning on. What was known may be wrong:
 * what is skipped may be of the same addresses.
 */
static void skip(struct perf_map *map, int fd, uint64_t bytes, struct jit_names *names,
		 char *buffer)
{
	const char *newline;
	ssize_t got;

	jit_names_free(names);
	map->skipped++;
	map->at = bytes - PERF_MAP_MAX_BYTES;
	got = pread(fd, buffer, BUFFER_BYTES, map->at);
	newline = got > 0 ? memchr(buffer, '\n', got) : NULL;
	if (newline)
		map->at += newline + 1 - buffer;
}

/* false: there are no so many bytes there */
static bool read_tail(const struct perf_map *map, int fd, char tail[PERF_MAP_TAIL])
{
	uint64_t bytes = map->at < PERF_MAP_TAIL ? map->at : PERF_MAP_TAIL;

	memset(tail, 0, PERF_MAP_TAIL);
	return pread(fd, tail, bytes, map->at - bytes) == (ssize_t)bytes;
}

static bool is_written_anew(const struct perf_map *map, int fd)
{
	char tail[PERF_MAP_TAIL];

	return !read_tail(map, fd, tail) || memcmp(tail, map->tail, PERF_MAP_TAIL);
}

int perf_map_read(struct perf_map *map, int fd, struct jit_names *names)
{
	char *buffer;
	struct stat st;
	int error;

	if (fstat(fd, &st))
		return -errno;
	if (map->dev != st.st_dev || map->inode != st.st_ino || is_written_anew(map, fd))
		*map = (struct perf_map){ .dev = st.st_dev,
					  .inode = st.st_ino,
					  .skipped = map->skipped };
	buffer = malloc(BUFFER_BYTES);
	if (!buffer)
		return -ENOMEM;
	if (map->at < (uint64_t)st.st_size && st.st_size - map->at > PERF_MAP_MAX_BYTES)
		skip(map, fd, st.st_size, names, buffer);
	error = read_on(map, fd, st.st_size, names, buffer);
	free(buffer);
	if (!error && !read_tail(map, fd, map->tail))
		map->at = 0; /* it was cut meanwhile */
	return error;
}
