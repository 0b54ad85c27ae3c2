// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/perf_name.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool start_library(void)
{
	static int started = 1;

	if (started > 0)
		started = pfm_initialize();
	return started == PFM_SUCCESS;
}

/* rNNN: libpfm has it for machines with a PMU only */
static bool is_raw(const char *name, struct perf_encoding *encoding)
{
	char *end;

	if (name[0] != 'r' || !isxdigit((unsigned char)name[1]))
		return false;
	errno = 0;
	*encoding = (struct perf_encoding){ .type = PERF_TYPE_RAW,
					    .config = strtoull(name + 1, &end, 16) };
	return !errno && !*end;
}

int perf_name_encode(const char *name, struct perf_encoding *encoding)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	pfm_perf_encode_arg_t arg = { .attr = &attr, .size = sizeof(arg) };

	if (is_raw(name, encoding))
		return 0;
	if (!start_library() ||
	    pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg) ||
	    attr.type == PERF_TYPE_TRACEPOINT)
		return -ENOENT;
	*encoding = (struct perf_encoding){
		.type = attr.type,
		.config = attr.config,
		.config1 = attr.config1,
		.config2 = attr.config2,
		.exclude_user = attr.exclude_user,
		.exclude_kernel = attr.exclude_kernel,
	};
	return 0;
}

bool perf_encoding_is_clock(const struct perf_encoding *e)
{
	return e->type == PERF_TYPE_SOFTWARE &&
	       (e->config == PERF_COUNT_SW_CPU_CLOCK || e->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool perf_encoding_is_software(const struct perf_encoding *e)
{
	return e->type == PERF_TYPE_SOFTWARE;
}

/* ---- listing ---- */

static int list_pmu(pfm_pmu_t pmu, const pfm_pmu_info_t *info, const char *pattern,
		    int (*found)(void *arg, const char *name), void *arg)
{
	bool generic = pmu == PFM_PMU_PERF_EVENT;
	int error = 0;

	for (int i = info->first_event; i != -1 && !error; i = pfm_get_event_next(i)) {
		pfm_event_info_t event = { .size = sizeof(event) };
		struct perf_encoding encoding;
		char name[256];

		/* the generic ones have a long name, too, which is the C constant's */
		if (pfm_get_event_info(i, PFM_OS_PERF_EVENT, &event) ||
		    (generic && !strncmp(event.name, "PERF_COUNT_", 11)))
			continue;
		snprintf(name, sizeof(name), "%s", event.name);
		for (char *c = name; generic && *c; c++)
			*c = tolower((unsigned char)*c);
		if (!fnmatch(pattern, name, FNM_CASEFOLD) && !perf_name_encode(name, &encoding))
			error = found(arg, name);
	}
	return error;
}

int perf_names(const char *pattern, int (*found)(void *arg, const char *name), void *arg)
{
	pfm_pmu_t pmu;
	int error = 0;

	if (!start_library())
		return 0;
	pfm_for_all_pmus(pmu)
	{
		pfm_pmu_info_t info = { .size = sizeof(info) };

		if (!error && !pfm_get_pmu_info(pmu, &info) && info.is_present)
			error = list_pmu(pmu, &info, pattern, found, arg);
	}
	return error;
}
