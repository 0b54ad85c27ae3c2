// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is published of a process, with this test's own mappings and plain memory in the kernel's
 * place: the handles that the kernel holds, and the lists behind them; what becomes of them when
 * mappings change or something fails.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind/publisher.h"
#include "unwind/table_upload.h"
#include "check.h"
#include "read_self.h"

#define CHILD 4000001   /* more than there may be */
#define AT    0x1000000 /* where the test maps its file; below all that is there */

static struct processes processes;
static struct modules *modules;
static struct slabs *slabs;
static struct tables *tables;
static struct publisher *publisher;

/* ---- the kernel ---- */

static uint64_t handles[2]; /* of ourselves and of CHILD */
static int settle_error, handle_error;

static int settle(void *arg)
{
	(void)arg;
	return settle_error;
}

static int set_handle(void *arg, uint32_t tgid, uint64_t handle)
{
	(void)arg;
	if (!handle_error)
		handles[tgid == CHILD] = handle;
	return handle_error;
}

static void remove_handle(void *arg, uint32_t tgid)
{
	(void)arg;
	handles[tgid == CHILD] = 0;
}

static int plain_slab(void *arg, uint32_t number, uint8_t **bytes)
{
	(void)arg, (void)number;
	*bytes = calloc(1, SLAB_VALUE_SIZE);
	return *bytes ? 0 : -ENOMEM;
}

/* what a walk by this handle would find: NULL, if it were to say that the list is stale */
static const struct published_process *list_of(uint64_t handle)
{
	const struct published_process *list = handle ? slabs_at(slabs, HANDLE_LOC(handle)) : NULL;

	return list && list->generation == HANDLE_GENERATION(handle) ? list : NULL;
}

/* ---- what happens ---- */

static struct process *self(void)
{
	return processes_find(&processes, getpid());
}

static void happens(enum process_event_kind kind, pid_t pid, uint64_t start, uint64_t end,
		    const char *path, uint64_t inode)
{
	struct process_event event = {
		.kind = kind,
		.pid = pid,
		.parent = getpid(),
		.time_ns = UINT64_MAX / 2,
		.mapping = { .start = start, .end = end, .path = (char *)path, .inode = inode },
	};

	check(!processes_apply(&processes, &event), "event %d of %s", kind,
	      pid == CHILD ? "the child" : "ourselves");
}

static void publish(pid_t pid)
{
	struct process_image image = { .tgid = pid, .exec_id = 1, .start_ns = 2 };

	publisher_publish(publisher, &processes, processes_find(&processes, pid), &image);
}

static uint32_t module_at(const struct published_process *list, uint64_t address)
{
	for (uint32_t i = 0; list && i < list->nr_mappings; i++)
		if (address >= list->mappings[i].start && address < list->mappings[i].end)
			return list->mappings[i].module_id;
	return 0;
}

static void test_list(void)
{
	const struct published_process *list;
	const struct module *module;
	uint64_t here = (uintptr_t)test_list;

	check(!publisher_find(publisher, getpid()), "nothing is published yet");
	publish(getpid());
	list = list_of(handles[0]);
	check(list && list->image.tgid == (uint32_t)getpid() &&
		      list->nr_mappings == self()->maps.nr,
	      "the whole list is there");
	module = modules_get(modules, module_at(list, here));
	check(module && strstr(module->path, "publisher"), "this function's module is '%s'",
	      module ? module->path : "");
	check(module && tables_loc(tables, module->id) && !module->error, "and has a table");
	check(publisher_is_current(publisher, self(), &(struct process_image){ getpid(), 1, 2 }));
	check(!publisher_is_current(publisher, self(), &(struct process_image){ getpid(), 2, 2 }),
	      "another image");
}

static void test_change(void)
{
	uint64_t old = handles[0];

	happens(PROCESS_MAPPED, getpid(), AT, AT + 0x1000, "", 0);
	check(list_of(old), "one more mapping: the list stays until the next is there");
	publisher_publish_changed(publisher, &processes);
	check(handles[0] != old && list_of(handles[0]) && !list_of(old),
	      "the next one took its place");
	check(list_of(handles[0])->nr_mappings == self()->maps.nr);
	old = handles[0];
	publisher_publish_changed(publisher, &processes);
	check(handles[0] == old, "nothing has changed, nothing is published");
	publisher_set_changes(publisher, getpid(), 9);
	check(list_of(old)->changes == 9);
	happens(PROCESS_UNMAPPED, getpid(), AT, AT + 0x1000, "", 0);
	publisher_publish_changed(publisher, &processes);
}

/*
 * a file that is deleted once its module was found: from then on, only what is known says which
 * module it is
 */
static void test_modules_are_kept(void)
{
	char path[] = "/tmp/ehperf-publisher-XXXXXX";
	const struct published_process *list;
	struct stat st;
	uint32_t id;
	int fd = mkstemp(path);

	check(fd >= 0 && !fstat(fd, &st));
	happens(PROCESS_MAPPED, getpid(), AT, AT + 0x3000, path, st.st_ino);
	check(!publisher_find_modules(publisher, self()));
	check(!unlink(path));
	publish(getpid());
	id = module_at(list_of(handles[0]), AT);
	check(id && !strcmp(modules_get(modules, id)->path, path), "module %u is the file", id);
	happens(PROCESS_UNMAPPED, getpid(), AT + 0x1000, AT + 0x2000, "", 0);
	happens(PROCESS_MAPPED, getpid(), AT - 0x1000, AT, path, st.st_ino);
	happens(PROCESS_FORKED, CHILD, 0, 0, NULL, 0);
	publish(getpid());
	list = list_of(handles[0]);
	check(module_at(list, AT) == id && module_at(list, AT + 0x2000) == id &&
		      !module_at(list, AT + 0x1000),
	      "its pieces are known to be the file's");
	check(!module_at(list, AT - 0x1000),
	      "a new mapping is not taken for what it cannot be shown to be");
	publish(CHILD);
	check(module_at(list_of(handles[1]), AT) == id &&
		      module_at(list_of(handles[1]), AT + 0x2000) == id,
	      "nor need a child find them again");
	happens(PROCESS_UNMAPPED, getpid(), AT - 0x1000, AT + 0x3000, "", 0);
	close(fd);
}

static void test_invalidation(void)
{
	uint64_t own, child = handles[1];

	happens(PROCESS_EXITED, CHILD, 0, 0, NULL, 0);
	check(!handles[1] && !list_of(child) && !publisher_find(publisher, CHILD),
	      "after exit, the kernel has nothing of it");
	publish(getpid());
	own = handles[0];
	happens(PROCESS_EVENTS_LOST, 0, 0, 0, NULL, 0);
	publisher_publish_changed(publisher, &processes);
	check(own && handles[0] == own && list_of(own),
	      "after lost events, the list is right still, as far as it goes");
	process_refuse(&processes, self(), -E2BIG);
	check(!handles[0] && !list_of(own), "what is invalid is not published by itself");
	publisher_publish_changed(publisher, &processes);
	check(!handles[0]);
	publish(getpid());
	check(list_of(handles[0]) && list_of(handles[0])->refused &&
		      list_of(handles[0])->quiet_until_ns && !list_of(handles[0])->nr_mappings,
	      "that it is refused can be published");
	self()->refused = 0;
}

static void test_failures(void)
{
	uint64_t unpublished = publisher_counts(publisher).unpublished;
	const struct publication *published;

	publish(getpid());
	self()->complete = true;
	handle_error = -ENOMEM;
	self()->version++;
	publish(getpid());
	published = publisher_find(publisher, getpid());
	check(published && !published->live &&
		      publisher_counts(publisher).unpublished == unpublished,
	      "no room for a handle is no failure");
	check(!handles[0], "the old handle is gone");
	check(!publisher_is_current(publisher, self(), &published->image));
	handle_error = 0;
	publisher_publish_changed(publisher, &processes);
	check(list_of(handles[0]), "it is tried again");
	handle_error = -EPERM;
	publish(getpid());
	check(!publisher_find(publisher, getpid()) &&
		      publisher_counts(publisher).unpublished == ++unpublished,
	      "any other error is");
	handle_error = 0;
	publish(getpid());
	settle_error = -ENOMEM;
	publish(getpid());
	check(!handles[0] && !publisher_find(publisher, getpid()) &&
		      publisher_counts(publisher).unpublished == ++unpublished,
	      "slabs that the kernel cannot read");
	settle_error = 0;
	publish(getpid());
	check(list_of(handles[0]), "and it goes on when they can be read");
}

/*
 * one user's tables leave room for another's, whatever they are of; what is released is there again
 */
static void test_shares(void)
{
	enum { BYTES = 4096, ALL = 2 * SLAB_BYTES };
	struct extents of[3] = {};
	size_t taken[3] = {};
	struct slabs *s;

	check(!slabs_new(&s, (struct slab_source){ .add = plain_slab, .max = 2 }));
	for (uint32_t uid = 1; uid <= 2; uid++) {
		of[uid].user = slabs_user(s, uid);
		while (extents_take(s, BYTES, &of[uid]))
			taken[uid] += BYTES;
		check(errno == EDQUOT && taken[uid] > 0.4 * (ALL - taken[1] * (uid == 2)) &&
			      taken[uid] <= 0.5 * ALL,
		      "user %u has %zu bytes", uid, taken[uid]);
	}
	of[0].user = slabs_user(s, 0);
	while (extents_take(s, BYTES, &of[0]))
		taken[0] += BYTES;
	check(errno == ENOSPC && taken[0] > ALL / 8, "root has %zu bytes", taken[0]);
	extents_release(s, &of[1], 0);
	check(extents_take(s, BYTES, &of[1]), "user 1 has some again");
	for (int uid = 0; uid < 3; uid++) {
		extents_release(s, &of[uid], 0);
		free(of[uid].of);
	}
	slabs_free(s);
}

int main(void)
{
	struct publisher_target target = { .settle = settle,
					   .set_handle = set_handle,
					   .remove_handle = remove_handle };

	modules = modules_new();
	check(modules && !slabs_new(&slabs, (struct slab_source){ .add = plain_slab }) &&
	      !tables_new(&tables, slabs, modules) && !publisher_new(&publisher, tables, target));
	processes = (struct processes){ .all = true, .observer = publisher_observer(publisher) };
	check(read_self(&processes,
			process_asked(&processes, processes_get(&processes, getpid()), 0),
			&(struct process_image){}));
	test_list();
	test_change();
	test_modules_are_kept();
	test_invalidation();
	test_failures();
	test_shares();
	processes_free(&processes);
	publisher_free(publisher);
	tables_free(tables);
	slabs_free(slabs);
	modules_free(modules);
	return check_done();
}
