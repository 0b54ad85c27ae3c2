// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of code that no FDE covers, made in the thread: what building one at once makes, in the order of asking. */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "unwind/code_maker.h"
#include "check.h"

static int open_self(void)
{
	return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

static bool same(const struct unwind_table *a, const struct unwind_table *b)
{
	return a->nr_pages == b->nr_pages && a->nr_rows == b->nr_rows && a->nr_rules == b->nr_rules &&
	       !memcmp(a->rows, b->rows, a->nr_rows * ROW_BYTES) && !memcmp(a->rules, b->rules, a->nr_rules * sizeof(*a->rules));
}

int main(void)
{
	struct unwind_table expected = {}, table = {};
	struct code_maker *maker;
	struct elf_file file;
	int fd = open_self();

	check(!elf_file_open(&file, fd) && !unwind_table_build_code(&expected, &file) && expected.nr_pages);
	elf_file_close(&file);
	close(fd);

	check(!code_maker_new(&maker));
	check(!code_maker_take(maker, true, &table), "nothing was asked for, so there is nothing to wait for");
	check(!code_maker_ask(maker, 7, open_self()) && !code_maker_ask(maker, 8, open("/dev/null", O_RDONLY | O_CLOEXEC)) &&
	      !code_maker_ask(maker, 9, open_self()));
	check(poll(&(struct pollfd){ .fd = code_maker_fd(maker), .events = POLLIN }, 1, 60000) == 1, "poll() says so");
	check(code_maker_take(maker, true, &table) == 7 && same(&table, &expected));
	unwind_table_free(&table);
	check(code_maker_take(maker, true, &table) == 8 && !table.nr_pages, "no ELF file: an empty table");
	check(code_maker_take(maker, true, &table) == 9 && same(&table, &expected));
	unwind_table_free(&table);
	check(!code_maker_take(maker, false, &table));
	check(!poll(&(struct pollfd){ .fd = code_maker_fd(maker), .events = POLLIN }, 1, 0));
	for (uint32_t id = 1; id < 9; id++)
		check(!code_maker_ask(maker, id, open_self()));
	code_maker_free(maker);		/* without waiting for all of them */
	unwind_table_free(&expected);
	return check_done();
}
