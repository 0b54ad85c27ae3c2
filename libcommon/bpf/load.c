// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/load.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static void (*pass_on)(const char *format, va_list args);
static char last_message[512];

static int on_message(enum libbpf_print_level level, const char *format, va_list args)
{
	if (pass_on) {
		pass_on(format, args);
	} else if (level == LIBBPF_WARN) {
		vsnprintf(last_message, sizeof(last_message), format, args);
		last_message[strcspn(last_message, "\n")] = 0;
	}
	return 0;
}

static void raise_limit(int which)
{
	struct rlimit limit;

	if (getrlimit(which, &limit))
		return;
	if (which == RLIMIT_MEMLOCK) {
		struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };

		if (!setrlimit(which, &unlimited))
			return;
	}
	limit.rlim_cur = limit.rlim_max;
	setrlimit(which, &limit);
}

void bpf_load_init(void (*say)(const char *format, va_list args))
{
	pass_on = say;
	libbpf_set_print(on_message);
	raise_limit(RLIMIT_MEMLOCK);	/* kernels before 5.11 count maps by it */
	raise_limit(RLIMIT_NOFILE);
}

/* CAP_SYS_ADMIN or both CAP_BPF and CAP_PERFMON */
static bool has_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};

	if (syscall(SYS_capget, &header, data))
		return true;	/* cannot tell */
	return data[0].effective & 1U << CAP_SYS_ADMIN ||
	       (data[1].effective & 1U << (CAP_BPF - 32) && data[1].effective & 1U << (CAP_PERFMON - 32));
}

bool kernel_is_older_than(int major, int minor)
{
	struct utsname name;
	int has_major, has_minor;

	return !uname(&name) && sscanf(name.release, "%d.%d", &has_major, &has_minor) == 2 &&
	       (has_major < major || (has_major == major && has_minor < minor));
}

void bpf_load_explain(int error, const char **cause, const char **cure)
{
	if ((error == -EPERM || error == -EACCES) && !has_capabilities()) {
		*cause = "CAP_BPF and CAP_PERFMON are missing";
		*cure = "run as root";
	} else if (kernel_is_older_than(6, 1)) {
		*cause = "this kernel is older than 6.1";
		*cure = "use a newer kernel";
	} else if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		*cause = "the kernel tells nothing of its types: /sys/kernel/btf/vmlinux cannot be read";
		*cure = "use a kernel built with CONFIG_DEBUG_INFO_BTF, and mount /sys";
	} else if (error == -ENOMEM) {
		*cause = "not enough memory, or RLIMIT_MEMLOCK is too low";
		*cure = "free some, or raise it with 'ulimit -l'";
	} else if (error == -EMFILE || error == -ENFILE) {
		*cause = "too many open files";
		*cure = "raise the limit with 'ulimit -n'";
	} else if (error == -EPERM) {
		*cause = "the kernel refuses, as lockdown, a seccomp filter or a container does";
		*cure = "run on the host, and see 'cat /sys/kernel/security/lockdown'";
	} else {
		*cause = last_message[0] ? last_message : strerror(-error);
		*cure = "run with -v for libbpf's messages";
	}
}
