// SPDX-License-Identifier: GPL-2.0-or-later
#include "wallprof/life_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/unnamed_file.h"
#include "wallprof/wallprof_abi.h"

/*
 * An entry is a sequence of numbers, each in groups of seven bits, lowest first, as in LEB128:
 * kind and flags, what was lost before it, and times as differences.
 */
#define MAX_ENTRY  80
#define PART_BYTES 16384

/* beside enum log_kind; FLAG_CPU: another than before */
enum { FLAG_OPEN = 4, FLAG_LOST = 8, FLAG_CPU = 16 };

struct part {
	uint64_t offset; /* in the spool */
	uint32_t bytes;
};

struct life_log {
	struct spool *spool;
	bool is_copy; /* it writes nothing to the spool */
	uint64_t from_ns, end_ns;
	uint64_t sampled_ns; /* the last sample's time */
	uint32_t last_number, last_cpu;
	uint8_t *bytes; /* not written yet */
	size_t used, room;
	struct part *parts;
	size_t nr_parts, part_room;
};

struct spool {
	FILE *file;
	uint64_t size;
	int error;
};

int spool_new(struct spool **spool)
{
	struct spool *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->file = unnamed_file();
	if (!s->file) {
		int error = -errno;

		free(s);
		return error;
	}
	*spool = s;
	return 0;
}

void spool_free(struct spool *s)
{
	if (!s)
		return;
	fclose(s->file);
	free(s);
}

int spool_error(const struct spool *s)
{
	return s->error;
}

static bool spool_write(struct spool *s, const void *bytes, size_t nr)
{
	ssize_t done = pwrite(fileno(s->file), bytes, nr, s->size);

	if (done != (ssize_t)nr) {
		s->error = done < 0 ? -errno : -ENOSPC;
		return false;
	}
	s->size += nr;
	return true;
}

struct life_log *life_log_new(struct spool *spool, uint64_t from_ns)
{
	struct life_log *log = calloc(1, sizeof(*log));

	if (log)
		*log = (struct life_log){ .spool = spool, .from_ns = from_ns, .end_ns = from_ns };
	return log;
}

struct life_log *life_log_copy(const struct life_log *log)
{
	struct life_log *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *log;
	copy->is_copy = true;
	copy->room = log->used + 2 * MAX_ENTRY; /* an open period, or an end, and no error */
	copy->part_room = log->nr_parts;
	copy->bytes = malloc(copy->room);
	copy->parts = calloc(copy->part_room + 1, sizeof(*copy->parts));
	if (!copy->bytes || !copy->parts) {
		life_log_free(copy);
		return NULL;
	}
	if (log->used)
		memcpy(copy->bytes, log->bytes, log->used);
	if (log->nr_parts)
		memcpy(copy->parts, log->parts, log->nr_parts * sizeof(*copy->parts));
	return copy;
}

void life_log_free(struct life_log *log)
{
	if (!log)
		return;
	free(log->bytes);
	free(log->parts);
	free(log);
}

/* ---- writing ---- */

/* A copy writes nothing, and once the spool has failed, nothing is written. */
static void flush_part(struct life_log *log)
{
	if (log->is_copy || log->spool->error)
		return;
	if (array_reserve(&log->parts, &log->part_room, log->nr_parts + 1)) {
		log->spool->error = -ENOMEM;
		return;
	}
	log->parts[log->nr_parts] = (struct part){ log->spool->size, log->used };
	if (spool_write(log->spool, log->bytes, log->used)) {
		log->nr_parts++;
		log->used = 0;
	}
}

/* Room for one more entry; false: the spool has failed, and nothing is kept any more */
static bool make_room(struct life_log *log)
{
	if (log->used + MAX_ENTRY > PART_BYTES)
		flush_part(log);
	if (!log->spool->error && array_reserve(&log->bytes, &log->room, log->used + MAX_ENTRY))
		log->spool->error = -ENOMEM;
	return !log->spool->error;
}

static void put(struct life_log *log, uint64_t number)
{
	while (number >= 128) {
		log->bytes[log->used++] = number | 128;
		number >>= 7;
	}
	log->bytes[log->used++] = number;
}

/* near zero, whether more or less, it is small */
static void put_signed(struct life_log *log, int64_t number)
{
	put(log, (uint64_t)number << 1 ^ number >> 63);
}

static void put_kind(struct life_log *log, uint32_t kind, uint32_t nr_lost)
{
	put(log, kind | (nr_lost ? FLAG_LOST : 0));
	if (nr_lost)
		put(log, nr_lost);
}

void life_log_begin(struct life_log *log, uint64_t from_ns)
{
	log->from_ns = log->end_ns = from_ns;
}

static uint64_t not_before(uint64_t time, uint64_t earliest)
{
	return time < earliest ? earliest : time;
}

/*
 * the time of what comes next: samples that were taken while the measurement ended are later than
 * its end
 */
static uint64_t next_time(const struct life_log *log, uint64_t time)
{
	return not_before(time, not_before(log->sampled_ns, log->end_ns));
}

/*
 * How many periods came since the one that was logged last, up to this one. The list of open
 * periods may be older than what was sent while it was made.
 */
static uint32_t count_up_to(struct life_log *log, uint32_t number)
{
	uint32_t count = (number - log->last_number) & (LIFE_NUMBERS - 1);

	if (count >= LIFE_NUMBERS / 2)
		return 0;
	log->last_number = number;
	return count;
}

uint32_t life_log_period(struct life_log *log, const struct logged_period *p)
{
	/* an open one has the number of the last that has ended */
	uint32_t count = count_up_to(log, p->number),
		 nr_lost = p->open || !count ? count : count - 1;
	uint64_t left_ns = next_time(log, p->left_ns), woken_ns = not_before(p->woken_ns, left_ns),
		 ran_ns = not_before(p->ran_ns, woken_ns);

	if (!make_room(log))
		return nr_lost;
	put_kind(log,
		 LOG_PERIOD | (p->open ? FLAG_OPEN : 0) | (p->cpu != log->last_cpu ? FLAG_CPU : 0),
		 nr_lost);
	if (p->cpu != log->last_cpu)
		put(log, p->cpu);
	log->last_cpu = p->cpu;
	put(log, left_ns - log->end_ns);
	put(log, woken_ns - left_ns);
	put(log, ran_ns - woken_ns);
	put(log, p->key);
	put(log, p->waker);
	put_signed(log, p->taken_ns);
	log->end_ns = ran_ns;
	return nr_lost;
}

void life_log_sample(struct life_log *log, uint64_t time_ns, uint32_t key)
{
	if (!make_room(log))
		return;
	log->sampled_ns = next_time(log, time_ns);
	put_kind(log, LOG_SAMPLE, 0);
	put(log, log->sampled_ns - log->end_ns);
	put(log, key);
}

uint32_t life_log_last(struct life_log *log, uint32_t last, uint64_t time_ns, int64_t taken_ns)
{
	uint32_t nr_lost = count_up_to(log, last);

	time_ns = next_time(log, time_ns);
	if (!make_room(log))
		return nr_lost;
	put_kind(log, LOG_END, nr_lost);
	put(log, time_ns - log->end_ns);
	put_signed(log, taken_ns);
	log->end_ns = time_ns;
	return nr_lost;
}

void life_log_close(struct life_log *log)
{
	if (log->used)
		flush_part(log);
	if (log->used)
		return;
	free(log->bytes);
	log->bytes = NULL;
	log->room = 0;
}

uint32_t life_log_number(const struct life_log *log)
{
	return log->last_number;
}

uint64_t life_log_from(const struct life_log *log)
{
	return log->from_ns;
}

uint64_t life_log_end(const struct life_log *log)
{
	return log->end_ns;
}

uint64_t life_log_sampled(const struct life_log *log)
{
	return log->sampled_ns;
}

/* ---- reading ---- */

struct reader {
	const uint8_t *at;
	uint64_t end_ns;
	uint32_t cpu;
};

static uint64_t get(struct reader *r)
{
	uint64_t number = 0;
	uint32_t shift = 0;

	do
		number |= (uint64_t)(*r->at & 127) << shift;
	while (shift += 7, *r->at++ & 128);
	return number;
}

static int64_t get_signed(struct reader *r)
{
	uint64_t number = get(r);

	return (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
}

static struct log_entry get_entry(struct reader *r)
{
	uint32_t kind = get(r);
	struct log_entry entry = { .kind = kind & 3 };

	if (kind & FLAG_LOST)
		entry.nr_lost = get(r);
	if (entry.kind != LOG_PERIOD) {
		entry.time_ns = r->end_ns + get(r);
		if (entry.kind == LOG_SAMPLE) {
			entry.key = get(r);
			return entry;
		}
		entry.period.taken_ns = get_signed(r);
		r->end_ns = entry.time_ns;
		return entry;
	}
	if (kind & FLAG_CPU)
		r->cpu = get(r);
	entry.period.open = kind & FLAG_OPEN;
	entry.period.left_ns = r->end_ns + get(r);
	entry.period.woken_ns = entry.period.left_ns + get(r);
	entry.period.ran_ns = r->end_ns = entry.period.woken_ns + get(r);
	entry.period.key = get(r);
	entry.period.waker = get(r);
	entry.period.taken_ns = get_signed(r);
	entry.period.cpu = r->cpu;
	return entry;
}

static int read_part(struct reader *r, const uint8_t *bytes, size_t nr,
		     int (*see)(void *arg, const struct log_entry *entry), void *arg)
{
	int error = 0;

	r->at = bytes;
	while (!error && r->at < bytes + nr) {
		struct log_entry entry = get_entry(r);

		error = see(arg, &entry);
	}
	return error;
}

int life_log_read(const struct life_log *log, int (*see)(void *arg, const struct log_entry *entry),
		  void *arg)
{
	struct reader reader = { .end_ns = log->from_ns };
	uint8_t *bytes = malloc(PART_BYTES);
	int error = bytes ? 0 : -ENOMEM;

	for (size_t i = 0; i < log->nr_parts && !error; i++) {
		const struct part *part = &log->parts[i];

		if (pread(fileno(log->spool->file), bytes, part->bytes, part->offset) !=
		    part->bytes)
			error = -EIO;
		else
			error = read_part(&reader, bytes, part->bytes, see, arg);
	}
	free(bytes);
	return error ? error : read_part(&reader, log->bytes, log->used, see, arg);
}
