// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * unharmed MODE...: does what an observer may break, and prints what came of it, the same in each
 * run. Exits with 3, or with 77 where the kernel or the C library lacks something.
 *
 * plain, jumps, signals, vfork, fork, threads, clone, coroutines, backtrace, dlopen=LIBRARY (of
 * which answer() is called), io_uring, seccomp
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <execinfo.h>
#include <ucontext.h>
#endif

#define NOINLINE __attribute__((noipa, noinline))
#define STACK    65536

static char stacks[4][STACK];

/* ---- calls that are watched: f() is called within one, and within several ---- */

NOINLINE static long within(void (*f)(long), long n)
{
	f(n);
	return n + 1;
}

NOINLINE static long deep(int depth, void (*f)(long), long n)
{
	long result = depth ? deep(depth - 1, f, n) : within(f, n);

	asm volatile("" : : : "memory"); /* no loop instead of the calls */
	return result + 1;
}

static int status_of(pid_t child)
{
	int status = -1;

	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
}

/* ---- the modes ---- */

static volatile long nr;

NOINLINE static void counts(long n)
{
	nr += n;
}

NOINLINE static void tail_calls(long n)
{
	counts(2 * n);
}

NOINLINE static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/*
 * two first instructions that Linux takes for others, and skips behind a probe: the result is 2
 * then, and not 5
 */
asm(".text\n"
    ".type exchanges, @function\n"
    "exchanges: xchg %rax, %r8\n"
    "	ret\n"
    ".size exchanges, . - exchanges\n"
    ".type exchanged, @function\n"
    "exchanged: mov $2, %eax\n"
    "	mov $5, %r8d\n"
    "	call exchanges\n"
    "	ret\n"
    ".size exchanged, . - exchanged\n"
    ".type vectors, @function\n"
    "vectors: vmovd %xmm0, %eax\n"
    "	ret\n"
    ".size vectors, . - vectors\n"
    ".type vectored, @function\n"
    "vectored: mov $5, %eax\n"
    "	movd %eax, %xmm0\n"
    "	mov $2, %eax\n"
    "	call vectors\n"
    "	ret\n"
    ".size vectored, . - vectored\n");
long exchanged(void), vectored(void);

static void plain(void)
{
	int numbers[500];
	long sum = 0;

	for (int i = 0; i < 500; i++) {
		numbers[i] = i * 7919 % 500;
		sum += deep(i % 20, i % 2 ? counts : tail_calls, i);
	}
	qsort(numbers, 500, sizeof(int), compare);
	printf("plain: %ld, %ld, %d, %d, %ld, %ld\n", sum, nr, numbers[0], numbers[499],
	       exchanged(), __builtin_cpu_supports("avx") ? vectored() : 5);
}

static sigjmp_buf place;

NOINLINE static void jumps_out(long n)
{
	siglongjmp(place, n);
}

static void jumps(void)
{
	volatile long sum = 0, i;
	int n;

	for (i = 1; i <= 200; i++) {
		n = sigsetjmp(place, i % 2);
		if (n)
			sum = sum + n;
		else
			deep(i % 30, jumps_out, i);
	}
	printf("jumps: %ld\n", sum);
}

static volatile sig_atomic_t handled;

static void on_signal(int signal)
{
	handled++;
	within(counts, signal ? 1 : 0);
}

static void on_signal_jumps(int signal)
{
	within(jumps_out, signal);
}

NOINLINE static void raises(long n)
{
	raise(n);
}

NOINLINE static void faults(long n)
{
	*(volatile int *)n = 1;
}

static void signals(void)
{
	struct sigaction counted = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	struct sigaction left = { .sa_handler = on_signal_jumps, .sa_flags = SA_ONSTACK };
	struct itimerval every = { { 0, 500 }, { 0, 500 } }, never = { 0 };
	stack_t stack = { .ss_sp = stacks[0], .ss_size = STACK };
	volatile int i, left_by_signal = 0, left_by_fault = 0;
	long sum = 0, n = 0;

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &counted, NULL);
	sigaction(SIGUSR2, &left, NULL);
	sigaction(SIGSEGV, &left, NULL);
	sigaction(SIGALRM, &counted, NULL);
	for (i = 0; i < 100; i++) {
		deep(i % 10, raises, SIGUSR1);
		if (sigsetjmp(place, 1))
			left_by_signal = left_by_signal + 1;
		else
			deep(i % 10, raises, SIGUSR2);
		if (sigsetjmp(place, 1))
			left_by_fault = left_by_fault + 1;
		else
			deep(i % 10, faults, 8);
	}
	printf("signals: %d handled, %d left by a signal, %d by a fault\n", handled, left_by_signal,
	       left_by_fault);
	/* they interrupt the functions at any instruction */
	setitimer(ITIMER_REAL, &every, NULL);
	for (handled = 0; handled < 100; n++)
		sum += deep(n % 10, counts, 1) - (n % 10 + 3);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("signals: wrong results while interrupted: %ld\n", sum);
}

NOINLINE static void vforks(long n)
{
	volatile long exit_status = n;
	pid_t child = vfork();

	if (!child) {
		if (exit_status == 0)
			execl("/bin/true", "true", (char *)NULL);
		_exit(within(counts, exit_status) - 1);
	}
	if (status_of(child) == exit_status)
		nr++;
}

static void vfork_mode(void)
{
	long sum = 0;

	nr = 0;
	for (int i = 0; i < 20; i++)
		sum += deep(i % 10, vforks, i % 3 * 2);
	printf("vfork: %ld, %ld\n", sum, nr);
}

static pid_t forked;

NOINLINE static void forks(long n)
{
	fflush(stdout);
	forked = fork();
	nr += n;
}

/* the child returns through calls that its parent entered */
static void fork_mode(void)
{
	long good = 0;

	for (int i = 0; i < 20; i++) {
		long sum = deep(i, forks, 1);

		if (!forked)
			exit(sum);
		good += status_of(forked) == i + 3;
	}
	printf("fork: %ld children\n", good);
}

NOINLINE static void ends_thread(long n)
{
	pthread_exit((void *)n);
}

NOINLINE static void waits_for_ever(long n)
{
	for (;;)
		sleep(n);
}

static void cleaned_up(void *number)
{
	__atomic_fetch_add((long *)number, 1, __ATOMIC_RELAXED);
}

static long clean;

NOINLINE static void does_nothing(long n)
{
	asm volatile("" : : "r"(n));
}

static void *thread(void *number)
{
	long n = (long)number, sum = 0;

	pthread_cleanup_push(cleaned_up, &clean);
	for (int i = 0; i < 100; i++)
		sum += deep(i % 10, does_nothing, n) - (i % 10 + 2);
	deep(n % 10, n % 2 ? waits_for_ever : ends_thread, sum / 100);
	pthread_cleanup_pop(0);
	return NULL;
}

static void threads(void)
{
	pthread_t all[16];
	long sum = 0, canceled = 0;
	void *result;

	for (long i = 0; i < 16; i++)
		pthread_create(&all[i], NULL, thread, (void *)i);
	for (int i = 0; i < 16; i++) {
		if (i % 2)
			pthread_cancel(all[i]);
		pthread_join(all[i], &result);
		if (result == PTHREAD_CANCELED)
			canceled++;
		else
			sum += (long)result;
	}
	printf("threads: %ld, %ld canceled, %ld cleaned up\n", sum, canceled, clean);
}

static int with_our_memory(void *number)
{
	return within(counts, *(long *)number) - 1;
}

static void clone_mode(void)
{
	long good = 0;

	for (long n = 0; n < 20; n++)
		good += status_of(clone(with_our_memory, stacks[0] + STACK, CLONE_VM | SIGCHLD,
					&n)) == n;
	printf("clone: %ld processes in our memory\n", good);
}

#ifdef __GLIBC__
static ucontext_t loop, contexts[4];

NOINLINE static void takes_turn(long which)
{
	swapcontext(&contexts[which], &loop);
	nr++;
}

static void in_context(int which)
{
	for (int i = 0;; i++)
		deep(i % 5, takes_turn, which);
}

static void coroutines(void)
{
	nr = 0;
	for (int i = 0; i < 4; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = STACK;
		makecontext(&contexts[i], (void (*)())in_context, 1, i);
	}
	for (int i = 0; i < 400; i++)
		swapcontext(&loop, &contexts[i * 7 % 4]);
	printf("coroutines: %ld turns\n", nr);
}

NOINLINE static void reads_stack(long n)
{
	void *frames[64];

	nr += backtrace(frames, 64) * n;
}

static void backtraces(void)
{
	nr = 0;
	deep(0, reads_stack, 1);
	for (int i = 0, least = nr; i < 20; i++) {
		nr = 0;
		deep(i, reads_stack, 1);
		printf("%s%ld", i ? " " : "backtrace: frames more: ", nr - least);
	}
	printf("\n");
}
#else
static void coroutines(void)
{
	exit(77);
}

static void backtraces(void)
{
	exit(77);
}
#endif

static void dlopens(const char *library)
{
	long sum = 0;

	for (int i = 0; i < 50; i++) {
		void *handle = dlopen(library, i % 2 ? RTLD_NOW : RTLD_LAZY);
		int (*answer)(void) = handle ? (int (*)(void))dlsym(handle, "answer") : NULL;

		sum += answer ? answer() : 0;
		if (handle)
			dlclose(handle);
	}
	printf("dlopen: %ld\n", sum);
}

/* 64 times nothing, without liburing */
static void io_uring(void)
{
	struct io_uring_params params = { 0 };
	int fd = syscall(SYS_io_uring_setup, 64, &params), done;
	unsigned *sq, *array;
	struct io_uring_sqe *entries;

	if (fd < 0)
		exit(77);
	sq = mmap(NULL, params.sq_off.array + 64 * sizeof(*array), PROT_READ | PROT_WRITE,
		  MAP_SHARED, fd, IORING_OFF_SQ_RING);
	entries = mmap(NULL, 64 * sizeof(*entries), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       IORING_OFF_SQES);
	array = (unsigned *)((char *)sq + params.sq_off.array);
	for (int i = 0; i < 64; i++) {
		entries[i].opcode = IORING_OP_NOP;
		array[i] = i;
	}
	__atomic_store_n((unsigned *)((char *)sq + params.sq_off.tail), 64, __ATOMIC_RELEASE);
	done = syscall(SYS_io_uring_enter, fd, 64, 64, IORING_ENTER_GETEVENTS, NULL, 0);
	printf("io_uring: %d done\n", done);
	close(fd);
}

/* a process that may do no more than write and end */
static void seccomp(void)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		long sum = 0;

		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		for (int i = 0; i < 200; i++)
			sum += deep(i % 10, counts, 1) - (i % 10 + 3);
		syscall(SYS_exit, 11 + sum);
	}
	printf("seccomp: ends with %d\n", status_of(child));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{ "plain", plain },           { "jumps", jumps },          { "signals", signals },
		{ "vfork", vfork_mode },      { "fork", fork_mode },       { "threads", threads },
		{ "coroutines", coroutines }, { "backtrace", backtraces }, { "clone", clone_mode },
		{ "io_uring", io_uring },     { "seccomp", seccomp },
	};

	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "dlopen=", 7))
			dlopens(argv[i] + 7);
		for (size_t m = 0; m < sizeof(modes) / sizeof(*modes); m++)
			if (!strcmp(argv[i], modes[m].name))
				modes[m].run();
	}
	fflush(stdout);
	return 3;
}
