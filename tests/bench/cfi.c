// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cfi < LIST: reads each ELF file of the list and turns its .eh_frame into rows, with libdw (every
 * row's CFA, RBP and RA rules, by dwarf_next_cfi(), dwarf_cfi_addrframe() and dwarf_frame_*()) and
 * with unwind_table_build() (the compact table that the kernel gets), in one run, opening and
 * reading included, the page cache warm. Prints rows/s and the ratio, ours on two threads, Go's
 * tables, and the bytes that a row takes.
 */
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dwarf/gopclntab.h"
#include "table/unwind_table.h"

static char **files;
static size_t nr_files;

struct result {
	uint64_t files, rows, bytes; /* bytes: of tables, 0 for libdw */
	double seconds;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* ---- libdw ---- */

static uint64_t libdw_rows(Dwarf_CFI *cfi, uint64_t start, uint64_t end)
{
	uint64_t rows = 0;

	while (start < end) {
		Dwarf_Op memory[3], *ops;
		Dwarf_Addr row_start, row_end;
		Dwarf_Frame *frame;
		bool signal_frame;
		size_t nr;

		if (dwarf_cfi_addrframe(cfi, start, &frame))
			break;
		dwarf_frame_info(frame, &row_start, &row_end, &signal_frame);
		dwarf_frame_cfa(frame, &ops, &nr);
		dwarf_frame_register(frame, 6, memory, &ops, &nr);
		dwarf_frame_register(frame, 16, memory, &ops, &nr);
		free(frame);
		rows++;
		if (row_end <= start)
			break;
		start = row_end;
	}
	return rows;
}

static void by_libdw(const char *name, struct result *result)
{
	int fd = open(name, O_RDONLY);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
	size_t names, size = 0;
	const unsigned char *bytes = NULL;
	uint64_t vaddr = 0;
	Elf_Scn *scn = NULL;
	GElf_Ehdr header;

	if (!cfi || !gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64 ||
	    elf_getshdrstrndx(elf, &names))
		goto out;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) && shdr.sh_type != SHT_NOBITS &&
		    !strcmp(elf_strptr(elf, names, shdr.sh_name) ?: "", ".eh_frame")) {
			Elf_Data *data = elf_rawdata(scn, NULL);

			bytes = data->d_buf;
			size = data->d_size;
			vaddr = shdr.sh_addr;
		}
	}
	for (Dwarf_Off at = 0, next; bytes; at = next) {
		Dwarf_CFI_Entry entry;
		int got = dwarf_next_cfi(header.e_ident,
					 &(Elf_Data){ .d_buf = (void *)bytes, .d_size = size },
					 true, at, &next, &entry);
		int32_t start;
		uint32_t length;

		if (got > 0 || next == (Dwarf_Off)-1)
			break;
		if (got < 0 || dwarf_cfi_cie_p(&entry))
			continue;
		/*
		 * DW_EH_PE_pcrel | DW_EH_PE_sdata4, as nearly everywhere; the other files go to
		 * nobody's account
		 */
		memcpy(&start, entry.fde.start, 4);
		memcpy(&length, entry.fde.start + 4, 4);
		result->rows += libdw_rows(cfi, vaddr + (entry.fde.start - bytes) + start,
					   vaddr + (entry.fde.start - bytes) + start + length);
	}
	result->files++;
out:
	if (cfi)
		dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
}

/* ---- ours ---- */

/* Are Go's files read, which have tables of their own and no CFI, or the others? */
static bool of_go;

static void by_us(const char *name, struct result *result)
{
	int fd = open(name, O_RDONLY);
	struct unwind_table table;
	struct elf_file file;

	if (!elf_file_open(&file, fd)) {
		if (gopclntab_is_go(&file) == of_go && !unwind_table_build(&table, &file)) {
			result->files++;
			result->rows += of_go ? table.nr_rows : table.nr_cfi_rows;
			result->bytes += unwind_table_bytes(&table);
			unwind_table_free(&table);
		}
		elf_file_close(&file);
	}
	close(fd);
}

static size_t next_file;

static void *share(void *result)
{
	size_t i;

	while ((i = __atomic_fetch_add(&next_file, 1, __ATOMIC_RELAXED)) < nr_files)
		by_us(files[i], result);
	return NULL;
}

static struct result run_libdw(void)
{
	struct result sum = {};
	double start = now();

	for (size_t i = 0; i < nr_files; i++)
		by_libdw(files[i], &sum);
	sum.seconds = now() - start;
	return sum;
}

static struct result run_threads(int threads)
{
	struct result results[8] = {}, sum = {};
	pthread_t ids[8];
	double start = now();

	next_file = 0;
	for (int i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, share, &results[i]);
	for (int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		sum.files += results[i].files;
		sum.rows += results[i].rows;
		sum.bytes += results[i].bytes;
	}
	sum.seconds = now() - start;
	return sum;
}

static void print(const char *who, struct result r)
{
	printf("%-16s %6lu files %10lu rows %7.3f s %7.1f ns/row %6.1f million rows/s\n", who,
	       r.files, r.rows, r.seconds, r.seconds * 1e9 / r.rows, r.rows / r.seconds / 1e6);
	fflush(stdout);
}

int main(void)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t length;
	struct result libdw, before, after;

	/* memory that is given back to the kernel after each file is a cost of neither */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	while ((length = getline(&line, &size, stdin)) > 0) {
		line[strcspn(line, "\n")] = 0;
		files = reallocarray(files, nr_files + 1, sizeof(*files));
		files[nr_files++] = strdup(line);
	}
	run_threads(1); /* warms the page cache */
	before = run_threads(1);
	print("ours", before);
	libdw = run_libdw();
	print("libdw", libdw);
	after = run_threads(1);
	print("ours", after);
	print("ours, 2 threads", run_threads(2));
	of_go = true;
	print("ours, Go's", run_threads(1));
	/* the machine's other work comes and goes: ours is the mean of before and after */
	printf("ours: %.2f bytes a row\n", (double)after.bytes / after.rows);
	printf("ours / libdw: %.1f times the rows a second\n",
	       (before.rows + after.rows) / (before.seconds + after.seconds) /
		       (libdw.rows / libdw.seconds));
	return 0;
}
