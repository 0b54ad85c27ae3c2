// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/usdt.h"

#include <string.h>

#include "base/array.h"

#define NT_STAPSDT 3
#define OWNER      "stapsdt"

/* the note's three addresses, and then its three strings */
struct note_addresses {
	uint64_t location, base, semaphore;
};

/* the string that begins there, and where the next one does; NULL: it does not end */
static const char *next_string(const char **at, const char *end)
{
	const char *string = *at, *nul = memchr(string, 0, end - string);

	if (!nul)
		return NULL;
	*at = nul + 1;
	return string;
}

/* A probe is in code, and its semaphore, which the kernel increments, among data. */
static bool find_in(const struct elf_file *file, uint64_t vaddr, bool data, uint64_t *offset)
{
	const struct elf_segment *s =
		elf_file_offset_of(file, vaddr, offset) ? elf_file_segment_at(file, *offset) : NULL;

	return s && (data ? s->writable && !s->executable : s->executable);
}

/*
 * base: of .stapsdt.base now; prelink moves all, and leaves the notes as they were. False: it does
 * not parse
 */
static bool parse_note(const struct elf_file *file, uint64_t base, const uint8_t *bytes,
		       size_t size, struct usdt_probe *probe)
{
	const char *at = (const char *)bytes + sizeof(struct note_addresses),
		   *end = (const char *)bytes + size;
	struct note_addresses addresses;
	uint64_t moved;

	if (size <= sizeof(addresses))
		return false;
	memcpy(&addresses, bytes, sizeof(addresses));
	moved = base ? base - addresses.base : 0;
	probe->provider = next_string(&at, end);
	probe->name = probe->provider ? next_string(&at, end) : NULL;
	probe->arguments = probe->name ? next_string(&at, end) : NULL;
	if (!probe->arguments)
		probe->arguments = "";
	probe->semaphore_offset = 0;
	return probe->name &&
	       find_in(file, addresses.location + moved, false, &probe->file_offset) &&
	       (!addresses.semaphore ||
		find_in(file, addresses.semaphore + moved, true, &probe->semaphore_offset));
}

static int read_notes(struct elf_file *file, uint64_t base, Elf_Data *data,
		      struct usdt_probe **probes, size_t *nr, size_t *room)
{
	size_t at = 0, next, name, desc;
	GElf_Nhdr note;

	while ((next = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
		struct usdt_probe probe;

		at = next;
		if (note.n_type != NT_STAPSDT || note.n_namesz != sizeof(OWNER) ||
		    memcmp((char *)data->d_buf + name, OWNER, sizeof(OWNER)) ||
		    !parse_note(file, base, (uint8_t *)data->d_buf + desc, note.n_descsz, &probe))
			continue;
		if (array_reserve(probes, room, *nr + 1))
			return -ENOMEM;
		(*probes)[(*nr)++] = probe;
	}
	return 0;
}

int usdt_read(struct elf_file *file, struct usdt_probe **probes, size_t *nr)
{
	GElf_Shdr header;
	uint64_t base = elf_file_header(file, 0, ".stapsdt.base", &header) ? header.sh_addr : 0;
	Elf_Scn *scn = elf_file_header(file, SHT_NOTE, ".note.stapsdt", &header);
	struct usdt_probe *found = NULL;
	size_t nr_found = 0, room = 0;
	Elf_Data *data = NULL;
	int error = scn ? elf_file_table(file, scn, &header, &data) : 0;

	if (!error && data && data->d_buf)
		error = read_notes(file, base, data, &found, &nr_found, &room);
	else if (error == -EBADMSG)
		error = 0;
	if (error) {
		free(found);
		return error;
	}
	*probes = found;
	*nr = nr_found;
	return 0;
}
