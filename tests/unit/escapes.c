// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a worker, or a child of one, could try once a hostile file has taken it over: each attempt
 * must fail. Run as root: else there is less to lose.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child_limits.h"
#include "dwarf/bounded_child.h"
#include "live/server_child.h"
#include "process/workers.h"
#include "check.h"

static char file[] = "/tmp/escapes.XXXXXX";           /* root's, 0600 */
static char open_file[] = "/tmp/escapes-open.XXXXXX"; /* root's, 0666 */
/* a directory of root's, in which one kind of worker may write */
static char kept[] = "/tmp/escapes-kept.XXXXXX";
static bool has_landlock;
static pid_t tool;
static char link_room[64];

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

#ifdef __x86_64__
/* i386's execve() by its number, which is another call's here */
static bool calls_as_i386(void)
{
	long result = 11;

	asm volatile("int $0x80" : "+a"(result) : "b"(0), "c"(0), "d"(0) : "memory");
	return true; /* it came back: the filter took it for one of ours */
}
#endif

static bool writes_to_tool(void)
{
	char byte = 0;
	struct iovec here = { &byte, 1 }, there = { file, 1 };

	return process_vm_writev(tool, &here, 1, &there, 1, 0) > 0;
}

#define CALL(...) (syscall(__VA_ARGS__) != -1)

static bool passes_descriptor(void)
{
	char control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec data = { file, 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	*header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
				    .cmsg_level = SOL_SOCKET,
				    .cmsg_type = SCM_RIGHTS };
	return sendmsg(0, &message, 0) > 0;
}

static bool reads_from_tool(void)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { file, 1 };

	return process_vm_readv(tool, &here, 1, &there, 1, 0) > 0;
}

static int openat2(const char *path, uint64_t flags, uint64_t mode)
{
	struct {
		uint64_t flags, mode, resolve;
	} how = { flags, mode, 0 };

	return syscall(__NR_openat2, AT_FDCWD, path, &how, sizeof(how));
}

static bool opens_memory_of(pid_t pid, int how)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	return open(path, how) >= 0;
}

/* it never ends: whoever may start children may start 15 */
static bool floods(void)
{
	int nr = 0;
	pid_t pid;

	while ((pid = fork()) > 0 && nr < 200)
		nr++;
	if (!pid)
		pause();
	return nr > 15;
}

/* What a kind of worker may do by design */
enum {
	OPENS = 1, /* opens what everybody may read */
	READS = 2, /* reads all files and processes */
	/*
	 * keeps the tool's user, without capabilities, and uses the network and memory as it likes
	 */
	OWNS = 4,
	PASSES = 8,  /* passes open files on */
	SERVES = 16, /* writes to its sockets, and passes to them what it has */
	PARENT = 32, /* starts children, which limit themselves, and ends them */
};

#define NONE UINT_MAX /* of the attempts: they are only counted */

/* One of the attempts; false: it failed, as it should. nr: how many there are */
static bool attempt(unsigned which, unsigned may, unsigned *nr)
{
	const bool opens = may & (OPENS | READS | OWNS), reads = may & READS, owns = may & OWNS,
		   passes = may & (PASSES | OWNS | SERVES), serves = may & SERVES,
		   parent = may & PARENT;
	unsigned n = 0;

/* dies: of a call that no library tries; who lives on after it, whatever it returned, has escaped */
#define TRY(dies, what)                                 \
	do {                                            \
		if (which == n++ && ((what) || (dies))) \
			return true;                    \
	} while (0)
	TRY(true, CALL(__NR_execve, "/bin/true", NULL, NULL));
	TRY(true, CALL(__NR_execveat, AT_FDCWD, "/bin/true", NULL, NULL, 0));
	TRY(false, open(file, O_RDWR) >= 0);
	TRY(false, open(file, O_WRONLY | O_TRUNC) >= 0);
	TRY(false, open("/tmp/escaped", O_WRONLY | O_CREAT, 0600) >= 0);
	TRY(false, maps(MAP_SHARED, PROT_READ | PROT_WRITE));
	TRY(false, !owns && mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
				 0) != MAP_FAILED);
	TRY(false, !owns && mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				 0) != MAP_FAILED);
	TRY(false, !owns && makes_executable());
	TRY(false, malloc((size_t)8 << 30));
	TRY(false, !owns && !serves && (write(0, "x", 1) > 0 || write(1, "x", 1) > 0));
	TRY(false, CALL(__NR_pwrite64, 0, "x", 1, 0));
	TRY(!owns, unlink(file) == 0);
	TRY(!owns, rename(file, "/tmp/escaped") == 0);
	TRY(!owns, link(file, "/tmp/escaped") == 0);
	TRY(!owns, symlink(file, "/tmp/escaped") == 0);
	TRY(!owns, chmod(file, 0666) == 0);
	TRY(!owns, chown(file, 65534, 65534) == 0);
	TRY(!owns, truncate(file, 0) == 0);
	TRY(!owns, mkdir("/tmp/escaped", 0777) == 0);
	TRY(!owns, mknod("/tmp/escaped", S_IFCHR | 0666, 0x101) == 0);
	TRY(!parent, kill(tool, 0) == 0);
	TRY(!parent, kill(1, 0) == 0);
	TRY(false, CALL(__NR_tgkill, tool, tool, 0));
	TRY(true, CALL(__NR_pidfd_open, tool, 0));
	TRY(true, ptrace(PTRACE_ATTACH, tool, 0, 0) == 0);
	TRY(true, writes_to_tool());
	TRY(false, !owns && open("/proc/self/mem", O_RDWR) >= 0);
	TRY(false, opens_memory_of(tool, O_RDWR));
	TRY(false, !reads && opens_memory_of(tool, O_RDONLY));
	TRY(false, open(open_file, O_WRONLY) >= 0);
	TRY(false, has_landlock && !reads && openat2(open_file, O_WRONLY | O_TRUNC, 0) >= 0);
	TRY(false,
	    has_landlock && !reads && openat2("/tmp/escaped", O_WRONLY | O_CREAT, 0600) >= 0);
	TRY(false, !owns && floods());
	TRY(!owns, !owns && socket(AF_INET, SOCK_STREAM, 0) >= 0);
	TRY(!owns, !owns && socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
	TRY(!owns, !owns && socket(AF_NETLINK, SOCK_RAW, 0) >= 0);
	TRY(!owns, !owns && connect(0, &(struct sockaddr){ .sa_family = AF_UNSPEC },
				    sizeof(struct sockaddr)) == 0);
	TRY(true, mount("none", "/mnt", "tmpfs", 0, NULL) == 0);
	TRY(true, umount("/proc") == 0);
	TRY(!owns, chroot("/tmp") == 0);
	TRY(true, unshare(CLONE_NEWUSER) == 0);
	TRY(true, unshare(CLONE_NEWNS) == 0);
	TRY(true, CALL(__NR_setns, 0, 0));
	TRY(false, CALL(__NR_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
	TRY(false, !owns && CALL(__NR_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0));
	TRY(false, CALL(__NR_clone3, NULL, 0));
	TRY(true, CALL(__NR_bpf, 0, NULL, 0));
	TRY(true, CALL(__NR_perf_event_open, NULL, 0, -1, -1, 0));
	TRY(!owns, CALL(__NR_init_module, NULL, 0, ""));
	TRY(!owns, CALL(__NR_kexec_load, 0, 0, NULL, 0));
	TRY(!owns, CALL(__NR_reboot, 0, 0, 0, NULL));
	TRY(true, CALL(__NR_keyctl, 0, 0, 0, 0, 0));
	TRY(true, CALL(__NR_io_uring_setup, 1, NULL));
	TRY(true, CALL(__NR_userfaultfd, 0));
	TRY(!owns, CALL(__NR_memfd_create, "x", 0));
	TRY(!owns, !owns && CALL(__NR_setuid, 0));
	TRY(!owns && !parent, !owns && setresuid(0, 0, 0) == 0);
	TRY(!owns && !parent, !owns && setresgid(0, 0, 0) == 0);
	TRY(false, prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) >= 0 && prctl(PR_SET_SECUREBITS, 0) == 0);
	TRY(false, !owns && prctl(PR_SET_PDEATHSIG, 0) == 0);
	TRY(false, !owns && CALL(__NR_prctl, 1UL << 32 | PR_SET_PDEATHSIG, 0));
	TRY(!owns, CALL(__NR_sethostname, "escaped", 7));
	TRY(!owns, CALL(__NR_settimeofday, NULL, NULL));
	TRY(!owns, CALL(__NR_acct, NULL));
	TRY(!owns, CALL(__NR_swapoff, "/tmp"));
	TRY(false, CALL(__NR_ioctl, 0, 0x5412, "x")); /* TIOCSTI */
	TRY(!owns, !owns && CALL(__NR_splice, 0, NULL, 1, NULL, 1, 0));
	TRY(!passes, !passes && passes_descriptor());
	TRY(false, !reads && !owns && open(file, O_RDONLY) >= 0);
	TRY(false, !opens && open("/etc/passwd", O_RDONLY) >= 0);
	TRY(false, !opens && open("/proc/self/maps", O_RDONLY) >= 0);
	TRY(false, !opens && open("/", O_PATH) >= 0);
	TRY(false, !opens && openat2("/", O_PATH, 0) >= 0);
	TRY(!reads && !owns, !reads && CALL(__NR_open_by_handle_at, AT_FDCWD, NULL, 0));
	TRY(false, !opens && CALL(__NR_readlinkat, AT_FDCWD, "/proc/self/exe", link_room,
				  sizeof(link_room)));
	TRY(!reads, !reads && reads_from_tool());
#ifdef __x86_64__
	TRY(!owns, !owns && CALL(__NR_vfork));
	TRY(true, CALL(__NR_iopl, 3));
	TRY(true, CALL(__NR_getpid | 0x40000000)); /* x32's */
	TRY(true, calls_as_i386());
#endif
	*nr = n;
	return false;
}

struct attempted {
	unsigned which, may, nr;
	bool escaped;
};

static void run(struct attempted *a)
{
	a->escaped = attempt(a->which, a->may, &a->nr);
}

static size_t work(void *area, size_t bytes, size_t room, struct worker_file *file)
{
	(void)bytes, (void)room, (void)file;
	run(area);
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

static struct worker_file open_own(const void *request, size_t bytes)
{
	(void)request, (void)bytes;
	return (struct worker_file){ .fd = open(file, O_RDONLY | O_CLOEXEC) };
}

static const char *own_directory(void)
{
	return kept;
}

static size_t write_in_own(void *area, size_t bytes, size_t room, struct worker_file *worker_file)
{
	(void)bytes, (void)room, (void)worker_file;
	*(bool *)area = !chdir(kept) && open("made", O_WRONLY | O_CREAT, 0600) >= 0;
	return sizeof(bool);
}

/* It can do what it is for. */
static void test_writer(void)
{
	struct workers *w;
	bool written = false;

	check(!workers_new(&w, 1, 4096,
			   &(struct worker_limits){
				   .cpu_ms = 500, .bytes = 64 << 20, .writes = own_directory },
			   write_in_own));
	struct worker_answer got = workers_call(w, 0, "", 1, 0);
	if (!got.error)
		memcpy(&written, got.bytes, sizeof(written));
	check(written, "%d", got.error);
	workers_free(w);
}

/* All attempts, each in a worker that may have died of the last one. */
static void test_worker(struct worker_limits limits, const char *name)
{
	unsigned nr, may = READS;
	struct workers *w;

	if (limits.writes)
		may = OWNS;
	else if (limits.opens)
		may = READS | PASSES;
	else if (limits.open)
		may = 0;
	may |= limits.parent ? PARENT : 0;
	limits.cpu_ms = 500;
	limits.bytes = 64 << 20;
	attempt(NONE, 0, &nr);
	check(!workers_new(&w, 1, 1 << 20, &limits, work));
	for (unsigned i = 0; i <= nr; i++) {
		struct attempted a = { .which = i, .may = may };
		struct worker_answer got = workers_call(w, 0, &a, sizeof(a), 0);

		if (!got.error)
			memcpy(&a, got.bytes, sizeof(a));
		check((i < nr && (got.error == -ECHILD || got.error == -ETIME)) ||
			      (!got.error && !a.escaped),
		      "attempt %u of %s: %d", i, name, got.error);
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
		.max_bytes = 64 << 20,
		.prepare_ms = 500,
		.answers_bytes = 64 << 20,
		.answer_ms = 500,
		.reply_ms = 5000,
		.prepare = preparing ? prepare : NULL,
		.answer = preparing ? answer_prepared : answer,
		.arg = &a,
	};
	unsigned nr;

	attempt(NONE, 0, &nr);
	/* the last one, which is none, shows that the child answers */
	for (unsigned i = 0; i <= nr; i++) {
		struct attempted got = {};
		struct bounded_child child = {};

		a = (struct attempted){ .which = i, .may = preparing ? OPENS : 0 };
		check(bounded_child_start(&child, &bounded));
		bounded_child_ask(&child, &a, sizeof(a), &got, sizeof(got));
		check(!got.escaped && (i < nr || got.nr == nr), "attempt %u of a bounded child%s",
		      i, preparing ? " that prepares" : "");
		bounded_child_stop(&child);
	}
	check(nr > 60, "%u attempts", nr);
}

static void test_server(void)
{
	unsigned nr;

	attempt(NONE, 0, &nr);
	for (unsigned i = 0; i <= nr; i++) {
		struct attempted a = { .which = i, .may = SERVES };
		int ends[2];
		pid_t child;

		if (!check(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends)))
			return;
		child = fork();
		if (!child) {
			if (!child_keep_only(ends[1]))
				_exit(1);
			server_child_limit(1 << 20, tool);
			run(&a);
			send(0, &a, sizeof(a), 0);
			_exit(0);
		}
		close(ends[1]);
		recv(ends[0], &a, sizeof(a), 0);
		close(ends[0]);
		check(child > 0 && !a.escaped && (i < nr || a.nr == nr), "attempt %u of the server",
		      i);
		if (child > 0)
			waitpid(child, NULL, 0);
	}
}

int main(void)
{
	struct stat before, after;
	int fd = mkstemp(file), other = mkstemp(open_file);

	if (getuid()) {
		printf("ok # skip needs root\n");
		return 0;
	}
	tool = getpid();
	check(fd >= 0 && write(fd, "root's", 6) == 6 && !fstat(fd, &before));
	check(other >= 0 && write(other, "root's", 6) == 6 && !fchmod(other, 0666));
	check(mkdtemp(kept) != NULL);
	has_landlock = syscall(__NR_landlock_create_ruleset, NULL, 0,
			       LANDLOCK_CREATE_RULESET_VERSION) >= 3;
	test_worker((struct worker_limits){}, "a worker that reads");
	test_worker((struct worker_limits){ .parent = true }, "a worker with children");
	test_worker((struct worker_limits){ .opens = true }, "a worker that opens files");
	test_worker((struct worker_limits){ .open = open_own }, "a worker that parses");
	test_worker((struct worker_limits){ .open = open_own, .parent = true },
		    "a worker that parses, with children");
	if (has_landlock)
		test_worker((struct worker_limits){ .writes = own_directory },
			    "a worker that writes");
	test_writer();
	test_bounded_child(false);
	test_bounded_child(true);
	test_server();
	check(!fstat(other, &after) && after.st_size == 6);
	check(!fstat(fd, &after) && after.st_size == 6 && after.st_nlink == 1 &&
	      after.st_mode == before.st_mode && !after.st_uid);
	check(access("/tmp/escaped", F_OK), "nothing was made");
	unlink(file);
	unlink(open_file);
	check(!chdir(kept) && !unlink("made") && !rmdir(kept), "nothing else was made");
	return check_done();
}
