// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/code_maker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct job {
	struct job *next;
	uint32_t id;
	int fd;
	struct unwind_table table;
};

struct code_maker {
	pthread_t thread;
	int made_fd;			/* an eventfd: counts the tables in `made` */
	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t changed;
	struct job *asked, *made;	/* the one that is being made is the first that was asked for */
	bool ends;
};

static struct job **last(struct job **jobs)
{
	while (*jobs)
		jobs = &(*jobs)->next;
	return jobs;
}

static void make(struct job *job)
{
	struct elf_file file;

	if (!elf_file_open(&file, job->fd)) {
		unwind_table_build_code(&job->table, &file);	/* empty on failure */
		elf_file_close(&file);
	}
}

static void *run(void *arg)
{
	struct code_maker *m = arg;

	pthread_mutex_lock(&m->lock);
	while (!m->ends) {
		struct job *job = m->asked;

		if (!job) {
			pthread_cond_wait(&m->changed, &m->lock);
			continue;
		}
		pthread_mutex_unlock(&m->lock);
		make(job);
		pthread_mutex_lock(&m->lock);
		m->asked = job->next;
		job->next = NULL;
		*last(&m->made) = job;
		eventfd_write(m->made_fd, 1);
		pthread_cond_broadcast(&m->changed);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

/* Signals are for the thread that waits for them. */
static int start(struct code_maker *m)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&m->thread, NULL, run, m);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

int code_maker_new(struct code_maker **maker)
{
	struct code_maker *m = calloc(1, sizeof(*m));
	int error;

	if (!m)
		return -ENOMEM;
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->changed, NULL);
	m->made_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	error = m->made_fd < 0 ? -errno : start(m);
	if (error) {
		if (m->made_fd >= 0)
			close(m->made_fd);
		free(m);
		return error;
	}
	*maker = m;
	return 0;
}

static void free_jobs(struct job *job)
{
	struct job *next;

	for (; job; job = next) {
		next = job->next;
		unwind_table_free(&job->table);
		close(job->fd);
		free(job);
	}
}

void code_maker_free(struct code_maker *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&m->lock);
	m->ends = true;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
	pthread_join(m->thread, NULL);
	free_jobs(m->asked);
	free_jobs(m->made);
	close(m->made_fd);
	free(m);
}

int code_maker_ask(struct code_maker *m, uint32_t id, int fd)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job) {
		close(fd);
		return -ENOMEM;
	}
	job->id = id;
	job->fd = fd;
	pthread_mutex_lock(&m->lock);
	*last(&m->asked) = job;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
	return 0;
}

int code_maker_fd(const struct code_maker *m)
{
	return m->made_fd;
}

uint32_t code_maker_take(struct code_maker *m, bool wait, struct unwind_table *table)
{
	struct job *job;
	eventfd_t count;
	uint32_t id;

	pthread_mutex_lock(&m->lock);
	while (wait && !m->made && m->asked)
		pthread_cond_wait(&m->changed, &m->lock);
	job = m->made;
	if (job)
		m->made = job->next;
	pthread_mutex_unlock(&m->lock);
	if (!job)
		return 0;
	eventfd_read(m->made_fd, &count);
	*table = job->table;
	job->table = (struct unwind_table){};
	job->next = NULL;
	id = job->id;
	free_jobs(job);
	return id;
}
