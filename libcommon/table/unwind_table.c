// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/unwind_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "dwarf/cfi.h"
#include "table/code_rules.h"
#include "table/eh_rule.h"

#define MAX_REMEMBERED 16
/* a table's rules lie in one slab; place_row() has 20 bits for them */
#define MAX_RULES ((SLAB_BYTES - EXTENT_ALIGNMENT) / sizeof(struct eh_rule))
/* its pages as well: 2 GiB of text */
#define MAX_PAGES ((SLAB_BYTES - EXTENT_ALIGNMENT) / sizeof(struct eh_page))

/*
 * A rule on its way through an FDE: an expression for the CFA leaves register and offset of before where
 * they were, and DW_CFA_def_cfa_register may come back to them (libgcrypt's assembly does).
 */
struct state {
	struct eh_rule rule;
	uint64_t cfa_reg;
	int64_t cfa_offset;
	uint64_t cfa_defined : 1, cfa_by_expression : 1;
};

/*
 * The states of a small automaton: what a string of instructions without an advance makes of a state
 * depends on nothing but the state, the string and the CIE's initial state and factors (its class).
 * Few of these exist, so each is run once and remembered, and most of a file is compiled by looking up.
 */
#define MEMO_SHIFT 11
struct memo {
	uint64_t ops;		/* up to 8 bytes, zero-extended, which is unambiguous: none begins with a 0. 0: empty */
	uint32_t from;		/* class << 20 | state */
	uint32_t to;
};

struct cie_class {
	uint64_t code_align;
	int64_t data_align;
	uint32_t initial;	/* state */
	uint8_t fde_encoding;
	bool bad;		/* its program does not decode, or does what no CIE does */
};
#define MAX_CLASSES (1 << 12)

/* one FDE's code, by offset in the file */
struct span {
	uint64_t start;
	uint32_t length;
	uint32_t class;
	const uint8_t *program;
	size_t program_bytes;
	uint64_t vaddr;
};

struct builder {
	struct unwind_table *table;
	const struct elf_file *file;
	uint64_t pc_bias;
	bool of_code;			/* rules for what no FDE covers, and only for that */
	uint64_t code_bytes, code_end;	/* that were looked at for them, and where the last ones end: no byte twice */

	struct span *spans;	/* in section order */
	size_t nr_spans, max_spans;
	uint32_t *by_address;	/* numbers of spans */
	size_t nr_by_address;

	struct cie_class *classes;
	size_t nr_classes, max_classes;
	uint64_t last_cie;
	uint32_t last_class;

	struct state *states;		/* distinct, in order of appearance; of different rules but for rare exceptions */
	size_t nr_states, max_states;
	uint32_t *state_slots;		/* hash: state number + 1, 0 is empty */
	uint32_t nr_state_slots;	/* power of two */
	uint64_t seed;
	struct memo memos[1 << MEMO_SHIFT];

	/* the state being made */
	struct state state, initial;
	bool in_cie, misplaced;

	/* the page being written; its rows are the table's last ones */
	uint64_t page;
	uint64_t page_row;		/* number of its first row */
	uint32_t last_state, last_pc, nothing;
	size_t max_pages, max_row_bytes, max_table_rules;
	/* the current 12-bit window of rules */
	uint32_t *slot_of;		/* of each state: window << 12 | slot */
	size_t max_slot_of;
	uint32_t window, window_base, window_rules;
	uint32_t state_of[MAX_PAGE_RULES];	/* the inverse */

	bool failed, too_large;		/* too_large: more than a table can hold; else out of memory */
};

/* makes room for nr more elements of *array */
static bool reserve(struct builder *b, void *array, size_t *max, size_t used, size_t nr, size_t size)
{
	void **p = array, *bigger;
	size_t wanted = *max ? *max : 64;

	if (used + nr <= *max)
		return true;
	while (wanted < used + nr)
		wanted *= 2;
	bigger = realloc(*p, wanted * size);
	if (!bigger) {
		b->failed = true;
		return false;
	}
	*p = bigger;
	*max = wanted;
	return true;
}

/* ---- from CFI to rules ---- */

static const struct state unsupported = { .rule = { .kind = RULE_UNSUPPORTED } };

static void set_cfa(struct builder *b)
{
	struct state *s = &b->state;

	if (s->cfa_by_expression)
		return;
	if (s->cfa_defined)
		eh_rule_set_cfa(&s->rule, s->cfa_reg, s->cfa_offset);
	else
		eh_rule_set_cfa_unsupported(&s->rule);
}

static void on_cfa_register(void *builder, uint64_t reg)
{
	struct builder *b = builder;

	b->state.cfa_by_expression = false;
	b->state.cfa_reg = reg;
	set_cfa(b);
}

static void on_cfa_offset(void *builder, int64_t offset)
{
	struct builder *b = builder;

	b->state.cfa_offset = offset;
	set_cfa(b);
}

static void on_cfa(void *builder, uint64_t reg, int64_t offset)
{
	struct builder *b = builder;

	b->state.cfa_defined = true;
	b->state.cfa_offset = offset;
	on_cfa_register(b, reg);
}

static void on_cfa_expression(void *builder, const uint8_t *bytes, size_t size)
{
	struct builder *b = builder;

	b->state.cfa_by_expression = true;
	eh_rule_set_cfa_expression(&b->state.rule, bytes, size);
}

static void on_saved(void *builder, uint64_t reg, enum cfi_where where, int64_t offset)
{
	struct builder *b = builder;

	eh_rule_set_saved(&b->state.rule, reg, where, offset);
}

static void on_expression(void *builder, uint64_t reg, bool is_value, const uint8_t *bytes, size_t size)
{
	struct builder *b = builder;

	eh_rule_set_expression(&b->state.rule, reg, is_value, bytes, size);
}

static void on_restore(void *builder, uint64_t reg)
{
	struct builder *b = builder;

	b->misplaced |= b->in_cie;
	eh_rule_restore(&b->state.rule, &b->initial.rule, reg);
}

/* the automaton does these itself, and a CIE that does them is nobody's */
static void on_misplaced(void *builder)
{
	struct builder *b = builder;

	b->misplaced = true;
}

static void on_advance(void *builder, uint64_t vaddr)
{
	(void)vaddr;
	on_misplaced(builder);
}

static void on_nothing(void *builder)
{
	(void)builder;
}

static const struct cfi_ops rule_ops = {
	.advance = on_advance,
	.cfa = on_cfa,
	.cfa_register = on_cfa_register,
	.cfa_offset = on_cfa_offset,
	.cfa_expression = on_cfa_expression,
	.saved = on_saved,
	.expression = on_expression,
	.restore = on_restore,
	.remember = on_misplaced,
	.restore_state = on_misplaced,
	.toggle_ra_signing = on_nothing,
};

static uint32_t state_hash(const struct builder *b, const struct state *state)
{
	uint64_t word[sizeof(*state) / 8], hash = b->seed;

	memcpy(word, state, sizeof(word));
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		hash = ((hash ^ word[i]) * (b->seed | 1)) ^ hash >> 29;
	return hash >> 32 ^ hash;
}

static bool grow_state_slots(struct builder *b)
{
	uint32_t nr = b->nr_state_slots ? b->nr_state_slots * 2 : 1024;
	uint32_t *slots = calloc(nr, sizeof(*slots));

	if (!slots) {
		b->failed = true;
		return false;
	}
	for (uint32_t i = 0; i < b->nr_states; i++) {
		uint32_t at = state_hash(b, &b->states[i]) & (nr - 1);

		while (slots[at])
			at = (at + 1) & (nr - 1);
		slots[at] = i + 1;
	}
	free(b->state_slots);
	b->state_slots = slots;
	b->nr_state_slots = nr;
	return true;
}

/* the number of this state among the distinct ones */
static uint32_t intern_state(struct builder *b, const struct state *state)
{
	uint32_t at;

	if (b->nr_states * 2 >= b->nr_state_slots && !grow_state_slots(b))
		return 0;
	for (at = state_hash(b, state) & (b->nr_state_slots - 1); b->state_slots[at]; at = (at + 1) & (b->nr_state_slots - 1))
		if (!memcmp(&b->states[b->state_slots[at] - 1], state, sizeof(*state)))
			return b->state_slots[at] - 1;
	if (b->nr_states >= MAX_RULES)
		b->failed = b->too_large = true;
	if (b->failed || !reserve(b, &b->states, &b->max_states, b->nr_states, 1, sizeof(*b->states)) ||
	    !reserve(b, &b->slot_of, &b->max_slot_of, b->nr_states, 1, sizeof(*b->slot_of)))
		return 0;
	b->states[b->nr_states] = *state;
	b->slot_of[b->nr_states] = 0;	/* windows are counted from 1 */
	b->state_slots[at] = b->nr_states + 1;
	return b->nr_states++;
}

/* ---- from rules to pages ---- */

/* the slot of the state's rule in the window, which it joins; NO_SLOT where the window is full */
#define NO_SLOT UINT32_MAX
static uint32_t join_window(struct builder *b, uint32_t state)
{
	struct unwind_table *t = b->table;
	uint32_t slot = b->window_rules;

	if (slot == MAX_PAGE_RULES)
		return NO_SLOT;
	if (!reserve(b, &t->rules, &b->max_table_rules, b->window_base, slot + 1, sizeof(*t->rules)))
		return 0;
	t->rules[b->window_base + slot] = b->states[state].rule;
	b->state_of[slot] = state;
	b->slot_of[state] = b->window << 12 | slot;
	b->window_rules++;
	return slot;
}

static inline uint32_t slot_in_window(struct builder *b, uint32_t state)
{
	uint32_t slot = b->slot_of[state];

	return __builtin_expect(slot >> 12 == b->window, 1) ? slot & (MAX_PAGE_RULES - 1) : join_window(b, state);
}

static inline uint32_t read_row(const uint8_t *at)
{
	uint32_t row = 0;

	memcpy(&row, at, ROW_BYTES);
	return row;
}

/* rows[] has room for one byte more, which the next row overwrites */
static inline void write_row(struct builder *b, uint64_t nr, uint32_t pc, uint32_t slot)
{
	uint32_t row = pc | slot << PAGE_ROWS_SHIFT;

	memcpy(b->table->rows + nr * ROW_BYTES, &row, sizeof(row));
}

static void begin_window(struct builder *b)
{
	b->window++;
	b->window_base = (b->window_base + b->window_rules + RULE_BASE_UNIT - 1) / RULE_BASE_UNIT * RULE_BASE_UNIT;
	b->window_rules = 0;
	if (b->window_base >= MAX_RULES - MAX_PAGE_RULES)
		b->failed = b->too_large = true;
}

/* The page so far does not fit its window with one rule more: it moves to a new one. */
static void move_page(struct builder *b)
{
	uint32_t old[MAX_PAGE_RULES];

	memcpy(old, b->state_of, sizeof(old));
	begin_window(b);
	b->table->pages[b->table->nr_pages - 1].rule_base = b->window_base / RULE_BASE_UNIT;
	for (uint64_t nr = b->page_row; nr < b->table->nr_rows; nr++) {
		uint8_t *at = b->table->rows + nr * ROW_BYTES;
		uint32_t row = read_row(at);

		row = ROW_PC(row) | slot_in_window(b, old[ROW_RULE(row)]) << PAGE_ROWS_SHIFT;
		memcpy(at, &row, ROW_BYTES);	/* not write_row(): the next row is there */
	}
}

static uint32_t find_slot(struct builder *b, uint32_t state)
{
	uint32_t slot = slot_in_window(b, state);

	if (__builtin_expect(slot == NO_SLOT, 0)) {
		move_page(b);
		slot = slot_in_window(b, state);
	}
	return slot;
}

static void end_page(struct builder *b)
{
	if (b->table->nr_pages)
		b->table->pages[b->table->nr_pages - 1].nr_rows = b->table->nr_rows - b->page_row;
}

/* opens the next page with the rule that holds at its start */
static void begin_page(struct builder *b)
{
	struct unwind_table *t = b->table;

	end_page(b);
	if (!reserve(b, &t->rows, &b->max_row_bytes, t->nr_rows * ROW_BYTES, (MAX_PAGE_ROWS + 1) * ROW_BYTES, 1) ||
	    !reserve(b, &t->pages, &b->max_pages, t->nr_pages, 1, sizeof(*t->pages)))
		return;
	t->pages[t->nr_pages++] = (struct eh_page){
		.rows = t->nr_rows,
		.rule_base = b->window_base / RULE_BASE_UNIT,
	};
	b->page_row = t->nr_rows;
	b->last_pc = 0;
	write_row(b, t->nr_rows, 0, find_slot(b, b->last_state));
	t->nr_rows++;
}

/* from file_offset on, the state's rule holds; called in rising order */
static inline void place_row(struct builder *b, uint64_t file_offset, uint32_t state)
{
	uint32_t pc = file_offset & (MAX_PAGE_ROWS - 1), slot;

	if (state == b->last_state)
		return;
	while (__builtin_expect(b->page < file_offset >> PAGE_ROWS_SHIFT, 0)) {
		if (b->table->nr_pages >= MAX_PAGES)
			b->failed = b->too_large = true;
		else
			begin_page(b);
		if (b->failed)
			return;
		b->page++;
	}
	b->last_state = state;
	if (pc == b->last_pc)	/* nothing lies between: the earlier row rules no byte */
		b->table->nr_rows--;
	b->last_pc = pc;
	slot = find_slot(b, state);
	write_row(b, b->table->nr_rows++, pc, slot);
}

/* ---- from FDEs to rows ---- */

/* what these instructions, none of which advances, make of a state */
static uint32_t run_ops(struct builder *b, const struct cie_class *class, uint32_t from, const uint8_t *ops, size_t size)
{
	struct cie cie = { .code_align = class->code_align, .data_align = class->data_align };

	b->state = b->states[from];
	b->initial = b->states[class->initial];
	if (cfi_run(&cie, ops, size, 0, 0, &rule_ops, b))
		b->state = unsupported;
	return intern_state(b, &b->state);
}

/* the same, remembered; ops lies in [.., limit) */
static inline uint32_t apply_ops(struct builder *b, uint32_t class, uint32_t from, const uint8_t *ops, size_t size,
				 const uint8_t *limit)
{
	uint32_t key_from = class << 20 | from;
	struct memo *memo;
	uint64_t key = 0;

	if (__builtin_expect(size > sizeof(key), 0))
		return run_ops(b, &b->classes[class], from, ops, size);
	if (__builtin_expect(limit - ops >= (ptrdiff_t)sizeof(key), 1)) {
		memcpy(&key, ops, sizeof(key));
		key &= UINT64_MAX >> (64 - 8 * size);
	} else {
		memcpy(&key, ops, size);
	}
	memo = &b->memos[((key ^ (uint64_t)key_from << 32) * 0x9e3779b97f4a7c15) >> (64 - MEMO_SHIFT)];
	if (__builtin_expect(memo->ops != key || memo->from != key_from, 0)) {
		memo->to = run_ops(b, &b->classes[class], from, ops, size);
		memo->ops = key;
		memo->from = key_from;
	}
	return memo->to;
}

static inline bool ends_ops(uint8_t op)
{
	return (op & 0xc0) == DW_CFA_advance_loc || (op >= DW_CFA_set_loc && op <= DW_CFA_advance_loc4) ||
	       op == DW_CFA_MIPS_advance_loc8 || op == DW_CFA_nop || op == DW_CFA_remember_state || op == DW_CFA_restore_state;
}

/* Where the instructions from p on end that neither advance nor remember nor restore a state; NULL: undecodable */
static inline const uint8_t *end_of_ops(const uint8_t *p, const uint8_t *end)
{
	while (p < end && !ends_ops(*p)) {
		size_t size = 0;

		/* nearly all there is: DW_CFA_offset, DW_CFA_def_cfa_offset and _register, with a one-byte operand */
		if (((*p & 0xc0) == DW_CFA_offset || *p == DW_CFA_def_cfa_offset || *p == DW_CFA_def_cfa_register) &&
		    end - p > 1 && p[1] < 0x80)
			size = 2;
		else if ((*p & 0xc0) == DW_CFA_restore)
			size = 1;
		else
			size = cfi_op_bytes(p, end);
		if (!size)
			return NULL;
		p += size;
	}
	return p;
}

/* Writes the rows of one FDE up to `end`, an offset in the file. */
static void place_fde(struct builder *b, const struct span *span, uint64_t end)
{
	const struct cie_class *class = &b->classes[span->class];
	const uint8_t *p = span->program, *program_end = p + span->program_bytes, *next;
	uint32_t state = class->initial, remembered[MAX_REMEMBERED], nr_remembered = 0;
	uint64_t at = span->start, vaddr = span->vaddr, delta;
	uint64_t nr_rows = 1;

	if (class->bad)
		goto bad;
	while (p < program_end) {
		uint64_t align = class->code_align;
		uint8_t op = *p;

		if ((op & 0xc0) == DW_CFA_advance_loc) {
			delta = op & 0x3f;
			p++;
		} else if (!ends_ops(op)) {
			next = end_of_ops(p, program_end);
			if (!next)
				goto bad;
			state = apply_ops(b, span->class, state, p, next - p, program_end);
			p = next;
			continue;
		} else if (op == DW_CFA_nop) {
			p++;
			continue;
		} else if (op == DW_CFA_remember_state) {
			if (nr_remembered == MAX_REMEMBERED)
				goto bad;
			remembered[nr_remembered++] = state;
			p++;
			continue;
		} else if (op == DW_CFA_restore_state) {
			if (!nr_remembered)
				goto bad;
			state = remembered[--nr_remembered];
			p++;
			continue;
		} else {
			struct cursor c = cursor_over(p + 1, program_end - p - 1);

			switch (op) {
			case DW_CFA_advance_loc1:
				delta = cursor_u8(&c);
				break;
			case DW_CFA_advance_loc2:
				delta = cursor_u16(&c);
				break;
			case DW_CFA_advance_loc4:
				delta = cursor_u32(&c);
				break;
			case DW_CFA_MIPS_advance_loc8:
				delta = cursor_u64(&c);
				break;
			default:	/* DW_CFA_set_loc: to an address, not by so many */
				delta = eh_frame_pointer(&c, class->fde_encoding, b->pc_bias, 0) - vaddr;
				align = 1;
			}
			if (c.bad)
				goto bad;
			p = c.p;
		}
		if (__builtin_mul_overflow(delta, align, &delta) || __builtin_add_overflow(vaddr, delta, &vaddr))
			goto bad;
		nr_rows++;
		if (delta && at < end)
			place_row(b, at, state);
		at = delta < end - at ? at + delta : end;	/* what comes after the end is decoded, but nobody's */
	}
	if (at < end)
		place_row(b, at, state);
	b->table->nr_cfi_rows += nr_rows;
	return;
bad:
	b->table->skipped[SKIP_BAD_PROGRAM]++;
	b->table->nr_cfi_rows += nr_rows;
	if (at < end)
		place_row(b, at, intern_state(b, &unsupported));
}

static int find_class(struct builder *b, const struct cie *cie)
{
	struct cie_class class;

	if (cie->offset == b->last_cie)
		return b->last_class;
	b->state = (struct state){ .rule = eh_rule_start(cie->signal_frame) };
	b->initial = b->state;
	b->in_cie = true;
	b->misplaced = false;
	memset(&class, 0, sizeof(class));	/* it is compared with its padding */
	class.code_align = cie->code_align;
	class.data_align = cie->data_align;
	class.fde_encoding = cie->fde_encoding;
	class.bad = cfi_run(cie, cie->program, cie->program_bytes, 0, 0, &rule_ops, b) || b->misplaced ||
		    cie->ra_reg != EH_RA;
	b->in_cie = false;
	class.initial = intern_state(b, &b->state);
	b->last_cie = cie->offset;
	for (b->last_class = 0; b->last_class < b->nr_classes; b->last_class++)
		if (!memcmp(&b->classes[b->last_class], &class, sizeof(class)))
			return b->last_class;
	if (b->nr_classes == MAX_CLASSES || !reserve(b, &b->classes, &b->max_classes, b->nr_classes, 1, sizeof(class))) {
		b->last_cie = UINT64_MAX;
		return -1;
	}
	b->classes[b->nr_classes++] = class;
	return b->last_class;
}

/* the offset of its start in the file; false unless one executable segment holds all of it */
static bool file_range(const struct elf_file *file, const struct fde *fde, uint64_t *start)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct elf_segment *s = &file->segments[i];

		if (!s->executable || fde->start < s->vaddr || fde->start - s->vaddr >= s->size)
			continue;
		if (fde->length > s->size - (fde->start - s->vaddr))
			return false;
		*start = fde->start - s->vaddr + s->file_offset;
		return true;
	}
	return false;
}

static void add_fde(struct builder *b, const struct elf_file *file, const struct fde *fde)
{
	uint64_t start;
	int class = find_class(b, fde->cie);

	if (class < 0 || !fde->length || fde->length > UINT32_MAX || !file_range(file, fde, &start)) {
		b->table->skipped[class < 0 ? SKIP_BAD_CIE : fde->length ? SKIP_OUTSIDE : SKIP_EMPTY]++;
		return;
	}
	if (reserve(b, &b->spans, &b->max_spans, b->nr_spans, 1, sizeof(*b->spans)))
		b->spans[b->nr_spans++] = (struct span){
			.start = start, .length = fde->length, .class = class, .vaddr = fde->start,
			.program = fde->program, .program_bytes = fde->program_bytes,
		};
}

static int by_start(const void *left, const void *right, void *builder)
{
	const struct builder *b = builder;
	uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;

	if (b->spans[l].start != b->spans[r].start)
		return b->spans[l].start < b->spans[r].start ? -1 : 1;
	return l < r ? -1 : 1;
}

/* those of one page, which are few */
static void sort_page(struct builder *b, uint32_t *order, size_t nr)
{
	if (nr > 64) {
		qsort_r(order, nr, sizeof(*order), by_start, b);
		return;
	}
	for (size_t i = 1; i < nr; i++) {
		uint32_t moved = order[i];
		size_t to = i;

		while (to && b->spans[order[to - 1]].start > b->spans[moved].start) {
			order[to] = order[to - 1];
			to--;
		}
		order[to] = moved;
	}
}

/* Fills by_address, one for each start: of several, the first in the section rules. */
static void sort_spans(struct builder *b)
{
	uint64_t first = UINT64_MAX, last = 0, nr_pages;
	uint32_t *ends;		/* of each page's part of by_address */
	size_t kept = 0;

	for (size_t i = 0; i < b->nr_spans; i++) {
		first = b->spans[i].start < first ? b->spans[i].start : first;
		last = b->spans[i].start > last ? b->spans[i].start : last;
	}
	first >>= PAGE_ROWS_SHIFT;
	nr_pages = (last >> PAGE_ROWS_SHIFT) - first + 1;
	if (nr_pages > MAX_PAGES) {
		b->failed = b->too_large = true;
		return;
	}
	ends = calloc(nr_pages + 1, sizeof(*ends));
	b->by_address = malloc(b->nr_spans * sizeof(*b->by_address));
	if (!ends || !b->by_address) {
		free(ends);
		b->failed = true;
		return;
	}
	for (size_t i = 0; i < b->nr_spans; i++)
		ends[(b->spans[i].start >> PAGE_ROWS_SHIFT) - first + 1]++;
	for (uint64_t page = 1; page <= nr_pages; page++)
		ends[page] += ends[page - 1];
	for (size_t i = 0; i < b->nr_spans; i++)
		b->by_address[ends[(b->spans[i].start >> PAGE_ROWS_SHIFT) - first]++] = i;
	for (uint64_t page = 0, from = 0; page < nr_pages; from = ends[page++])
		sort_page(b, b->by_address + from, ends[page] - from);
	free(ends);
	for (size_t i = 0; i < b->nr_spans; i++)
		if (!kept || b->spans[b->by_address[i]].start != b->spans[b->by_address[kept - 1]].start)
			b->by_address[kept++] = b->by_address[i];
	b->nr_by_address = kept;
}

#define MAX_ENTRY_BYTES 4096

/* how much of these bytes lies before what is called from there: that is another function (musl's _start_c) */
static uint64_t before_callees(const struct elf_file *file, uint64_t start, uint64_t size)
{
	const Elf_Data *data = elf_getdata_rawchunk(file->elf, start, size, ELF_T_BYTE);
	const uint8_t *bytes = data ? data->d_buf : NULL;

	for (uint64_t i = 0; bytes && i + 5 <= size; i++) {
		int32_t to;

		memcpy(&to, bytes + i + 1, sizeof(to));
		if (bytes[i] == 0xe8 && to >= 0 && i + 5 + to < size)	/* call rel32 */
			size = i + 5 + to;
	}
	return size;
}

/* the first byte from `start` on that an FDE covers, or `end` */
static uint64_t before_fdes(const struct builder *b, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < b->nr_by_address; i++) {
		const struct span *span = &b->spans[b->by_address[i]];

		if (span->start + span->length > start && span->start < end)
			end = span->start > start ? span->start : start;
	}
	return end;
}

/*
 * Where the ABI leaves the rule for the entry point out (ld.so's _start, musl's, Go's), what no FDE covers from
 * there on is the entry code all the same, and the outermost frame.
 */
static void find_entry(struct builder *b)
{
	const GElf_Ehdr *header = &b->file->header;

	for (size_t i = 0; i < b->file->nr_segments; i++) {
		const struct elf_segment *s = &b->file->segments[i];
		uint64_t start, end;

		if (!s->executable || header->e_entry < s->vaddr || header->e_entry - s->vaddr >= s->size)
			continue;
		start = header->e_entry - s->vaddr + s->file_offset;
		end = s->file_offset + s->size;
		end = before_fdes(b, start, end - start > MAX_ENTRY_BYTES ? start + MAX_ENTRY_BYTES : end);
		if (end <= UINT32_MAX && end > start) {
			b->table->entry_start = start;
			b->table->entry_end = start + before_callees(b->file, start, end - start);
		}
		return;
	}
}

/* Decoding takes some 100 ns an instruction. No file with CFI leaves as much out but a language's run-time system in its own binary. */
#define MAX_CODE_BYTES (8 << 20)

struct gap {
	struct builder *b;
	uint64_t start;
};

static void place_code_rule(void *arg, size_t at, const struct eh_rule *rule)
{
	const struct gap *gap = arg;
	struct builder *b = gap->b;
	uint64_t offset = gap->start + at;
	bool entry = offset >= b->table->entry_start && offset < b->table->entry_end;

	if (!b->failed)
		place_row(b, offset, entry ? b->nothing : intern_state(b, &(struct state){ .rule = *rule }));
}

/* Between functions; at a segment's ends lie _init and _fini, which are short. */
static bool is_padding(const struct elf_segment *s, uint64_t from, uint64_t to)
{
	return to - from < 64 && from > s->file_offset && to < s->file_offset + s->size;
}

/* no FDE covers [start, end) */
static void place_gap(struct builder *b, uint64_t start, uint64_t end)
{
	place_row(b, start, b->nothing);
	for (size_t i = 0; i < b->file->nr_segments; i++) {
		const struct elf_segment *s = &b->file->segments[i];
		uint64_t from = start > s->file_offset ? start : s->file_offset;
		uint64_t to = end < s->file_offset + s->size ? end : s->file_offset + s->size;
		struct gap gap = { .b = b, .start = from };
		Elf_Data *data;

		if (!s->executable || from < b->code_end || from >= to || is_padding(s, from, to) || to - from > MAX_CODE_BYTES - b->code_bytes)
			continue;
		b->table->has_other_code = true;
		if (!b->of_code)
			continue;
		data = elf_getdata_rawchunk(b->file->elf, from, to - from, ELF_T_BYTE);
		if (!data || !data->d_buf)
			continue;
		b->code_bytes += to - from;
		b->code_end = to;
		if (code_rules(data->d_buf, data->d_size, from - s->file_offset + s->vaddr, place_code_rule, &gap))
			b->failed = true;
		if (!b->failed)
			place_row(b, to, b->nothing);
	}
}

static void place_spans(struct builder *b)
{
	struct unwind_table *t = b->table;
	uint64_t first = b->nr_by_address ? b->spans[b->by_address[0]].start : UINT64_MAX, start = first;

	for (size_t i = 0; i < b->file->nr_segments; i++)
		if (b->file->segments[i].executable && b->file->segments[i].file_offset < start)
			start = b->file->segments[i].file_offset;
	t->first_page = b->page = (b->of_code ? start : first) >> PAGE_ROWS_SHIFT;
	b->last_state = b->nothing;
	begin_window(b);
	begin_page(b);
	if (start < first)
		place_gap(b, start, first);
	for (size_t i = 0; i < b->nr_by_address && !b->failed; i++) {
		const struct span *span = &b->spans[b->by_address[i]];
		uint64_t end = span->start + span->length;
		uint64_t next = i + 1 < b->nr_by_address ? b->spans[b->by_address[i + 1]].start : UINT64_MAX;

		if (b->of_code) {
			place_row(b, span->start, b->nothing);
		} else {
			place_fde(b, span, next < end ? next : end);
			t->nr_placed_fdes++;
		}
		if (next > end)
			place_gap(b, end, next);
	}
	end_page(b);
	t->nr_rules = b->window_base + b->window_rules;
}

static int compile(struct unwind_table *table, const struct elf_file *file, struct eh_frame *frame, bool of_code)
{
	struct builder *b = calloc(1, sizeof(*b));
	struct unwind_table built = {};
	struct fde fde;
	int error;

	if (!b)
		return -ENOMEM;
	b->table = &built;
	b->file = file;
	b->of_code = of_code;
	/* of the 16 random bytes that the kernel gives each process: nobody can prepare a file of colliding states */
	memcpy(&b->seed, (const void *)getauxval(AT_RANDOM), sizeof(b->seed));
	b->last_cie = UINT64_MAX;
	b->pc_bias = frame->vaddr - (uintptr_t)frame->bytes;
	while (!b->failed && eh_frame_next(frame, &fde))
		add_fde(b, file, &fde);
	if (b->nr_spans && !b->failed)
		sort_spans(b);
	b->nothing = intern_state(b, &(struct state){});
	if (!b->failed)
		find_entry(b);
	built.has_other_code = !b->nr_spans;
	if ((b->nr_spans || of_code) && !b->failed)
		place_spans(b);
	built.nr_cies = frame->nr_cies;
	built.nr_fdes = frame->nr_fdes;
	for (int i = 0; i < NR_EH_FRAME_SKIPS; i++)
		built.skipped[i] += frame->skipped[i];

	error = b->failed ? b->too_large ? -EOVERFLOW : -ENOMEM : 0;
	free(b->spans);
	free(b->by_address);
	free(b->classes);
	free(b->states);
	free(b->state_slots);
	free(b->slot_of);
	free(b);
	if (error)
		unwind_table_free(&built);
	else
		*table = built;
	return error;
}

int unwind_table_compile(struct unwind_table *table, const struct elf_file *file, struct eh_frame *frame)
{
	return compile(table, file, frame, false);
}

static int build_without_cfi(struct unwind_table *table, const struct elf_file *file, bool of_code)
{
	struct eh_frame none = eh_frame_over(NULL, 0, 0);

	return compile(table, file, &none, of_code);
}

static int build(struct unwind_table *table, struct elf_file *file, bool of_code)
{
	struct elf_section section;
	struct eh_frame frame;
	int error;

	if (file->header.e_machine != EM_X86_64)
		return -ENOTSUP;
	error = elf_file_cfi(file, &section, &frame);
	if (error == -ENOENT && of_code)
		return build_without_cfi(table, file, true);
	return error ? error : compile(table, file, &frame, of_code);
}

int unwind_table_build(struct unwind_table *table, struct elf_file *file)
{
	return build(table, file, false);
}

int unwind_table_build_without_cfi(struct unwind_table *table, const struct elf_file *file)
{
	return build_without_cfi(table, file, false);
}

int unwind_table_build_code(struct unwind_table *table, struct elf_file *file)
{
	return build(table, file, true);
}

void unwind_table_free(struct unwind_table *table)
{
	free(table->rules);
	free(table->pages);
	free(table->rows);
	*table = (struct unwind_table){};
}

/* small enough that what is left of a slab is not much of it */
#define MAX_EXTENT_ROWS (SLAB_BYTES / 4 / ROW_BYTES)

static uint64_t row_after(const struct unwind_table *table, uint32_t page)
{
	return (uint64_t)table->pages[page].rows + table->pages[page].nr_rows;
}

uint32_t unwind_table_extent_end(const struct unwind_table *table, uint32_t first)
{
	uint32_t end = first + 1;

	while (end < table->nr_pages && row_after(table, end) - table->pages[first].rows <= MAX_EXTENT_ROWS)
		end++;
	return end;
}

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + EXTENT_ALIGNMENT - 1) / EXTENT_ALIGNMENT * EXTENT_ALIGNMENT;
}

uint64_t unwind_table_bytes(const struct unwind_table *table)
{
	uint64_t bytes = 0;

	if (!table->nr_pages)
		return 0;
	for (uint32_t first = 0, end; first < table->nr_pages; first = end) {
		end = unwind_table_extent_end(table, first);
		bytes += rounded((row_after(table, end - 1) - table->pages[first].rows) * ROW_BYTES);
	}
	return bytes + rounded(table->nr_pages * sizeof(*table->pages)) + rounded(table->nr_rules * sizeof(*table->rules)) +
	       rounded(sizeof(struct eh_module));
}

struct eh_rule unwind_table_lookup(const struct unwind_table *table, uint64_t file_offset)
{
	uint64_t page_nr = (file_offset >> PAGE_ROWS_SHIFT) - table->first_page;
	uint32_t pc = file_offset & (MAX_PAGE_ROWS - 1), nr;
	const struct eh_page *page;
	const uint8_t *at;

	if (page_nr >= table->nr_pages)
		return (struct eh_rule){};
	page = &table->pages[page_nr];
	at = table->rows + (size_t)page->rows * ROW_BYTES;
	for (nr = page->nr_rows; nr > 1; nr -= nr / 2)
		if (ROW_PC(read_row(at + nr / 2 * ROW_BYTES)) <= pc)
			at += nr / 2 * ROW_BYTES;
	return table->rules[page->rule_base * RULE_BASE_UNIT + ROW_RULE(read_row(at))];
}
