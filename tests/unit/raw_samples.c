// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Raw samples of this test itself: its registers, by getcontext(), and a copy of its stack, unwound
 * by its mappings; and those that are not to be unwound, because the process is not, or may not be,
 * how it was.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/clock.h"
#include "unwind/raw_samples.h"
#include "unwind/raw_stack.h"
#include "check.h"
#include "read_self.h"

#define STACK_BYTES 8192

static struct processes processes;
static struct modules *modules;
static struct slabs *slabs;
static struct tables *tables;
static struct publisher *publisher;
static struct event_queue queue;
static struct host_stack stack;

/* ---- the kernel ---- */

static struct process_image now; /* the process's image */
/* 0, or when an event happened that is in the buffers when the reading arrives */
static uint64_t happens_ns;
static unsigned nr_readings;
static uint64_t asked_tag;

static int ask(void *arg, struct process *process, uint32_t tgid, uint32_t uid)
{
	(void)arg, (void)tgid, (void)uid;
	nr_readings++;
	asked_tag = process_asked(&processes, process, 0);
	return 0;
}

/* The reading that was asked for arrives, if the process is there still. */
static void arrives(void)
{
	struct process_event event = { .kind = PROCESS_EXECED,
				       .pid = getpid(),
				       .time_ns = happens_ns };
	struct proc_maps none = {};

	if (now.tgid)
		check(read_self(&processes, asked_tag, &now));
	else
		processes_read(&processes, asked_tag, -ESRCH, &none, &now);
	if (happens_ns)
		check(!event_queue_add(&queue, &event));
}

static int add_slab(void *arg, uint32_t number, uint8_t **bytes)
{
	(void)arg, (void)number;
	*bytes = calloc(1, SLAB_VALUE_SIZE);
	return *bytes ? 0 : -ENOMEM;
}

static int settle(void *arg)
{
	(void)arg;
	return 0;
}

static int set_handle(void *arg, uint32_t tgid, uint64_t handle)
{
	(void)arg, (void)tgid, (void)handle;
	return 0;
}

static void remove_handle(void *arg, uint32_t tgid)
{
	(void)arg, (void)tgid;
}

static struct raw_samples samples = {
	.processes = &processes,
	.queue = &queue,
	.max_depth = MAX_DEPTH,
	.ask = ask,
};

/* ---- samples ---- */

/*
 * of the caller's frame and those above; what belongs to this function's own frame is not looked at
 */
static struct raw_record *sample_self(void)
{
	struct raw_record *raw = calloc(1, sizeof(*raw) + STACK_BYTES);
	ucontext_t c;
	const greg_t *r = c.uc_mcontext.gregs;
	struct iovec local = { raw + 1, STACK_BYTES }, remote = { .iov_len = STACK_BYTES };

	getcontext(&c);
	*raw = (struct raw_record){
		.syscall = -1,
		.kind = RECORD_RAW,
		.stack_addr = r[REG_RSP],
		.time_ns = clock_ns(),
		.key.pid = getpid(),
		.image = now,
		.ip = r[REG_RIP],
		.reg = { r[REG_RAX], r[REG_RDX], r[REG_RCX], r[REG_RBX], r[REG_RSI], r[REG_RDI],
			 r[REG_RBP], r[REG_RSP], r[REG_R8], r[REG_R9], r[REG_R10], r[REG_R11],
			 r[REG_R12], r[REG_R13], r[REG_R14], r[REG_R15] },
	};
	remote.iov_base = (void *)(uintptr_t)raw->stack_addr;
	/* up to where the stack ends */
	raw->stack_bytes = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
	return raw;
}

static int take_stack(void *arg, struct raw_record *raw, const struct host_stack *resumed)
{
	(void)raw;
	*(const struct host_stack **)arg = resumed;
	return 0;
}

/* Unwinds the sample into `stack`, at once, or when its process has been read. */
static bool unwinds(const struct raw_record *raw)
{
	size_t bytes = sizeof(*raw) + raw->stack_bytes;
	struct raw_record *copy = malloc(bytes);
	const struct host_stack *resumed = NULL;
	int error = raw_samples_unwind(&samples, memcpy(copy, raw, bytes), &stack);

	if (error != -EINPROGRESS) {
		free(copy);
		return !error;
	}
	check(raw_samples_keep(&samples, copy, 0));
	arrives();
	return !raw_samples_resume(&samples, &stack, clock_ns(), take_stack, &resumed) &&
	       resumed == &stack;
}

/*
 * the caller's return address is what the compiler says it is, and the stack ends where processes
 * begin
 */
static __attribute__((noinline)) void test_whole(void)
{
	struct raw_record *raw = sample_self();
	uint64_t expected = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)),
		 address = 0;
	const struct process *process;

	check(unwinds(raw));
	check(stack.end == END_COMPLETE && stack.nr >= 4, "end %d after %u frames", stack.end,
	      stack.nr);
	process = processes_find(&processes, getpid());
	check(process && process->complete && publisher_is_current(publisher, process, &now),
	      "the process is published now");
	for (size_t i = 0; process && stack.nr > 2 && i < process->maps.nr; i++) {
		const struct proc_mapping *m = &process->maps.mappings[i];
		uint64_t there = FRAME_OFFSET(stack.frames[2]) - m->file_offset;

		if (expected >= m->start && expected < m->end && there < m->end - m->start)
			address = m->start + there;
	}
	/* a frame is the return address, or an address within its call instruction */
	check(address <= expected && expected - address <= 8,
	      "the second caller is %#lx, expected %#lx", address, expected);
	check(nr_readings == 1 && !raw_samples_unwind(&samples, raw, &stack) && nr_readings == 1,
	      "it is read once");
	free(raw);
}

static void test_another_image(void)
{
	struct raw_record *raw = sample_self();

	processes_find(&processes, getpid())->complete = false;
	now.exec_id++;
	check(unwinds(raw) && stack.end == END_UNKNOWN_PROCESS,
	      "the process is another image by now: end %d", stack.end);
	now.tgid = 0;
	check(unwinds(raw) && stack.end == END_UNKNOWN_PROCESS, "it is gone: end %d", stack.end);
	now = raw->image;
	check(unwinds(raw) && stack.end == END_COMPLETE, "it is the sample's: end %d", stack.end);
	free(raw);
}

static void test_changed_meanwhile(void)
{
	struct raw_record *raw = sample_self();
	struct queued_event event;

	processes_find(&processes, getpid())->complete = false;
	happens_ns = raw->time_ns + 1;
	check(unwinds(raw) && stack.end == END_UNKNOWN_PROCESS,
	      "an exec between the sample and the reading: end %d", stack.end);
	happens_ns = 0;
	event_queue_begin(&queue, UINT64_MAX);
	check(event_queue_next(&queue, &event) && !event_queue_next(&queue, &event));
	processes_find(&processes, getpid())->complete = false;
	check(unwinds(raw) && stack.end == END_COMPLETE);
	free(raw);
}

static int take_resumed(void *arg, struct raw_record *raw, const struct host_stack *resumed)
{
	unsigned *nr = arg;

	++*nr;
	check((pid_t)raw->key.pid == getpid() && resumed->end == END_COMPLETE && resumed->nr >= 4,
	      "end %d after %u frames", resumed->end, resumed->nr);
	return 0;
}

/* of 1 MB */
static struct raw_record *large_sample(uint32_t uid)
{
	struct raw_record *raw = sample_self();

	raw = realloc(raw, sizeof(*raw) + (1 << 20));
	memset((char *)(raw + 1) + raw->stack_bytes, 0, (1 << 20) - raw->stack_bytes);
	raw->stack_bytes = 1 << 20;
	raw->key.uid = uid;
	return raw;
}

/* as long as there is room: how many */
static unsigned keep_all(uint32_t uid)
{
	struct raw_record *raw;
	unsigned nr = 0;

	while (raw_samples_keep(&samples, raw = large_sample(uid), 1))
		nr++;
	free(raw);
	return nr;
}

/*
 * a sample that waits for a table has the mapping list of its own time, whatever becomes of the
 * process
 */
static void test_waiting(void)
{
	struct raw_record *first = sample_self(), *second = sample_self();
	unsigned nr = 0;

	check(!raw_samples_unwind(&samples, first, &stack) && stack.end == END_COMPLETE &&
	      !stack.wants_table);
	check(raw_samples_keep(&samples, first, 1) && raw_samples_keep(&samples, second, 1));
	publisher_invalidate(publisher, getpid());
	check(!publisher_find(publisher, getpid()));
	check(!raw_samples_resume(&samples, &stack, clock_ns(), take_resumed, &nr) && nr == 2,
	      "%u resumed", nr);
	check(!raw_samples_resume(&samples, &stack, clock_ns(), take_resumed, &nr) && nr == 2,
	      "each once");
	first = sample_self();
	check(!raw_samples_keep(&samples, first, 1), "nothing is published to wait with");
	check(!raw_samples_unwind(&samples, first, &stack) && stack.end == END_COMPLETE, "end %d",
	      stack.end);
	check(raw_samples_keep(&samples, first, 1));
	/* what has waited takes no room: 100 MB wait, a MB at a time */
	for (int i = 0; i < 100; i++) {
		first = large_sample(0);
		check(raw_samples_keep(&samples, first, 1), "the %dth", i);
		check(!raw_samples_resume(&samples, &stack, clock_ns(), take_resumed, &nr));
	}
	/* one user's leave room for others' */
	nr = keep_all(1000);
	check(nr >= 30 && nr <= 32, "%u of 64 MB", nr);
	nr = keep_all(1001);
	check(nr >= 14 && nr <= 17, "%u of the rest", nr);
	nr = keep_all(0);
	check(nr >= 14 && nr <= 17, "root has all of that: %u", nr);
	check(!raw_samples_resume(&samples, &stack, clock_ns(), take_resumed, &nr));
	first = sample_self();
	check(raw_samples_keep(&samples, first, 1));
	raw_samples_free(&samples); /* while one waits */
	samples.waiting = NULL;
	samples.nr_waiting = samples.room = 0;
}

/* one whose process is read meanwhile waits for that */
static void test_read_later(void)
{
	struct raw_record *raw = sample_self();
	struct process *process = processes_find(&processes, getpid());
	unsigned nr = 0;

	process->complete = false;
	nr_readings = 0;
	check(raw_samples_unwind(&samples, raw, &stack) == -EINPROGRESS && nr_readings == 1);
	check(raw_samples_unwind(&samples, raw, &stack) == -EINPROGRESS && nr_readings == 1,
	      "it is asked for once");
	check(raw_samples_keep(&samples, raw, 0));
	check(!raw_samples_resume(&samples, &stack, clock_ns(), take_resumed, &nr) && !nr,
	      "nothing is there yet");
	arrives();
	check(!raw_samples_resume(&samples, &stack, 1, take_resumed, &nr) && !nr,
	      "what happened before the reading is not known yet");
	check(!raw_samples_resume(&samples, &stack, clock_ns(), take_resumed, &nr) && nr == 1);
}

static void test_in_exec(void)
{
	struct raw_record *raw;

	now = (struct process_image){ .tgid = getpid(), .exec_id = 100 };
	raw = sample_self();
	raw->syscall = SYS_execve;
	raw->ip = 0x10;
	check(unwinds(raw) && stack.end == END_NO_USER && !stack.id, "end %d", stack.end);
	now.exec_id++;
	raw->image = now;
	nr_readings = 0;
	raw->syscall = -1;
	raw_samples_unwind(&samples, raw, &stack);
	check(!nr_readings, "execve() counted itself meanwhile: no exec that was missed");
	free(raw);
}

/* pages that the kernel could not copy; the record's stack is bytes 0, 1, 2, ... */
static void test_stack(void)
{
	struct raw_record *raw = calloc(1, sizeof(*raw) + 3 * 4096);
	struct host_memory memory = raw_stack_memory(raw);
	static const struct {
		uint64_t at;
		uint32_t bytes, expected;
	} reads
		[] = {
			{ 0, 64, 64 },         { 100, 8, 8 },
			{ 0x7c0, 0x80, 0x40 }, /* up to the page that is missing */
			{ 0x800, 8, 0 },       { 0x17ff, 1, 0 },
			{ 0x17ff, 8, 0 },      { 0x1800, 8, 8 },
			{ 0x2ff8, 64, 8 }, /* up to the end of what was copied */
			{ 0x3000, 8, 0 },  /* stack still, and not to be read later */
		};

	*raw = (struct raw_record){ .syscall = -1,
				    .stack_addr = 0x7f0000000800,
				    .stack_bytes = 3 * 4096,
				    .missing = 1 << 1,
				    .key.pid = getpid() };
	raw->reg[EH_RSP] = raw->stack_addr + 128;
	for (int i = 0; i < 3 * 4096; i++)
		((uint8_t *)(raw + 1))[i] = i;
	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
		uint8_t to[128];
		uint32_t done =
			memory.read(memory.arg, to, reads[i].bytes, raw->stack_addr + reads[i].at);

		check(done == reads[i].expected &&
			      (!done || to[done - 1] == (uint8_t)(reads[i].at + done - 1)),
		      "%#x bytes at %#lx: %#x", reads[i].bytes, reads[i].at, done);
	}
	check(memory.read(memory.arg, &(uint8_t[4]){}, 4, (uintptr_t)&now) == 0,
	      "other data has changed since");
	free(raw);
}

/* both ends of a stack, and a page missing in the far one */
static void test_far_stack(void)
{
	enum { BYTES = RAW_NEAR_BYTES + RAW_FAR_BYTES };
	struct raw_record *raw = calloc(1, sizeof(*raw) + BYTES);
	struct host_memory memory = raw_stack_memory(raw);
	static const struct {
		uint64_t addr;
		uint32_t bytes, expected, at;
	} reads[] = {
		{ 0x7f0000000800, 64, 64, 0 },
		{ 0x7f0000000800 + RAW_NEAR_BYTES - 8, 64, 8, RAW_NEAR_BYTES - 8 },
		{ 0x7f0000000800 + RAW_NEAR_BYTES, 8, 0 }, /* between the ends */
		{ 0x7f00000ffff8, 64, 0 },
		{ 0x7f0000100000, 64, 64, RAW_NEAR_BYTES },
		{ 0x7f0000100fc0, 0x80, 0x40, RAW_NEAR_BYTES + 0xfc0 },
		{ 0x7f0000101000, 8, 0 },
		{ 0x7f0000101ff8, 8, 0 },
		{ 0x7f0000102000, 8, 8, RAW_NEAR_BYTES + 0x2000 },
		{ 0x7f0000100000 + RAW_FAR_BYTES - 8, 64, 8, RAW_NEAR_BYTES + RAW_FAR_BYTES - 8 },
		{ 0x7f0000100000 + RAW_FAR_BYTES, 8, 0 },
	};

	*raw = (struct raw_record){
		.stack_addr = 0x7f0000000800,
		.stack_bytes = BYTES,
		.far_at = RAW_NEAR_BYTES,
		.far_addr = 0x7f0000100000,
		.missing = 1 << (RAW_NEAR_PAGES + 1),
	};
	for (int i = 0; i < BYTES; i++)
		((uint8_t *)(raw + 1))[i] = i * 7 >> 3;
	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
		uint8_t to[128];
		uint32_t done = memory.read(memory.arg, to, reads[i].bytes, reads[i].addr);

		check(done == reads[i].expected &&
			      !memcmp(to, (uint8_t *)(raw + 1) + reads[i].at, done),
		      "%#x bytes at %#lx: %#x", reads[i].bytes, reads[i].addr, done);
	}
	free(raw);
}

int main(void)
{
	struct publisher_target target = { .settle = settle,
					   .set_handle = set_handle,
					   .remove_handle = remove_handle };

	now = (struct process_image){ .tgid = getpid(), .exec_id = 1 };
	modules = modules_new();
	check(modules && !slabs_new(&slabs, (struct slab_source){ .add = add_slab }) &&
	      !tables_new(&tables, slabs, modules) && !publisher_new(&publisher, tables, target));
	processes = (struct processes){ .observer = publisher_observer(publisher) };
	samples.publisher = publisher;
	samples.tables = tables;
	test_whole();
	test_another_image();
	test_changed_meanwhile();
	test_waiting();
	test_read_later();
	test_in_exec();
	test_stack();
	test_far_stack();
	processes_free(&processes);
	publisher_free(publisher);
	event_queue_free(&queue);
	tables_free(tables);
	slabs_free(slabs);
	modules_free(modules);
	return check_done();
}
