// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/jit/jitdump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dwarf/cursor.h"

#define MAGIC               0x4a695444 /* "JiTD", read in the writer's byte order */
#define HEADER_BYTES        40
#define FLAG_ARCH_TIMESTAMP 1

#define RECORD_HEADER_BYTES 16
#define LOAD_BYTES          (RECORD_HEADER_BYTES + 40) /* without name and code */
#define MAX_RECORD_BYTES    (1u << 30)

enum record_type {
	JIT_CODE_LOAD,
	JIT_CODE_MOVE,
	JIT_CODE_DEBUG_INFO,
	JIT_CODE_CLOSE,
	JIT_CODE_UNWINDING_INFO
};

struct window {
	int fd;
	uint64_t at; /* in the file */
	size_t size;
	uint8_t bytes[64 << 10];
};

/* up to `want` bytes of the file at this offset */
static struct cursor window_at(struct window *w, uint64_t at, size_t want)
{
	size_t have = at >= w->at && at - w->at < w->size ? w->size - (at - w->at) : 0;
	ssize_t got;

	if (have < want) {
		do
			got = pread(w->fd, w->bytes, sizeof(w->bytes), at);
		while (got < 0 && errno == EINTR);
		w->at = at;
		w->size = have = got > 0 ? got : 0;
	}
	return cursor_over(w->bytes + (have ? at - w->at : 0), have < want ? have : want);
}

static int read_header(struct jitdump *dump, struct window *w)
{
	struct cursor c = window_at(w, 0, HEADER_BYTES);
	uint32_t magic = cursor_u32(&c), version = cursor_u32(&c), bytes = cursor_u32(&c);
	uint64_t flags;

	cursor_bytes(&c, 4 + 4 + 4 + 8); /* machine, padding, pid, time */
	flags = cursor_u64(&c);
	if (c.bad)
		return -EAGAIN;
	if (magic != MAGIC || bytes < HEADER_BYTES)
		return -EBADMSG;
	if (version != 1 || flags & FLAG_ARCH_TIMESTAMP)
		return -ENOTSUP;
	dump->at = bytes;
	return 0;
}

/* a load or a move: both begin with PID, TID and vma */
static int add_code(struct jit_names *names, struct cursor c, enum record_type type,
		    uint64_t time_ns)
{
	struct jit_code code = { .from_ns = time_ns, .until_ns = UINT64_MAX };
	const char *name = NULL;
	uint64_t size;

	cursor_bytes(&c, 4 + 4 + 8);
	if (type == JIT_CODE_MOVE)
		cursor_u64(&c); /* where it was */
	code.start = cursor_u64(&c);
	size = cursor_u64(&c);
	code.index = cursor_u64(&c) + 1;
	if (type == JIT_CODE_LOAD)
		name = cursor_string(&c);
	if (c.bad || !code.index || size > UINT64_MAX - code.start) {
		names->bad++;
		return 0;
	}
	code.end = code.start + size;
	return jit_names_add(names, &code, name, name ? strlen(name) : 0);
}

/* Reads one record. -EAGAIN: it is not complete yet */
static int read_record(struct jitdump *dump, struct window *w, uint64_t file_bytes,
		       struct jit_names *names)
{
	struct cursor c = window_at(w, dump->at, LOAD_BYTES + JIT_MAX_NAME + 1);
	uint32_t type = cursor_u32(&c), bytes = cursor_u32(&c);
	uint64_t time_ns = cursor_u64(&c);
	int error = 0;

	if (c.bad || bytes > file_bytes - dump->at)
		return -EAGAIN;
	if (bytes < RECORD_HEADER_BYTES || bytes > MAX_RECORD_BYTES ||
	    dump->nr_records >= JITDUMP_MAX_RECORDS) {
		names->bad++;
		dump->closed = true;
		return 0;
	}
	if (cursor_left(&c) > bytes - RECORD_HEADER_BYTES)
		c.end = c.p + bytes - RECORD_HEADER_BYTES;
	if (type == JIT_CODE_LOAD || type == JIT_CODE_MOVE)
		error = add_code(names, c, type, time_ns);
	else if (type == JIT_CODE_CLOSE)
		dump->closed = true;
	if (!error) {
		dump->at += bytes;
		dump->nr_records++;
	}
	return error;
}

int jitdump_read(struct jitdump *dump, int fd, struct jit_names *names)
{
	struct window *w;
	struct stat st;
	uint64_t end;
	int error = 0;

	if (fstat(fd, &st))
		return -errno;
	if (dump->dev != st.st_dev || dump->inode != st.st_ino || (uint64_t)st.st_size < dump->at)
		*dump = (struct jitdump){ .dev = st.st_dev, .inode = st.st_ino };
	end = (uint64_t)st.st_size < JITDUMP_MAX_BYTES ? (uint64_t)st.st_size : JITDUMP_MAX_BYTES;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->fd = fd;
	if (!dump->at)
		error = read_header(dump, w);
	while (!error && !dump->closed && dump->at < end)
		error = read_record(dump, w, end, names);
	free(w);
	return error == -EAGAIN ? 0 : error;
}
