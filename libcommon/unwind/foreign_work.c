// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/foreign_work.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/trust.h"
#include "table/region_table.h"

/* ---- mappings ---- */

static bool is_same_file(const struct proc_mapping *a, const struct proc_mapping *b)
{
	return a->inode == b->inode && a->dev == b->dev;
}

/* A file is looked at once for all of its mappings, which lie together mostly. */
static void identify_all(struct proc_maps *maps)
{
	bool in_our_root = process_has_our_root(maps->tid);

	for (size_t i = 0; i < maps->nr; i++) {
		struct proc_mapping *m = &maps->mappings[i];
		size_t before = i;

		while (before && i - before < 8 && !is_same_file(&maps->mappings[before - 1], m))
			before--;
		if (!m->inode)
			continue;
		if (before && is_same_file(&maps->mappings[before - 1], m)) {
			m->file = maps->mappings[before - 1].file;
			m->file_error = maps->mappings[before - 1].file_error;
		} else {
			m->file_error = mapped_file_identify(maps->tid, m, &m->file);
			m->file.in_our_root = in_our_root;
		}
		m->looked = true;
	}
}

/* The answer's size; 0: no room */
static size_t pack_maps(const struct proc_maps *maps, struct foreign_answer *answer, size_t room)
{
	struct foreign_mapping *to = (struct foreign_mapping *)(answer + 1);
	size_t fixed = sizeof(*answer) + maps->nr * sizeof(*to), used = 0;
	char *paths = (char *)(to + maps->nr);

	if (fixed > room)
		return 0;
	for (size_t i = 0; i < maps->nr; i++) {
		const char *path = maps->mappings[i].path;
		size_t bytes = strlen(path) + 1;

		to[i] = (struct foreign_mapping){ .mapping = maps->mappings[i], .path = used };
		if (i && !strcmp(path, maps->mappings[i - 1].path)) {
			to[i].path = to[i - 1].path;
			continue;
		}
		if (bytes > room - fixed - used)
			return 0;
		memcpy(paths + used, path, bytes);
		used += bytes;
	}
	answer->nr = maps->nr;
	answer->tid = maps->tid;
	return fixed + used;
}

static size_t read_maps(const struct foreign_request *r, struct foreign_answer *answer, size_t room)
{
	struct proc_maps maps;
	size_t bytes = sizeof(*answer);

	answer->error = proc_maps_read(&maps, r->about.pid);
	if (answer->error)
		return bytes;
	identify_all(&maps);
	bytes = pack_maps(&maps, answer, room);
	if (!bytes)
		*answer = (struct foreign_answer){ .error = -EFBIG };
	proc_maps_free(&maps);
	return bytes ? bytes : sizeof(*answer);
}

int foreign_unpack_maps(struct proc_maps *maps, const void *answer, size_t bytes)
{
	const struct foreign_answer *a = answer;
	const struct foreign_mapping *from = (const struct foreign_mapping *)(a + 1);
	size_t fixed = sizeof(*a) + (size_t)a->nr * sizeof(*from);
	const char *paths = (const char *)answer + fixed;
	int error = 0;

	if (bytes < fixed || (a->nr && (bytes == fixed || ((const char *)answer)[bytes - 1])))
		return -EBADMSG;
	for (uint32_t i = 0; i < a->nr && !error; i++) {
		struct proc_mapping mapping = from[i].mapping;

		mapping.path = (char *)paths + from[i].path;
		error = from[i].path >= bytes - fixed || mapping.file_error > 0
				? -EBADMSG
				: proc_maps_append(maps, &mapping);
	}
	return error;
}

/* ---- text ---- */

uint32_t foreign_text_here(const struct foreign_text *text, void *to, uint32_t bytes)
{
	ssize_t done = process_memory_read(&(struct process_memory){ text->pid, -1 }, text->address,
					   to, bytes);
	int fd =
		done <= 0 && text->file.path ? mapped_file_open(&text->file, &text->key, NULL) : -1;

	if (fd >= 0) {
		done = pread(fd, to, bytes, text->file_offset);
		close(fd);
	}
	return done < 0 ? 0 : done;
}

static size_t read_text(const struct foreign_request *r, struct foreign_answer *answer)
{
	struct foreign_text text = {
		.pid = r->about.pid,
		.address = r->address,
		.file = r->file,
		.key = r->key,
		.file_offset = r->file_offset,
	};

	answer->nr = foreign_text_here(&text, answer + 1, r->bytes);
	return sizeof(*answer) + answer->nr;
}

/* ---- stacks ---- */

static size_t read_stacks(void *area, size_t bytes, size_t room)
{
	static struct foreign_stacks r;
	struct foreign_answer *answer = area;
	char *to = (char *)(answer + 1) + sizeof(r.stacks);
	size_t left = room - sizeof(*answer) - sizeof(r.stacks);

	if (bytes != sizeof(r))
		return 0;
	memcpy(&r, area, sizeof(r));
	*answer = (struct foreign_answer){};
	left = left < r.most ? left : r.most;
	for (size_t i = 0; i < r.nr && i < FOREIGN_STACKS; i++) {
		struct foreign_stack *stack = &r.stacks[i];
		ssize_t done =
			left ? process_memory_read(&(struct process_memory){ stack->tid, -1 },
						   stack->address, to,
						   left < FOREIGN_STACK_BYTES ? left
									      : FOREIGN_STACK_BYTES)
			     : 0;

		stack->bytes = done < 0 ? 0 : done;
		to += stack->bytes;
		left -= stack->bytes;
	}
	memcpy(answer + 1, r.stacks, sizeof(r.stacks));
	return to - (char *)area;
}

/* ---- regions ---- */

/* never 0 */
static uint64_t hash_of(const uint8_t *bytes, size_t nr)
{
	uint64_t hash = nr, word = 0;

	for (size_t i = 0; i < nr; i += sizeof(word)) {
		memcpy(&word, bytes + i, nr - i < sizeof(word) ? nr - i : sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 29;
	}
	return hash | 1;
}

int foreign_region_here(const struct foreign_region *r, const struct process_memory *memory,
			uint64_t *hash, struct unwind_table *table)
{
	uint8_t *bytes = r->bytes <= MAX_REGION_BYTES ? malloc(r->bytes) : NULL;
	ssize_t done = bytes ? process_memory_read(memory, r->address, bytes, r->bytes) : -ENOMEM;
	int error = done < 0 ? done : 0;

	if (!error) {
		*hash = hash_of(bytes, done);
		error = *hash == r->hash ? -EALREADY
					 : region_table_build(table, bytes, done, r->address);
	}
	free(bytes);
	return error;
}

static size_t read_region(void *area, size_t bytes, size_t room,
			  const struct process_memory *memory)
{
	struct foreign_answer *answer = area;
	struct compiled compiled = {};
	struct foreign_region r;
	uint64_t hash = 0;
	size_t head = sizeof(*answer) + sizeof(hash), written = 0;

	if (bytes != sizeof(r))
		return 0;
	memcpy(&r, area, sizeof(r));
	*answer = (struct foreign_answer){
		.error = memory->fd < 0 ? memory->fd
					: foreign_region_here(&r, memory, &hash, &compiled.table),
	};
	memcpy(answer + 1, &hash, sizeof(hash));
	if (!answer->error) {
		written = compiled_write(&compiled, (uint8_t *)area + head, room - head);
		answer->error = written ? 0 : -EFBIG;
		unwind_table_free(&compiled.table);
	}
	return head + written;
}

/* ---- those who read: they parse nothing but /proc's own text ---- */

static size_t identify(const struct foreign_request *r, struct foreign_answer *answer)
{
	struct file_key *key = (struct file_key *)(answer + 1);

	answer->error = mapped_file_identify(r->about.pid, &r->mapping, key);
	key->in_our_root = process_has_our_root(r->about.pid);
	return sizeof(*answer) + sizeof(*key);
}

/* The request, with its path. NULL: it is too short */
static const struct foreign_request *request_of(const void *area, size_t bytes)
{
	static struct foreign_request r;

	if (bytes <= offsetof(struct foreign_request, path) || bytes > sizeof(r))
		return NULL;
	memcpy(&r, area, bytes);
	r.file.path = r.file.path ? r.path : NULL;
	r.mapping.path = r.path;
	return &r;
}

size_t foreign_read(void *area, size_t bytes, size_t room, struct worker_file *file)
{
	const struct foreign_about *about = area;
	struct foreign_answer *answer = area;
	const struct foreign_request *r;

	(void)file;
	if (bytes >= sizeof(*about) && about->kind == FOREIGN_STACK)
		return read_stacks(area, bytes, room);
	r = request_of(area, bytes);
	if (!r)
		return 0;
	*answer = (struct foreign_answer){};
	switch (r->about.kind) {
	case FOREIGN_MAPS:
		return read_maps(r, answer, room);
	case FOREIGN_FILE:
		return identify(r, answer);
	case FOREIGN_TEXT:
		return read_text(r, answer);
	default:
		return 0;
	}
}

/* ---- those who parse ---- */

struct worker_file foreign_open(const void *request, size_t bytes)
{
	struct worker_file file = { .fd = -EBADMSG };
	struct foreign_about about;
	const struct foreign_request *r;

	memcpy(&about, request, sizeof(about));
	if (about.kind == FOREIGN_CALL || about.kind == FOREIGN_REGION) {
		file.fd = process_memory_open(about.pid);
		if (file.fd >= 0 && uid_of_process(about.pid) != about.uid) {
			close(file.fd);
			file.fd = -ESRCH;
		}
		return file;
	}
	r = request_of(request, bytes);
	if (r)
		file.fd = mapped_file_open(&r->file, &r->key, &file.own);
	return file;
}

static size_t compile(enum foreign_kind kind, const struct worker_file *file,
		      struct foreign_answer *answer, size_t room)
{
	struct compiled compiled;
	uint64_t began = clock_cpu_ns();
	size_t bytes;

	compiled_from_open_file(&compiled, file->fd, !file->own, kind == FOREIGN_CODE);
	compiled.cpu_ns = clock_cpu_ns() - began;
	bytes = compiled_write(&compiled, answer + 1, room);
	answer->error = bytes ? 0 : -EFBIG;
	unwind_table_free(&compiled.table);
	return sizeof(*answer) + bytes;
}

static size_t call(void *area, size_t bytes, size_t room, const struct process_memory *memory)
{
	static struct foreign_job job;
	struct foreign_answer *answer = area;

	if (bytes < offsetof(struct foreign_job, question) || bytes > sizeof(job))
		return 0;
	memcpy(&job, area, bytes);
	*answer = (struct foreign_answer){ .error = memory->fd < 0 ? memory->fd : 0 };
	if (!answer->error)
		answer->error =
			job.work(job.question, memory, answer + 1, room - sizeof(*answer), &bytes);
	return sizeof(*answer) + (answer->error ? 0 : bytes);
}

size_t foreign_parse(void *area, size_t bytes, size_t room, struct worker_file *file)
{
	const struct foreign_about about = *(const struct foreign_about *)area;
	const struct process_memory memory = { .pid = about.pid, .fd = file->fd };
	struct foreign_answer *answer = area;

	if (file->fd >= 0 && file->keep && !process_memory_is_used(&memory)) {
		*answer = (struct foreign_answer){ .error = FOREIGN_GONE };
		return sizeof(*answer);
	}
	switch (about.kind) {
	case FOREIGN_CALL:
		return call(area, bytes, room, &memory);
	case FOREIGN_REGION:
		return read_region(area, bytes, room, &memory);
	default:
		*answer = (struct foreign_answer){};
		return compile(about.kind, file, answer, room - sizeof(*answer));
	}
}
