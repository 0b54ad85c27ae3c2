/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The links by which a tool's programs are attached while it measures. They end when the process
 * exits, if not before.
 */
#ifndef EHPERF_KERNEL_LINKS_H
#define EHPERF_KERNEL_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/events.h"
#include "process/perf_events.h"

struct bpf_link;
struct bpf_object;
struct bpf_program;

struct link_of {
	struct bpf_link *link; /* NULL: fd is a link of the kernel's that libbpf does not know */
	int fd;
	const struct bpf_program *program;
};

struct links {
	struct link_of *links;
	size_t nr;
	uint64_t missed; /* links_missed() of those that were detached */
};

/* one place of a user function or a USDT probe */
struct user_probe {
	uint64_t file_offset, semaphore_offset;
	uint64_t cookie; /* for the program */
};

/*
 * Attaches a program where its section's name says; does nothing if it was not loaded.
 * "tp/GROUP/NAME" works without a mounted tracefs, by a private, detached mount for the moment. 0
 * or -errno
 */
int links_attach(struct links *links, struct bpf_program *program);

/* links_attach() for the program of this name; -ENOENT: there is none */
int links_attach_named(struct links *links, const struct bpf_object *object, const char *program);

/*
 * whether this kernel has the tracepoint "tp/GROUP/NAME" that the section names; false also if
 * tracefs cannot be read
 */
bool bpf_tracepoint_exists(const struct bpf_program *program);

/* Attaches the kprobe of this name to the entry of a system call, "munmap". 0 or -errno */
int links_attach_to_call(struct links *links, const struct bpf_object *object, const char *program,
			 const char *call);

/* Attaches a program to events, which may be closed afterwards. 0 or -errno */
int links_attach_to_events(struct links *links, struct bpf_program *program,
			   const struct perf_events *events);
/* links_attach_to_events() for one event */
int links_attach_to_event(struct links *links, struct bpf_program *program, int fd);

/*
 * Attaches a program to a tracepoint or to a function of the kernel; the program gets the cookie. 0
 * or -errno
 */
int links_attach_event(struct links *links, struct bpf_program *program, const struct event *event,
		       bool returns, uint64_t cookie);

/*
 * Before an object is loaded: lets each of its programs on user functions be attached to many
 * functions by one link, if the kernel can (Linux 6.10, and 6.6 with its fixes). One link for each
 * function would be slow to detach: each waits for a grace period.
 */
void links_prepare(struct bpf_object *object);

/*
 * Attaches a program to places in the code of an open file. returns: by return probes; pid: in this
 * process only, 0: in all. 0 or -errno
 */
int links_attach_user(struct links *links, struct bpf_program *program, int fd,
		      const struct user_probe *probes, size_t nr, bool returns, pid_t pid);

/* how many events these programs missed, because the program was already running on that CPU */
uint64_t links_missed(const struct links *links);

/* Detaches them all, in the order of attaching. */
void links_detach(struct links *links);

#endif
