// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/foreign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <uthash.h>

#include "process/clock.h"
#include "process/workers.h"
#include "unwind/foreign_work.h"

#define MAX_COMPILERS 16
/* of shared memory, which is there when it is used: the largest table of a real file has some 10 MB */
#define AREA_BYTES (64 << 20)

static const struct worker_limits call_limits = { .cpu_ms = 300, .bytes = 256 << 20 };
/* a file of 100 MB of .eh_frame takes a second */
static const struct worker_limits compile_limits = { .cpu_ms = 2000, .bytes = 256 << 20 };

/* a process that kept a worker waiting is left alone for so long; all of them cost this share of the time at most */
#define LEFT_ALONE_NS 10000000000
#define MAX_WAITED_NS 300000000
#define SHARE_WAITED 20

#define IS_CODE (1ULL << 32)	/* in a job's tag: of FOREIGN_CODE */

struct slow_process {
	pid_t pid;
	uint64_t until_ns;
	UT_hash_handle hh;
};

struct foreign {
	struct workers *caller;		/* for what the caller waits for */
	struct workers *compilers;
	struct slow_process *slow;
	uint64_t began_ns, waited_ns;	/* since when; in vain */
	uint64_t given_up;
};

int foreign_new(struct foreign **foreign)
{
	struct foreign *f = calloc(1, sizeof(*f));
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int error;

	if (!f)
		return -ENOMEM;
	f->began_ns = clock_ns();
	error = workers_new(&f->caller, 1, AREA_BYTES, &call_limits, foreign_work, NULL);
	if (!error)
		error = workers_new(&f->compilers, cpus < 2 ? 2 : cpus < MAX_COMPILERS ? cpus : MAX_COMPILERS, AREA_BYTES,
				    &compile_limits, foreign_work, NULL);
	if (error)
		foreign_free(f);
	else
		*foreign = f;
	return error;
}

void foreign_free(struct foreign *f)
{
	struct slow_process *slow, *next;

	if (!f)
		return;
	HASH_ITER(hh, f->slow, slow, next) {
		HASH_DEL(f->slow, slow);
		free(slow);
	}
	workers_free(f->caller);
	workers_free(f->compilers);
	free(f);
}

uint64_t foreign_given_up(const struct foreign *f)
{
	return f ? f->given_up : 0;
}

/* ---- processes that keep us waiting ---- */

static bool is_left_alone(struct foreign *f, pid_t pid)
{
	uint64_t now = clock_ns();
	struct slow_process *slow;

	HASH_FIND_INT(f->slow, &pid, slow);
	if (slow && now > slow->until_ns) {
		HASH_DEL(f->slow, slow);
		free(slow);
		slow = NULL;
	}
	return slow || f->waited_ns > MAX_WAITED_NS + (now - f->began_ns) / SHARE_WAITED;
}

static void leave_alone(struct foreign *f, pid_t pid, uint64_t waited_ns)
{
	struct slow_process *slow = calloc(1, sizeof(*slow));

	f->waited_ns += waited_ns;
	f->given_up++;
	if (!slow)
		return;
	slow->pid = pid;
	slow->until_ns = clock_ns() + LEFT_ALONE_NS;
	HASH_ADD_INT(f->slow, pid, slow);
}

/* ---- short jobs ---- */

static size_t set_path(struct foreign_request *r, const char *path)
{
	size_t bytes = path ? strnlen(path, FOREIGN_MAX_PATH - 1) : 0;

	memcpy(r->path, path ? path : "", bytes);
	r->path[bytes] = 0;
	return offsetof(struct foreign_request, path) + bytes + 1;
}

/* 0 or -errno; *bytes of *answer, behind its head, are valid until the next call */
static int call(struct foreign *f, const struct foreign_request *r, size_t size, const struct foreign_answer **answer,
		size_t *bytes)
{
	uint64_t began = clock_ns();
	struct worker_answer got;

	if (is_left_alone(f, r->pid))
		return -EAGAIN;
	got = workers_call(f->caller, r, size);
	if (got.error)
		leave_alone(f, r->pid, clock_ns() - began);
	else if (got.nr < sizeof(**answer))
		return -EBADMSG;
	*answer = got.bytes;
	*bytes = got.nr;
	return got.error ? got.error : (*answer)->error > 0 ? -EBADMSG : (*answer)->error;
}

int foreign_read_maps(struct foreign *f, pid_t pid, struct proc_maps *maps)
{
	static struct foreign_request r;
	const struct foreign_answer *answer;
	struct proc_maps read = {};
	size_t bytes;
	int error;

	if (!f)
		return proc_maps_read(maps, pid);
	r = (struct foreign_request){ .kind = FOREIGN_MAPS, .pid = pid };
	error = call(f, &r, set_path(&r, NULL), &answer, &bytes);
	if (!error)
		error = foreign_unpack_maps(&read, answer, bytes);
	if (error) {
		proc_maps_free(&read);
		return error;
	}
	read.tid = answer->tid;
	*maps = read;
	return 0;
}

int foreign_identify(struct foreign *f, pid_t tid, const struct proc_mapping *mapping, struct file_key *key)
{
	static struct foreign_request r;
	const struct foreign_answer *answer;
	size_t bytes;
	int error;

	if (mapping->looked) {
		*key = mapping->file;
		return mapping->file_error;
	}
	if (!f)
		return mapped_file_identify(tid, mapping, key);
	r = (struct foreign_request){ .kind = FOREIGN_FILE, .pid = tid, .mapping = *mapping };
	error = call(f, &r, set_path(&r, mapping->path), &answer, &bytes);
	if (!error && bytes < sizeof(*answer) + sizeof(*key))
		error = -EBADMSG;
	if (!error)
		memcpy(key, answer + 1, sizeof(*key));
	return error;
}

int foreign_read_python(struct foreign *f, pid_t pid, const struct python_objects *objects, uint64_t address,
			uint64_t identity, struct python_code *code)
{
	static struct foreign_request r;
	const struct foreign_answer *answer;
	size_t bytes;
	int error;

	if (!f)
		return python_code_read(pid, objects, address, identity, code);
	r = (struct foreign_request){
		.kind = FOREIGN_PYTHON, .pid = pid, .address = address, .identity = identity, .objects = *objects,
	};
	error = call(f, &r, set_path(&r, NULL), &answer, &bytes);
	return error ? error : python_code_unpack(code, answer + 1, bytes - sizeof(*answer));
}

static uint32_t read_here(const struct foreign_text *text, void *to, uint32_t bytes)
{
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)text->address, bytes };
	ssize_t done = process_vm_readv(text->pid, &local, 1, &remote, 1, 0);
	int fd = done <= 0 && text->file.path ? mapped_file_open(&text->file, &text->key, NULL) : -1;

	if (fd >= 0) {
		done = pread(fd, to, bytes, text->file_offset);
		close(fd);
	}
	return done < 0 ? 0 : done;
}

uint32_t foreign_read_text(struct foreign *f, const struct foreign_text *text, void *to, uint32_t bytes)
{
	static struct foreign_request r;
	const struct foreign_answer *answer;
	size_t got;

	if (!f)
		return read_here(text, to, bytes);
	if (bytes > FOREIGN_TEXT_BYTES)
		return 0;
	r = (struct foreign_request){
		.kind = FOREIGN_TEXT, .pid = text->pid, .address = text->address, .bytes = bytes, .file = text->file,
		.key = text->key, .file_offset = text->file_offset,
	};
	if (call(f, &r, set_path(&r, text->file.path), &answer, &got) || answer->nr > bytes ||
	    got != sizeof(*answer) + answer->nr)
		return 0;
	memcpy(to, answer + 1, answer->nr);
	return answer->nr;
}

/* ---- compiling ---- */

int foreign_ask_table(struct foreign *f, uint32_t id, const struct mapped_file *file, const struct file_key *key, bool of_code)
{
	static struct foreign_request r;

	r = (struct foreign_request){
		.kind = of_code ? FOREIGN_CODE : FOREIGN_TABLE, .file = *file, .key = *key,
	};
	return workers_ask(f->compilers, id | (of_code ? IS_CODE : 0), &r, set_path(&r, file->path));
}

uint32_t foreign_take_table(struct foreign *f, bool *of_code, struct compiled *compiled)
{
	struct worker_answer got;
	int error;

	if (!workers_take(f->compilers, &got))
		return 0;
	*of_code = got.tag & IS_CODE;
	error = got.error;
	f->given_up += error != 0;
	if (!error && got.nr < sizeof(struct foreign_answer))
		error = -EBADMSG;
	if (!error)
		error = ((const struct foreign_answer *)got.bytes)->error;
	if (!error)
		error = compiled_read(compiled, (const struct foreign_answer *)got.bytes + 1,
				      got.nr - sizeof(struct foreign_answer));
	if (error)
		*compiled = (struct compiled){ .error = error < 0 ? error : -EBADMSG };
	return (uint32_t)got.tag;
}

size_t foreign_nr_tables(const struct foreign *f)
{
	return workers_nr_asked(f->compilers);
}

int foreign_fd(const struct foreign *f)
{
	return workers_fd(f->compilers);
}

void foreign_wait(const struct foreign *f, int ms)
{
	workers_wait(f->compilers, ms);
}
