// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/namer_work.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/order.h"
#include "dwarf/demangle.h"
#include "process/trust.h"
#include "report/frame_name.h"
#include "runtimes/jit/jit_files.h"

/* what a further file is, of a module; of a process, an enum jit_fd */
enum { DEBUG_FILE, FETCHED_FILE };

/* of names of a file: its table doubles while it grows */
#define MAX_FILE_BYTES clamped(worker_child_bytes() / 4 * 3, 0, 256 << 20)
/*
 * of files that were read before, whose frames have been named: more is read again, should it be
 * wanted
 */
#define MAX_READ_BYTES clamped(worker_child_bytes() / 4, 0, 32 << 20)
/* of names of JIT code; the rest is for lists of mappings, and for arrays that move */
#define MAX_JIT_BYTES (worker_child_bytes() / 4 * 3)
#define MAX_IDLE_NS   60000000000

/* a request, and what follows it */
struct job {
	const struct namer_request *request;
	const uint64_t *frames;
	struct mapped_file file;
	const char *fetched, *directories[NAMER_MAX_DIRECTORIES];
};

static const char *next_string(const char **at)
{
	const char *string = *at;

	*at += strlen(string) + 1;
	return string;
}

/* The request comes from the tool, and may be trusted. False: it is none */
static bool read_job(struct job *job, const void *request, size_t bytes)
{
	const struct namer_request *r = request;
	const char *at, *path;

	if (bytes < sizeof(*r) || r->nr > MAX_NAMED || r->nr_directories > NAMER_MAX_DIRECTORIES)
		return false;
	job->request = r;
	job->frames = (const uint64_t *)(r + 1);
	at = (const char *)(job->frames + r->nr);
	path = next_string(&at);
	job->file = r->file;
	job->file.path = r->file.path ? path : NULL;
	job->fetched = next_string(&at);
	for (uint32_t i = 0; i < r->nr_directories; i++)
		job->directories[i] = next_string(&at);
	return true;
}

/* ---- who opens ---- */

static void open_debug_files(const struct job *job, struct worker_file *file)
{
	const struct namer_request *r = job->request;
	struct debug_search search = { .directories = job->directories,
				       .nr_directories = r->nr_directories,
				       .root = -1 };
	struct debug_files found;
	bool own = true;

	if (file->fd >= 0)
		search.root = mapped_file_root(&job->file, &r->key, &own);
	search.elsewhere = !own;
	debug_files_find(&found, &search, &r->debug, file->fd, job->file.path);
	for (size_t i = 0; i < found.nr; i++)
		worker_file_add(file, DEBUG_FILE, found.fds[i]);
	if (search.root >= 0)
		close(search.root);
	if (job->fetched[0])
		worker_file_add(file, FETCHED_FILE, regular_file_open(-1, job->fetched, true));
}

static void open_of_process(const struct namer_request *r, struct worker_file *file)
{
	struct jit_opened opened;
	uint32_t uid;

	jit_files_open(&opened, r->pid, r->wants_dump);
	uid = uid_of_process(r->pid);
	/* another user's process has the PID by now */
	if (r->uid != UINT32_MAX && uid != UINT32_MAX && uid != r->uid) {
		jit_opened_close(&opened);
		opened.error = -ESRCH;
	}
	file->fd = opened.error ? opened.error : -ENOENT;
	for (int i = 0; i < NR_JIT_FDS; i++)
		worker_file_add(file, i, opened.fds[i]);
}

struct worker_file namer_open(const void *request, size_t bytes)
{
	struct worker_file file = { .fd = -EBADMSG };
	struct job job;

	if (!read_job(&job, request, bytes))
		return file;
	if (!job.request->module_id) {
		open_of_process(job.request, &file);
		return file;
	}
	file.fd =
		job.file.path ? mapped_file_open(&job.file, &job.request->key, &file.own) : -ENOENT;
	if (!job.request->asks_debug && (file.fd >= 0 || !job.file.path))
		open_debug_files(&job, &file);
	return file;
}

/* ---- who parses ---- */

/* with its NUL, and no longer than a name may be; 0: there is none */
static uint16_t bytes_of(const char *name)
{
	return name ? strnlen(name, MAX_NAME_BYTES - 1) + 1 : 0;
}

static char *put(char *to, const char *name, size_t bytes)
{
	if (!bytes)
		return to;
	memcpy(to, name, bytes - 1);
	to[bytes - 1] = 0;
	return to + bytes;
}

/* what it takes; 0: no room */
static size_t write_name(const struct frame_name *name, uint64_t frame, bool wants_dump, bool gone,
			 bool no_room, char *to, size_t room)
{
	const char *raw = name->region ? name->region : name->raw_symbol;
	struct named_frame named = {
		.frame = frame,
		.offset = name->offset,
		.vaddr = name->vaddr,
		.function_vaddr = name->function_vaddr,
		.has_vaddr = name->has_vaddr,
		.has_function = name->has_function,
		.is_jit = name->is_jit,
		.lacks_names = name->file && module_lacks_names(name->file),
		.wants_dump = wants_dump,
		.gone = gone && name->file && module_is_unread(name->file),
		.no_room = name->file ? module_lacks_room(name->file) : no_room && !name->symbol,
		.symbol_bytes = bytes_of(name->symbol),
		.raw_bytes = bytes_of(raw),
	};
	size_t bytes = sizeof(named) + named.symbol_bytes + named.raw_bytes;

	if (bytes > room)
		return 0;
	memcpy(to, &named, sizeof(named));
	put(put(to + sizeof(named), name->symbol, named.symbol_bytes), raw, named.raw_bytes);
	return bytes;
}

void namer_take_files(struct opened_elf *opened, struct worker_file *file)
{
	struct debug_files *local = &opened->local, *fetched = &opened->fetched;
	int fd;

	*opened = (struct opened_elf){ .fd = file->fd };
	while (local->nr < MAX_DEBUG_FILES && (fd = worker_file_take(file, DEBUG_FILE)) >= 0)
		local->fds[local->nr++] = fd;
	fetched->fds[0] = worker_file_take(file, FETCHED_FILE);
	fetched->nr = fetched->fds[0] >= 0;
}

static struct module *find_module(const struct frame_names *names, const struct job *job)
{
	const struct namer_request *r = job->request;
	struct mapped_file file = job->file;
	struct module *known;

	if (!file.path)
		file.path = "[vdso]";
	if (!modules_has_adopted(names->modules, r->module_id, &file, &r->key)) {
		modules_limit_names(names->modules, MAX_READ_BYTES, MAX_IDLE_NS);
		if (job->file.path)
			modules_adopt(names->modules, r->module_id, &file, &r->key);
		else
			modules_adopt_vdso(names->modules, r->module_id);
	}
	known = modules_get(names->modules, r->module_id);
	if (job->fetched[0] && known && !known->fetched)
		modules_set_fetched(names->modules, known, job->fetched);
	return known;
}

static size_t write_names(const struct frame_names *names, const struct job *job, bool gone,
			  bool no_room, char *to, size_t room)
{
	const struct namer_request *r = job->request;
	bool wants_dump = !r->module_id && jit_processes_want_dump(names->jit, r->pid);
	size_t used = 0, written;

	for (uint32_t i = 0; i < r->nr; i++) {
		struct frame_name name = frame_name_find(names, r->pid, job->frames[i]);

		written = write_name(&name, job->frames[i], wants_dump, gone, no_room, to + used,
				     room - used);
		if (!written)
			break;
		used += written;
	}
	return used;
}

static size_t name_module(const struct frame_names *names, const struct job *job,
			  struct worker_file *file, void *area, size_t room)
{
	static struct opened_elf opened; /* after the job, it has no file open */
	struct module *module;
	struct debug_key key = {};
	size_t used = 0;

	namer_take_files(&opened, file);
	modules_use_opened(names->modules, &opened);
	module = find_module(names, job);
	if (job->request->asks_debug) {
		if (module && !module_debug_key(names->modules, module, &key))
			used = sizeof(key);
		memcpy(area, &key, used);
	} else if (module && (opened.local.nr || opened.fetched.nr)) {
		modules_read_again(names->modules, module);
	}
	if (!job->request->nr) {
		frame_name_find(names, 0, (uint64_t)job->request->module_id << FRAME_OFFSET_BITS);
	} else {
		used = write_names(names, job, opened.fd < 0, false, area, room);
	}
	opened.fd = -EBADF;
	debug_files_close(&opened.local);
	debug_files_close(&opened.fetched);
	return used;
}

static size_t name_code(const struct frame_names *names, const struct job *job,
			struct worker_file *file, void *area, size_t room)
{
	struct jit_opened opened = { .error = file->nr_more || file->fd == -ENOENT ? 0 : file->fd };
	size_t used;
	bool no_room;

	for (int i = 0; i < NR_JIT_FDS; i++)
		opened.fds[i] = worker_file_take(file, i);
	no_room = jit_processes_update(names->jit, job->request->pid, &opened) == -ENOMEM ||
		  jit_processes_forgot(names->jit, job->request->pid);
	used = write_names(names, job, false, no_room, area, room);
	jit_opened_close(&opened);
	return used;
}

size_t namer_work(void *area, size_t bytes, size_t room, struct worker_file *file)
{
	static uint64_t request[NAMER_MAX_REQUEST / sizeof(uint64_t) + 1];
	static struct frame_names names; /* what this worker knows */
	struct symbol_options options = SYMBOL_OPTIONS_DEFAULT;
	struct job job;

	if (bytes > sizeof(request))
		return 0;
	memcpy(request, area, bytes);
	if (!read_job(&job, request, bytes))
		return 0;
	if (!names.modules) {
		names = (struct frame_names){ .modules = modules_new(),
					      .jit = jit_processes_new(MAX_JIT_BYTES) };
		/* before anything is read, of which it would keep a copy */
		if (job.request->module_id && !job.request->no_demangle)
			demangle_prepare();
	}
	if (!names.modules || !names.jit)
		return 0;
	options.no_demangle = job.request->no_demangle;
	options.max_bytes = MAX_FILE_BYTES;
	modules_set_symbol_options(names.modules, &options);
	return job.request->module_id ? name_module(&names, &job, file, area, room)
				      : name_code(&names, &job, file, area, room);
}
