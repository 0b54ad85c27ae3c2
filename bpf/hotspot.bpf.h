/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Identifies a Method of HotSpot (hotspot_abi.h). It is read from the process's own memory, which may contain anything: each
 * read may fail.
 */
#ifndef EHPERF_HOTSPOT_BPF_H
#define EHPERF_HOTSPOT_BPF_H

#include "kernel.bpf.h"
#include "hotspot_abi.h"
#include "unwind_walk.bpf.h"

static __always_inline __u32 place_in_method(const struct eh_unwind *u, __u64 bytecode, __u16 bytes,
					     __u64 in_register, __u64 in_frame)
{
	return in_register - bytecode < bytes ? in_register - bytecode :
	       in_frame - bytecode < bytes ? in_frame - bytecode : METHOD_NO_PLACE;
}

static __always_inline __u64 method_word(struct eh_unwind *u, __u64 method, __u64 in_register, __u64 in_frame)
{
	const struct eh_hotspot *layout = slab_at(u, u->mapping.module + sizeof(struct eh_module));
	struct hotspot_method_words m;

	if (!layout || !layout->const_bytes)
		return 0;
	m.constant = user_word(method + layout->method_const);
	m.pool = user_word(m.constant + layout->const_pool);
	m.code_size = user_word(m.constant + layout->const_code_size);
	m.holder = user_word(m.pool + layout->pool_holder);
	m.symbol = user_word(m.holder + layout->klass_name);
	m.symbol_head = user_word(m.symbol) >> 16;
	if (!m.symbol_head)
		return 0;
	return hotspot_identity(&m) |
	       place_in_method(u, m.constant + layout->const_bytes, m.code_size, in_register, in_frame);
}

#endif
