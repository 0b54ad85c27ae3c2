/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records the method of a frame of HotSpot's interpreter (hotspot_abi.h). */
#ifndef EHPERF_UNWIND_HOTSPOT_BPF_H
#define EHPERF_UNWIND_HOTSPOT_BPF_H

#include "hotspot_abi.h"
#include "stack_hash.bpf.h"
#include "unwind_state.bpf.h"

#define EH_R13 (EH_R12 + 1)

static __always_inline void keep_frame(struct eh_unwind *u, __u32 nr, __u64 frame);

/*
 * The frame has just been recorded. Its words are there once rsp lies below them. The bytecode that runs is
 * in r13 while the interpreter runs itself, or C code that it has called and that has kept r13; else it was
 * put into the frame. The root's end of a deep stack stays as it is: these words would push out frames
 * (frame_place.h).
 */
VERIFIED_ONCE int record_method(struct eh_unwind *u)
{
	__u64 words[FRAME_WORDS], fp, method, second, in_register, in_frame;

	if (!u || !(u->frame.known >> EH_RBP & 1) || u->stack.nr_frames >= u->max_depth / 2)
		return 0;
	fp = u->frame.reg[EH_RBP];
	if (fp + FRAME_THE_METHOD * 8 < u->frame.reg[EH_RSP] ||
	    read_stack(u, words, sizeof(words), fp + FRAME_BYTECODE * 8) != sizeof(words))
		return 0;
	method = words[FRAME_THE_METHOD - FRAME_BYTECODE];
	in_register = u->frame.known >> EH_R13 & 1 ? u->frame.reg[EH_R13] : 0;
	in_frame = fp + FRAME_BYTECODE * 8 < u->frame.reg[EH_RSP] ? 0 : words[0];
	second = method & 7 || method >> 47 ? 0 : method_word(u, method, in_register, in_frame);
	if (!second)
		return 0;
	keep_frame(u, u->stack.nr_frames - 1, FRAME_METHOD(method));
	keep_frame(u, u->stack.nr_frames++, second);
	u->hash = hash_word(hash_word(u->hash, method), second);
	u->has_functions = true;
	return 0;
}

#endif
