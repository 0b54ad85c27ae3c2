// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/targets.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/cgroup.h"
#include "run/cli.h"
#include "run/descendants.h"

#define NR_LISTS (sizeof(((struct targets *)NULL)->of) / sizeof(((struct targets *)NULL)->of[0]))

static void open_list(struct target_list *l, const struct id_list *list, bool threads)
{
	*l = (struct target_list){
		.list = list,
		.threads = threads,
		.pids = calloc(list->nr, sizeof(*l->pids)),
		.fds = calloc(list->nr, sizeof(*l->fds)),
	};
	cli_check(list->nr && (!l->pids || !l->fds) ? -ENOMEM : 0, "watch the processes");
	for (size_t i = 0; i < list->nr; i++) {
		l->pids[i] = threads ? task_process_of(list->ids[i]) : list->ids[i];
		l->fds[i].events = POLLIN;
		l->fds[i].fd = l->pids[i] ? (int)syscall(SYS_pidfd_open, l->pids[i], 0) : -1;
		if (l->pids[i] && l->fds[i].fd < 0 && errno != ESRCH)
			cli_check(-errno, "watch the processes");
	}
}

void targets_open(struct targets *t, const struct task_filter *filter,
		  const struct bpf_object *object)
{
	*t = (struct targets){ .forks = filter->children ? object : NULL, .filter = filter };
	open_list(&t->of[0], &filter->pids, false);
	open_list(&t->of[1], &filter->tids, true);
}

/* A process has ended when its last thread has, even if nobody has waited for it yet. */
static bool has_ended(const struct target_list *l, size_t i)
{
	return l->fds[i].revents ||
	       (l->threads && syscall(SYS_tgkill, l->pids[i], l->list->ids[i], 0) &&
		errno == ESRCH);
}

static bool all_ended(struct target_list *l)
{
	size_t left = 0;

	if (l->list->nr)
		poll(l->fds, l->list->nr, 0);
	for (size_t i = 0; i < l->list->nr; i++) {
		if (l->fds[i].fd >= 0 && has_ended(l, i)) {
			close(l->fds[i].fd);
			l->fds[i].fd = -1;
		}
		left += l->fds[i].fd >= 0;
	}
	return l->list->nr && !left;
}

/* What is put on the list during a look may be missed. The next look finds it. */
static bool forks_ended(struct targets *t)
{
	t->nr_empty_looks = descendants_alive(t->forks, NULL) ? 0 : t->nr_empty_looks + 1;
	return t->nr_empty_looks > 1;
}

#define CGROUP_LOOK_NS 1000000000

/*
 * Was the cgroup removed? Another one may have its name by now, as that of a service that was
 * started again.
 */
static bool cgroup_ended(struct targets *t)
{
	uint64_t id = 0, now = clock_ns();
	int error;

	if (!t->filter->cgroup || now < t->cgroup_look_ns)
		return false;
	t->cgroup_look_ns = now + CGROUP_LOOK_NS;
	error = cgroup_id(t->filter->cgroup_path, &id);
	return error ? error == -ENOENT : id != t->filter->cgroup;
}

bool targets_ended(struct targets *t)
{
	t->of[0].ended = all_ended(&t->of[0]) && (!t->forks || forks_ended(t));
	t->of[1].ended = all_ended(&t->of[1]);
	t->cgroup_ended = cgroup_ended(t);
	return t->of[0].ended || t->of[1].ended || t->cgroup_ended;
}

void targets_close(struct targets *t)
{
	if (t->cgroup_ended)
		cli_warn("the cgroup '%s' was removed", t->filter->cgroup_path);
	for (size_t i = 0; i < NR_LISTS; i++) {
		struct target_list *l = &t->of[i];

		if (l->ended && l->list->nr == 1)
			cli_warn("%s %d%s ended", l->threads ? "thread" : "process",
				 l->list->ids[0],
				 t->forks ? " and all its descendants have" : " has");
		else if (l->ended)
			cli_warn("all %zu %s%s have ended", l->list->nr,
				 l->threads ? "threads" : "processes",
				 t->forks ? " and all their descendants" : "");
		for (size_t fd = 0; fd < l->list->nr; fd++)
			if (l->fds[fd].fd >= 0)
				close(l->fds[fd].fd);
		free(l->pids);
		free(l->fds);
	}
}
