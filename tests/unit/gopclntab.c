// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Go's table of functions, in each of its layouts, and the rules of code that is like the runtime's
 * assembly.
 */
#include <string.h>

#include "check.h"
#include "dwarf/gopclntab.h"
#include "table/go_assembly.h"
#include "table/machine.h"

/* ---- a table: one function with three values, and one that is not Go's ---- */

/* 0 for 4 bytes, 24 for 20, 0 for 1 */
#define PCSP   \
	"\x02" \
	"\x04" \
	"\x30" \
	"\x14" \
	"\x2f" \
	"\x01" \
	"\x00"
#define PCFILE \
	"\x02" \
	"\x20" \
	"\x00" /* 0 for 32 bytes */
#define PCLN   \
	"\x10" \
	"\x04" \
	"\x04" \
	"\x1c" \
	"\x00" /* 7 for 4 bytes, 9 for 28 */
#define NAMES "\0main.main\0cfun\0"
#define FILES "\0main.go\0"

struct layout {
	uint32_t magic;
	unsigned entry, name, pcsp, flag; /* bytes, offsets in a function's record */
};

static const struct layout layouts[] = {
	{ 0xfffffffa, 8, 8, 20, 41 },
	{ 0xfffffff0, 4, 4, 16, 37 },
	{ 0xfffffff1, 4, 4, 16, 41 },
};

static uint8_t image[512];

static void put(size_t at, uint64_t value, size_t bytes)
{
	memcpy(image + at, &value, bytes);
}

static size_t make_image(const struct layout *l)
{
	size_t header = 8 + 16 + (l->entry == 4 ? 8 : 0), names = header + 40,
	       pcvalues = names + 16, functions = 128;
	uint64_t base = l->entry == 4 ? 0 : 0x401000;

	memset(image, 0, sizeof(image));
	put(0, l->magic, 4);
	image[6] = 1;
	image[7] = 8;
	put(8, 2, 8);
	if (l->entry == 4)
		put(24, 0x401000, 8);
	put(header, names, 8);
	put(header + 8, 320, 8);
	put(header + 16, 328, 8);
	put(header + 24, pcvalues, 8);
	put(header + 32, functions, 8);
	memcpy(image + names, NAMES, sizeof(NAMES) - 1);
	memcpy(image + pcvalues + 1, PCSP, sizeof(PCSP) - 1);
	memcpy(image + pcvalues + 8, PCFILE, sizeof(PCFILE) - 1);
	memcpy(image + pcvalues + 11, PCLN, sizeof(PCLN) - 1);
	put(324, 1, 4); /* the unit's file, the second of all units' */
	memcpy(image + 328, FILES, sizeof(FILES) - 1);
	for (unsigned i = 0; i < 3; i++)
		put(functions + 2 * i * l->entry, base + 32 * i, l->entry);
	for (unsigned i = 0; i < 2; i++) {
		unsigned record = 64 + 64 * i;

		put(functions + (2 * i + 1) * l->entry, record, l->entry);
		put(functions + record + l->name, i ? 11 : 1, 4);
		put(functions + record + l->pcsp, i ? 0 : 1, 4);
		put(functions + record + l->pcsp + 4, i ? 0 : 8, 4);
		put(functions + record + l->pcsp + 8, i ? 0 : 11, 4);
		put(functions + record + l->pcsp + 16, 1, 4);
		image[functions + record + l->flag] = i ? 0 : GO_ASM;
	}
	return 328 + sizeof(FILES) - 1;
}

static void check_layout(const struct layout *l)
{
	static const struct {
		uint64_t start, end;
		int32_t value;
	} expected[] = { { 0, 4, 0 }, { 4, 24, 24 }, { 24, 25, 0 } };
	size_t size = make_image(l);
	struct gopclntab table;
	struct go_function f;
	struct go_values v;
	const char *file;
	unsigned line;

	check(!gopclntab_over(&table, image, size) && table.nr == 2, "%#x", l->magic);
	check(gopclntab_function(&table, 0, &f) && f.start == 0x401000 && f.size == 32 &&
	      !strcmp(f.name, "main.main"));
	check(f.flags == GO_ASM && f.pcsp);
	v = gopclntab_values(&table, f.pcsp, f.size);
	for (size_t i = 0; i < 3; i++)
		check(go_values_next(&v) && v.start == expected[i].start &&
		      v.end == expected[i].end && v.value == expected[i].value);
	check(!go_values_next(&v));
	v = gopclntab_values(&table, f.pcsp, 10);
	check(go_values_next(&v) && go_values_next(&v) && v.end == 10 && !go_values_next(&v),
	      "no value leaves the function");
	for (uint64_t at = 0; at < 32; at++)
		check(gopclntab_find(&table, 0x401000 + at, &f) && f.start == 0x401000 &&
		      gopclntab_line(&table, &f, at, &file, &line) && !strcmp(file, "main.go") &&
		      line == (at < 4 ? 7 : 9));
	check(gopclntab_find(&table, 0x401020, &f) && !strcmp(f.name, "cfun") &&
	      !gopclntab_line(&table, &f, 0, &file, &line));
	check(!gopclntab_find(&table, 0x400fff, &f) && !gopclntab_find(&table, 0x401040, &f),
	      "outside");
	check(gopclntab_function(&table, 1, &f) && !f.pcsp && !strcmp(f.name, "cfun"));
	for (size_t less = 0; less < size; less++)
		if (!gopclntab_over(&table, image, less))
			/* under a sanitizer: within its bounds */
			for (uint64_t i = 0; i < table.nr; i++)
				if (gopclntab_function(&table, i, &f))
					gopclntab_line(&table, &f, 5, &file, &line);
	put(8, UINT64_MAX / 16, 8);
	check(gopclntab_over(&table, image, size), "more functions than bytes");
}

/* ---- prologues ---- */

static void check_prologues(void)
{
	static const uint8_t
		moved[] = { 0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x6c, 0x24, 0x10, 0x90 },
		far[] = { 0x48, 0x89, 0xac, 0x24, 0x78, 1, 0, 0 },
		least[] = { 0x48, 0x89, 0x2c, 0x24 }, pushed[] = { 0x55, 0x90 },
		other[] = { 0x48, 0x89, 0x5c, 0x24, 0x10, 0x90 };
	uint64_t from;

	check(machine_saves_fp(moved, sizeof(moved), 4, 24, &from) && from == 9);
	check(!machine_saves_fp(moved, sizeof(moved), 4, 32, &from), "saved elsewhere");
	check(!machine_saves_fp(moved, 8, 4, 24, &from), "cut off");
	check(machine_saves_fp(far, sizeof(far), 0, 0x180, &from) && from == 8);
	check(machine_saves_fp(least, sizeof(least), 0, 8, &from) && from == 4);
	check(machine_saves_fp(pushed, sizeof(pushed), 1, 8, &from) && from == 1);
	check(!machine_saves_fp(other, sizeof(other), 0, 24, &from), "another register");
}

/* ---- assembly ---- */

__asm__(".text\n"
	"switches: mov 8(%rsp), %rdi\n"
	"	push %rdi\n"
	"s1:	pop %rdi\n"
	"	cmp %rax, %rbx\n"
	"	je 1f\n"
	"	mov 0x38(%rdx), %rbx\n"
	"s2:	mov %rbx, %rsp\n"
	"s3:	mov %rdi, %rdx\n"
	"	call *(%rdi)\n"
	"s4:	mov %fs:0xfffffffffffffff8, %rax\n"
	"	mov 0x30(%rax), %rbx\n"
	"	mov 0xc8(%rbx), %rax\n"
	"	mov 0x38(%rax), %rsp\n"
	"s5:	movq $0, 0x38(%rax)\n"
	"s6:	ret\n"
	"1:	jmp *%rdi\n"
	"switches_end:\n"
	/* as nanotime1: to another stack and back, by a register */
	"crosses: sub $16, %rsp\n"
	"	mov %rsp, %r12\n"
	"	mov 0x38(%rdx), %rsp\n"
	"c1:	and $-16, %rsp\n"
	"	call *%rax\n"
	"c2:	mov %r12, %rsp\n"
	"c3:	add $16, %rsp\n"
	"	ret\n"
	"crosses_end:\n"
	"sigreturn: mov $15, %rax\n"
	"	syscall\n"
	"sigreturn_end:\n"
	/*
	 * asmcgocall since Go 1.21: with a frame pointer below the return address; and C called
	 * where it is on g0's stack
	 */
	"calls_c: push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	mov %rsp, %rdx\n"
	"	test %rdi, %rdi\n"
	"	je 1f\n"
	"	mov 0x38(%rsi), %rsp\n"
	"a1:	sub $16, %rsp\n"
	"	and $-16, %rsp\n"
	"	mov %rdi, 8(%rsp)\n"
	"	mov 8(%rdi), %rdi\n"
	"	sub %rdx, %rdi\n"
	"a5:	mov %rdi, (%rsp)\n"
	"a6:	call calls_c\n"
	"a2:	mov 8(%rsp), %rdi\n"
	"	mov 8(%rdi), %rsi\n"
	"	sub (%rsp), %rsi\n"
	"	mov %rsi, %rsp\n"
	"	pop %rbp\n"
	"a3:	ret\n"
	"1:	sub $16, %rsp\n"
	"	and $-16, %rsp\n"
	"	mov %rdx, (%rsp)\n"
	"	call calls_c\n"
	"a4:	mov (%rsp), %rsi\n"
	"	mov %rsi, %rsp\n"
	"	pop %rbp\n"
	"	ret\n"
	"calls_c_end:\n"
	"leaves_twice: test %rdi, %rdi\n"
	"	je 1f\n"
	"	push %rbp\n"
	"	mov 0x38(%rsi), %rsp\n"
	"	call *%rdi\n"
	"	ret\n"
	"1:	mov 0x38(%rdx), %rsp\n"
	"l1:	call *%rdi\n"
	"	ret\n"
	"leaves_twice_end:\n");

extern const uint8_t leaves_twice[], l1[], leaves_twice_end[];
extern const uint8_t calls_c[], a1[], a2[], a3[], a4[], a5[], a6[], calls_c_end[];
extern const uint8_t switches[], s1[], s2[], s3[], s4[], s5[], s6[], switches_end[], crosses[],
	c1[], c2[], c3[], crosses_end[], sigreturn[], sigreturn_end[];

static struct eh_rule rules[256];

static void keep(void *arg, uint64_t at, const struct eh_rule *rule)
{
	(void)arg;
	for (uint64_t i = at; i < 256; i++)
		rules[i] = *rule;
}

static uint32_t make_rules(const char *name, const uint8_t *code, const uint8_t *end)
{
	static const uint8_t whole[] = { 0x02, 0x7f, 0x00 }; /* 0 for 127 bytes */
	struct gopclntab table = { .bytes = whole, .size = sizeof(whole), .quantum = 1 };
	struct go_function f = {
		.name = name, .size = end - code, .flags = GO_SPWRITE | GO_ASM, .pcsp = whole
	};
	uint32_t curg = 0;

	check(!go_assembly(&table, &f, go_special_of(&f), code, &curg, keep, NULL));
	return curg;
}

static bool is_plain(const struct eh_rule *r, int reg, int offset)
{
	return r->kind == RULE_REG && r->cfa_reg == reg && r->cfa_offset == offset &&
	       r->saved[SAVED_RA] == -1;
}

static void check_assembly(void)
{
	const struct eh_rule *r;
	uint32_t curg = make_rules("runtime.systemstack", switches, switches_end);

	check(curg == 0xc8, "%#x", curg);
	check(is_plain(&rules[0], EH_RSP, 8) && rules[0].saved[SAVED_RBX] == SAVED_LOST &&
	      rules[0].saved[SAVED_RBP] == SAVED_SAME);
	check(is_plain(&rules[s1 - switches], EH_RSP, 16) &&
	      is_plain(&rules[s2 - switches], EH_RSP, 8));
	for (int i = 0; i < 2; i++) {
		r = &rules[(i ? s4 : s3) - switches];
		check(r->kind == RULE_OTHER_STACK &&
		      OTHER_STACK_SWITCH(r->cfa_offset) == GO_SYSTEMSTACK && r->deref_offset == 8);
		check(OTHER_STACK_OFFSET(r->cfa_offset) == 0xc8);
	}
	check(is_plain(&rules[s5 - switches], EH_RSP, 8) &&
		      is_plain(&rules[s6 - switches], EH_RSP, 8),
	      "back again");

	make_rules("runtime.asmcgocall", calls_c, calls_c_end);
	for (int i = 0; i < 2; i++) {
		r = &rules[(i ? a2 : a6) - calls_c];
		check(r->kind == RULE_OTHER_STACK &&
		      OTHER_STACK_SWITCH(r->cfa_offset) == GO_ASMCGOCALL && r->deref_offset == 16 &&
		      OTHER_STACK_OFFSET(r->cfa_offset) == 8);
	}
	for (int i = 0; i < 2; i++) {
		r = &rules[(i ? a5 : a1) - calls_c];
		check(r->kind == RULE_OTHER_STACK && OTHER_STACK_SWITCH(r->cfa_offset) == GO_SWITCH,
		      "what it keeps is not there yet");
	}
	check(is_plain(&rules[a3 - calls_c], EH_RSP, 8));
	r = &rules[a4 - calls_c];
	check(r->kind == RULE_DEREF && r->cfa_reg == EH_RSP && r->deref_offset == 0 &&
	      r->cfa_offset == 16);

	make_rules("runtime.systemstack", leaves_twice, leaves_twice_end);
	check(OTHER_STACK_SWITCH(rules[l1 - leaves_twice].cfa_offset) == GO_SWITCH,
	      "left at two depths");
	make_rules("runtime.asmcgocall", switches, switches_end);
	check(!OTHER_STACK_OFFSET(rules[s3 - switches].cfa_offset), "no g is kept on g0's stack");

	make_rules("runtime.mcall", switches, switches_end);
	check(rules[s4 - switches].saved[SAVED_RA] == SAVED_LOST,
	      "nobody knows where its caller is by now");

	make_rules("runtime.nanotime1", crosses, crosses_end);
	for (int i = 0; i < 2; i++) {
		r = &rules[(i ? c2 : c1) - crosses];
		check(is_plain(r, EH_R12, 24) && r->flags & RULE_CROSSES);
	}
	check(is_plain(&rules[c3 - crosses], EH_RSP, 24) &&
	      !(rules[c3 - crosses].flags & RULE_CROSSES));

	make_rules("runtime.sigreturn", sigreturn, sigreturn_end);
	check(rules[0].flags == RULE_SIGNAL && rules[0].kind == RULE_DEREF &&
	      rules[0].saved[SAVED_RA] == 21);
	make_rules("runtime.goexit", switches, switches_end);
	check(rules[0].saved[SAVED_RA] == SAVED_LOST &&
	      rules[s6 - switches].saved[SAVED_RA] == SAVED_LOST);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		check_layout(&layouts[i]);
	check_prologues();
	check_assembly();
	return check_done();
}
