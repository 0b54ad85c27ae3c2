/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TAP for unit tests: check() after check(), then return check_done(). */
#ifndef EHPERF_CHECK_H
#define EHPERF_CHECK_H

#include <stdbool.h>
#include <stdio.h>

static int nr_checks, nr_failed;

#define check(condition, ...) check_at((condition), #condition, __FILE__, __LINE__, " " __VA_ARGS__)

__attribute__((format(printf, 5, 6))) static inline bool
check_at(bool ok, const char *condition, const char *file, int line, const char *format, ...)
{
	printf("%sok %s:%d %s ", ok ? "" : "not ", file, line, condition);
	__builtin_va_list args;
	__builtin_va_start(args, format);
	vprintf(format, args);
	__builtin_va_end(args);
	putchar('\n');
	nr_checks++;
	nr_failed += !ok;
	return ok;
}

static inline int check_done(void)
{
	printf("1..%d\n", nr_checks);
	return nr_failed > 0;
}

#endif
