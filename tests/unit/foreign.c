// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What workers read of this test itself, against what the same reading in the test's own process
 * yields.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/trust.h"
#include "unwind/foreign.h"
#include "unwind/foreign_work.h"
#include "check.h"

static struct foreign *foreign;

static bool same(const struct unwind_table *a, const struct unwind_table *b)
{
	return a->nr_pages == b->nr_pages && a->nr_rows == b->nr_rows &&
	       a->nr_rules == b->nr_rules && !memcmp(a->rows, b->rows, a->nr_rows * ROW_BYTES) &&
	       !memcmp(a->rules, b->rules, a->nr_rules * sizeof(*a->rules)) &&
	       !memcmp(a->pages, b->pages, a->nr_pages * sizeof(*a->pages));
}

/* Waits for its answer. */
static int read_maps(pid_t pid, struct proc_maps *maps)
{
	uint64_t tag = 7ULL << 32 | (uint32_t)pid, got;
	int error = foreign_ask_maps(foreign, pid, getuid(), tag);

	*maps = (struct proc_maps){};
	while (!error && !(got = foreign_take_maps(foreign, &error, maps)))
		foreign_wait(foreign, 100);
	check(got == tag && !foreign_nr_maps(foreign));
	return error;
}

static void test_maps(void)
{
	struct proc_maps expected, maps;

	check(!proc_maps_read(&expected, getpid()) && !read_maps(getpid(), &maps));
	check(maps.nr == expected.nr && maps.tid == getpid(), "%zu mappings", maps.nr);
	for (size_t i = 0; i < maps.nr && i < expected.nr; i++) {
		const struct proc_mapping *m = &maps.mappings[i], *e = &expected.mappings[i];
		struct stat st = {};

		check(m->start == e->start && m->end == e->end &&
			      m->file_offset == e->file_offset && m->inode == e->inode &&
			      m->dev == e->dev && !strcmp(m->path, e->path),
		      "mapping %zu", i);
		if (e->inode)
			check(m->looked && !m->file_error && !stat(e->path, &st) &&
				      m->file.dev == st.st_dev && m->file.inode == st.st_ino &&
				      m->file.mtime_ns == st.st_mtim.tv_nsec,
			      "%s is this file", e->path);
	}
	check(read_maps(4000001, &maps) == -ESRCH, "no such process");
	proc_maps_free(&maps);
	proc_maps_free(&expected);
}

static void test_tables(void)
{
	struct proc_maps maps;
	size_t asked = 0, taken = 0;
	struct compiled compiled, expected;
	bool of_code;
	uint32_t id;

	check(!read_maps(getpid(), &maps));
	for (size_t i = 0; i < maps.nr; i++) {
		struct mapped_file file = mapped_file_of(maps.tid, &maps.mappings[i]);

		for (int code = 0; code < 2 && maps.mappings[i].inode; code++, asked++)
			check(!foreign_ask_table(foreign, i + 1, &file, &maps.mappings[i].file,
						 owner_of_file(&maps.mappings[i].file), code,
						 false));
	}
	while (taken < asked) {
		struct mapped_file file;

		id = foreign_take_table(foreign, &of_code, &compiled);
		if (!id) {
			foreign_wait(foreign, 100);
			continue;
		}
		taken++;
		file = mapped_file_of(maps.tid, &maps.mappings[id - 1]);
		compiled_from_file(&expected, &file, &maps.mappings[id - 1].file, of_code);
		check(compiled.error == expected.error &&
			      compiled.build_id_bytes == expected.build_id_bytes &&
			      same(&compiled.table, &expected.table),
		      "%s%s", file.path, of_code ? ", code" : "");
		unwind_table_free(&compiled.table);
		unwind_table_free(&expected.table);
	}
	check(asked >= 4 && !foreign_nr_tables(foreign));
	proc_maps_free(&maps);
}

static void test_text(void)
{
	struct foreign_text text = { .pid = getpid(), .address = (uintptr_t)test_text };
	uint8_t bytes[16];

	check(foreign_read_text(foreign, &text, bytes, 16) == 16 &&
	      !memcmp(bytes, (const void *)(uintptr_t)test_text, 16));
	text.address = 0x10;
	check(!foreign_read_text(foreign, &text, bytes, 16), "nothing is there");
}

/* who has answered, and what was asked; without a question, an error */
static int answer_question(const void *question, const struct process_memory *memory, void *answer,
			   size_t room, size_t *bytes)
{
	pid_t *to = answer;

	(void)memory;
	if (!*(const pid_t *)question)
		return -EXDEV;
	check(room >= 2 * sizeof(*to));
	to[0] = getpid();
	to[1] = *(const pid_t *)question;
	*bytes = 2 * sizeof(*to);
	return 0;
}

static void test_questions(void)
{
	pid_t question = 12345, nothing = 0;
	const pid_t *said;
	const void *answer;
	size_t bytes;
	uint64_t tag;

	check(!foreign_call(foreign, getpid(), answer_question, &question, sizeof(question),
			    &answer, &bytes));
	said = answer;
	check(bytes == 8 && said[0] != getpid() && said[1] == 12345, "a worker answers");
	check(!foreign_call(NULL, getpid(), answer_question, &question, sizeof(question), &answer,
			    &bytes));
	said = answer;
	check(bytes == 8 && said[0] == getpid() && said[1] == 12345, "without workers, we answer");
	check(foreign_call(foreign, getpid(), answer_question, &nothing, sizeof(nothing), &answer,
			   &bytes) == -EXDEV);

	check(!foreign_ask(foreign, getpid(), answer_question, &question, sizeof(question),
			   1ULL << 32 | getpid()));
	while (!(tag = foreign_take(foreign, &answer, &bytes)))
		foreign_wait_answer(foreign, 100);
	said = answer;
	check(tag == (1ULL << 32 | getpid()) && bytes == 8 && said[0] != getpid() &&
	      said[1] == 12345);
	check(!foreign_ask(foreign, getpid(), answer_question, &nothing, sizeof(nothing),
			   2ULL << 32 | getpid()));
	while (!(tag = foreign_take(foreign, &answer, &bytes)))
		foreign_wait_answer(foreign, 100);
	check(tag == (2ULL << 32 | getpid()) && !bytes, "an error is no answer");
}

static int never_answer(const void *question, const struct process_memory *memory, void *answer,
			size_t room, size_t *bytes)
{
	(void)question, (void)memory, (void)answer, (void)room, (void)bytes;
	for (volatile int forever = 1; forever;)
		;
	return 0;
}

/* 0, or why it was not asked; sets whether there was an answer */
static int ask_in_vain(pid_t pid, bool *answered)
{
	pid_t question = 1;
	const void *answer;
	size_t bytes;
	int error = foreign_ask(foreign, pid, never_answer, &question, sizeof(question),
				3ULL << 32 | (uint32_t)pid);

	while (!error && !foreign_take(foreign, &answer, &bytes))
		foreign_wait_answer(foreign, 50);
	*answered = !error && bytes;
	return error;
}

/*
 * The memory of another user's process, which has got the PID since its owner was asked for, is not
 * opened.
 */
static void test_whose(void)
{
	struct foreign_about ours = { FOREIGN_CALL, getpid(), getuid() },
			     others = { FOREIGN_CALL, getpid(), getuid() + 1 };
	struct worker_file file = foreign_open(&ours, sizeof(ours));

	check(file.fd >= 0);
	close(file.fd);
	check(foreign_open(&others, sizeof(others)).fd == -ESRCH);
}

static void test_patience(void)
{
	bool answered;

	check(!ask_in_vain(getpid(), &answered) && !answered, "given up");
	check(!ask_in_vain(getpid(), &answered) && !answered, "once may be the machine's fault");
	check(ask_in_vain(getpid(), &answered) == -EAGAIN, "twice is too often");
	check(!ask_in_vain(getppid(), &answered), "another process has nothing to do with it");
}

static int take_long(const void *question, const struct process_memory *memory, void *answer,
		     size_t room, size_t *bytes)
{
	uint64_t end = clock_ns() + 200000000;

	(void)question, (void)memory, (void)answer, (void)room;
	while (clock_ns() < end)
		;
	*bytes = 0;
	return 0;
}

static int wait_for(pid_t pid)
{
	const void *answer;
	size_t bytes;
	char question = 0;

	return foreign_call(foreign, pid, take_long, &question, sizeof(question), &answer, &bytes);
}

#define NR_CHILDREN 8

/* What the caller waits for is shared: a user with many processes does not have it all. */
static void test_shares(void)
{
	pid_t children[NR_CHILDREN];
	int nr = 0, nr_served = 0;

	if (geteuid())
		return; /* it cannot be another user */
	for (int i = 0; i < NR_CHILDREN; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(setuid(65534) || pause());
		if (pid < 0)
			break;
		for (int tries = 0; tries < 5000 && uid_of_process(pid) != 65534; tries++)
			usleep(1000);
		check(uid_of_process(pid) == 65534, "another user's");
		children[nr++] = pid;
	}
	check(nr == NR_CHILDREN);
	for (int i = 0; i < nr; i++)
		nr_served += wait_for(children[i]) == 0;
	check(nr_served >= 1 && nr_served <= 4, "%d of %d served", nr_served, nr);
	check(wait_for(getpid()) == 0, "root's own is");
	for (int i = 0; i < nr; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
}

/* another file, and answers that are not what a worker writes */
static void test_distrust(void)
{
	struct mapped_file file = { .tid = getpid(), .path = "/proc/self/exe" };
	struct proc_maps maps = {};
	struct {
		struct foreign_answer answer;
		struct foreign_mapping mapping;
		char path[8];
	} lie = { .answer.nr = 1, .mapping = { .mapping = { .end = 4096 } }, .path = "abc" };
	struct compiled compiled = { .table.nr_pages = 1 };
	struct file_key key = { .dev = 1 };
	static uint8_t written[2 * sizeof(struct compiled)];
	size_t bytes;

	compiled_from_file(&compiled, &file, &key, false);
	check(compiled.error == -ESTALE, "not the file that was identified: %d", compiled.error);
	check(!foreign_unpack_maps(&maps, &lie, sizeof(lie)) && maps.nr == 1 &&
	      !strcmp(maps.mappings[0].path, "abc"));
	lie.mapping.path = 8;
	check(foreign_unpack_maps(&maps, &lie, sizeof(lie)) == -EBADMSG, "a path outside");
	lie.mapping.path = 0;
	lie.path[7] = 'd';
	check(foreign_unpack_maps(&maps, &lie, sizeof(lie)) == -EBADMSG, "a path without an end");
	lie.answer.nr = UINT32_MAX;
	check(foreign_unpack_maps(&maps, &lie, sizeof(lie)) == -EBADMSG,
	      "more mappings than there are");
	proc_maps_free(&maps);
	compiled = (struct compiled){};
	bytes = compiled_write(&compiled, written, sizeof(written));
	check(bytes && !compiled_read(&compiled, written, bytes), "no table");
	unwind_table_free(&compiled.table);
	compiled = (struct compiled){ .runtime.number = 1 };
	bytes = compiled_write(&compiled, written, sizeof(written));
	check(bytes && compiled_read(&compiled, written, bytes) == -EBADMSG,
	      "a runtime that is not in the table");
	compiled = (struct compiled){ .table.nr_pages = 1000 };
	check(compiled_read(&compiled, &compiled, sizeof(compiled)) == -EBADMSG,
	      "a table without its pages");
}

int main(void)
{
	check(!foreign_new(&foreign, 256 << 20));
	test_maps();
	test_tables();
	test_text();
	test_questions();
	test_distrust();
	foreign_free(foreign);
	check(!foreign_new(&foreign, 256 << 20));
	test_shares();
	test_patience();
	test_whose();
	foreign_free(foreign);
	return check_done();
}
