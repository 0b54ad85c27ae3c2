// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The compact table of this very program, at labels between CFI directives whose meaning is known.
 */
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "check.h"
#include "process/proc_maps.h"
#include "table/unwind_table.h"
#include "tables_abi.h"

__asm__(".text\n"
	".p2align 4\n"
	"before: .fill 16, 1, 0xcc\n" /* no FDE covers this */
	"	.type sample, @function\n"
	"sample: .cfi_startproc\n"
	"at_entry: nop\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset rbx, -16\n"
	"after_push: nop\n"
	"	.cfi_remember_state\n"
	"	.cfi_def_cfa rbp, 48\n"
	"	.cfi_offset r15, -24\n"
	"	.cfi_offset rax, -32\n" /* not a register we follow */
	"by_rbp: nop\n"
	"	.cfi_restore_state\n"
	"restored: nop\n"
	"	.cfi_restore rbx\n"
	"	.cfi_undefined r12\n"
	"rbx_restored: nop\n"
	"	.cfi_def_cfa_offset 0x100000\n"
	"large: nop\n"
	"	.cfi_offset r13, -4096\n" /* farther than a rule can say */
	"far: nop\n"
	"	.cfi_escape 0x0f, 3, 0x76, 0x78, 0x06\n" /* CFA = *(rbp - 8) */
	"	.cfi_escape 0x10, 3, 2, 0x76, 0x68\n"    /* rbx at rbp - 24 */
	"drap: nop\n"
	"	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22\n"
	"plt: nop\n"
	"	.cfi_escape 0x0f, 1, 0x33\n" /* CFA = 3: nobody means that */
	"odd: nop\n"
	"	.cfi_def_cfa rsp, 8\n"
	"	.cfi_undefined rip\n"
	"outermost: nop\n"
	"	.cfi_endproc\n"
	"after: .fill 16, 1, 0xcc\n"
	"sparse: .cfi_startproc\n" /* one rule over pages */
	"	.fill 9000, 1, 0x90\n"
	"	.cfi_def_cfa_offset 64\n"
	"sparse_end: nop\n"
	"	.cfi_endproc\n"
	"past_end: .fill 16, 1, 0xcc\n"
	"interrupted: .cfi_startproc\n"
	"	.cfi_signal_frame\n" /* its caller was interrupted, and has called nobody */
	"	nop\n"
	"	.cfi_endproc\n");

extern const char before[], sample[], at_entry[], after_push[], by_rbp[], restored[],
	rbx_restored[], large[], far[], drap[], plt[], odd[], outermost[], after[], sparse[],
	sparse_end[], past_end[], interrupted[];

static struct unwind_table table;
static struct proc_maps maps;

static struct eh_rule at(const char *label)
{
	uint64_t address = (uintptr_t)label;

	for (size_t i = 0; i < maps.nr; i++)
		if (address >= maps.mappings[i].start && address < maps.mappings[i].end)
			return unwind_table_lookup(&table, address - maps.mappings[i].start +
								   maps.mappings[i].file_offset);
	return (struct eh_rule){ .kind = NR_RULE_KINDS };
}

static bool is_cfa(struct eh_rule r, int kind, int reg, int offset)
{
	return r.kind == kind && r.cfa_reg == reg && r.cfa_offset == offset;
}

int main(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct elf_file file;
	struct eh_rule r;

	check(!elf_file_open(&file, fd) && !proc_maps_read(&maps, getpid()));
	check(!unwind_table_build(&table, &file));
	for (int i = 0; i < NR_EH_FRAME_SKIPS; i++)
		check(!table.skipped[i], "%s", eh_frame_skip_names[i]);

	check(at(before + 15).kind == RULE_NONE);
	r = at(at_entry);
	check(is_cfa(r, RULE_REG, EH_RSP, 8) && r.saved[SAVED_RA] == -1 &&
	      r.saved[SAVED_RBX] == SAVED_SAME);
	r = at(after_push);
	check(is_cfa(r, RULE_REG, EH_RSP, 16) && r.saved[SAVED_RA] == -1 &&
	      r.saved[SAVED_RBX] == -2);
	r = at(by_rbp);
	check(is_cfa(r, RULE_REG, EH_RBP, 48) && r.saved[SAVED_RBX] == -2 &&
	      r.saved[SAVED_R15] == -3);
	r = at(restored);
	check(is_cfa(r, RULE_REG, EH_RSP, 16) && r.saved[SAVED_RBX] == -2 &&
	      r.saved[SAVED_R15] == SAVED_SAME);
	r = at(rbx_restored);
	check(r.saved[SAVED_RBX] == SAVED_SAME && r.saved[SAVED_R12] == SAVED_LOST);
	check(is_cfa(at(large), RULE_REG, EH_RSP, 0x100000));
	check(at(far).saved[SAVED_R13] == SAVED_ODD);
	r = at(drap);
	check(is_cfa(r, RULE_DEREF, EH_RBP, 0) && r.deref_offset == -8);
	check(r.saved[SAVED_RBX] == -3 && r.base_reg == EH_RBP && r.from_base == 1 << SAVED_RBX);
	r = at(plt);
	check(is_cfa(r, RULE_PLT, EH_RSP, 8) && r.deref_offset == 11);
	check(at(odd).kind == RULE_UNSUPPORTED);
	check(at(outermost).saved[SAVED_RA] == SAVED_LOST);
	check(at(after).kind == RULE_NONE && at(after + 15).kind == RULE_NONE);
	check(is_cfa(at(sparse), RULE_REG, EH_RSP, 8) &&
	      is_cfa(at(sparse + 4500), RULE_REG, EH_RSP, 8) &&
	      is_cfa(at(sparse + 8999), RULE_REG, EH_RSP, 8) &&
	      is_cfa(at(sparse_end), RULE_REG, EH_RSP, 64));
	check(at(past_end).kind == RULE_NONE);
	check(is_cfa(at(interrupted), RULE_REG, EH_RSP, 8) &&
	      at(interrupted).flags == RULE_SIGNAL && !at(sparse).flags);

	unwind_table_free(&table);
	elf_file_close(&file);
	proc_maps_free(&maps);
	return check_done();
}
