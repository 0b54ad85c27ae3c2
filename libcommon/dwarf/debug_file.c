// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/debug_file.h"

#include <errno.h>
#include <linux/magic.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>

#include "dwarf/regular_file.h"

struct debug_link {
	char name[NAME_MAX + 1];	/* "": none */
	uint32_t crc;
};

struct searching {
	struct elf_file *file;
	struct debug_link link;
	const char *path;
	struct stat st;		/* the file's */
	bool chosen;		/* who runs the tool has named the directory */
};

/* ---- is it the right one? ---- */

/* 1: the same, 0: others, -1: one has none */
static int compare_build_ids(const struct elf_file *file, int fd)
{
	struct elf_file debug;
	int same = -1;

	if (!file->build_id_bytes)
		return -1;
	if (elf_file_open_for_names(&debug, fd))
		return 0;
	if (debug.build_id_bytes)
		same = debug.build_id_bytes == file->build_id_bytes &&
		       !memcmp(debug.build_id, file->build_id, file->build_id_bytes);
	elf_file_close(&debug);
	return same;
}

static bool has_crc(int fd, uint32_t expected)
{
	uint8_t bytes[1 << 16];
	uint64_t total = 0;
	uLong crc = crc32(0, NULL, 0);
	ssize_t got;

	while ((got = pread(fd, bytes, sizeof(bytes), total)) > 0 && total <= DEBUG_FILE_MAX_CRC_BYTES) {
		crc = crc32(crc, bytes, got);
		total += got;
	}
	return !got && crc == expected;
}

/*
 * In a mount namespace of its own, every user has a directory of this name; and a FUSE server says of its files that they
 * are root's.
 */
static bool is_believed(const struct searching *s, int fd)
{
	struct statfs fs;
	struct stat st;

	if (s->chosen)
		return true;
	if (!regular_file_is_believed(fd, s->st.st_uid) || fstatfs(fd, &fs) || fstat(fd, &st))
		return false;
	return fs.f_type != FUSE_SUPER_MAGIC || st.st_dev == s->st.st_dev;
}

/* an fd if it is, else -1 */
static int check_by_id(const struct searching *s, int fd)
{
	if (fd >= 0 && (!is_believed(s, fd) || compare_build_ids(s->file, fd) != 1)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int check_by_link(const struct searching *s, int fd)
{
	int same = fd >= 0 && is_believed(s, fd) ? compare_build_ids(s->file, fd) : 0;

	if (fd >= 0 && (!same || (same < 0 && !has_crc(fd, s->link.crc)))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* ---- where may it be? ---- */

/* .gnu_debuglink: a file name, zeros up to a multiple of 4, the CRC */
static void read_link(struct elf_file *file, struct debug_link *link)
{
	struct elf_section section;
	struct cursor c;
	const char *name;

	*link = (struct debug_link){};
	if (elf_file_section(file, ".gnu_debuglink", &section))
		return;
	c = cursor_over(section.bytes, section.size);
	name = cursor_string(&c);
	if (!name || !*name || strlen(name) > NAME_MAX || strchr(name, '/') || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		return;
	cursor_bytes(&c, -(uint64_t)(c.p - section.bytes) % 4);
	link->crc = cursor_u32(&c);
	if (!c.bad)
		strcpy(link->name, name);
}

void debug_file_path_by_id(char path[DEBUG_FILE_MAX_PATH], const char *directory, const uint8_t *id, size_t bytes)
{
	int at = snprintf(path, DEBUG_FILE_MAX_PATH, "%.*s/.build-id/%02x/", PATH_MAX, directory, id[0]);

	for (size_t i = 1; i < bytes; i++)
		at += sprintf(path + at, "%02x", id[i]);
	strcpy(path + at, ".debug");
}

static int open_by_id(const struct searching *s, int root, const char *directory)
{
	char path[DEBUG_FILE_MAX_PATH];

	if (s->file->build_id_bytes < 2)
		return -1;
	debug_file_path_by_id(path, directory, s->file->build_id, s->file->build_id_bytes);
	return check_by_id(s, regular_file_open(root, path, true));
}

/* PREFIX + the file's directory + INFIX + the link's name */
static int open_by_link(const struct searching *s, int root, const char *prefix, const char *infix)
{
	const char *slash = s->path ? strrchr(s->path, '/') : NULL;
	char path[DEBUG_FILE_MAX_PATH];

	if (!slash || !s->link.name[0])
		return -1;
	if ((size_t)snprintf(path, sizeof(path), "%s%.*s/%s%s", prefix, (int)(slash - s->path), s->path, infix,
			     s->link.name) >= sizeof(path) || !strcmp(path, s->path))
		return -1;
	return check_by_link(s, regular_file_open(root, path, true));
}

static int search_directory(const struct searching *s, int root, const char *directory)
{
	int fd = open_by_id(s, root, directory);

	return fd >= 0 ? fd : open_by_link(s, root, directory, "");
}

static int search_root(const struct searching *s, int root)
{
	int fd = search_directory(s, root, DEBUG_DIRECTORY);

	if (fd < 0)
		fd = open_by_link(s, root, "", "");
	return fd < 0 ? open_by_link(s, root, "", ".debug/") : fd;
}

int debug_file_open(const struct debug_search *search, struct elf_file *file, const char *path)
{
	struct searching s = { .file = file, .path = path, .chosen = true };
	int fd = -1;

	if (fstat(file->fd, &s.st))	/* an image in memory: the vDSO's */
		s.st = (struct stat){};
	read_link(file, &s.link);
	for (size_t i = 0; i < search->nr_directories && fd < 0; i++)
		fd = search_directory(&s, -1, search->directories[i]);
	s.chosen = false;
	if (fd < 0 && search->root >= 0)
		fd = search_root(&s, search->root);
	if (fd < 0)
		fd = search_root(&s, -1);
	return fd < 0 ? -ENOENT : fd;
}

int debug_file_open_fetched(struct elf_file *file, const char *path)
{
	const struct searching s = { .file = file, .chosen = true };
	int fd = check_by_id(&s, regular_file_open(-1, path, true));

	return fd < 0 ? -ENOENT : fd;
}

/* ---- MiniDebugInfo ---- */

/* xz's bytes, up to DEBUG_DATA_MAX_BYTES of what they hold: *size of them. 0 or -errno */
static int decompress(const struct elf_section *data, void **image, size_t *size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	uint8_t *bytes = NULL, *more;
	size_t max = 0;
	lzma_ret result = lzma_stream_decoder(&stream, DEBUG_DATA_MAX_MEMORY, 0);

	stream.next_in = data->bytes;
	stream.avail_in = data->size;
	while (result == LZMA_OK && stream.total_out == max && max < DEBUG_DATA_MAX_BYTES) {
		max = max ? max * 2 : 64 << 10;
		more = realloc(bytes, max);
		if (!more) {
			result = LZMA_MEM_ERROR;
			break;
		}
		bytes = more;
		stream.next_out = bytes + stream.total_out;
		stream.avail_out = max - stream.total_out;
		result = lzma_code(&stream, LZMA_FINISH);
	}
	*size = stream.total_out;
	lzma_end(&stream);
	if (result == LZMA_STREAM_END) {
		*image = bytes;
		return 0;
	}
	free(bytes);
	if (result == LZMA_MEM_ERROR)
		return -ENOMEM;
	return result == LZMA_OK || result == LZMA_MEMLIMIT_ERROR ? -EFBIG : -EBADMSG;
}

int debug_data_open(struct elf_file *file, struct elf_file *mini, void **image)
{
	struct elf_section data;
	size_t size;
	int error = elf_file_section(file, ".gnu_debugdata", &data);

	if (!error)
		error = data.size ? decompress(&data, image, &size) : -EBADMSG;
	if (error)
		return error;
	error = elf_file_open_memory(mini, *image, size);
	if (error)
		free(*image);
	return error;
}
