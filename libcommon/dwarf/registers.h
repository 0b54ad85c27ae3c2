/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of DWARF register numbers, as readelf writes them (x86-64 psABI, figure 3.36; AADWARF64,
 * 4.1).
 */
#ifndef EHPERF_DWARF_REGISTERS_H
#define EHPERF_DWARF_REGISTERS_H

#include <elf.h>
#include <stdint.h>

struct register_name {
	char text[24];
};

/* machine: EM_X86_64 or EM_AARCH64. A number without a name of its own is "r99". */
struct register_name register_name(uint16_t machine, uint64_t reg);

#endif
