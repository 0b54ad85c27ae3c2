/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An ELF file, read through libelf: what the unwinder and the symbolizer need. */
#ifndef EHPERF_DWARF_ELF_FILE_H
#define EHPERF_DWARF_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/eh_frame.h"

#define MAX_BUILD_ID 64 /* bytes */

struct elf_segment {
	uint64_t vaddr, file_offset, size; /* size: bytes in the file */
	uint64_t memory_bytes;             /* as the program header says */
	bool executable, writable;
};

struct elf_file {
	Elf *elf;
	GElf_Ehdr header;
	struct elf_segment *segments; /* PT_LOAD, as in the program headers */
	size_t nr_segments;
	uint8_t build_id[MAX_BUILD_ID];
	size_t build_id_bytes; /* 0: none */
	uint64_t file_bytes;
	/* private */
	int fd; /* -1: the image in memory */
	const uint8_t *image;
};

struct elf_section {
	const char *name;
	const uint8_t *bytes; /* valid until elf_file_close() */
	size_t size;
	uint64_t vaddr;
};

/*
 * Reads the headers; no section yet. fd must stay open until elf_file_close(). 0, or -ENOEXEC (not
 * an ELF file), -ENOTSUP (not a 64-bit little-endian executable or library), -EBADMSG (its headers
 * lead outside the file), -EIO, -ENOMEM; on failure
 * *file needs no closing.
 */
int elf_file_open(struct elf_file *file, int fd);
/*
 * as elf_file_open(), but the file is mapped: sections that are not compressed take no memory. For
 * workers only: truncating the file ends the process that reads it (SIGBUS), and writing to it
 * changes what was checked before.
 */
int elf_file_open_mapped(struct elf_file *file, int fd);
/* as elf_file_open(), also for a 32-bit x86 file: for segments and names only */
int elf_file_open_for_names(struct elf_file *file, int fd);
/*
 * elf_file_open() for an image in memory, such as the vDSO's; libelf writes to the bytes, which
 * must outlive *file
 */
int elf_file_open_memory(struct elf_file *file, void *image, size_t size);
void elf_file_close(struct elf_file *file);

/*
 * How the kernel loads it, a program or its interpreter (gABI, Program Loading): at first, the first
 * segment's mapping is as long as all segments together, and then it is cut. *whole: that length,
 * *cut: its length then, in bytes; both 0 if that segment has no code, or another has some
 */
void elf_file_as_loaded(const struct elf_file *file, uint64_t *whole, uint64_t *cut);

/* the segment that has this offset in the file; NULL: none has */
const struct elf_segment *elf_file_segment_at(const struct elf_file *file, uint64_t offset);

/* explains an error of these functions, and of those that read the file's CFI, to the user */
const char *elf_file_explain(int error);

/*
 * the first section of this name, uncompressed; -ENOENT, -EBADMSG (what its header says is not in
 * the file), -EFBIG, -ENOMEM
 */
int elf_file_section(const struct elf_file *file, const char *name, struct elf_section *section);

/*
 * the first section of this type (0: any) and of this name (NULL: any), without its bytes. NULL:
 * there is none
 */
Elf_Scn *elf_file_header(const struct elf_file *file, uint32_t type, const char *name,
			 GElf_Shdr *header);

/*
 * All of what elf_file_header() has found, for libelf's functions, and what they read with it. 0,
 * -EFBIG (a sparse file claims any size), -EBADMSG or -ENOMEM
 */
int elf_file_table(const struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *header,
		   Elf_Data **data);

/*
 * Checks whether other libraries' functions, which check nothing, may inflate all compressed
 * sections of a file. 0, -EFBIG (they expand to more than those of real files) or -EBADMSG. The
 * file should be mapped (ELF_C_READ_MMAP).
 */
int elf_file_check_compressed(Elf *elf);

/* bytes of the file as they are. 0, -EBADMSG (they are not all in it) or -errno */
int elf_file_read(const struct elf_file *file, uint64_t offset, void *bytes, size_t size);

/*
 * these bytes in libelf's memory, until elf_file_close(). 0, -EBADMSG (they are not all in the
 * file) or -ENOMEM
 */
int elf_file_bytes(const struct elf_file *file, uint64_t offset, uint64_t size,
		   const uint8_t **bytes);
/*
 * the bytes of the code at vaddr; *size: in: how many are wanted; out: how many there are. 0,
 * -ENOENT (no executable segment has that address), -EBADMSG or -ENOMEM
 */
int elf_file_code_at(const struct elf_file *file, uint64_t vaddr, uint64_t *size,
		     const uint8_t **bytes);

/*
 * The CFI: .eh_frame by its section header, or, in a file without section headers, from where
 * PT_GNU_EH_FRAME's table points to its terminator; then .debug_frame, compressed or not. *frame
 * iterates over both, *section is the first. A .debug_frame that cannot be read is left out if
 * there is .eh_frame. -ENOENT where there is none.
 */
int elf_file_cfi(struct elf_file *file, struct elf_section *section, struct eh_frame *frame);
/* elf_file_cfi() without .debug_frame */
int elf_file_eh_frame(struct elf_file *file, struct elf_section *section, struct eh_frame *frame);

/* vaddr <-> offset in the file, by the PT_LOAD segments; false outside them */
bool elf_file_offset_of(const struct elf_file *file, uint64_t vaddr, uint64_t *file_offset);
bool elf_file_vaddr_of(const struct elf_file *file, uint64_t file_offset, uint64_t *vaddr);

/*
 * The range, in offsets in the file, of all sections that are marked as code: an executable segment
 * may contain headers and data, too. The whole file if there is no such section.
 */
void elf_file_code(const struct elf_file *file, uint64_t *start, uint64_t *end);

/*
 * The virtual address less the offset in the file, in the executable segment. 0, or -EBADMSG: there
 * is none
 */
int elf_file_text_bias(const struct elf_file *file, uint64_t *bias);

#endif
