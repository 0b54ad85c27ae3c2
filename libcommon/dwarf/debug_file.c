// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>

#include "dwarf/regular_file.h"

struct searching {
	const struct debug_key *key;
	struct debug_files *found;
	const char *path;
	struct stat st; /* the file's */
	bool chosen;    /* who runs the tool has named the directory */
};

/* ---- what the file says ---- */

/* .gnu_debuglink: a file name, zeros up to a multiple of 4, the CRC */
static void read_link(struct elf_file *file, struct debug_key *key)
{
	struct elf_section section;
	struct cursor c;
	const char *name;

	if (elf_file_section(file, ".gnu_debuglink", &section))
		return;
	c = cursor_over(section.bytes, section.size);
	name = cursor_string(&c);
	if (!name || strlen(name) > NAME_MAX)
		return;
	cursor_bytes(&c, -(uint64_t)(c.p - section.bytes) % 4);
	key->crc = cursor_u32(&c);
	if (!c.bad)
		strcpy(key->link, name);
}

void debug_key_read(struct debug_key *key, struct elf_file *file)
{
	*key = (struct debug_key){ .build_id_bytes = file->build_id_bytes };
	memcpy(key->build_id, file->build_id, file->build_id_bytes);
	read_link(file, key);
	if (!debug_key_is_sound(key))
		key->link[0] = 0;
}

bool debug_key_is_sound(const struct debug_key *key)
{
	return key->build_id_bytes <= MAX_BUILD_ID && memchr(key->link, 0, sizeof(key->link)) &&
	       !strchr(key->link, '/') && strcmp(key->link, ".") && strcmp(key->link, "..");
}

/* ---- is it the right one? ---- */

/* 1: the same, 0: others, -1: one has none */
static int compare_build_ids(const struct debug_key *key, int fd)
{
	struct elf_file debug;
	int same = -1;

	if (!key->build_id_bytes)
		return -1;
	if (elf_file_open_for_names(&debug, fd))
		return 0;
	if (debug.build_id_bytes)
		same = debug.build_id_bytes == key->build_id_bytes &&
		       !memcmp(debug.build_id, key->build_id, key->build_id_bytes);
	elf_file_close(&debug);
	return same;
}

static bool has_crc(int fd, uint32_t expected)
{
	uint8_t bytes[1 << 16];
	uint64_t total = 0;
	uLong crc = crc32(0, NULL, 0);
	ssize_t got;

	while ((got = pread(fd, bytes, sizeof(bytes), total)) > 0 &&
	       total <= DEBUG_FILE_MAX_CRC_BYTES) {
		crc = crc32(crc, bytes, got);
		total += got;
	}
	return !got && crc == expected;
}

static bool is_debug_file(const struct debug_key *key, int fd)
{
	int same = compare_build_ids(key, fd);

	return same > 0 || (same < 0 && key->link[0] && has_crc(fd, key->crc));
}

int debug_files_take(struct debug_files *files, const struct debug_key *key)
{
	int taken = -ENOENT;

	for (size_t i = 0; i < files->nr; i++)
		if (taken < 0 && is_debug_file(key, files->fds[i]))
			taken = files->fds[i];
		else
			close(files->fds[i]);
	files->nr = 0;
	return taken;
}

void debug_files_close(struct debug_files *files)
{
	for (size_t i = 0; i < files->nr; i++)
		close(files->fds[i]);
	files->nr = 0;
}

/* ---- where may it be? ---- */

static bool is_called_debug(const char *path)
{
	size_t length = strlen(path), tail = strlen(".debug");

	return length > tail && !strcmp(path + length - tail, ".debug");
}

/*
 * In a mount namespace of its own, every user has a directory of this name; and a FUSE server says
 * of its files that they are root's.
 */
static bool is_believed(const struct searching *s, int fd, const char *path)
{
	struct statfs fs;
	struct stat st;

	if (s->chosen)
		return true;
	if (!regular_file_is_believed(fd, s->st.st_uid) || fstatfs(fd, &fs) || fstat(fd, &st))
		return false;
	return (st.st_mode & S_IROTH || is_called_debug(path)) &&
	       (fs.f_type != FUSE_SUPER_MAGIC || st.st_dev == s->st.st_dev);
}

static void add(const struct searching *s, int directory, const char *path, uint64_t resolve)
{
	int fd = s->found->nr < MAX_DEBUG_FILES ? regular_file_open_within(directory, path, resolve)
						: -1;

	if (fd < 0)
		return;
	if (is_believed(s, fd, path))
		s->found->fds[s->found->nr++] = fd;
	else
		close(fd);
}

static void path_by_id(char path[DEBUG_FILE_MAX_PATH], const uint8_t *id, size_t bytes)
{
	int at = sprintf(path, ".build-id/%02x/", id[0]);

	for (size_t i = 1; i < bytes; i++)
		at += sprintf(path + at, "%02x", id[i]);
	strcpy(path + at, ".debug");
}

void debug_file_path_by_id(char path[DEBUG_FILE_MAX_PATH], const char *directory, const uint8_t *id,
			   size_t bytes)
{
	int at = snprintf(path, DEBUG_FILE_MAX_PATH, "%.*s/", PATH_MAX, directory);

	path_by_id(path + at, id, bytes);
}

/* the file's directory + INFIX + the link's name. False: there is no link */
static bool path_by_link(char path[DEBUG_FILE_MAX_PATH], const struct searching *s,
			 const char *infix)
{
	const char *slash = s->path ? strrchr(s->path, '/') : NULL;

	return slash && s->key->link[0] &&
	       (size_t)snprintf(path, DEBUG_FILE_MAX_PATH, "%.*s/%s%s", (int)(slash - s->path),
				s->path, infix, s->key->link) < DEBUG_FILE_MAX_PATH;
}

/* In a directory as DEBUG_DIRECTORY is, which is closed. */
static void search_directory(const struct searching *s, int directory, uint64_t resolve)
{
	char path[DEBUG_FILE_MAX_PATH];

	if (directory < 0)
		return;
	if (s->key->build_id_bytes >= 2) {
		path_by_id(path, s->key->build_id, s->key->build_id_bytes);
		add(s, directory, path, resolve);
	}
	if (path_by_link(path, s, ""))
		add(s, directory, path + strspn(path, "/"), resolve);
	close(directory);
}

static void search_beside(const struct searching *s, int root)
{
	uint64_t resolve =
		RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | (root >= 0 ? RESOLVE_IN_ROOT : 0);
	char path[DEBUG_FILE_MAX_PATH];

	if (path_by_link(path, s, "") && strcmp(path, s->path))
		add(s, root, path, resolve);
	if (path_by_link(path, s, ".debug/"))
		add(s, root, path, resolve);
}

static void search_root(const struct searching *s, int root, bool has_file)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS | (root >= 0 ? RESOLVE_IN_ROOT : 0),
	};

	search_directory(s,
			 syscall(SYS_openat2, root >= 0 ? root : AT_FDCWD, DEBUG_DIRECTORY, &how,
				 sizeof(how)),
			 /* in our root, root has made the links */
			 RESOLVE_NO_MAGICLINKS | (root >= 0 ? RESOLVE_BENEATH : 0));
	if (has_file)
		search_beside(s, root);
}

void debug_files_find(struct debug_files *files, const struct debug_search *search,
		      const struct debug_key *key, int fd, const char *path)
{
	struct searching s = { .key = key, .found = files, .path = path, .chosen = true };

	files->nr = 0;
	if (fd < 0 || fstat(fd, &s.st)) /* an image in memory: the vDSO's */
		s.st = (struct stat){};
	for (size_t i = 0; i < search->nr_directories; i++)
		search_directory(&s, open(search->directories[i], O_PATH | O_DIRECTORY | O_CLOEXEC),
				 0);
	s.chosen = false;
	if (search->root >= 0)
		search_root(&s, search->root, true);
	search_root(&s, -1, search->root < 0 && !search->elsewhere);
}

int debug_file_take(struct debug_files *files, struct elf_file *file)
{
	struct debug_key key;

	debug_key_read(&key, file);
	return debug_files_take(files, &key);
}

int debug_file_open(struct opened_elf *opened, const struct debug_search *search,
		    struct elf_file *file, const char *path)
{
	struct debug_files files;
	struct debug_key key;

	if (opened)
		return debug_file_take(&opened->local, file);
	debug_key_read(&key, file);
	debug_files_find(&files, search, &key, file->fd, path);
	return debug_files_take(&files, &key);
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
