// SPDX-License-Identifier: GPL-2.0-or-later
#include "check.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ehdump_abi.h"
#include "kernel/slab_maps.h"
#include "unwind/table_upload.h"
#include "expect.h"
#include "table/eh_rule.h"
#include "table/known_functions.h"
#include "tables_abi.h"

struct checker {
	struct bpf_slabs *source;
	struct slabs *slabs;
	struct eh_lookup *lookups;
	int program_fd;
	loc_t module; /* of the table uploaded last */
};

int checker_new(struct checker **checker, struct bpf_object *object)
{
	struct checker *c = calloc(1, sizeof(*c));
	const struct bpf_program *program = bpf_object__find_program_by_name(object, "look_up_all");
	int error;

	if (!c)
		return -ENOMEM;
	c->lookups = MAP_FAILED;
	error = bpf_slabs_new(&c->source, bpf_object__find_map_fd_by_name(object, "slabs"),
			      UINT64_MAX);
	if (!error)
		error = slabs_new(&c->slabs, bpf_slabs_source(c->source));
	c->program_fd = program ? bpf_program__fd(program) : -1;
	if (!error) {
		c->lookups =
			mmap(NULL, MAX_LOOKUPS * sizeof(struct eh_lookup), PROT_READ | PROT_WRITE,
			     MAP_SHARED, bpf_object__find_map_fd_by_name(object, "lookups"), 0);
		error = c->lookups == MAP_FAILED ? -errno : 0;
	}
	if (error) {
		checker_free(c);
		return error;
	}
	*checker = c;
	return 0;
}

void checker_free(struct checker *checker)
{
	if (!checker)
		return;
	slabs_free(checker->slabs);
	bpf_slabs_free(checker->source);
	if (checker->lookups != MAP_FAILED)
		munmap(checker->lookups, MAX_LOOKUPS * sizeof(struct eh_lookup));
	free(checker);
}

/* Lets the kernel look up expected[0 .. nr), and compares. */
static int check_batch(struct checker *c, const struct unwind_table *table,
		       const struct expectation *expected, size_t nr, struct check_result *result)
{
	struct eh_lookup_args args = { .nr_lookups = nr, .module = c->module };
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &args, .ctx_size_in = sizeof(args));

	for (size_t i = 0; i < nr; i++)
		c->lookups[i] = (struct eh_lookup){ .file_offset = expected[i].file_offset,
						    .rule = { .kind = NR_RULE_KINDS } };
	if (bpf_prog_test_run_opts(c->program_fd, &run))
		return -errno;
	if (run.retval)
		return -EFAULT;
	for (size_t i = 0; i < nr; i++) {
		struct eh_rule user = unwind_table_lookup(table, expected[i].file_offset);

		result->lookups++;
		if (eh_rule_same(&c->lookups[i].rule, &user) &&
		    eh_rule_same(&user, &expected[i].rule))
			continue;
		if (!result->differences++) {
			result->file_offset = expected[i].file_offset;
			result->exact = expected[i].rule;
			result->user = user;
			result->kernel = c->lookups[i].rule;
		}
	}
	return 0;
}

int checker_upload(struct checker *c, const struct unwind_table *table)
{
	int error;

	slabs_reset(c->slabs);
	if (!table->nr_pages)
		return 0;
	error = table_upload(c->slabs, 1, table, &c->module);
	return error ? error : bpf_slabs_settle(c->source);
}

/*
 * Where the table has the rules of known code, those are expected, and not the FDEs'. *frame is at
 * its beginning. 0 or -ENOMEM
 */
static int expect_known(struct elf_file *file, struct eh_frame *frame, struct expectation *expected,
			size_t nr)
{
	struct known_functions known = {};
	struct fde_index index = {};
	int error = known_functions_add(&known, &index, file);
	struct fde fde;

	while (!error && eh_frame_next(frame, &fde))
		error = known_functions_add_fde(&known, &index, file, &fde);
	for (size_t i = 0; i < nr && !error; i++)
		for (size_t j = 0; j < index.nr_spans; j++)
			if (expected[i].file_offset - index.spans[j].start < index.spans[j].length)
				expected[i].rule = *(const struct eh_rule *)index.spans[j].program;
	fde_index_free(&index);
	return error;
}

int checker_compare(struct checker *c, struct elf_file *file, const struct unwind_table *table,
		    struct check_result *result)
{
	struct expectation *expected;
	struct elf_section section;
	struct eh_frame frame, again;
	size_t nr;
	int error;

	*result = (struct check_result){};
	if (!table->nr_pages)
		return 0;
	/* of Go's functions, the table has no CFI's rows */
	error = table->nr_go_functions ? elf_file_eh_frame(file, &section, &frame)
				       : elf_file_cfi(file, &section, &frame);
	if (error == -ENOENT && table->nr_go_functions)
		return 0;
	again = frame;
	if (!error)
		error = cfi_expect(file, &frame, &expected, &nr);
	if (error)
		return error;
	error = expect_known(file, &again, expected, nr);
	for (size_t i = 0; i < nr && !error; i += MAX_LOOKUPS)
		error = check_batch(c, table, expected + i,
				    nr - i < MAX_LOOKUPS ? nr - i : MAX_LOOKUPS, result);
	free(expected);
	return error;
}
