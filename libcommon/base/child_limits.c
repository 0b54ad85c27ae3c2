// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/child_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/securebits.h>
#include <malloc.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAX_KEPT_FILES 16
#define MAX_CHILDREN   16
/* by their numbers, which are those of all machines, since the headers may be older */
#define NR_FCHMODAT2     452
#define NR_SETXATTRAT    463
#define NR_REMOVEXATTRAT 466
#define NR_FILE_SETATTR  469

uint64_t child_memory(pid_t pid)
{
	unsigned long pages = 0;
	/* proc_pid_statm(5): size, resident, shared, text, lib, data */
	char name[32] = "/proc/self/statm";
	FILE *statm;

	if (pid)
		snprintf(name, sizeof(name), "/proc/%d/statm", pid);
	statm = fopen(name, "re");
	if (statm && fscanf(statm, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
		pages = 0;
	if (statm)
		fclose(statm);
	return pages * sysconf(_SC_PAGESIZE);
}

void child_limit_memory(size_t bytes)
{
	uint64_t now = child_memory(0);
	struct rlimit limit = {};
	struct mallinfo2 heap;

	if (!now) { /* a worker's child may open nothing */
		heap = mallinfo2();
		now = heap.arena + heap.hblkhd;
	}
	if (!now || getrlimit(RLIMIT_DATA, &limit))
		_exit(1);
	if (now + bytes < limit.rlim_max)
		limit.rlim_max = now + bytes;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_DATA, &limit))
		_exit(1);
	limit.rlim_cur = limit.rlim_max = 0;
	setrlimit(RLIMIT_CORE, &limit);
}

void child_drop_rights(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = {};

	syscall(__NR_capset, &header, none);
}

/*
 * landlock(7): the rights that each version of it knows, from version 1 on. Some are numbers here,
 * because Debian 12's headers lack them.
 */
#define RIGHTS_TO_RUN_AND_WRITE                                               \
	(LANDLOCK_ACCESS_FS_MAKE_SYM * 2 - 1 - LANDLOCK_ACCESS_FS_READ_FILE - \
	 LANDLOCK_ACCESS_FS_READ_DIR)
#define RIGHT_TO_TRUNCATE (1ULL << 14)
static uint64_t landlock_rights(void)
{
	long version =
		syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return version < 1
		       ? 0
		       : RIGHTS_TO_RUN_AND_WRITE | (version >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) |
				 (version >= 3 ? RIGHT_TO_TRUNCATE : 0);
}

/* No file is run, and none written or made, but below this directory, which may be NULL. */
static void limit_writing(const char *directory)
{
	const struct landlock_ruleset_attr handled = { .handled_access_fs = landlock_rights() };
	struct landlock_path_beneath_attr below = { .allowed_access = handled.handled_access_fs &
								      ~LANDLOCK_ACCESS_FS_EXECUTE };
	int rules = handled.handled_access_fs
			    ? syscall(__NR_landlock_create_ruleset, &handled, sizeof(handled), 0)
			    : -1;

	if (rules < 0)
		return;
	below.parent_fd = directory ? open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if ((below.parent_fd >= 0 &&
	     syscall(__NR_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0)) ||
	    syscall(__NR_landlock_restrict_self, rules, 0))
		_exit(1);
	if (below.parent_fd >= 0)
		close(below.parent_fd);
	close(rules);
}

/* what a program that root starts would have again */
static void forbid_privileges(void)
{
	prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		_exit(1);
}

void child_limit_rights(enum child_kind kind)
{
	static const int kept[] = { CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE };
	const unsigned whose = kind == CHILD_ALONE ? getpid() : getppid();
	const unsigned nobody_else = 0x70000000 + kind * 0x1000000 + (whose & 0xffffff);
	struct rlimit few = { MAX_CHILDREN, MAX_CHILDREN };
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct has[2], wanted[2] = {};

	if (syscall(__NR_capget, &header, has))
		return;
	for (size_t i = 0; kind == CHILD_READER && i < sizeof(kept) / sizeof(kept[0]); i++)
		wanted[kept[i] / 32].permitted |= 1U << kept[i] % 32 & has[kept[i] / 32].permitted;
	for (int i = 0; i < 2; i++)
		wanted[i].effective = wanted[i].permitted;
	forbid_privileges();
	prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	syscall(__NR_setgroups, 0, NULL);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, 0 });
	/*
	 * IDs cannot be changed if the user namespace does not have this one; and they must not be if
	 * the tool could not kill the child afterwards. Then at least files are opened as nobody.
	 */
	if (!(has[0].permitted & 1U << CAP_KILL) ||
	    syscall(__NR_setresgid, nobody_else, nobody_else, nobody_else) ||
	    syscall(__NR_setresuid, nobody_else, nobody_else, nobody_else)) {
		setfsgid(65534);
		setfsuid(65534);
	} else { /* nobody else's processes have this ID */
		setrlimit(RLIMIT_NPROC, &few);
	}
	syscall(__NR_capset, &header, wanted);
	if (kind != CHILD_READER)
		limit_writing(NULL);
}

bool child_keep_files(int fd, const int *files, size_t nr)
{
	int moved[1 + MAX_KEPT_FILES];

	if (nr > MAX_KEPT_FILES)
		return false;
	for (size_t i = 0; i <= nr; i++) /* out of the way: above all numbers that files get */
		moved[i] = fcntl(i ? files[i - 1] : fd, F_DUPFD, (int)nr + 1);
	for (size_t i = 0; i <= nr; i++)
		if (dup2(moved[i], i) != (int)i)
			return false;
	return !syscall(__NR_close_range, (unsigned)nr + 1, ~0U, 0);
}

bool child_keep_only(int fd)
{
	return child_keep_files(fd, NULL, 0);
}

void child_end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

/* the bits of an argument that must be clear */
#define WITHOUT(arg, bits) SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, bits, 0)

/*
 * The options that a child's own children need to limit themselves. Without another signal than
 * SIGKILL, none outlives its parent.
 */
static int allow_prctl(scmp_filter_ctx filter)
{
	static const int options[] = { PR_SET_SECUREBITS, PR_SET_NO_NEW_PRIVS, PR_SET_KEEPCAPS,
				       PR_GET_SECCOMP, PR_SET_SECCOMP };
	int error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, __NR_prctl, 2,
				     SCMP_A0(SCMP_CMP_EQ, PR_SET_PDEATHSIG),
				     SCMP_A1(SCMP_CMP_EQ, SIGKILL));

	for (size_t i = 0; !error && i < sizeof(options) / sizeof(options[0]); i++)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, __NR_prctl, 1,
					 SCMP_A0(SCMP_CMP_EQ, options[i]));
	return error;
}

static int allow(scmp_filter_ctx filter, int call)
{
	switch (call) {
	case __NR_openat:
		return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
					WITHOUT(2, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC));
	case __NR_mmap:
		return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
					WITHOUT(2, PROT_EXEC | PROT_WRITE))
			       ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 2,
						   WITHOUT(2, PROT_EXEC), WITHOUT(3, MAP_SHARED));
	case __NR_clone: /* fork(): no thread, no namespace, and no other's child */
		return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
					WITHOUT(0, ~(uint64_t)(CSIGNAL | CLONE_CHILD_SETTID |
							       CLONE_CHILD_CLEARTID)));
	case __NR_mprotect:
		return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
					WITHOUT(2, PROT_EXEC | PROT_WRITE));
	case __NR_prctl:
		return allow_prctl(filter);
	default:
		return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
	}
}

static int allow_all(scmp_filter_ctx filter, const int *calls)
{
	int error = 0;

	for (; calls && *calls != -1 && !error; calls++)
		error = *calls < 0 ? 0 : allow(filter, *calls);
	return error;
}

/* what happens to calls that no rule is about; those of another architecture end the child */
static scmp_filter_ctx begin_filter(uint32_t otherwise)
{
	scmp_filter_ctx filter = seccomp_init(otherwise);

	if (!filter || seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS))
		_exit(1);
	return filter;
}

/* error: of its rules */
static void load(scmp_filter_ctx filter, int error)
{
	if (error || (seccomp_load(filter) && prctl(PR_GET_SECCOMP) >= 0))
		_exit(1);
	seccomp_release(filter);
}

static bool lists(const int *calls, int call)
{
	for (; calls && *calls != -1; calls++)
		if (*calls == call)
			return true;
	return false;
}

/*
 * No library tries these, as it may try to open a file that is not there: whoever does has taken
 * the child over.
 */
static const int of_attackers[] = { __NR_execve,
				    __NR_execveat,
				    SCMP_SYS(vfork),
				    __NR_ptrace,
				    __NR_process_vm_readv,
				    __NR_process_vm_writev,
				    __NR_kill,
				    __NR_tkill,
				    __NR_pidfd_open,
				    __NR_pidfd_getfd,
				    __NR_pidfd_send_signal,
				    __NR_socket,
				    __NR_connect,
				    __NR_bind,
				    __NR_sendmsg,
				    __NR_unshare,
				    __NR_setns,
				    __NR_mount,
				    __NR_umount2,
				    __NR_chroot,
				    __NR_pivot_root,
				    __NR_bpf,
				    __NR_perf_event_open,
				    __NR_init_module,
				    __NR_finit_module,
				    __NR_kexec_load,
				    __NR_reboot,
				    __NR_keyctl,
				    __NR_add_key,
				    __NR_request_key,
				    __NR_io_uring_setup,
				    __NR_userfaultfd,
				    __NR_memfd_create,
				    __NR_setuid,
				    __NR_setgid,
				    __NR_setresuid,
				    __NR_setresgid,
				    SCMP_SYS(unlink),
				    __NR_unlinkat,
				    SCMP_SYS(rename),
				    SCMP_SYS(renameat),
				    __NR_renameat2,
				    SCMP_SYS(link),
				    __NR_linkat,
				    SCMP_SYS(symlink),
				    __NR_symlinkat,
				    SCMP_SYS(chmod),
				    __NR_fchmod,
				    __NR_fchmodat,
				    SCMP_SYS(chown),
				    __NR_fchown,
				    __NR_fchownat,
				    __NR_truncate,
				    __NR_ftruncate,
				    SCMP_SYS(mkdir),
				    __NR_mkdirat,
				    SCMP_SYS(mknod),
				    __NR_mknodat,
				    __NR_sethostname,
				    __NR_settimeofday,
				    __NR_acct,
				    __NR_swapon,
				    __NR_swapoff,
				    __NR_splice,
				    __NR_open_by_handle_at,
				    SCMP_SYS(iopl),
				    SCMP_SYS(ioperm),
				    -1 };

void child_limit_system_calls(const int *allowed, const int *more)
{
	static const int of_memory[] = { __NR_mmap, __NR_mprotect, -1 };
	scmp_filter_ctx filter = begin_filter(SCMP_ACT_ERRNO(EPERM));
	int error = allow_all(filter, of_memory) ?: allow_all(filter, allowed);

	error = error ?: allow_all(filter, more);
	for (const int *call = of_attackers; *call != -1 && !error; call++)
		if (*call >= 0 && !lists(allowed, *call) && !lists(more, *call))
			error = seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, *call, 0);
	load(filter, error);
}

/* calls that the machine does not have are negative */
static int forbid(scmp_filter_ctx filter, uint32_t how, const int *calls)
{
	int error = 0;

	for (; *calls != -1 && !error; calls++)
		error = *calls < 0 ? 0 : seccomp_rule_add(filter, how, *calls, 0);
	return error;
}

static int refuse_fcntl(scmp_filter_ctx filter, uint32_t command)
{
	return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), __NR_fcntl, 1,
				SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, command));
}

void child_limit_to_writing(const char *directory)
{
	/* what touches other processes of the user, or the kernel, needs no capability */
	static const int fatal[] = {
		__NR_execve,
		__NR_execveat,
		__NR_ptrace,
		__NR_process_vm_readv,
		__NR_process_vm_writev,
		__NR_kill,
		__NR_tkill,
		__NR_rt_sigqueueinfo,
		__NR_rt_tgsigqueueinfo,
		__NR_pidfd_open,
		__NR_pidfd_send_signal,
		__NR_pidfd_getfd,
		__NR_process_madvise,
		__NR_migrate_pages,
		__NR_move_pages,
		__NR_kcmp,
		__NR_bpf,
		__NR_perf_event_open,
		__NR_userfaultfd,
		__NR_io_uring_setup,
		__NR_keyctl,
		__NR_add_key,
		__NR_request_key,
		__NR_unshare,
		__NR_setns,
		__NR_mount,
		__NR_umount2,
		SCMP_SYS(iopl),
		-1,
	};
	/*
	 * nor does what changes whose its files are and who may write them; a library may try these
	 */
	static const int refused[] = {
		__NR_setpriority,
		__NR_sched_setscheduler,
		__NR_sched_setattr,
		__NR_sched_setparam,
		__NR_sched_setaffinity,
		__NR_ioprio_set,
		SCMP_SYS(chmod),
		__NR_fchmod,
		__NR_fchmodat,
		NR_FCHMODAT2,
		SCMP_SYS(chown),
		SCMP_SYS(lchown),
		__NR_fchown,
		__NR_fchownat,
		__NR_setxattr,
		__NR_lsetxattr,
		__NR_fsetxattr,
		__NR_removexattr,
		__NR_lremovexattr,
		__NR_fremovexattr,
		NR_SETXATTRAT,
		NR_REMOVEXATTRAT,
		NR_FILE_SETATTR,
		__NR_memfd_create,
		-1,
	};
	static const uint64_t namespaces[] = {
		CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,    CLONE_NEWNET,
		CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP,
	};
	const uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
	scmp_filter_ctx filter = begin_filter(SCMP_ACT_ALLOW);
	int error = forbid(filter, SCMP_ACT_KILL_PROCESS, fatal) ?: forbid(filter, refuse, refused);

	for (size_t i = 0; !error && i < sizeof(namespaces) / sizeof(namespaces[0]); i++)
		error = seccomp_rule_add(filter, refuse, __NR_clone, 1,
					 SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]));
	/* a signal to another process */
	if (!error)
		error = refuse_fcntl(filter, F_SETOWN) ?: refuse_fcntl(filter, F_SETOWN_EX)
			?: refuse_fcntl(filter, F_SETSIG);
	if (!error) /* the C library then calls clone() */
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), __NR_clone3, 0);
	if (!error)
		error = seccomp_rule_add(filter, refuse, __NR_tgkill, 1,
					 SCMP_A0(SCMP_CMP_NE, getpid()))
				?: seccomp_rule_add(filter, refuse, __NR_prlimit64, 1,
						    SCMP_A0(SCMP_CMP_NE, 0));
	forbid_privileges();
	child_drop_rights();
	limit_writing(directory);
	load(filter, error);
}

void child_set_signals(void)
{
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	sigset_t all;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
		signal(fatal[i], SIG_DFL);
		sigdelset(&all, fatal[i]);
	}
	sigprocmask(SIG_SETMASK, &all, NULL);
}
