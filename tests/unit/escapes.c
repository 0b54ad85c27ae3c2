// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a worker, or a child of one, could try once a hostile file has taken it over: each attempt must fail. Run as root: else
 * there is less to lose.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/opening.h"
#include "dwarf/bounded_child.h"
#include "dwarf/regular_file.h"
#include "process/mapped_file.h"
#include "process/workers.h"
#include "check.h"

static char file[] = "/tmp/escapes.XXXXXX";	/* root's, 0600 */
static char name[sizeof(file) + sizeof(".debug")];	/* a link to it */
static struct file_key key;			/* of it */
static pid_t tool;

static bool maps(int flags, int prot)
{
	int fd = open(file, O_RDWR);
	bool mapped = fd >= 0 && mmap(NULL, 4096, prot, flags, fd, 0) != MAP_FAILED;

	close(fd);
	return mapped;
}

static bool makes_executable(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page != MAP_FAILED && !mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

/* i386's execve() by its number, which is another call's here */
static bool calls_as_i386(void)
{
	long result = 11;

	asm volatile("int $0x80" : "+a"(result) : "b"(0), "c"(0), "d"(0) : "memory");
	return true;	/* it came back: the filter took it for one of ours */
}

static bool writes_to_tool(void)
{
	char byte = 0;
	struct iovec here = { &byte, 1 }, there = { file, 1 };

	return process_vm_writev(tool, &here, 1, &there, 1, 0) > 0;
}

#define CALL(...) (syscall(__VA_ARGS__) != -1)
#define TRY(what) do { if (which == n++ && (what)) return true; } while (0)

static bool reads_tool(void)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { file, 1 };

	return process_vm_readv(tool, &here, 1, &there, 1, 0) > 0;
}

static bool has_rights(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct has[2] = {};

	return !syscall(__NR_capget, &header, has) && (has[0].permitted || has[1].permitted || has[0].effective || has[1].effective);
}

static bool asks(const char *path, int directory, bool follow)
{
	return regular_file_open(directory, path, follow) > 0;
}

/* the secret as a file that some process had mapped, and of which all is known */
static bool asks_for_mapped(void)
{
	const struct mapped_file mapped = { .tid = tool, .start = 0x1000, .end = 0x2000, .path = file };

	return mapped_file_open(&mapped, &key, NULL) > 0 || mapped_file_root(&mapped, &key) > 0;
}

static bool asks_for_nonsense(enum opening_kind kind, enum proc_file of)
{
	const struct opening opening = { .kind = kind, .file = of, .pid = tool };
	struct opened opened;

	return opening_ask(&opening, -1, &opened) >= 0;
}

/* what a worker could try, besides: it has an opener to ask */
static bool attempt_by_worker(unsigned which, unsigned *nr)
{
	unsigned n = 0;

	TRY(open("/proc/self/status", O_RDONLY) >= 0);
	TRY(open("/etc/passwd", O_RDONLY) >= 0);
	TRY(CALL(__NR_open, "/etc/passwd", O_RDONLY));
	TRY(CALL(__NR_openat2, AT_FDCWD, "/etc/passwd", &(struct open_how){}, sizeof(struct open_how)));
	TRY(CALL(__NR_name_to_handle_at, AT_FDCWD, "/etc/passwd", NULL, NULL, 0));
	TRY(CALL(__NR_open_by_handle_at, 0, NULL, 0));
	TRY(reads_tool());
	TRY(has_rights());
	TRY(!asks("/etc/passwd", -1, true));	/* which everybody may read */
	TRY(asks(file, -1, true));
	TRY(asks(file + 1, proc_open(-1, tool, PROC_ROOT), true));
	TRY(asks(name, -1, true));
	TRY(asks(name, -1, false));
	TRY(asks("/etc/shadow", -1, true));
	TRY(asks("/dev/null", -1, true));
	TRY(asks("/proc/self/environ", -1, true));
	TRY(asks("/proc/1/environ", -1, true));
	TRY(asks("environ", proc_open(-1, tool, PROC_DIRECTORY), true));
	TRY(asks("/proc/self/fd/0", -1, true));
	TRY(asks("/etc", -1, true));
	TRY(asks_for_mapped());
	TRY(proc_open(proc_open(-1, tool, PROC_ROOT), 0, PROC_STATUS) > 0);
	TRY(asks_for_nonsense(COMPARE_ROOT + 1, 0));
	TRY(asks_for_nonsense(-1, 0));
	TRY(asks_for_nonsense(OPEN_PROC, NR_PROC_FILES));
	TRY(asks_for_nonsense(OPEN_PROC, -1));
	TRY(write(proc_open(-1, tool, PROC_MEM), "x", 1) >= 0);
	*nr = n;
	return false;
}

/* one of the attempts; false: it failed, as it should. nr: how many there are */
static bool attempt(unsigned which, unsigned *nr)
{
	unsigned n = 0;

	TRY(CALL(__NR_execve, "/bin/true", NULL, NULL));
	TRY(CALL(__NR_execveat, AT_FDCWD, "/bin/true", NULL, NULL, 0));
	TRY(open(file, O_RDWR) >= 0);
	TRY(open(file, O_WRONLY | O_TRUNC) >= 0);
	TRY(open("/tmp/escaped", O_WRONLY | O_CREAT, 0600) >= 0);
	TRY(maps(MAP_SHARED, PROT_READ | PROT_WRITE));
	TRY(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	TRY(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	TRY(makes_executable());
	TRY(malloc((size_t)8 << 30));
	TRY(write(0, "x", 1) > 0 || write(1, "x", 1) > 0);
	TRY(CALL(__NR_pwrite64, 0, "x", 1, 0));
	TRY(unlink(file) == 0);
	TRY(rename(file, "/tmp/escaped") == 0);
	TRY(link(file, "/tmp/escaped") == 0);
	TRY(symlink(file, "/tmp/escaped") == 0);
	TRY(chmod(file, 0666) == 0);
	TRY(chown(file, 65534, 65534) == 0);
	TRY(truncate(file, 0) == 0);
	TRY(mkdir("/tmp/escaped", 0777) == 0);
	TRY(mknod("/tmp/escaped", S_IFCHR | 0666, 0x101) == 0);
	TRY(kill(tool, 0) == 0);
	TRY(kill(1, 0) == 0);
	TRY(CALL(__NR_tgkill, tool, tool, 0));
	TRY(CALL(__NR_pidfd_open, tool, 0));
	TRY(ptrace(PTRACE_ATTACH, tool, 0, 0) == 0);
	TRY(writes_to_tool());
	TRY(open("/proc/self/mem", O_RDWR) >= 0);
	TRY(socket(AF_INET, SOCK_STREAM, 0) >= 0);
	TRY(socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
	TRY(socket(AF_NETLINK, SOCK_RAW, 0) >= 0);
	TRY(connect(0, &(struct sockaddr){ .sa_family = AF_UNSPEC }, sizeof(struct sockaddr)) == 0);
	TRY(mount("none", "/mnt", "tmpfs", 0, NULL) == 0);
	TRY(umount("/proc") == 0);
	TRY(chroot("/tmp") == 0);
	TRY(unshare(CLONE_NEWUSER) == 0);
	TRY(unshare(CLONE_NEWNS) == 0);
	TRY(CALL(__NR_setns, 0, 0));
	TRY(CALL(__NR_clone3, NULL, 0));
	TRY(CALL(__NR_vfork));
	TRY(CALL(__NR_bpf, 0, NULL, 0));
	TRY(CALL(__NR_perf_event_open, NULL, 0, -1, -1, 0));
	TRY(CALL(__NR_init_module, NULL, 0, ""));
	TRY(CALL(__NR_kexec_load, 0, 0, NULL, 0));
	TRY(CALL(__NR_reboot, 0, 0, 0, NULL));
	TRY(CALL(__NR_keyctl, 0, 0, 0, 0, 0));
	TRY(CALL(__NR_io_uring_setup, 1, NULL));
	TRY(CALL(__NR_userfaultfd, 0));
	TRY(CALL(__NR_memfd_create, "x", 0));
	TRY(CALL(__NR_setuid, 0));
	TRY(setresuid(0, 0, 0) == 0);
	TRY(setresgid(0, 0, 0) == 0);
	TRY(prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) >= 0 && prctl(PR_SET_SECUREBITS, 0) == 0);
	TRY(CALL(__NR_sethostname, "escaped", 7));
	TRY(CALL(__NR_settimeofday, NULL, NULL));
	TRY(CALL(__NR_acct, NULL));
	TRY(CALL(__NR_swapoff, "/tmp"));
	TRY(CALL(__NR_iopl, 3));
	TRY(CALL(__NR_ioctl, 0, 0x5412, "x"));		/* TIOCSTI */
	TRY(CALL(__NR_splice, 0, NULL, 1, NULL, 1, 0));
	TRY(CALL(__NR_getpid | 0x40000000));		/* x32's */
	TRY(calls_as_i386());
	*nr = n;
	return false;
}

struct attempted {
	unsigned which, nr;
	bool escaped;
};

static void run(struct attempted *a)
{
	a->escaped = attempt(a->which, &a->nr);
}

/* and what only a worker has: it comes last */
static void run_in_worker(struct attempted *a)
{
	unsigned nr = 0;

	run(a);
	if (a->nr && !a->escaped)
		a->escaped = attempt_by_worker(a->which - a->nr, &nr);
	a->nr += nr;
}

static size_t work(void *arg, void *area, size_t bytes, size_t room)
{
	(void)arg, (void)bytes, (void)room;
	run_in_worker(area);
	return sizeof(struct attempted);
}

static size_t answer(void *arg, const char *request, size_t bytes, char *reply, size_t max)
{
	struct attempted a;

	(void)arg, (void)bytes, (void)max;
	memcpy(&a, request, sizeof(a));
	run(&a);
	memcpy(reply, &a, sizeof(a));
	return sizeof(a);
}

/* All attempts, each in a worker that may have died of the last one. */
static void test_worker(bool parent)
{
	struct worker_limits limits = { .cpu_ms = 500, .bytes = 64 << 20, .parent = parent };
	unsigned nr = 1;
	struct workers *w;

	check(!workers_new(&w, 1, 1 << 20, &limits, work, NULL));
	for (unsigned i = 0; i < nr; i++) {
		struct attempted a = { .which = i };
		struct worker_answer got = workers_call(w, &a, sizeof(a));

		if (!got.error)
			memcpy(&a, got.bytes, sizeof(a));
		check(got.error == -ECHILD || (!got.error && !a.escaped), "attempt %u of a worker%s: %d", i,
		      parent ? " with children" : "", got.error);
		if (!got.error && a.nr > nr)
			nr = a.nr;
	}
	check(nr > 60, "%u attempts", nr);
	workers_free(w);
}

/* of which only the answer tells */
static void prepare(void *arg)
{
	run(arg);
}

static size_t answer_prepared(void *arg, const char *request, size_t bytes, char *reply, size_t max)
{
	(void)request, (void)bytes, (void)max;
	memcpy(reply, arg, sizeof(struct attempted));
	return sizeof(struct attempted);
}

static void test_bounded_child(bool preparing)
{
	struct attempted a;
	const struct bounded_work bounded = {
		.max_bytes = 64 << 20, .prepare_ms = 500, .answers_bytes = 64 << 20, .answer_ms = 500, .reply_ms = 5000,
		.prepare = preparing ? prepare : NULL, .answer = preparing ? answer_prepared : answer, .arg = &a,
	};
	unsigned nr = 1;

	for (unsigned i = 0; i < nr; i++) {
		struct attempted got = {};
		struct bounded_child child = {};

		a = (struct attempted){ .which = i };
		check(bounded_child_start(&child, &bounded));
		if (bounded_child_ask(&child, &a, sizeof(a), &got, sizeof(got)) == sizeof(got) && got.nr > nr)
			nr = got.nr;
		check(!got.escaped, "attempt %u of a bounded child%s", i, preparing ? " that prepares" : "");
		bounded_child_stop(&child);
	}
	check(nr > 60, "%u attempts", nr);
}

int main(void)
{
	struct stat before, after;
	int fd = mkstemp(file);

	if (getuid()) {
		printf("ok # skip needs root\n");
		return 0;
	}
	tool = getpid();
	check(fd >= 0 && write(fd, "root's", 6) == 6 && !fstat(fd, &before));
	snprintf(name, sizeof(name), "%s.debug", file);
	check(!symlink(file, name) && !close(regular_file_find(-1, file, true, &key)));
	test_worker(false);
	test_worker(true);
	test_bounded_child(false);
	test_bounded_child(true);
	check(!fstat(fd, &after) && after.st_size == 6 && after.st_nlink == 1 && after.st_mode == before.st_mode && !after.st_uid);
	check(access("/tmp/escaped", F_OK), "nothing was made");
	unlink(file);
	unlink(name);
	return check_done();
}
