// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the tool reads of its workers' answers, any of which may have been taken over. The workers
 * are faked: each job is done here, and its answer then changed, shortened or replaced by the
 * input's bytes, or an error.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fuzz.h"
#include "process/cmdlines.h"
#include "process/workers.h"
#include "report/namer.h"
#include "runtimes/hotspot/hotspot_work.h"
#include "runtimes/python/python_work.h"
#include "unwind/foreign.h"

#define MAX_ROOM     (1 << 20)
#define MAX_DONE     256 /* answers are kept at a time */
#define FILE_OF_CODE "/bin/true"

/* ---- the input ---- */

static const uint8_t *at, *end;

static uint8_t take(void)
{
	return at < end ? *at++ : 0;
}

static uint32_t number(uint32_t below)
{
	uint32_t n = take();

	n = n << 8 | take();
	if (below > 0x10000)
		n = n << 8 | take();
	return below ? n % below : 0;
}

/* ---- the workers ---- */

struct job {
	struct job *next;
	uint64_t tag;
	size_t bytes;
	_Alignas(16) uint8_t request[];
};

struct workers {
	struct worker_limits limits;
	worker_fn *work;
	size_t room, nr_asked;
	struct job *first, **last;
	uint8_t *answer; /* of exactly its size */
	int fd;          /* always readable */
};

/*
 * A job's answer, before anything is changed. It is kept, because the same jobs are asked for again
 * and again.
 */
struct done {
	struct done *next;
	worker_fn *work;
	size_t request_bytes, bytes;
	uint8_t *request, *answer;
};

static const struct done *do_job(const struct workers *w, const void *request, size_t bytes)
{
	static _Alignas(16) uint8_t area[MAX_ROOM];
	struct worker_file file = { .fd = -EBADF };
	static struct done *all;
	static unsigned nr;
	struct done *done, *next;

	for (done = all; done; done = done->next)
		if (done->work == w->work && done->request_bytes == bytes &&
		    !memcmp(done->request, request, bytes))
			return done;
	memset(area, 0, sizeof(area));
	memcpy(area, request, bytes);
	if (w->limits.open)
		file = w->limits.open(request, bytes);
	for (; nr == MAX_DONE && all; all = next) {
		next = all->next;
		free(all->request);
		free(all->answer);
		free(all);
	}
	nr = nr % MAX_DONE + 1;
	done = calloc(1, sizeof(*done));
	must(done != NULL, "memory");
	*done = (struct done){ .next = all, .work = w->work, .request_bytes = bytes };
	done->bytes = w->work(area, bytes, w->room, &file);
	worker_file_close(&file);
	done->request = malloc(bytes + 1);
	done->answer = malloc(done->bytes + 1);
	must(done->request && done->answer, "memory");
	memcpy(done->request, request, bytes);
	memcpy(done->answer, area, done->bytes);
	return all = done;
}

static void overwrite(uint8_t *bytes, size_t nr)
{
	static const uint64_t odd[] = {
		0,         1,          UINT8_MAX,  INT16_MAX, UINT16_MAX,
		INT32_MAX, UINT32_MAX, 1ULL << 47, INT64_MAX, UINT64_MAX,
	};
	size_t from = number(nr), some = 1 << take() % 4;
	uint64_t value = odd[take() % (sizeof(odd) / sizeof(odd[0]))] ^ take();

	memcpy(bytes + from, &value, some < nr - from ? some : nr - from);
}

static struct worker_answer answer_of(struct workers *w, uint64_t tag, const void *request,
				      size_t bytes)
{
	static const int errors[] = { -ETIMEDOUT, -ETIME, -ECHILD, -ENOMEM, -EAGAIN };
	const struct done *done = do_job(w, request, bytes);
	struct worker_answer answer = { .tag = tag, .nr = done->bytes, .file.fd = -EBADF };
	uint8_t how = take();

	free(w->answer);
	w->answer = NULL;
	if (how % 8 == 1) {
		answer.error = errors[how / 8 % (sizeof(errors) / sizeof(errors[0]))];
		answer.nr = 0;
		return answer;
	}
	if (how % 8 == 2)
		answer.nr = number(done->bytes + 1);
	if (how % 8 == 3) {
		answer.nr = number(4096);
		answer.nr = answer.nr < (size_t)(end - at) ? answer.nr : (size_t)(end - at);
	}
	w->answer = malloc(answer.nr);
	must(w->answer != NULL, "memory");
	memcpy(w->answer, how % 8 == 3 ? at : done->answer, answer.nr);
	if (how % 8 == 3)
		at += answer.nr;
	for (int i = 0; i < how / 8 && how % 8 > 3 && answer.nr; i++)
		overwrite(w->answer, answer.nr);
	answer.bytes = w->answer;
	return answer;
}

int workers_new(struct workers **workers, unsigned nr, size_t area_bytes,
		const struct worker_limits *limits, worker_fn *work)
{
	struct workers *w = calloc(1, sizeof(*w));

	must(w && nr, "memory");
	*w = (struct workers){
		.limits = *limits,
		.work = work,
		.room = area_bytes < MAX_ROOM ? area_bytes : MAX_ROOM,
		.fd = eventfd(1, 0),
	};
	w->last = &w->first;
	*workers = w;
	return 0;
}

void workers_start(struct workers *w)
{
	(void)w;
}

static void take_first(struct workers *w)
{
	struct job *job = w->first;

	w->first = job->next;
	if (!w->first)
		w->last = &w->first;
	w->nr_asked--;
	free(job);
}

void workers_free(struct workers *w)
{
	if (!w)
		return;
	while (w->first)
		take_first(w);
	free(w->answer);
	close(w->fd);
	free(w);
}

int workers_ask(struct workers *w, uint64_t tag, uint64_t owner, const void *request, size_t bytes)
{
	struct job *job = malloc(sizeof(*job) + bytes);

	(void)owner;
	must(job && bytes <= MAX_ROOM, "memory");
	*job = (struct job){ .tag = tag, .bytes = bytes };
	memcpy(job->request, request, bytes);
	*w->last = job;
	w->last = &job->next;
	w->nr_asked++;
	return 0;
}

bool workers_cancel(struct workers *w, uint64_t tag)
{
	(void)w, (void)tag;
	return false;
}

bool workers_cancel_any(struct workers *w, uint64_t *tag)
{
	(void)w, (void)tag;
	return false;
}

size_t workers_nr_waiting(const struct workers *w, uint64_t owner)
{
	(void)w, (void)owner;
	return 0;
}

void workers_give_up(struct workers *w, uint64_t tag)
{
	(void)w, (void)tag;
}

bool workers_take(struct workers *w, struct worker_answer *answer)
{
	if (!w->first)
		return false;
	*answer = answer_of(w, w->first->tag, w->first->request, w->first->bytes);
	take_first(w);
	return true;
}

uint64_t workers_nr_ended(const struct workers *w)
{
	(void)w;
	return 0;
}

size_t workers_nr_asked(const struct workers *w)
{
	return w->nr_asked;
}

int workers_fd(const struct workers *w)
{
	return w->fd;
}

void workers_wait(const struct workers *w, int ms)
{
	(void)w, (void)ms;
}

struct worker_file workers_open(struct workers *w, uint64_t owner, const void *request,
				size_t bytes)
{
	(void)w, (void)owner, (void)request, (void)bytes;
	return (struct worker_file){ .fd = -ENOENT };
}

struct worker_answer workers_call(struct workers *w, uint64_t owner, const void *request,
				  size_t bytes, uint64_t keep)
{
	(void)owner, (void)keep;
	return answer_of(w, 0, request, bytes);
}

/* ---- what reads their answers ---- */

/* all bytes of a name are there, and it is no longer than its module's answer */
static void must_be_text(const char *text)
{
	must(!text || strlen(text) < MAX_ROOM, "texts end");
}

static const struct proc_maps *own_maps(void)
{
	static struct proc_maps maps;

	must(maps.nr || !proc_maps_read(&maps, getpid()), "our own mappings");
	return &maps;
}

/* the mapping of a library of ours */
static const struct proc_mapping *own_library(void)
{
	const struct proc_maps *maps = own_maps();

	for (size_t i = 0; i < maps->nr; i++)
		if (strstr(maps->mappings[i].path, "libz.so"))
			return &maps->mappings[i];
	must(false, "libz is mapped");
	return NULL;
}

static void read_tables(struct foreign *f)
{
	struct file_key key;
	struct mapped_file file = { .path = FILE_OF_CODE, .tid = getpid() };
	int found = regular_file_find(-1, FILE_OF_CODE, true, &key);
	struct compiled compiled = {};
	bool of_code;

	must(found >= 0, FILE_OF_CODE " is there");
	close(found);
	for (int of_code = 0; of_code < 2; of_code++)
		must(!foreign_ask_table(f, 1 + of_code, &file, &key, 0, of_code, false),
		     "a table is asked for");
	while (foreign_take_table(f, &of_code, &compiled)) {
		if (!compiled.error)
			check_table(&compiled.table);
		unwind_table_free(&compiled.table);
	}
}

static void read_process(struct foreign *f)
{
	const struct proc_mapping *library = own_library();
	struct foreign_stack stacks[2] = {
		{ .tid = getpid(), .address = (uintptr_t)&f & -8 },
		{ .tid = getpid(), .address = 8 },
	};
	struct foreign_text text = { .pid = getpid(), .address = library->start };
	uint8_t code[FOREIGN_TEXT_BYTES];
	struct unwind_table table = {};
	struct proc_mapping unseen = *library;
	uint64_t hash = 0, sum = 0;
	struct file_key key;
	struct proc_maps maps;
	const char *bytes;
	int error;

	must(foreign_read_text(f, &text, code, sizeof(code)) <= sizeof(code), "code fits");
	unseen.looked = false;
	foreign_identify(f, getpid(), &unseen, &key);
	foreign_read_stacks(f, getpid(), stacks, 2, 1 << 16, &bytes);
	for (uint32_t i = 0; bytes && i < stacks[0].bytes + stacks[1].bytes; i++)
		sum += bytes[i];
	if (!foreign_read_region(f, getpid(), library->start, 4096, &hash, &table)) {
		check_table(&table);
		unwind_table_free(&table);
	}
	if (foreign_ask_maps(f, getpid(), getuid(), getpid() + (sum == 1)))
		return;
	while (foreign_take_maps(f, &error, &maps))
		for (size_t i = 0; !error && i <= maps.nr; i++) {
			if (i == maps.nr) {
				proc_maps_free(&maps);
				break;
			}
			must(maps.mappings[i].start < maps.mappings[i].end, "mappings have bytes");
			must_be_text(maps.mappings[i].path);
		}
}

static void with_foreign(void (*read)(struct foreign *))
{
	struct foreign *f;

	must(!foreign_new(&f, 256 << 20), "workers");
	read(f);
	foreign_free(f);
}

#define NR_FRAMES 5

static void read_names(void)
{
	struct modules *modules = modules_new();
	struct module *module = NULL;
	struct stack_frames *stack =
		calloc(1, sizeof(*stack) + NR_FRAMES * sizeof(stack->frames[0]));
	struct stack_entry entry = { .key = { .pid = getpid(), .uid = 1 }, .user = stack };
	struct namer *namer;

	must(stack && modules && !modules_find(modules, getpid(), own_library(), &module) && module,
	     "a module");
	must(!namer_new(&namer, modules, &(struct namer_options){}), "a namer");
	stack->nr = NR_FRAMES;
	stack->own = true;
	stack->frames[0] = (uint64_t)module->id << FRAME_OFFSET_BITS | 0x4000;
	stack->frames[1] = (uint64_t)module->id << FRAME_OFFSET_BITS | 0x8000;
	stack->frames[2] = (uint64_t)module->id << FRAME_OFFSET_BITS | 0x7fffffff;
	stack->frames[3] = FRAME_ADDRESS | 0x1000;
	stack->frames[4] = FRAME_ADDRESS | own_library()->start;
	namer_see(namer, getpid(), 1, stack->frames, NR_FRAMES);
	for (int round = 0; round < 2; round++) {
		namer_follow(namer);
		namer_learn(namer, &entry, 1);
		for (int i = 0; i < NR_FRAMES; i++) {
			struct frame_name name = namer_find(namer, getpid(), stack->frames[i]);

			must_be_text(name.symbol);
			must_be_text(name.raw_symbol);
			must_be_text(name.module);
			must_be_text(name.region);
			must_be_text(name.source);
			must(name.file == (i < 3 ? module : NULL), "a frame's file");
		}
		must_be_text(namer_losses(namer).path);
		namer_forget(namer);
	}
	namer_free(namer);
	modules_free(modules);
	free(stack);
}

static void read_cmdlines(void)
{
	struct cmdlines *cmdlines;

	must(!cmdlines_new(&cmdlines), "command lines");
	for (int i = 0; i < 3; i++) {
		const char *text;

		must(!cmdlines_see(cmdlines, getpid(), i) && !cmdlines_follow(cmdlines) &&
			     !cmdlines_follow(cmdlines),
		     "memory");
		text = cmdlines_get(cmdlines, getpid());
		must(!text || strlen(text) <= MAX_CMDLINE_BYTES + sizeof("…"),
		     "command lines are short");
	}
	cmdlines_free(cmdlines);
}

static void read_python(void)
{
	static const struct python_code function = {
		.name = (char *)"Name.function",
		.file = (char *)"/usr/lib/file.py",
		.first_line = 7,
		.lines = (uint8_t *)"\x80\x00\xd8\x04\x0c\xf0\x02\x01\x05",
		.line_bytes = 9,
	};
	struct python_code codes[MAX_PYTHON_FUNCTIONS];
	uint8_t room[2048], *answer;
	size_t nr = 0;

	for (int i = 0; i < 3; i++) {
		uint32_t bytes = python_code_write(&function, room + nr + sizeof(bytes),
						   sizeof(room) - nr - sizeof(bytes));

		memcpy(room + nr, &bytes, sizeof(bytes));
		nr += sizeof(bytes) + bytes;
	}
	for (int i = take() % 16; i; i--)
		overwrite(room, nr);
	if (take() % 4 == 1)
		nr = number(nr);
	answer = malloc(nr);
	must(answer || !nr, "memory");
	memcpy(answer, room, nr);
	python_work_take(answer, nr, codes);
	free(answer);
	for (size_t i = 0; i < MAX_PYTHON_FUNCTIONS; i++) {
		must_be_text(codes[i].name);
		must_be_text(codes[i].file);
		for (uint32_t instruction = 0; codes[i].lines && instruction < 64; instruction++)
			python_code_line(&codes[i], instruction);
		python_code_free(&codes[i]);
	}
}

static void read_hotspot(void)
{
	size_t bytes = end - at, next = sizeof(struct hotspot_answer);
	struct hotspot_answer *answer = malloc(bytes);

	must(answer || !bytes, "memory");
	memcpy(answer, at, bytes);
	while (bytes >= next && hotspot_code_next(answer, bytes, &next))
		;
	next = sizeof(struct hotspot_answer);
	while (bytes >= next && hotspot_named_next(answer, bytes, &next))
		;
	free(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	at = bytes;
	end = bytes + size;
	switch (take() % 6) {
	case 0:
		with_foreign(read_tables);
		break;
	case 1:
		with_foreign(read_process);
		break;
	case 2:
		read_names();
		break;
	case 3:
		read_cmdlines();
		break;
	case 4:
		read_python();
		break;
	default:
		read_hotspot();
	}
	return 0;
}
