/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables of files, in slabs:
 *
 *   struct published_module
 *   table.pages    -> struct table_page[nr_pages], one for each 4 KiB of the file's text
 *   page.rows      -> 3-byte rows, sorted by pc
 *   table.rules    -> struct eh_rule[], indexed by page.rule_base + the row's rule
 *
 * A pc is looked up by its offset in the file: this number finds the row and identifies the frame.
 * The load bias of each segment follows from its mapping's start and file offset.
 */
#ifndef EHPERF_TABLES_ABI_H
#define EHPERF_TABLES_ABI_H

#include "machine_abi.h"
#include "slabs_abi.h"

/* Does a call put the return address into a register? */
#define RA_IN_REGISTER (EH_RA < EH_NR_REGS)

#define PAGE_ROWS_SHIFT 12 /* bits of file offset that a row's pc holds */
#define MAX_PAGE_ROWS   (1 << PAGE_ROWS_SHIFT)
#define ROW_BYTES       3
#define ROW_PC(row)     (0xfff & (row))       /* offset in the page where the row begins to hold */
#define ROW_RULE(row)   ((row) >> 12 & 0xfff) /* relative to its page's rule_base */
#define MAX_PAGE_RULES  (1 << 12)

/*
 * The rows of one page of text. The first one's pc is 0, so that every pc of the page has a row.
 * The rules of a file are as many as it needs: rule_base moves the 12-bit window of the page's
 * rows.
 */
struct table_page {
	loc_t rows;
	__u16 nr_rows;
	__u16 rule_base; /* in units of RULE_BASE_UNIT rules */
};                       /* read at once: it may be replaced by another one */
#define RULE_BASE_UNIT 64
_Static_assert(sizeof(struct table_page) == 8, "struct table_page");

enum rule_kind {
	RULE_NONE,  /* no FDE covers this pc */
	RULE_REG,   /* CFA = cfa_reg + cfa_offset */
	RULE_DEREF, /* CFA = *(cfa_reg + deref_offset) + cfa_offset */
	RULE_PLT,   /* CFA = cfa_reg + cfa_offset + (((pc & 15) >= deref_offset) << 3) */
	/*
	 * CFA = *(cfa_reg + deref_offset + 8 * INDEXED_REG) + INDEXED_PLUS: libcrypto's
	 * multiplications
	 */
	RULE_INDEXED,
	RULE_SUM, /* CFA = cfa_reg + *(cfa_reg + deref_offset) + cfa_offset: libsodium's assembly */
	/* an FDE covers this pc, but its rule does not fit into a struct eh_rule */
	RULE_UNSUPPORTED,
	RULE_OTHER_STACK, /* Go's assembly, which has left its caller's stack: see below */
	NR_RULE_KINDS
};

/*
 * of a RULE_OTHER_STACK's cfa_offset: which function it is, and an offset in bytes that differs
 * between Go's releases, 0 where it is not known: for GO_ASMCGOCALL `slot`, the upper of two words
 * that it keeps, for the others where struct m has curg. The caller's stack is left with its sp
 * kept in `sched`, a struct g's, and CFA = sched.sp + deref_offset, of
 *
 *   GO_SYSTEMSTACK    m.curg
 *   GO_MORESTACK      the stack ends there: the goroutine may run elsewhere by now
 *   GO_CGOCALLBACK    m.g0; where C has called Go that called C again, that of the innermost one
 *   GO_ASMCGOCALL     the g that has called C; it and the depth of its stack are at sp + slot and
 *                     below. But its sched may have been used since: CFA = g.stack.hi - depth +
 *                     deref_offset
 *   GO_SWITCH         nothing is known
 */
enum go_switch { GO_SWITCH, GO_SYSTEMSTACK, GO_ASMCGOCALL, GO_MORESTACK, GO_CGOCALLBACK };
#define OTHER_STACK_SWITCH(offset) (255 & (offset))
#define OTHER_STACK_OFFSET(offset) ((offset) >> 8)

/* of a RULE_INDEXED's cfa_offset */
#define INDEXED_REG(offset)  ((offset) >> 16 & 15)
#define INDEXED_PLUS(offset) (0xffff & (offset))

/*
 * rule.saved[]: where a register's value in the caller lies, in units of 8 bytes from the CFA or
 * from base_reg, or:
 */
/* unchanged; the return address: where the call has put it, EH_RA, if that is a register */
#define SAVED_SAME 127
#define SAVED_LOST (-128) /* undefined; for the return address: this is the outermost frame */
/* saved where a struct eh_rule cannot say: unknown to the unwinder */
#define SAVED_ODD (-127)

/*
 * rule.base_reg of a RULE_REG, where a register's number has bits for it: the base is CFA + 8 *
 * deref_offset. So registers that are saved at the lower end of a large frame are within reach.
 */
#define BASE_BELOW_CFA         EH_NR_REGS
#define IS_BELOW_CFA(base_reg) ((base_reg) / BASE_BELOW_CFA)

/* rule.flags */
#define RULE_SIGNAL 1 /* the CIE's augmentation has 'S', a signal frame */
/*
 * No FDE covers the pc; the rule was worked out from the instructions. With RULE_NONE: none was
 * found, and the code keeps no frame pointer
 */
#define RULE_FROM_CODE 2
/*
 * the function may have changed stacks since it was called: the CFA can lie anywhere, and lower
 * than sp
 */
#define RULE_CROSSES 4
/* a struct rule_note lies behind the rule, in the place of another one */
#define RULE_NOTED 8
/*
 * of a noted RULE_DEREF, which is not checked anyway: it is a frame of HotSpot's interpreter, which
 * has its method (runtimes/hotspot_abi.h)
 */
#define RULE_INTERPRETED RULE_CROSSES

/*
 * How to find the caller's registers from this frame's (DWARF 5, 6.4.1). Only RULE_NONE may be all
 * zero.
 */
struct eh_rule {
	__s32 cfa_offset;
	__s16 deref_offset;
	__u8 kind : 4, flags : 4;
	__u8 cfa_reg : RULE_REG_BITS, base_reg : RULE_REG_BITS;
	__s8 saved[NR_SAVED];
	/*
	 * bit i: saved[i] counts from base_reg's value in this frame, not from the CFA; SAVED_SAME:
	 * it is that value, as in vfork(), which keeps its return address in rdi
	 */
	saved_bits_t from_base;
};
_Static_assert(sizeof(struct eh_rule) % 8 == 0, "struct eh_rule");

/*
 * A runtime may free code that it has generated, and put other code in its place. A rule of such
 * code holds as long as this word is in the process's memory. `tag` distinguishes codes that were
 * at the same address one after the other; frames contain it (stacks_abi.h). 0: they do not.
 */
struct rule_note {
	__u64 at;
	__u32 word;
	__u32 tag;
};
_Static_assert(sizeof(struct rule_note) <= sizeof(struct eh_rule),
	       "a note takes the place of a rule");

/* nr_pages 0: an empty table */
#define RULES_BEHIND(rows, nr_rows) (((rows) + (nr_rows)*ROW_BYTES + 15) & ~15U)
struct published_table {
	__u32 first_page; /* file offset >> PAGE_ROWS_SHIFT of pages[0] */
	__u32 nr_pages;
	loc_t pages;
	/*
	 * 0: each page has its own, behind its rows, at the next multiple of a rule's size. Pages
	 * without rows have no rules
	 */
	loc_t rules;
};

/*
 * TABLE_CODE is for code that no FDE covers, made from its instructions when a sample first falls
 * there
 */
enum { TABLE_CFI, TABLE_CODE, NR_TABLES };

/*
 * published_module.pending: which tables are not made yet; a walk that needs them ends, and its
 * sample is sent raw
 */
#define PENDING_CFI  1
#define PENDING_CODE 2
/*
 * of a runtime's code, which lies in no file: rows are made when a walk first comes there;
 * RULE_NONE: they are not made yet
 */
#define PENDING_ROWS 4
/*
 * its TABLE_CODE could not be made. Nothing is known of its code that no FDE covers, and guesses by
 * the frame pointer would be wrong there as often as not
 */
#define NO_CODE_TABLE 8
/*
 * of code that lies in no file, as JIT compilers write it: a stack that ends there for want of a
 * rule is sent raw, and user space reads that code
 */
#define PENDING_REGION 16
/*
 * of such code that has changed since it was read first. A sample may be walked later than it was
 * taken: that the code equals the note now does not say that it did then
 */
#define REGION_CHANGES 32

struct published_module {
	__u32 id; /* 0: it has no tables, and will have none */
	__u32 pending;
	/*
	 * the code at the ELF entry point, [start, end) in the file; empty where an FDE covers it
	 */
	__u32 entry_start, entry_end;
	struct published_table tables[NR_TABLES];
};
_Static_assert(sizeof(struct published_module) == 48, "struct published_module");

#endif
