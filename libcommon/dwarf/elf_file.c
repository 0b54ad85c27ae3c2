// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/elf_file.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dwarf/cursor.h"
#include "dwarf/eh_frame.h"

/* Chromium's .eh_frame has some 20 MB; a sparse file may claim any size and have it. */
#define MAX_SECTION_BYTES  (512 << 20)
#define MAX_INFLATED_BYTES (1ULL << 30) /* all compressed sections together */

/*
 * libelf keeps every piece it is asked for: of an attacker's notes and segments, few and small ones
 * are read
 */
#define MAX_TABLE_BYTES   (256 << 20) /* of symbols, and of their names */
#define MAX_SECTION_NAMES (16 << 20)  /* bytes */
#define MAX_SECTIONS      (1 << 18)
#define MAX_NOTE_BYTES    (64 << 10)
#define MAX_NOTES         16
#define MAX_SEGMENTS      512
/* real sections compress to a third or so */
#define MAX_COMPRESSION 32

/*
 * Explains a failure of libelf, which sets errno only if there is no memory; the caller has set
 * errno to 0.
 */
static int memory_or(int error)
{
	return errno == ENOMEM ? -ENOMEM : error;
}

static int read_build_id(struct elf_file *file, const GElf_Phdr *note)
{
	Elf_Data *data = elf_getdata_rawchunk(file->elf, note->p_offset, note->p_filesz,
					      note->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t at = 0, name, desc;
	GElf_Nhdr header;

	while (data && (at = gelf_getnote(data, at, &header, &name, &desc)) > 0) {
		if (header.n_type != NT_GNU_BUILD_ID || header.n_namesz != 4 ||
		    memcmp((char *)data->d_buf + name, "GNU", 4) ||
		    header.n_descsz > sizeof(file->build_id))
			continue;
		memcpy(file->build_id, (char *)data->d_buf + desc, header.n_descsz);
		file->build_id_bytes = header.n_descsz;
	}
	return data ? 0 : memory_or(0);
}

/* what of [offset, offset + size) is in the file */
static uint64_t bytes_in_file(uint64_t offset, uint64_t size, uint64_t file_bytes)
{
	if (offset >= file_bytes)
		return 0;
	return size < file_bytes - offset ? size : file_bytes - offset;
}

static bool is_supported(const GElf_Ehdr *header, bool for_names)
{
	bool is_64 = header->e_ident[EI_CLASS] == ELFCLASS64,
	     is_386 = !is_64 && header->e_machine == EM_386;

	return (is_64 || (is_386 && for_names)) && header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       (header->e_type == ET_EXEC || header->e_type == ET_DYN);
}

static int read_headers(struct elf_file *file, uint64_t file_bytes, bool for_names)
{
	size_t nr, i, nr_notes = 0, nr_sections;
	int error = 0;

	if (!file->elf)
		return memory_or(-EIO);
	if (elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &file->header))
		return memory_or(-ENOEXEC);
	if (!is_supported(&file->header, for_names))
		return -ENOTSUP;
	if (elf_getphdrnum(file->elf, &nr))
		return memory_or(-ENOEXEC);
	if (!elf_getshdrnum(file->elf, &nr_sections) && nr_sections > MAX_SECTIONS)
		return -EFBIG;
	if (file->header.e_phoff > file_bytes ||
	    file->header.e_phnum > (file_bytes - file->header.e_phoff) /
					   gelf_fsize(file->elf, ELF_T_PHDR, 1, EV_CURRENT))
		return -EBADMSG; /* libelf would say that there are none */
	file->segments = calloc(nr + 1, sizeof(*file->segments));
	if (!file->segments)
		return -ENOMEM;
	for (i = 0; i < nr && !error; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(file->elf, i, &header))
			return memory_or(-ENOEXEC);
		if (header.p_type == PT_NOTE && !file->build_id_bytes &&
		    header.p_filesz <= MAX_NOTE_BYTES && nr_notes++ < MAX_NOTES)
			error = read_build_id(file, &header);
		if (header.p_type == PT_LOAD && file->nr_segments < MAX_SEGMENTS)
			file->segments[file->nr_segments++] = (struct elf_segment){
				.vaddr = header.p_vaddr,
				.file_offset = header.p_offset,
				.size = bytes_in_file(header.p_offset, header.p_filesz, file_bytes),
				.memory_bytes = header.p_memsz,
				.executable = header.p_flags & PF_X,
				.writable = header.p_flags & PF_W,
			};
	}
	return error;
}

static int open_elf(struct elf_file *file, struct elf_file opened, bool for_names)
{
	int error;

	*file = opened;
	error = read_headers(file, file->file_bytes, for_names);
	if (error)
		elf_file_close(file);
	return error;
}

static int open_fd(struct elf_file *file, int fd, Elf_Cmd how, bool for_names)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	elf_version(EV_CURRENT);
	errno = 0;
	return open_elf(file,
			(struct elf_file){
				.elf = elf_begin(fd, how, NULL),
				.fd = fd,
				.file_bytes = st.st_size,
			},
			for_names);
}

int elf_file_open(struct elf_file *file, int fd)
{
	return open_fd(file, fd, ELF_C_READ, false);
}

int elf_file_open_for_names(struct elf_file *file, int fd)
{
	return open_fd(file, fd, ELF_C_READ, true);
}

int elf_file_open_mapped(struct elf_file *file, int fd)
{
	return open_fd(file, fd, ELF_C_READ_MMAP, false);
}

int elf_file_open_memory(struct elf_file *file, void *image, size_t size)
{
	elf_version(EV_CURRENT);
	errno = 0;
	return open_elf(file,
			(struct elf_file){
				.elf = elf_memory(image, size),
				.fd = -1,
				.image = image,
				.file_bytes = size,
			},
			false);
}

void elf_file_close(struct elf_file *file)
{
	elf_end(file->elf);
	free(file->segments);
	*file = (struct elf_file){};
}

const char *elf_file_explain(int error)
{
	switch (error) {
	case -ENOEXEC:
		return "not an ELF file";
	case -ENOTSUP:
		return "not supported: only 64-bit little-endian executables and libraries of x86-64 and aarch64 are";
	case -ENOENT:
		return "has no .eh_frame, and no .debug_frame";
	case -EFBIG:
		return "a section of it is larger than any real one";
	case -EBADMSG:
		return "its headers lead outside the file";
	default:
		return strerror(-error);
	}
}

static bool is_bomb(uint64_t compressed, uint64_t size)
{
	return size > MAX_SECTION_BYTES || size / MAX_COMPRESSION > compressed;
}

/* .zdebug_*: "ZLIB", and the size */
static bool inflated_bytes_by_name(const char *name, const Elf_Data *data, uint64_t *size)
{
	if (!name || strncmp(name, ".zdebug", 7) || !data || data->d_size <= 12 || !data->d_buf ||
	    memcmp(data->d_buf, "ZLIB", 4))
		return false;
	memcpy(size, (char *)data->d_buf + 4, sizeof(*size));
	*size = be64toh(*size);
	return true;
}

int elf_file_check_compressed(Elf *elf)
{
	size_t nr = 0, names = 0;
	uint64_t left = MAX_INFLATED_BYTES;
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	if (elf_getshdrnum(elf, &nr) || nr > MAX_SECTIONS || elf_getshdrstrndx(elf, &names))
		return -EBADMSG;
	while ((scn = elf_nextscn(elf, scn))) {
		uint64_t size = 0;
		GElf_Chdr compression;

		if (!gelf_getshdr(scn, &header))
			return -EBADMSG;
		if (header.sh_type == SHT_NOBITS)
			continue;
		if (header.sh_flags & SHF_COMPRESSED) {
			if (!gelf_getchdr(scn, &compression))
				return -EBADMSG;
			size = compression.ch_size;
		} else if (!inflated_bytes_by_name(elf_strptr(elf, names, header.sh_name),
						   elf_rawdata(scn, NULL), &size)) {
			continue;
		}
		if (is_bomb(header.sh_size, size) || size > left)
			return -EFBIG;
		left -= size;
	}
	return 0;
}

static int section_bytes(Elf_Scn *scn, const GElf_Shdr *header, const char *name,
			 uint64_t file_bytes, struct elf_section *section)
{
	GElf_Chdr compression;
	Elf_Data *data;
	uint64_t size;

	if (header->sh_type == SHT_NOBITS)
		return -ENOENT;
	if (header->sh_size > MAX_SECTION_BYTES)
		return -EFBIG;
	errno = 0;
	if (header->sh_flags & SHF_COMPRESSED) {
		if (!gelf_getchdr(scn, &compression))
			return memory_or(-EBADMSG);
		if (is_bomb(header->sh_size, compression.ch_size))
			return -EFBIG;
		if (elf_compress(scn, 0, 0) < 0)
			return memory_or(-EBADMSG);
	}
	data = elf_getdata(scn, NULL);
	if (!data || (data->d_size && !data->d_buf))
		return header->sh_offset + header->sh_size <= file_bytes ? -ENOMEM : -EBADMSG;
	if (inflated_bytes_by_name(name, data, &size)) {
		if (is_bomb(header->sh_size, size))
			return -EFBIG;
		if (elf_compress_gnu(scn, 0, 0) < 0)
			return memory_or(-EBADMSG);
		data = elf_getdata(scn, NULL);
		if (!data || !data->d_buf)
			return memory_or(-EBADMSG);
	}
	*section = (struct elf_section){
		.name = name,
		.bytes = data->d_buf,
		.size = data->d_size,
		.vaddr = header->sh_addr,
	};
	return 0;
}

static bool is_small(const struct elf_file *file, size_t section, size_t most)
{
	GElf_Shdr header;
	Elf_Scn *scn = elf_getscn(file->elf, section);

	return scn && gelf_getshdr(scn, &header) && header.sh_size <= most;
}

Elf_Scn *elf_file_header(const struct elf_file *file, uint32_t type, const char *name,
			 GElf_Shdr *header)
{
	Elf_Scn *scn = NULL;
	size_t names = 0;

	if (name &&
	    (elf_getshdrstrndx(file->elf, &names) || !is_small(file, names, MAX_SECTION_NAMES)))
		return NULL;
	while ((scn = elf_nextscn(file->elf, scn))) {
		const char *found;

		if (!gelf_getshdr(scn, header) || (type && header->sh_type != type))
			continue;
		found = name ? elf_strptr(file->elf, names, header->sh_name) : NULL;
		if (!name || (found && !strcmp(found, name)))
			return scn;
	}
	return NULL;
}

int elf_file_table(const struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *header,
		   Elf_Data **data)
{
	size_t nr_sections = 0;

	if (elf_getshdrnum(file->elf, &nr_sections) || header->sh_link >= nr_sections)
		return -EBADMSG;
	if (header->sh_size > MAX_TABLE_BYTES ||
	    (header->sh_link && !is_small(file, header->sh_link, MAX_TABLE_BYTES)))
		return -EFBIG;
	errno = 0;
	*data = elf_getdata(scn, NULL);
	return *data ? 0 : memory_or(-EBADMSG);
}

int elf_file_section(const struct elf_file *file, const char *name, struct elf_section *section)
{
	GElf_Shdr header;
	Elf_Scn *scn;

	errno = 0;
	scn = elf_file_header(file, 0, name, &header);
	return scn ? section_bytes(scn, &header, name, file->file_bytes, section)
		   : memory_or(-ENOENT);
}

int elf_file_bytes(const struct elf_file *file, uint64_t offset, uint64_t size,
		   const uint8_t **bytes)
{
	const Elf_Data *data;

	errno = 0;
	data = elf_getdata_rawchunk(file->elf, offset, size, ELF_T_BYTE);
	if (!data || !data->d_buf)
		return memory_or(-EBADMSG);
	*bytes = data->d_buf;
	return 0;
}

int elf_file_code_at(const struct elf_file *file, uint64_t vaddr, uint64_t *size,
		     const uint8_t **bytes)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct elf_segment *s = &file->segments[i];

		if (!s->executable || vaddr < s->vaddr || vaddr - s->vaddr >= s->size)
			continue;
		if (*size > s->size - (vaddr - s->vaddr))
			*size = s->size - (vaddr - s->vaddr);
		return elf_file_bytes(file, s->file_offset + (vaddr - s->vaddr), *size, bytes);
	}
	return -ENOENT;
}

int elf_file_read(const struct elf_file *file, uint64_t offset, void *bytes, size_t size)
{
	uint8_t *to = bytes;

	if (offset > file->file_bytes || size > file->file_bytes - offset)
		return -EBADMSG;
	if (file->fd < 0) {
		memcpy(to, file->image + offset, size);
		return 0;
	}
	while (size) {
		ssize_t got = pread(file->fd, to, size, offset);

		if (got < 0 && errno != EINTR)
			return -errno;
		if (!got)
			return -EBADMSG; /* truncated meanwhile */
		if (got > 0) {
			to += got;
			offset += got;
			size -= got;
		}
	}
	return 0;
}

void elf_file_as_loaded(const struct elf_file *file, uint64_t *whole, uint64_t *cut)
{
	const struct elf_segment *first = file->segments, *last = first + file->nr_segments - 1;
	uint64_t page = sysconf(_SC_PAGESIZE), start;

	*whole = *cut = 0;
	if (!file->nr_segments || !first->executable || last->vaddr < first->vaddr)
		return;
	for (const struct elf_segment *s = first + 1; s <= last; s++)
		if (s->executable) /* it may be mapped as one with the first */
			return;
	start = first->vaddr / page * page;
	*whole = last->vaddr + last->memory_bytes - start;
	*cut = first->vaddr + first->size - start;
}

/* NULL: no segment has that address */
static const struct elf_segment *segment_of(const struct elf_file *file, uint64_t vaddr)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct elf_segment *s = &file->segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->size)
			return s;
	}
	return NULL;
}

/* the bytes of the file from vaddr to the end of its segment */
static int segment_tail(struct elf_file *file, uint64_t vaddr, struct elf_section *section)
{
	const struct elf_segment *s = segment_of(file, vaddr);
	struct elf_section tail = { .name = "PT_GNU_EH_FRAME", .vaddr = vaddr };
	int error;

	if (!s)
		return -ENOENT;
	tail.size = s->size - (vaddr - s->vaddr);
	if (tail.size > MAX_SECTION_BYTES)
		return -EFBIG;
	error = elf_file_bytes(file, s->file_offset + (vaddr - s->vaddr), tail.size, &tail.bytes);
	if (!error)
		*section = tail;
	return error;
}

/*
 * LSB core, 10.6.2: version, encodings of the pointer, the count and the table, the pointer to
 * .eh_frame
 */
static int eh_frame_by_header(struct elf_file *file, struct elf_section *section)
{
	struct elf_section table;
	struct cursor c;
	GElf_Phdr header;
	uint64_t vaddr;
	size_t nr, i;
	int error;

	if (elf_getphdrnum(file->elf, &nr))
		return -ENOENT;
	for (i = 0; i < nr; i++)
		if (gelf_getphdr(file->elf, i, &header) && header.p_type == PT_GNU_EH_FRAME)
			break;
	if (i == nr)
		return -ENOENT;
	error = segment_tail(file, header.p_vaddr, &table);
	if (error)
		return error;
	if (table.size < 4 || table.bytes[0] != 1)
		return -EBADMSG;
	c = cursor_over(table.bytes + 4, table.size - 4);
	vaddr = eh_frame_pointer(&c, table.bytes[1], table.vaddr + 4 - (uint64_t)(uintptr_t)c.p,
				 table.vaddr);
	return c.bad ? -EBADMSG : segment_tail(file, vaddr, section);
}

int elf_file_eh_frame(struct elf_file *file, struct elf_section *section, struct eh_frame *frame)
{
	size_t nr_sections = 0;
	bool has_sections = !elf_getshdrnum(file->elf, &nr_sections) && nr_sections;
	int error = has_sections ? elf_file_section(file, ".eh_frame", section)
				 : eh_frame_by_header(file, section);

	if (error || !section->size)
		return error ? error : -ENOENT;
	*frame = eh_frame_over(section->bytes, section->size, section->vaddr);
	frame->ends_at_terminator = !has_sections; /* what follows is something else */
	return 0;
}

int elf_file_cfi(struct elf_file *file, struct elf_section *section, struct eh_frame *frame)
{
	struct elf_section debug_frame;
	int error = elf_file_eh_frame(file, section, frame), debug_error;

	if (error && error != -ENOENT)
		return error;
	debug_error = elf_file_section(file, ".debug_frame", &debug_frame);
	if (debug_error == -ENOENT)
		debug_error = elf_file_section(file, ".zdebug_frame", &debug_frame);
	if (!error && !debug_error) {
		frame->debug_frame = debug_frame.size ? debug_frame.bytes : NULL;
		frame->debug_frame_bytes = debug_frame.size;
	} else if (!debug_error) {
		*section = debug_frame;
		*frame = eh_frame_over(section->bytes, section->size, section->vaddr);
		frame->is_debug_frame = true;
	}
	return error || debug_error == -ENOMEM ? debug_error : 0;
}

bool elf_file_offset_of(const struct elf_file *file, uint64_t vaddr, uint64_t *file_offset)
{
	const struct elf_segment *s = segment_of(file, vaddr);

	if (s)
		*file_offset = vaddr - s->vaddr + s->file_offset;
	return s;
}

const struct elf_segment *elf_file_segment_at(const struct elf_file *file, uint64_t offset)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct elf_segment *s = &file->segments[i];

		if (offset >= s->file_offset && offset - s->file_offset < s->size)
			return s;
	}
	return NULL;
}

bool elf_file_vaddr_of(const struct elf_file *file, uint64_t file_offset, uint64_t *vaddr)
{
	const struct elf_segment *s = elf_file_segment_at(file, file_offset);

	if (s)
		*vaddr = file_offset - s->file_offset + s->vaddr;
	return s;
}

void elf_file_code(const struct elf_file *file, uint64_t *start, uint64_t *end)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	*start = UINT64_MAX;
	*end = 0;
	while ((scn = elf_nextscn(file->elf, scn))) {
		uint64_t size;

		if (!gelf_getshdr(scn, &header) || !(header.sh_flags & SHF_EXECINSTR) ||
		    header.sh_type == SHT_NOBITS)
			continue;
		size = bytes_in_file(header.sh_offset, header.sh_size, file->file_bytes);
		if (size && header.sh_offset < *start)
			*start = header.sh_offset;
		if (size && header.sh_offset + size > *end)
			*end = header.sh_offset + size;
	}
	if (*start >= *end) {
		*start = 0;
		*end = file->file_bytes;
	}
}

int elf_file_text_bias(const struct elf_file *file, uint64_t *bias)
{
	for (size_t i = 0; i < file->nr_segments; i++)
		if (file->segments[i].executable) {
			*bias = file->segments[i].vaddr - file->segments[i].file_offset;
			return 0;
		}
	return -EBADMSG;
}
