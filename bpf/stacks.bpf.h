/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks and values on their way out. Frames go through the ring buffer once for each distinct stack;
 * values are summed by struct stack_key in a hash, and what the hash has no room for follows the frames.
 * Needs vmlinux.h, the bpf headers and unwind.bpf.h included first.
 */
#ifndef EHPERF_STACKS_BPF_H
#define EHPERF_STACKS_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);	/* stack id */
	__type(value, __u8);
} sent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct stack_key);
	__type(value, __u64);
} values SEC(".maps");

struct kernel_stack {
	__u32 kind;	/* a struct frames_record */
	__u32 nr_frames;
	__u64 id;
	__u64 frames[MAX_KERNEL_DEPTH + 1];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kernel_stack);
} kernel_stacks SEC(".maps");

/* Sends a stack_record unless it was: marked only when the ring buffer took it. */
static __always_inline void send_stack(__u64 id, const void *record, __u32 frames_bytes, struct stack_stats *stats)
{
	__u8 one = 1;

	if (bpf_map_lookup_elem(&sent, &id))
		return;
	if (bpf_ringbuf_output(&records, (void *)record, sizeof(struct frames_record) + frames_bytes, BPF_RB_NO_WAKEUP))
		stats->stacks_lost++;
	else
		bpf_map_update_elem(&sent, &id, &one, BPF_ANY);
}

static __always_inline __u64 send_user_stack(struct eh_unwind *u, struct stack_stats *stats)
{
	__u32 bytes = u->nr_frames * 8;

	if (!u->id)
		return 0;
	if (bytes > MAX_DEPTH * 8)
		bytes = MAX_DEPTH * 8;
	u->kind = RECORD_USER_STACK;
	send_stack(u->id, &u->kind, bytes, stats);
	return u->id;
}

static __always_inline __u64 send_kernel_stack(void *ctx, struct stack_stats *stats)
{
	__u32 zero = 0, i;
	struct kernel_stack *k = bpf_map_lookup_elem(&kernel_stacks, &zero);
	__u64 hash = 0;
	long bytes;

	if (!k)
		return 0;
	bytes = bpf_get_stack(ctx, k->frames, MAX_KERNEL_DEPTH * 8, 0);
	if (bytes <= 0)
		return 0;
	if (bytes > MAX_KERNEL_DEPTH * 8)
		bytes = MAX_KERNEL_DEPTH * 8;
	k->kind = RECORD_KERNEL_STACK;
	k->nr_frames = bytes / 8;
	for (i = 0; i < MAX_KERNEL_DEPTH && i < k->nr_frames; i++) {
		hash = (hash ^ k->frames[i]) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
	}
	k->id = hash ? hash : 1;
	send_stack(k->id, k, bytes, stats);
	return k->id;
}

static __always_inline void add_value(const struct stack_key *key, __u64 value, struct stack_stats *stats)
{
	__u64 *sum = bpf_map_lookup_elem(&values, key);
	struct value_record record = {};

	stats->samples++;
	if (!sum) {
		if (!bpf_map_update_elem(&values, key, &value, BPF_NOEXIST))
			return;
		sum = bpf_map_lookup_elem(&values, key);	/* another CPU was first, or the map is full */
	}
	if (sum) {
		__sync_fetch_and_add(sum, value);
		return;
	}
	record.kind = RECORD_VALUE;
	record.key = *key;
	record.value = value;
	if (bpf_ringbuf_output(&records, &record, sizeof(record), BPF_RB_NO_WAKEUP))
		stats->no_room += value;
}

#endif
