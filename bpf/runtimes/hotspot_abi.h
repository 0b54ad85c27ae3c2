/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of methods that HotSpot's interpreter runs. Such a frame takes two words among the user
 * frames of a stack (stacks_abi.h), the first in the place of its own: the address of its Method,
 * which is a multiple of 8. The second one has the place in the method, and distinguishes the
 * Method from others at this address, before and after it, because classes come and go. The host
 * has only the bytes of a stack, and records the address of the bytecode instead, and an epoch: a
 * time in which no class has gone. User space replaces the two words by one, with its own number
 * for the method (hotspot_names.h).
 */
#ifndef EHPERF_RUNTIMES_HOTSPOT_ABI_H
#define EHPERF_RUNTIMES_HOTSPOT_ABI_H

#include <linux/types.h>

#include "machine_abi.h"

/*
 * Offsets of fields in a JVM's structs, in bytes; behind the struct published_module of its code
 * (tables_abi.h), in the same slab
 */
struct hotspot_layout {
	__u16 method_const; /* Method::_constMethod */
	/* sizeof(ConstMethod), which its bytecode lies behind; 0: nothing is known */
	__u16 const_bytes;
	__u16 const_pool; /* ConstMethod::_constants */
	/* ConstMethod::_code_size, of 16 bits; the numbers of its names and its own follow */
	__u16 const_code_size;
	__u16 pool_holder; /* ConstantPool::_pool_holder */
	__u16 klass_name;  /* Klass::_name */
	__u32 pad;
};
_Static_assert(sizeof(struct hotspot_layout) == 16, "struct hotspot_layout");

/* upper bits that Python's frames, and native ones, do not have */
#define FRAME_HOTSPOT           (13ULL << 60)
#define FRAME_IS_HOTSPOT(frame) ((frame) >> 60 == 13)
#define FRAME_METHOD(address)   (FRAME_HOTSPOT | (address) >> 3)
#define METHOD_ADDRESS(frame)   (((frame) & ((1ULL << (USER_ADDRESS_BITS - 3)) - 1)) << 3)
/* of the second word */
#define HOTSPOT_SECOND         (1ULL << 59)
#define METHOD_UNSEEN          (1ULL << 58)                                  /* the host's */
#define METHOD_BYTECODE(frame) ((frame) & ((1ULL << USER_ADDRESS_BITS) - 1)) /* with UNSEEN, and */
#define METHOD_EPOCH_SHIFT     USER_ADDRESS_BITS
#define METHOD_EPOCHS          (1 << (58 - METHOD_EPOCH_SHIFT))
#define METHOD_EPOCH(frame)    ((__u32)((frame) >> METHOD_EPOCH_SHIFT) % METHOD_EPOCHS)
#define METHOD_NO_EPOCH        1                         /* it is not known. Without UNSEEN: */
#define METHOD_PLACE(frame)    (0xffff & (__u32)(frame)) /* index of the bytecode, or: */
#define METHOD_NO_PLACE        0xffff
/*
 * words of an interpreter's frame, by their distance from the frame pointer in words
 * (frame_x86.hpp and frame_aarch64.hpp in OpenJDK)
 */
enum {
	FRAME_BYTECODE = INTERPRETER_BYTECODE,
	FRAME_THE_METHOD = -3,
	FRAME_WORDS = FRAME_THE_METHOD - FRAME_BYTECODE + 1
};
#define METHOD_IDENTITY(frame) ((frame) & ~0xffffULL)

/* what is there from the Method on, as long as its class is */
struct hotspot_method_words {
	__u64 constant;  /* Method::_constMethod */
	__u64 pool;      /* ConstMethod::_constants */
	__u64 code_size; /* ConstMethod::_code_size, and what follows */
	__u64 holder;    /* ConstantPool::_pool_holder */
	__u64 symbol;    /* Klass::_name */
	/*
	 * The Symbol's first word, less the count of its users in the lower 16 bits: a random
	 * number, the length, and two characters
	 */
	__u64 symbol_head;
};

/* the second word of the method's frames, without their places */
static inline __u64 hotspot_identity(const struct hotspot_method_words *m)
{
	__u64 hash = m->constant * 0x9e3779b97f4a7c15;

	hash = (hash ^ hash >> 32 ^ m->pool) * 0x9e3779b97f4a7c15;
	hash = (hash ^ hash >> 32 ^ m->code_size) * 0x9e3779b97f4a7c15;
	hash = (hash ^ hash >> 32 ^ m->holder) * 0x9e3779b97f4a7c15;
	hash = (hash ^ hash >> 32 ^ m->symbol) * 0x9e3779b97f4a7c15;
	hash = (hash ^ hash >> 32 ^ m->symbol_head) * 0x9e3779b97f4a7c15;
	return FRAME_HOTSPOT | HOTSPOT_SECOND | hash >> 22 << 16;
}

#endif
