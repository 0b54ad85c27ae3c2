/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls that are in none of mapupdlat's histograms, and the stacks that are not with them: counted, and told why. */
#ifndef EHPERF_MAPUPDLAT_MAP_LOSSES_H
#define EHPERF_MAPUPDLAT_MAP_LOSSES_H

#include <bpf/libbpf.h>
#include <json-c/json.h>

#include "mapupdlat_abi.h"
#include "bpf/stack_store.h"
#include "stacks_abi.h"

struct map_losses {
	struct call_counts counts;
	struct stack_stats stacks;
	bool warned;
	uint64_t in_flight;		/* calls that had not returned at the end */
	uint64_t not_seen;		/* calls, at most, of which nothing was seen */
	bool uncounted;			/* there may be others not seen, which this kernel does not count */
	struct map_call_in_flight *calls;	/* of those in flight */
	size_t nr_calls;
	uint64_t listed_ns;		/* CLOCK_MONOTONIC */
};

/* Lists the calls in flight, once measuring is over. That this fails is no error: they are counted too. */
void map_losses_list(struct map_losses *losses, struct bpf_object *object);

/* With no program attached any more: the rest. calls: how many the histograms have. 0 or -errno */
int map_losses_read(struct map_losses *losses, struct bpf_object *object, struct stack_store *store, uint64_t calls);

/* While it runs: tells on standard error, once, when there begin to be too many histograms. */
void map_losses_warn(struct map_losses *losses, struct bpf_object *object);

/* on standard error, a line for each kind there is */
void map_losses_say(const struct map_losses *losses);
/* all counts, into an object */
void map_losses_json(const struct map_losses *losses, struct json_object *object);

void map_losses_free(struct map_losses *losses);

#endif
