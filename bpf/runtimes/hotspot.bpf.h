/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records the method of a frame of HotSpot's interpreter (hotspot_abi.h). The kernel reads what
 * identifies it from the process's own memory, which may contain anything: each read may fail.
 */
#ifndef EHPERF_RUNTIMES_HOTSPOT_BPF_H
#define EHPERF_RUNTIMES_HOTSPOT_BPF_H

#include "runtimes/hotspot_abi.h"
#include "stack_hash.bpf.h"
#include "walk/lookup.bpf.h"
#include "walk/state.bpf.h"

/*
 * of a Method and where its bytecode may be, in a register or in its frame: the second word of an
 * interpreted frame, or 0
 */
#ifdef __bpf__
static __always_inline __u32 place_in_method(const struct user_walk *u, __u64 bytecode, __u16 bytes,
					     __u64 in_register, __u64 in_frame)
{
	return in_register - bytecode < bytes ? in_register - bytecode
	       : in_frame - bytecode < bytes  ? in_frame - bytecode
					      : METHOD_NO_PLACE;
}

static __always_inline __u64 method_word(struct user_walk *u, __u64 method, __u64 in_register,
					 __u64 in_frame)
{
	const struct hotspot_layout *layout =
		slab_at(u, u->mapping.module + sizeof(struct published_module));
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
	return hotspot_identity(&m) | place_in_method(u, m.constant + layout->const_bytes,
						      m.code_size, in_register, in_frame);
}

static __always_inline __u64 method_hashed(const struct user_walk *u, __u64 method)
{
	(void)u;
	return method;
}
#else
static __always_inline __u64 method_word(struct user_walk *u, __u64 method, __u64 in_register,
					 __u64 in_frame)
{
	__u64 bytecode = u->stack.nr_frames == 1 ? in_register : in_frame;
	__u64 epoch = functions_epoch(u);

	(void)method;
	return epoch ? FRAME_HOTSPOT | HOTSPOT_SECOND | METHOD_UNSEEN |
			       epoch % METHOD_EPOCHS << METHOD_EPOCH_SHIFT |
			       METHOD_BYTECODE(bytecode)
		     : 0;
}

/* with what the word has no room for */
static __always_inline __u64 method_hashed(const struct user_walk *u, __u64 method)
{
	return method ^ (__u64)functions_epoch(u) << 32;
}
#endif

static __always_inline void keep_frame(struct user_walk *u, __u32 nr, __u64 frame);

/*
 * The frame has just been recorded. Its words are there once sp lies below them. The bytecode that
 * runs is in REG_BYTECODE while the interpreter runs itself, or C code that it has called and that
 * has kept it; else it was put into the frame. The root's end of a deep stack stays as it is: these
 * words would push out frames (frame_place.h).
 */
VERIFIED_ONCE int record_method(struct user_walk *u)
{
	__u64 words[FRAME_WORDS], fp, method, second, in_register, in_frame;

	if (!u || !(u->frame.known >> REG_FP & 1) || u->stack.nr_frames >= u->max_depth / 2)
		return 0;
	fp = u->frame.reg[REG_FP];
	if (fp + FRAME_THE_METHOD * 8 < u->frame.reg[REG_SP] ||
	    read_stack(u, words, sizeof(words), fp + FRAME_BYTECODE * 8) != sizeof(words))
		return 0;
	method = words[FRAME_THE_METHOD - FRAME_BYTECODE];
	in_register = u->frame.known >> REG_BYTECODE & 1 ? u->frame.reg[REG_BYTECODE] : 0;
	in_frame = fp + FRAME_BYTECODE * 8 < u->frame.reg[REG_SP] ? 0 : words[0];
	second = method & 7 || method >> USER_ADDRESS_BITS
			 ? 0
			 : method_word(u, method, in_register, in_frame);
	if (!second)
		return 0;
	keep_frame(u, u->stack.nr_frames - 1, FRAME_METHOD(method));
	keep_frame(u, u->stack.nr_frames++, second);
	u->hash = hash_word(hash_word(u->hash, method_hashed(u, method)), second);
	u->has_functions = true;
	return 0;
}

#endif
