// SPDX-License-Identifier: GPL-2.0-or-later
/* Turns the log of a life into its intervals, which have no gaps. */
#include "wallprof/life_log.h"
#include "wallprof/timeline.h"
#include "wallprof/wall_recording.h"

struct visit {
	const struct timeline_visitor *visitor;
	const struct life *life;
	uint64_t from_ns, to_ns; /* of the life */
	uint64_t at_ns;          /* the intervals reach up to here */
	/* the last period: the run that follows it says when that began */
	struct logged_period period;
	bool has_period;
	uint32_t cpu; /* of the run that follows */
};

static int put(struct visit *v, struct interval interval, enum wall_state state, uint64_t to_ns)
{
	int error = 0;

	interval.state = state;
	interval.from_ns = v->at_ns > v->from_ns ? v->at_ns : v->from_ns;
	interval.to_ns = to_ns < v->to_ns ? to_ns : v->to_ns;
	if (interval.to_ns < to_ns && (state == WALL_BLOCKED || state == WALL_WAITING)) {
		interval.open = true;
		interval.waker = interval.cpu = 0;
	}
	v->at_ns = to_ns;
	if (interval.from_ns < interval.to_ns && v->visitor->interval)
		error = v->visitor->interval(v->visitor->arg, v->life, &interval);
	return error;
}

/* the last period, up to where the run after it begins */
static int put_period(struct visit *v, uint64_t run_ns)
{
	const struct logged_period *p = &v->period;
	struct interval interval = {
		.key = p->key, .waker = p->waker, .open = p->open, .cpu = p->open ? 0 : p->cpu
	};
	int error;

	if (!v->has_period)
		return put(v, (struct interval){}, WALL_WAITING, run_ns);
	v->has_period = false;
	error = put(v, interval, WALL_BLOCKED, p->woken_ns < run_ns ? p->woken_ns : run_ns);
	interval.waker = 0;
	return error ? error : put(v, interval, WALL_WAITING, run_ns);
}

/*
 * A run takes as long as the scheduler has counted: it ends where the thread left the CPU, and has
 * begun so long before. What the hypervisor and interrupts took of it lies before it, as waiting
 * for a CPU; what the scheduler counted before the switch is cut off the period before.
 */
static int put_run(struct visit *v, uint64_t to_ns, int64_t taken_ns, uint32_t nr_lost)
{
	uint64_t begun_ns = v->has_period ? v->period.ran_ns : v->at_ns,
		 run_ns = begun_ns + taken_ns;
	int error;

	if (nr_lost)
		run_ns = begun_ns; /* it is the last run that taken_ns is of */
	else if (taken_ns < 0 && (begun_ns - v->at_ns < (uint64_t)-taken_ns))
		run_ns = v->at_ns;
	else if (run_ns > to_ns)
		run_ns = to_ns;
	error = put_period(v, run_ns);
	if (error)
		return error;
	return nr_lost ? put(v, (struct interval){ .nr_lost = nr_lost }, WALL_LOST, to_ns)
		       : put(v, (struct interval){ .cpu = v->cpu }, WALL_RUNNING, to_ns);
}

static int visit_entry(void *arg, const struct log_entry *entry)
{
	struct visit *v = arg;
	int error;

	if (entry->kind == LOG_SAMPLE)
		return v->visitor->sample && entry->time_ns >= v->from_ns &&
				       entry->time_ns <= v->to_ns
			       ? v->visitor->sample(v->visitor->arg, v->life, entry->time_ns,
						    entry->key)
			       : 0;
	if (entry->kind == LOG_END)
		return put_run(v, entry->time_ns, entry->period.taken_ns, entry->nr_lost);
	error = put_run(v, entry->period.left_ns, entry->period.taken_ns, entry->nr_lost);
	v->period = entry->period;
	v->has_period = true;
	v->cpu = entry->period.cpu;
	return error;
}

int timeline_visit(const struct life *life, const struct timeline_visitor *visitor)
{
	struct visit visit = {
		.visitor = visitor, .life = life, .to_ns = UINT64_MAX, .cpu = NO_CPU
	};
	int error;

	if (life->recording)
		return wall_recording_visit(life->recording, life, visitor);
	visit.at_ns = life_log_from(life->log);
	if (life->cut) {
		visit.from_ns = life->from_ns;
		visit.to_ns = life->to_ns;
	}
	error = life_log_read(life->log, visit_entry, &visit);
	return error || !visit.has_period ? error : put_period(&visit, visit.period.ran_ns);
}
