// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehdump: shows a file's .eh_frame, and the compact table that it is compiled into for the kernel's
 * unwinder.
 */
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/object.h"
#include "check.h"
#include "ehdump.skel.h"
#include "elf_visit.h"
#include "report.h"
#include "report/escape.h"
#include "report/json.h"
#include "run/cli.h"
#include "run/kernel.h"
#include "table/eh_rule.h"

enum { OPTION_CHECK = 0x100, OPTION_RECURSIVE };

enum mode { SUMMARY, ROWS, ALL_ROWS, TABLE, ADDRESS };

struct options {
	enum mode mode;
	uint64_t vaddr;
	bool json, check, recursive;
	int verbose;
	char **names;
	int nr_names;
};

/* state across the files that are visited */
struct dump {
	struct options options;
	struct checker *checker; /* NULL: without --check */
	struct eh_summary total;
	int status; /* the exit status */
};

static const char doc[] =
	"Show the unwind information of ELF files, and the compact table that ehperf compiles it into for the kernel. "
	"A PID means every file that the process has mapped, and its vDSO.";

static const struct argp_option option_list[] = {
	{ "rows", 'r', NULL, 0,
	  "exact rows: CFA, callee-saved registers and return address of each FDE, tab-separated",
	  1 },
	{ "all-registers", 'R', NULL, 0, "exact rows with every register that occurs", 1 },
	{ "table", 't', NULL, 0, "the rows of the compact table", 1 },
	{ "address", 'a', "ADDR", 0,
	  "symbol, FDE, row and rule of an address; where no FDE covers it, the rule that applies instead",
	  1 },
	{ "json", 'j', NULL, 0, "summaries as JSON, one object per line", 1 },
	{ "check", OPTION_CHECK, NULL, 0,
	  "load the table into the kernel, and compare the rules that it finds with the exact rows",
	  2 },
	{ "recursive", OPTION_RECURSIVE, NULL, 0, "all ELF files in directories", 2 },
	{ "verbose", 'v', NULL, 0, "more detail; twice: libbpf's messages too", 3 },
	{},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	char *end;

	switch (key) {
	case 'r':
		o->mode = ROWS;
		break;
	case 'R':
		o->mode = ALL_ROWS;
		break;
	case 't':
		o->mode = TABLE;
		break;
	case 'a':
		o->mode = ADDRESS;
		errno = 0;
		o->vaddr = strtoull(arg, &end, 0);
		if (errno || end == arg || *end || !isdigit((unsigned char)*arg))
			argp_failure(state, EXIT_USAGE, 0, "not an address: '%s'", arg);
		break;
	case 'j':
		o->json = true;
		break;
	case OPTION_CHECK:
		o->check = true;
		break;
	case OPTION_RECURSIVE:
		o->recursive = true;
		break;
	case 'v':
		o->verbose++;
		break;
	case ARGP_KEY_ARGS:
		o->names = state->argv + state->next;
		o->nr_names = state->argc - state->next;
		break;
	case ARGP_KEY_END:
		if (!o->nr_names)
			argp_failure(state, EXIT_USAGE, 0, "a file or a process ID is missing");
		if (o->mode != SUMMARY && (o->json || o->check))
			argp_failure(state, EXIT_USAGE, 0,
				     "-j and --check exclude -r, -R, -t and -a");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void fail(void *arg, const char *path, const char *why)
{
	struct dump *d = arg;

	cli_warn("'%s': %s", path, why);
	d->status = EXIT_FAILURE;
}

static void print_difference(const char *path, const struct check_result *result)
{
	fflush(stdout);
	fputs("ehdump: '", stderr);
	print_escaped(stderr, path);
	fprintf(stderr, "': differs at file offset 0x%llx: exact ",
		(unsigned long long)result->file_offset);
	eh_rule_print(stderr, &result->exact);
	fputs(", user ", stderr);
	eh_rule_print(stderr, &result->user);
	fputs(", kernel ", stderr);
	eh_rule_print(stderr, &result->kernel);
	putc('\n', stderr);
}

static void check(struct dump *d, struct elf_file *file, const struct unwind_table *table,
		  struct eh_summary *summary)
{
	struct check_result result;
	int error = checker_upload(d->checker, table);

	if (!error)
		error = checker_compare(d->checker, file, table, &result);
	if (error) {
		fail(d, summary->path, strerror(-error));
		return;
	}
	summary->checked = true;
	summary->lookups = result.lookups;
	summary->differences = result.differences;
	if (result.differences) {
		print_difference(summary->path, &result);
		d->status = EXIT_FAILURE;
	}
}

static void print_summary(const struct options *o, const struct eh_summary *summary)
{
	(o->json ? eh_summary_print_json : eh_summary_print)(stdout, summary);
}

static int dump(void *arg, const char *path, struct elf_file *file)
{
	struct dump *d = arg;
	const struct options *o = &d->options;
	struct eh_summary summary;
	struct unwind_table table;
	int error = eh_summarize(&summary, path, file, &table);

	if (error == -ENOENT && o->mode == ADDRESS) /* without CFI, its code may tell */
		error = unwind_table_build_without_cfi(&table, file);
	if (error)
		return error;
	/* print the file's name, unless it is the only file that was named */
	if (o->mode != SUMMARY && (o->nr_names > 1 || strcmp(path, o->names[0]))) {
		fputs("# ", stdout);
		print_message(stdout, path);
		putchar('\n');
	}
	switch (o->mode) {
	case SUMMARY:
		if (d->checker && summary.has_table)
			check(d, file, &table, &summary);
		eh_summary_add(&d->total, &summary);
		print_summary(o, &summary);
		break;
	case ROWS:
	case ALL_ROWS:
		error = eh_print_rows(stdout, file, o->mode == ALL_ROWS);
		if (error)
			fail(d, path,
			     error == -ENOENT
				     ? "no CFI, but .gopclntab: -t shows the table that it gives"
				     : elf_file_explain(error));
		break;
	case TABLE:
		if (summary.has_table)
			eh_print_table(stdout, file, &table);
		else
			fail(d, path, "no table is made for this machine");
		break;
	case ADDRESS:
		if (eh_print_address(stdout, file, &table, o->vaddr) == -ENOENT)
			fail(d, path, "no FDE covers this address, and its code has no rule");
		break;
	}
	unwind_table_free(&table);
	return 0;
}

static struct checker *load_checker(int verbose)
{
	struct ehdump_bpf *bpf;
	struct checker *c;

	kernel_init(verbose > 1);
	bpf = kernel_opened(ehdump_bpf__open());
	kernel_loaded(bpf->skeleton, ehdump_bpf__load(bpf));
	kernel_check(checker_new(&c, bpf->obj), "load the BPF programs");
	if (verbose)
		cli_warn("look_up_all: %u instructions verified",
			 program_verified(bpf->progs.look_up_all));
	return c;
}

int main(int argc, char **argv)
{
	static const struct argp_child help[] = { { &cli_help_argp }, {} };
	const struct argp argp = { option_list, parse, "FILE|PID...", doc, help };
	struct dump d = {};
	const struct options *o = &d.options;
	const struct elf_visitor visitor = { .visit = dump, .failed = fail, .arg = &d };

	cli_init();
	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &d.options);
	if (o->json)
		json_print(stdout, json_start());
	if (o->check)
		d.checker = load_checker(o->verbose);
	for (int i = 0; i < o->nr_names; i++)
		elf_visit(o->names[i], o->recursive, &visitor);
	if (o->mode == SUMMARY && (o->json || d.total.files > 1))
		print_summary(o, &d.total);
	return d.status;
}
