// SPDX-License-Identifier: GPL-2.0-or-later
/* No verifier accepts it: bpf-refused loads it. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("syscall")
int reads_anywhere(void *ctx)
{
	return *(volatile int *)0x1234;
}

SEC("?tp_btf/no_such_event")
int follows_nothing(void *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
