// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/cfi_states.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "base/array.h"
#include "dwarf/cfi.h"
#include "table/eh_rule.h"

void cfi_states_init(struct cfi_states *s)
{
	/*
	 * of the 16 random bytes that the kernel gives each process: nobody can prepare a file of
	 * colliding states
	 */
	memcpy(&s->seed, (const void *)getauxval(AT_RANDOM), sizeof(s->seed));
	s->last_cie = UINT64_MAX;
}

void cfi_states_free(struct cfi_states *s)
{
	free(s->all);
	free(s->slot_of);
	free(s->slots);
	free(s->classes);
}

/* ---- interning ---- */

static uint32_t hash(const struct cfi_states *s, const struct cfi_state *state)
{
	uint64_t word[sizeof(*state) / 8], hash = s->seed;

	memcpy(word, state, sizeof(word));
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		hash = ((hash ^ word[i]) * (s->seed | 1)) ^ hash >> 29;
	return hash >> 32 ^ hash;
}

static int grow_slots(struct cfi_states *s)
{
	uint32_t nr = s->nr_slots ? s->nr_slots * 2 : 1024;
	uint32_t *slots = calloc(nr, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->nr; i++) {
		uint32_t at = hash(s, &s->all[i]) & (nr - 1);

		while (slots[at])
			at = (at + 1) & (nr - 1);
		slots[at] = i + 1;
	}
	free(s->slots);
	s->slots = slots;
	s->nr_slots = nr;
	return 0;
}

/* The number of this state; 0 with s->error set on failure. */
static uint32_t intern(struct cfi_states *s, const struct cfi_state *state)
{
	int error = s->nr * 2 >= s->nr_slots ? grow_slots(s) : 0;
	uint32_t at, mask = s->nr_slots - 1;

	if (error) {
		s->error = error;
		return 0;
	}
	for (at = hash(s, state) & mask; s->slots[at]; at = (at + 1) & mask)
		if (!memcmp(&s->all[s->slots[at] - 1], state, sizeof(*state)))
			return s->slots[at] - 1;
	error = s->nr >= MAX_RULES ? -EOVERFLOW : array_reserve(&s->all, &s->max, s->nr + 1);
	if (!error)
		error = array_reserve(&s->slot_of, &s->max_slots_of, s->nr + 1);
	if (error || s->error) {
		s->error = s->error ? s->error : error;
		return 0;
	}
	s->all[s->nr] = *state;
	s->slot_of[s->nr] = 0;
	s->slots[at] = s->nr + 1;
	return s->nr++;
}

uint32_t cfi_states_of_rule(struct cfi_states *s, const struct eh_rule *rule)
{
	return intern(s, &(struct cfi_state){ .rule = *rule });
}

/* ---- running instructions ---- */

struct run {
	struct cfi_state state;
	const struct cfi_state *initial; /* the CIE's; NULL while the CIE's own program runs */
	bool misplaced;                  /* an instruction that has no business here */
};

static void set_cfa(struct cfi_state *s)
{
	if (s->cfa_by_expression)
		return;
	if (s->cfa_defined)
		eh_rule_set_cfa(&s->rule, s->cfa_reg, s->cfa_offset);
	else
		eh_rule_set_cfa_unsupported(&s->rule);
}

static void on_cfa_register(void *run, uint64_t reg)
{
	struct cfi_state *s = &((struct run *)run)->state;

	s->cfa_by_expression = false;
	s->cfa_reg = reg;
	set_cfa(s);
}

static void on_cfa_offset(void *run, int64_t offset)
{
	struct cfi_state *s = &((struct run *)run)->state;

	s->cfa_offset = offset;
	set_cfa(s);
}

static void on_cfa(void *run, uint64_t reg, int64_t offset)
{
	struct cfi_state *s = &((struct run *)run)->state;

	s->cfa_defined = true;
	s->cfa_offset = offset;
	on_cfa_register(run, reg);
}

static void on_cfa_expression(void *run, const uint8_t *bytes, size_t size)
{
	struct cfi_state *s = &((struct run *)run)->state;

	s->cfa_by_expression = true;
	eh_rule_set_cfa_expression(&s->rule, bytes, size);
}

static void on_saved(void *run, uint64_t reg, enum cfi_where where, int64_t offset)
{
	eh_rule_set_saved(&((struct run *)run)->state.rule, reg, where, offset);
}

static void on_expression(void *run, uint64_t reg, bool is_value, const uint8_t *bytes, size_t size)
{
	eh_rule_set_expression(&((struct run *)run)->state.rule, reg, is_value, bytes, size);
}

static void on_restore(void *run, uint64_t reg)
{
	struct run *r = run;

	if (r->initial)
		eh_rule_restore(&r->state.rule, &r->initial->rule, reg);
	else
		r->misplaced = true; /* there is nothing yet to restore */
}

/*
 * Only in a CIE: an FDE's strings of instructions end before these, and a CIE's rules belong to no
 * place.
 */
static void on_misplaced(void *run)
{
	((struct run *)run)->misplaced = true;
}

static void on_advance(void *run, uint64_t vaddr)
{
	(void)vaddr;
	on_misplaced(run);
}

static void on_nothing(void *run)
{
	(void)run;
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

uint32_t cfi_states_run(struct cfi_states *s, uint32_t class, uint32_t from, const uint8_t *ops,
			size_t size)
{
	static const struct cfi_state unsupported = { .rule = { .kind = RULE_UNSUPPORTED } };
	const struct cie_class *c = &s->classes[class];
	struct cie cie = { .code_align = c->code_align, .data_align = c->data_align };
	struct run run = { .state = s->all[from], .initial = &s->all[c->initial] };

	if (cfi_run(&cie, ops, size, 0, 0, &rule_ops, &run))
		run.state = unsupported;
	return intern(s, &run.state);
}

/* ---- CIEs ---- */

/* *class is compared with its padding, so it is zeroed first */
static void classify(struct cfi_states *s, const struct cie *cie, struct cie_class *class)
{
	struct run run = { .state = { .rule = eh_rule_start(cie->signal_frame) } };
	int error = cfi_run(cie, cie->program, cie->program_bytes, 0, 0, &rule_ops, &run);

	memset(class, 0, sizeof(*class));
	class->code_align = cie->code_align;
	class->data_align = cie->data_align;
	class->fde_encoding = cie->fde_encoding;
	class->bad = error || run.misplaced || cie->ra_reg != EH_RA;
	class->initial = intern(s, &run.state);
}

int cfi_states_find_class(struct cfi_states *s, const struct cie *cie)
{
	struct cie_class class;
	uint32_t nr;

	classify(s, cie, &class);
	for (nr = 0; nr < s->nr_classes; nr++)
		if (!memcmp(&s->classes[nr], &class, sizeof(class)))
			break;
	if (nr == s->nr_classes) {
		if (nr == MAX_CIE_CLASSES) {
			s->last_cie = UINT64_MAX;
			return -1;
		}
		if (array_reserve(&s->classes, &s->max_classes, nr + 1)) {
			s->error = -ENOMEM;
			return -1;
		}
		memcpy(&s->classes[s->nr_classes++], &class, sizeof(class));
	}
	s->last_cie = cie->offset;
	s->last_class = nr;
	return nr;
}
