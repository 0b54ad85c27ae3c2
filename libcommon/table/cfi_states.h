/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state set of the call frame machine (DWARF 5, 6.4.2 and 6.4.3).
 *
 * A state is the set of rules in force at one point of an FDE's program. What instructions do to it
 * depends on three things only: the state, their bytes, and the CIE (its alignment factors and its
 * initial rules, to which DW_CFA_restore returns). So an FDE's program is a walk through a small
 * automaton. Each distinct state, and each class of CIEs, gets a number. A cache remembers where up
 * to eight bytes of instructions lead to from a state. Nearly all of a file is compiled from this
 * cache; cfi_run() runs what is not in it.
 *
 * Instructions that advance the location, or remember or restore a state, are no transitions:
 * fde_rows_write() (unwind_table.c) executes them, on the states' numbers.
 *
 * There are few states: libcrypto has 618, Chromium some thousands.
 */
#ifndef EHPERF_TABLE_CFI_STATES_H
#define EHPERF_TABLE_CFI_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dwarf/eh_frame.h"
#include "table/slabs.h"
#include "tables_abi.h"

/*
 * A row's rules. The CFA's register and offset stand apart from the rule, since an expression for
 * the CFA leaves them as they were, and DW_CFA_def_cfa_register may come back to them (libgcrypt's
 * assembly does).
 */
struct cfi_state {
	struct eh_rule rule;
	uint64_t cfa_reg;
	int64_t cfa_offset;
	uint64_t cfa_defined : 1, cfa_by_expression : 1;
};

/* the parts of a CIE that matter to its FDEs: CIEs with equal parts are one class */
struct cie_class {
	uint64_t code_align;
	int64_t data_align;
	uint32_t initial; /* state */
	uint8_t fde_encoding;
	/*
	 * its program does not decode, or has instructions that no CIE may have, or its return
	 * address is in another column than the machine's
	 */
	bool bad;
};

/* a remembered transition */
#define MEMO_SHIFT 11
struct cfi_memo {
	/*
	 * Up to 8 bytes of whole instructions, filled up with zeros. A zero would be a nop, and
	 * nops are left out before, so different instructions differ here. 0: empty
	 */
	uint64_t ops;
	uint32_t from; /* class << 20 | state */
	uint32_t to;
};

struct cfi_states {
	int error; /* sticky: 0, -ENOMEM, or -EOVERFLOW (more than a table has room for rules) */
	/* distinct, in order of appearance. Two may have the same rule and differ otherwise */
	struct cfi_state *all;
	uint32_t *slot_of; /* of each state, 0 at first: the row writer's (row_writer.h) */
	size_t nr, max, max_slots_of;
	/* private */
	uint32_t *slots;   /* hash table: state number + 1; 0 is empty */
	uint32_t nr_slots; /* power of two */
	uint64_t seed;
	struct cie_class *classes;
	size_t nr_classes, max_classes;
	uint64_t last_cie;
	uint32_t last_class;
	struct cfi_memo memos[1 << MEMO_SHIFT];
};

/* a table's rules lie in one slab */
#define MAX_RULES ((SLAB_BYTES - EXTENT_ALIGNMENT) / sizeof(struct eh_rule))
/* cfi_memo.from has 12 bits for a class and 20 for a state */
#define MAX_CIE_CLASSES (1 << 12)
_Static_assert(MAX_RULES <= 1 << 20, "states' numbers");

/* s is zeroed */
void cfi_states_init(struct cfi_states *s);
void cfi_states_free(struct cfi_states *s);

/*
 * The number of a state for a rule that does not come from CFI; instructions must not be applied to
 * it. 0 with s->error set on failure
 */
uint32_t cfi_states_of_rule(struct cfi_states *s, const struct eh_rule *rule);

/* private: for a CIE other than that of the previous FDE */
int cfi_states_find_class(struct cfi_states *s, const struct cie *cie);

/* The number of the CIE's class; -1: there are too many classes. May set s->error. */
static inline int cfi_states_class(struct cfi_states *s, const struct cie *cie)
{
	return cie->offset == s->last_cie ? (int)s->last_class : cfi_states_find_class(s, cie);
}

/*
 * The state that these instructions lead to; RULE_UNSUPPORTED's where they do not decode. Not
 * remembered.
 */
uint32_t cfi_states_run(struct cfi_states *s, uint32_t class, uint32_t from, const uint8_t *ops,
			size_t size);

/*
 * cfi_states_run(), with the result remembered. ops[0 .. size) is followed by more of the program,
 * up to limit
 */
static inline uint32_t cfi_states_apply(struct cfi_states *s, uint32_t class, uint32_t from,
					const uint8_t *ops, size_t size, const uint8_t *limit)
{
	uint32_t key_from = class << 20 | from;
	struct cfi_memo *memo;
	uint64_t key = 0;

	if (__builtin_expect(size > sizeof(key), 0))
		return cfi_states_run(s, class, from, ops, size);
	if (__builtin_expect(limit - ops >= (ptrdiff_t)sizeof(key), 1)) {
		memcpy(&key, ops, sizeof(key));
		key &= UINT64_MAX >> (64 - 8 * size);
	} else {
		memcpy(&key, ops, size);
	}
	memo = &s->memos[((key ^ (uint64_t)key_from << 32) * 0x9e3779b97f4a7c15) >>
			 (64 - MEMO_SHIFT)];
	if (__builtin_expect(memo->ops != key || memo->from != key_from, 0)) {
		memo->to = cfi_states_run(s, class, from, ops, size);
		memo->ops = key;
		memo->from = key_from;
	}
	return memo->to;
}

#endif
