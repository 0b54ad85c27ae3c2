// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/load.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static void (*pass_on)(const char *format, va_list args);

/*
 * libbpf's first warning (the later ones are its consequences); the program that was refused, and
 * the verifier's reason
 */
static char first_warning[512];
static char refused[64];
static char reason[256];

/* Keeps the last line of the verifier's log before its statistics. */
static void note_reason(char *log)
{
	char *end = strstr(log, "\nprocessed "), *line;

	if (!end)
		end = strstr(log, "\n-- END PROG LOAD LOG --");
	if (!end)
		return;
	*end = 0;
	line = strrchr(log, '\n');
	snprintf(reason, sizeof(reason), "%s", line ? line + 1 : log);
}

static void note(char *warning)
{
	static const char log_begins[] = "-- BEGIN PROG LOAD LOG --\n";
	char *log = strstr(warning, log_begins);

	if (strstr(warning, "BPF program load failed"))
		sscanf(warning, "libbpf: prog '%63[^']'", refused);
	if (log)
		/* with the \n before the first line, for strrchr() */
		note_reason(log + sizeof(log_begins) - 2);
	if (!first_warning[0]) {
		snprintf(first_warning, sizeof(first_warning), "%s",
			 strncmp(warning, "libbpf: ", 8) ? warning : warning + 8);
		first_warning[strcspn(first_warning, "\n")] = 0;
	}
}

static int on_message(enum libbpf_print_level level, const char *format, va_list args)
{
	va_list again;
	char *text;

	if (level == LIBBPF_WARN) {
		va_copy(again, args);
		if (vasprintf(&text, format, again) >= 0) {
			note(text);
			free(text);
		}
		va_end(again);
	}
	if (pass_on)
		pass_on(format, args);
	return 0;
}

/* perf's buffers count as locked memory, where CAP_IPC_LOCK is missing */
static struct {
	int which;
	struct rlimit before;
} limits[] = { { RLIMIT_MEMLOCK }, { RLIMIT_NOFILE } };
/*
 * With fewer, libbpf's probes of the kernel fail, and workers do: each for what looks like another
 * reason.
 */
#define MIN_FILES 128
#define NR_LIMITS (sizeof(limits) / sizeof(limits[0]))

int bpf_load_init(void (*say)(const char *format, va_list args))
{
	struct rlimit files;

	pass_on = say;
	libbpf_set_print(on_message);
	for (size_t i = 0; i < NR_LIMITS; i++)
		if (!getrlimit(limits[i].which, &limits[i].before))
			setrlimit(limits[i].which, &(struct rlimit){ limits[i].before.rlim_max,
								     limits[i].before.rlim_max });
	return !getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < MIN_FILES ? -EMFILE : 0;
}

void bpf_load_restore_limits(void)
{
	for (size_t i = 0; i < NR_LIMITS; i++)
		if (limits[i].before.rlim_max)
			setrlimit(limits[i].which, &limits[i].before);
}

static bool has_capability(int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};

	if (syscall(SYS_capget, &header, data))
		return true; /* unknown */
	return data[capability / 32].effective & 1U << capability % 32;
}

bool bpf_load_is_admin(void)
{
	return has_capability(CAP_SYS_ADMIN);
}

static bool has_capabilities(void)
{
	return bpf_load_is_admin() || (has_capability(CAP_BPF) && has_capability(CAP_PERFMON));
}

bool kernel_is_older_than(int major, int minor)
{
	struct utsname name;
	int has_major, has_minor;

	return !uname(&name) && sscanf(name.release, "%d.%d", &has_major, &has_minor) == 2 &&
	       (has_major < major || (has_major == major && has_minor < minor));
}

int kernel_ftrace(void)
{
	FILE *file = fopen("/proc/sys/kernel/ftrace_enabled", "re");
	int enabled = file ? fgetc(file) : 0;

	if (!file)
		return -errno;
	fclose(file);
	return enabled != '0';
}

static const char *kernel_release(void)
{
	static struct utsname name;

	return uname(&name) ? "unknown" : name.release;
}

/* causes that do not depend on the error: the kernel is too old, or lacks something */
static bool explain_kernel(char *cause, size_t size, const char **cure)
{
	if (kernel_is_older_than(6, 1)) {
		snprintf(cause, size, "this kernel, %s, is older than 6.1", kernel_release());
		*cure = "use Linux 6.1 or newer";
	} else if (access("/sys/kernel", F_OK)) {
		snprintf(cause, size, "sysfs is not mounted on /sys");
		*cure = "mount it: mount -t sysfs sys /sys";
	} else if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		snprintf(
			cause, size,
			"this kernel, %s, has no BTF (CONFIG_DEBUG_INFO_BTF): no /sys/kernel/btf/vmlinux",
			kernel_release());
		*cure = "use a kernel that is built with it, as most distributions' are";
	} else {
		return false;
	}
	return true;
}

/* the cause by libbpf's warnings */
static void explain_refusal(char *cause, size_t size, const char **cure, int error)
{
	if (refused[0] && reason[0]) {
		snprintf(cause, size, "the verifier of Linux %s refuses program '%s': %s",
			 kernel_release(), refused, reason);
		*cure = "this is a bug: please report it, with the output of -v";
	} else if (refused[0]) {
		snprintf(cause, size, "Linux %s refuses program '%s': %s", kernel_release(),
			 refused, strerror(-error));
		*cure = "the kernel lacks what the program needs: use another one, or see the output of -v";
	} else if (!first_warning[0]) {
		snprintf(cause, size, "%s", strerror(-error));
		*cure = "see the output of -v";
	} else {
		snprintf(cause, size, "Linux %s: %s", kernel_release(), first_warning);
		*cure = "the kernel lacks what is needed, or was built without it: see the output of -v";
	}
}

static void explain(int error, char *cause, size_t size, const char **cure)
{
	static const struct {
		int error;
		const char *cause, *cure;
	} causes[] = {
		{ -ENOMEM, "not enough memory, or memory.max of its cgroup is too low",
		  "free some, or raise it" },
		{ -EMFILE, "too many open files", "raise the limit with 'ulimit -n'" },
		{ -ENFILE, "too many open files in the system",
		  "raise the limit in /proc/sys/fs/file-max" },
		{ -EACCES,
		  "the kernel refuses perf events: kernel.perf_event_paranoid may be too high",
		  "run as root, on the host" },
		{ -EPERM,
		  "the kernel refuses: lockdown, a seccomp filter or a container may forbid it",
		  "run on the host, and see 'cat /sys/kernel/security/lockdown'" },
	};
	struct rlimit limit;

	/* without CAP_PERFMON, a program lacks helpers */
	if ((error == -EPERM || error == -EACCES || refused[0]) && !has_capabilities()) {
		snprintf(cause, size, "CAP_BPF and CAP_PERFMON are missing");
		*cure = "run as root";
		return;
	}
	if (explain_kernel(cause, size, cure))
		return;
	if (error == -ENOMEM && !getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY) {
		snprintf(cause, size, "not enough memory: RLIMIT_AS is %llu MB",
			 (unsigned long long)limit.rlim_cur >> 20);
		*cure = "raise it with 'ulimit -v'";
		return;
	}
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]) && !reason[0]; i++) {
		if (causes[i].error == error) {
			snprintf(cause, size, "%s", causes[i].cause);
			*cure = causes[i].cure;
			return;
		}
	}
	explain_refusal(cause, size, cure, error);
}

void bpf_load_explain(int error, const char **cause, const char **cure)
{
	static char text[700];

	explain(error, text, sizeof(text), cure);
	*cause = text;
}
