/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EHPERF_KERNEL_SYMBOL_ABI_H
#define EHPERF_KERNEL_SYMBOL_ABI_H

#include <linux/types.h>

/*
 * set by user space: a kernel address, or a symbol's name and 0 up to the end of .text; and the
 * program's answer
 */
struct kernel_symbol_asked {
	__u64 address;
	/* 1: it is in a function of the scheduler, such as schedule(); not of a symbol */
	__u64 schedules;
	/*
	 * as %pS of printk-formats.rst: "symbol+0x1/0x2 [module]", or "0x123": it is in no symbol
	 */
	char text[640];
};

#endif
