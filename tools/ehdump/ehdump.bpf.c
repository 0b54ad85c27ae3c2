// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks up rules in the slabs as the unwinder does, for ehdump --check. */
#include "ehdump_abi.h"
#include "task.bpf.h"
#include "unwind.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MAX_LOOKUPS);
	__type(key, __u32);
	__type(value, struct eh_lookup);
} lookups SEC(".maps");

static long look_up(__u32 i, struct user_walk **ctx)
{
	struct eh_lookup *lookup = bpf_map_lookup_elem(&lookups, &i);

	if (!lookup)
		return 1;
	find_rule(*ctx, TABLE_CFI, lookup->file_offset);
	lookup->rule = (*ctx)->rule;
	return 0;
}

SEC("syscall")
int look_up_all(struct eh_lookup_args *args)
{
	__u32 zero = 0;
	struct user_walk *u = bpf_map_lookup_elem(&unwinds, &zero);
	struct published_module *module = u ? slab_at(u, args->module) : NULL;

	if (!u || !module)
		return 1;
	u->module = *module;
	bpf_loop(args->nr_lookups, look_up, &u, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
