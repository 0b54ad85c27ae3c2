// SPDX-License-Identifier: GPL-2.0-or-later
#include "call_ways.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "kernel/links.h"
#include "kernel/load.h"
#include "kernel/object.h"

/* in the order in which they are attached */
enum { AT_FUNCTION, BY_KPROBE, AT_SYSCALL, AT_ALL_SYSCALLS, NR_WAYS };

static const struct {
	const char *begins, *returns;
} programs_of[NR_WAYS] = {
	[AT_FUNCTION] = { "function_begins", "function_returns" },
	[BY_KPROBE] = { "kprobe_begins", "kprobe_returns" },
	[AT_SYSCALL] = { "call_begins", "call_returns" },
	[AT_ALL_SYSCALLS] = { "call_begins_raw", "call_returns_raw" },
};
_Static_assert(2 * NR_WAYS == NR_CALL_PROGRAMS, "NR_CALL_PROGRAMS");

static struct bpf_program *program(const struct bpf_object *object, const char *name)
{
	return bpf_object__find_program_by_name(object, name);
}

/* ---- preemption ---- */

static bool read_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool has_read = file && fgets(line, size, file);

	if (file)
		fclose(file);
	return has_read;
}

/*
 * the mode in brackets, "none voluntary (full)", in which the kernel is now; or "" where debugfs is
 * not mounted
 */
static void read_current(char *mode, size_t size)
{
	char text[256], *begin;

	*mode = 0;
	if (!read_line("/sys/kernel/debug/sched/preempt", text, sizeof(text)))
		return;
	begin = strchr(text, '(');
	if (begin)
		snprintf(mode, size, "%.*s", (int)strcspn(begin + 1, ")"), begin + 1);
}

/* the mode of the last "preempt=" on the kernel's command line, or "" */
static void read_command_line(char *mode, size_t size)
{
	char text[4096];

	*mode = 0;
	if (!read_line("/proc/cmdline", text, sizeof(text)))
		return;
	for (char *save, *word = strtok_r(text, " \n", &save); word;
	     word = strtok_r(NULL, " \n", &save))
		if (!strncmp(word, "preempt=", 8))
			snprintf(mode, size, "%s", word + 8);
}

static bool is_cooperative(const char *path)
{
	gzFile file = gzopen(path, "re"); /* reads uncompressed files, too */
	char line[256];
	bool found = false;

	while (file && !found && gzgets(file, line, sizeof(line)))
		found = !strcmp(line, "CONFIG_PREEMPT_NONE=y\n") ||
			!strcmp(line, "CONFIG_PREEMPT_VOLUNTARY=y\n");
	if (file)
		gzclose(file);
	return found;
}

/*
 * Does the kernel preempt threads in kernel mode? Then programs on tracepoints may miss events. By
 * the kernel's version string, debugfs, command line and configuration; true if those do not say.
 */
static bool is_preemptible(void)
{
	char mode[32], path[256];
	struct utsname name;

	if (uname(&name))
		return true;
	if (!strstr(name.version, "PREEMPT"))
		return false;
	read_current(mode, sizeof(mode));
	if (!*mode)
		read_command_line(mode, sizeof(mode));
	if (*mode)
		return strcmp(mode, "none") && strcmp(mode, "voluntary");
	snprintf(path, sizeof(path), "/boot/config-%s", name.release);
	return !is_cooperative("/proc/config.gz") && !is_cooperative(path);
}

/* ---- what the kernel allows ---- */

/*
 * Does the kernel run programs at this program's function? Only an attempt tells: some have the
 * functions, and refuse. So a program that does nothing is attached there for a moment.
 */
static bool can_attach_to_function(const struct bpf_program *to)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY);
	const char *function = strchr(bpf_program__section_name(to), '/') + 1;
	int id, fd, link = -1;

	if (kernel_ftrace() <= 0)
		return false;
	id = libbpf_find_vmlinux_btf_id(function, BPF_TRACE_FENTRY);
	if (id <= 0)
		return false;
	options.attach_btf_id = id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "nothing", "GPL", nothing, 2, &options);
	if (fd >= 0) {
		link = bpf_raw_tracepoint_open(NULL, fd);
		close(fd);
	}
	if (link >= 0)
		close(link);
	return link >= 0;
}

/*
 * Watches the kernel's own function for bpf(2), which costs other system calls nothing. False: this
 * kernel does not allow it.
 *
 * Programs at functions can be preempted, and are then skipped for other threads on that CPU; so
 * kprobes watch it, too, which are skipped at other moments. Before 6.15, programs cannot keep off
 * preemption where others need their CPU's data (preemption.bpf.h).
 */
static bool choose_function(const struct bpf_object *object, bool preemptible, bool chosen[NR_WAYS])
{
	if (preemptible &&
	    (kernel_is_older_than(6, 15) || access("/sys/bus/event_source/devices/kprobe", F_OK)))
		return false;
	chosen[AT_FUNCTION] =
		can_attach_to_function(program(object, programs_of[AT_FUNCTION].begins));
	chosen[BY_KPROBE] = chosen[AT_FUNCTION] && preemptible;
	return chosen[AT_FUNCTION];
}

/*
 * Watches tracepoints of system calls, for which every system call of the machine pays. The two
 * kinds miss different calls; before 7.0, that on all system calls misses none.
 */
static void choose_tracepoints(const struct bpf_object *object, bool preemptible,
			       bool chosen[NR_WAYS])
{
	/* not without CONFIG_FTRACE_SYSCALLS */
	bool own = bpf_tracepoint_exists(program(object, programs_of[AT_SYSCALL].begins));

	chosen[AT_ALL_SYSCALLS] = preemptible || !own;
	chosen[AT_SYSCALL] = own && (!preemptible || !kernel_is_older_than(7, 0));
}

void call_ways_choose(struct bpf_object *object)
{
	bool preemptible = is_preemptible(), chosen[NR_WAYS] = {};

	if (!choose_function(object, preemptible, chosen))
		choose_tracepoints(object, preemptible, chosen);
	for (int way = 0; way < NR_WAYS; way++) {
		bpf_program__set_autoload(program(object, programs_of[way].begins), chosen[way]);
		bpf_program__set_autoload(program(object, programs_of[way].returns), chosen[way]);
	}
}

/* ---- those that were chosen ---- */

void call_ways_programs(const struct bpf_object *object,
			struct bpf_program *programs[NR_CALL_PROGRAMS + 1])
{
	for (int way = 0; way < NR_WAYS; way++) {
		programs[way] = program(object, programs_of[way].returns);
		programs[NR_WAYS + way] = program(object, programs_of[way].begins);
	}
	programs[NR_CALL_PROGRAMS] = NULL;
}

/*
 * A call is missed whole if all programs that watch it have been skipped, which newer kernels
 * count.
 */
uint64_t call_ways_not_seen(const struct bpf_object *object)
{
	uint64_t least = UINT64_MAX, missed;

	for (int way = 0; way < NR_WAYS; way++) {
		if (object_missed(object, programs_of[way].begins, &missed) && missed < least)
			least = missed;
		if (object_missed(object, programs_of[way].returns, &missed) && missed < least)
			least = missed;
	}
	return least == UINT64_MAX ? 0 : least;
}

bool call_ways_uncounted(const struct bpf_object *object)
{
	return kernel_is_older_than(6, 7) &&
	       object_is_loaded(object, programs_of[AT_SYSCALL].begins) &&
	       !object_is_loaded(object, programs_of[AT_ALL_SYSCALLS].begins);
}
