// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * edges [-v] FILE...: could each recorded caller have called its callee? Reads the JSON lines of
 * cpuprof and offcputime and decodes the files that they name, by their sections and symbols: none
 * of our tables and rules has a part in it.
 *
 * An edge is a return address and the pc of the frame above it. It is right if a call instruction
 * ends at the return address and, where that call is direct, the callee's pc can be reached from
 * its target: through instructions, calls that return, jumps (so tail calls are followed) and GOT
 * slots, whose relocation names the function. An indirect call can go anywhere; so can an indirect
 * jump between the target and the callee, and such edges are counted apart.
 *
 * Prints each wrong edge, by samples, with -v also those that are merely possible. Exit status 1:
 * something was wrong.
 */
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <uthash.h>
#include <Zydis/Zydis.h>

/* ---- the files ---- */

struct symbol {
	const char *name;
	uint64_t vaddr;
	bool ifunc, dynamic;
};

struct slot {
	uint64_t vaddr;
	uint32_t type;
	const char *name;
};

struct file {
	char *path;
	const uint8_t *bytes; /* NULL: not an ELF file that is there */
	size_t size;
	GElf_Phdr loads[16];
	size_t nr_loads;
	bool has_code;
	struct symbol *symbols; /* functions, by vaddr */
	size_t nr_symbols;
	uint64_t *starts; /* of functions, by symbols and FDEs */
	size_t nr_starts;
	struct slot *slots; /* of the GOT, by vaddr */
	size_t nr_slots;
	char build_id[64]; /* in hex, "" without */
	UT_hash_handle hh;
};

static struct file *files;
static ZydisDecoder decoder;

static int by_u64(const void *l, const void *r)
{
	uint64_t a = *(const uint64_t *)l, b = *(const uint64_t *)r;

	return a < b ? -1 : a > b;
}

static int by_vaddr(const void *l, const void *r)
{
	return by_u64(&((const struct symbol *)l)->vaddr, &((const struct symbol *)r)->vaddr);
}

#define APPEND(array, nr, ...)                                                             \
	do {                                                                               \
		if (((nr) & ((nr)-1)) == 0 &&                                              \
		    !((array) = realloc((array), ((nr) ? (nr)*2 : 1) * sizeof(*(array))))) \
			exit(2);                                                           \
		(array)[(nr)++] = __VA_ARGS__;                                             \
	} while (0)

/* what the file has at vaddr, NULL: nothing */
static const uint8_t *bytes_at(const struct file *f, uint64_t vaddr, bool code, size_t *left)
{
	for (size_t i = 0; i < f->nr_loads; i++) {
		const GElf_Phdr *p = &f->loads[i];

		if (code && !(p->p_flags & PF_X))
			continue;
		if (vaddr - p->p_vaddr < p->p_filesz && p->p_offset + p->p_filesz <= f->size) {
			*left = p->p_filesz - (vaddr - p->p_vaddr);
			return f->bytes + p->p_offset + (vaddr - p->p_vaddr);
		}
	}
	return NULL;
}

static bool vaddr_of(const struct file *f, uint64_t file_offset, uint64_t *vaddr)
{
	for (size_t i = 0; i < f->nr_loads; i++) {
		const GElf_Phdr *p = &f->loads[i];

		if (!(p->p_flags & PF_X) || file_offset - p->p_offset > p->p_filesz)
			continue;
		*vaddr = p->p_vaddr + (file_offset - p->p_offset);
		return true;
	}
	return false;
}

static void add_symbols(struct file *f, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym s;

	for (size_t i = 0; data && gelf_getsym(data, i, &s); i++) {
		int type = GELF_ST_TYPE(s.st_info);
		const char *name = elf_strptr(elf, header->sh_link, s.st_name);

		if (!s.st_value || s.st_shndx == SHN_UNDEF ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
			continue;
		APPEND(f->symbols, f->nr_symbols,
		       (struct symbol){ name ? name : "", s.st_value, type == STT_GNU_IFUNC,
					header->sh_type == SHT_DYNSYM });
		if (type != STT_NOTYPE)
			APPEND(f->starts, f->nr_starts, s.st_value);
	}
}

static void add_slots(struct file *f, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL), *symbols = NULL;
	Elf_Scn *linked = elf_getscn(elf, header->sh_link);
	GElf_Shdr symtab = {};
	GElf_Rela r;
	GElf_Sym s;

	if (linked && gelf_getshdr(linked, &symtab))
		symbols = elf_getdata(linked, NULL);
	for (size_t i = 0; data && gelf_getrela(data, i, &r); i++) {
		struct slot slot = { r.r_offset, GELF_R_TYPE(r.r_info), NULL };

		if (symbols && GELF_R_SYM(r.r_info) &&
		    gelf_getsym(symbols, GELF_R_SYM(r.r_info), &s))
			slot.name = elf_strptr(elf, symtab.sh_link, s.st_name);
		APPEND(f->slots, f->nr_slots, slot);
	}
}

/*
 * the sorted table of .eh_frame_hdr, as linkers write it: pairs of 4 bytes relative to the section
 */
static void add_fdes(struct file *f, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const uint8_t *p = data ? data->d_buf : NULL;
	uint32_t nr;

	if (!p || data->d_size < 12 || p[1] != 0x1b || p[2] != 0x03 || p[3] != 0x3b)
		return;
	memcpy(&nr, p + 8, 4);
	for (size_t i = 0; i < nr && 12 + 8 * i + 8 <= data->d_size; i++) {
		int32_t start;

		memcpy(&start, p + 12 + 8 * i, 4);
		APPEND(f->starts, f->nr_starts, header->sh_addr + start);
	}
}

static void read_build_id(struct file *f, Elf_Scn *section)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t name, description;
	GElf_Nhdr note;

	if (!data || !gelf_getnote(data, 0, &note, &name, &description) ||
	    note.n_type != NT_GNU_BUILD_ID)
		return;
	for (size_t i = 0; i < note.n_descsz && 2 * i + 2 < sizeof(f->build_id); i++)
		snprintf(f->build_id + 2 * i, 3, "%02x", ((uint8_t *)data->d_buf)[description + i]);
}

static void read_sections(struct file *f, Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names;
	GElf_Shdr h;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((section = elf_nextscn(elf, section)) && gelf_getshdr(section, &h)) {
		const char *name = elf_strptr(elf, names, h.sh_name);

		if (h.sh_type == SHT_SYMTAB || h.sh_type == SHT_DYNSYM)
			add_symbols(f, elf, section, &h);
		else if (h.sh_type == SHT_RELA && h.sh_flags & SHF_ALLOC)
			add_slots(f, elf, section, &h);
		else if (h.sh_type != SHT_NOBITS && name && strcmp(name, ".eh_frame_hdr") == 0)
			add_fdes(f, section, &h);
		else if (h.sh_type == SHT_NOTE && name && strcmp(name, ".note.gnu.build-id") == 0)
			read_build_id(f, section);
	}
}

/* the descriptors and what libelf maps stay until the end: names point there */
static Elf *open_elf(const char *path, int *fd)
{
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	return *fd < 0 ? NULL : elf_begin(*fd, ELF_C_READ, NULL);
}

/* symbols of a debug file, where one is installed */
static void read_debug_file(struct file *f, const char *build_id)
{
	char path[256];
	Elf *elf;
	int fd;

	if (!build_id || strlen(build_id) < 3)
		return;
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", build_id,
		 build_id + 2);
	elf = open_elf(path, &fd);
	if (elf)
		read_sections(f, elf);
}

static struct file *read_file(const char *path, const char *build_id)
{
	struct file *f;
	struct stat st;
	GElf_Phdr p;
	size_t nr;
	Elf *elf;
	int fd;

	HASH_FIND_STR(files, path, f);
	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	f->path = strdup(path);
	HASH_ADD_KEYPTR(hh, files, f->path, strlen(f->path), f);
	elf = open_elf(path, &fd);
	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &nr) || fstat(fd, &st))
		return f;
	f->size = st.st_size;
	f->bytes = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (f->bytes == MAP_FAILED)
		exit(2);
	for (size_t i = 0; i < nr && f->nr_loads < sizeof(f->loads) / sizeof(*f->loads); i++) {
		if (!gelf_getphdr(elf, i, &p) || p.p_type != PT_LOAD)
			continue;
		f->loads[f->nr_loads++] = p;
		f->has_code |= p.p_flags & PF_X;
	}
	read_sections(f, elf);
	read_debug_file(f, build_id);
	if (f->nr_symbols)
		qsort(f->symbols, f->nr_symbols, sizeof(*f->symbols), by_vaddr);
	if (f->nr_starts)
		qsort(f->starts, f->nr_starts, sizeof(*f->starts), by_u64);
	if (f->nr_slots)
		qsort(f->slots, f->nr_slots, sizeof(*f->slots), by_u64);
	return f;
}

static bool is_start(const struct file *f, uint64_t vaddr)
{
	return f->nr_starts && bsearch(&vaddr, f->starts, f->nr_starts, sizeof(*f->starts), by_u64);
}

/* the start of the function that vaddr is in, 0 if unknown */
static uint64_t function_of(const struct file *f, uint64_t vaddr)
{
	size_t low = 0, high = f->nr_starts;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (f->starts[middle] <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? f->starts[low - 1] : 0;
}

static const char *symbol_of(const struct file *f, uint64_t vaddr)
{
	const char *name = NULL;

	for (size_t low = 0, high = f->nr_symbols; low < high;) {
		size_t middle = (low + high) / 2;

		if (f->symbols[middle].vaddr <= vaddr) {
			name = f->symbols[middle].name;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return name ? name : "?";
}

static const struct slot *slot_at(const struct file *f, uint64_t vaddr)
{
	return f->nr_slots ? bsearch(&vaddr, f->slots, f->nr_slots, sizeof(*f->slots), by_u64)
			   : NULL;
}

/* ---- instructions ---- */

struct insn {
	ZydisDecodedInstruction d;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	bool direct;       /* a call or jump to target */
	bool through_slot; /* a call or jump to what lies at target */
	uint64_t target;
};

static bool decode(const struct file *f, uint64_t vaddr, struct insn *insn)
{
	size_t left;
	const uint8_t *bytes = bytes_at(f, vaddr, true, &left);
	const ZydisDecodedOperand *o = insn->operands;

	if (!bytes ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, left, &insn->d, insn->operands)))
		return false;
	insn->direct = o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o->imm.is_relative;
	insn->through_slot =
		o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_RIP;
	if (insn->direct || insn->through_slot)
		ZydisCalcAbsoluteAddress(&insn->d, o, vaddr, &insn->target);
	return true;
}

/*
 * The call that ends at vaddr. Instructions cannot be read backwards: a direct call is preferred
 * where bytes before it could be read as both, and a long one to a short one.
 */
static bool call_before(const struct file *f, uint64_t vaddr, struct insn *call)
{
	struct insn insn;
	bool found = false;

	for (unsigned length = 2; length <= 9; length++) {
		if (!decode(f, vaddr - length, &insn) || insn.d.length != length ||
		    insn.d.mnemonic != ZYDIS_MNEMONIC_CALL)
			continue;
		if (!found || insn.direct >= call->direct)
			*call = insn;
		found = true;
	}
	return found;
}

static bool is_code_at(const struct file *f, uint64_t vaddr, const uint8_t *code, size_t size)
{
	size_t left;
	const uint8_t *bytes = bytes_at(f, vaddr, true, &left);

	return bytes && left >= size && memcmp(bytes, code, size) == 0;
}

/* mov $15, %rax; syscall */
static bool is_signal_return(const struct file *f, uint64_t vaddr)
{
	static const uint8_t restorer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };

	return is_code_at(f, vaddr, restorer, sizeof(restorer));
}

/* within that: at the second instruction, or in the system call */
static bool is_in_signal_return(const struct file *f, uint64_t vaddr)
{
	return is_signal_return(f, vaddr) || is_signal_return(f, vaddr - 7) ||
	       is_signal_return(f, vaddr - 9);
}

#define ASYNC_PREEMPT_BYTES 1024

/*
 * Go's asyncPreempt, also without its symbol: push %rbp; mov %rsp, %rbp; pushf; a frame for all
 * registers
 */
static bool is_in_async_preempt(const struct file *f, uint64_t vaddr)
{
	static const uint8_t beginning[] = { 0x55, 0x48, 0x89, 0xe5, 0x9c, 0x48, 0x81, 0xec };

	for (uint64_t at = vaddr; at + ASYNC_PREEMPT_BYTES > vaddr; at--) {
		if (is_code_at(f, at, beginning, sizeof(beginning)))
			return true;
		if (at < vaddr && is_code_at(f, at, (const uint8_t[]){ 0xcc, 0xcc }, 2))
			return false; /* between functions */
	}
	return false;
}

/* ---- what a call to an address can reach ---- */

struct place {
	struct file *file;
	uint64_t vaddr;
};

struct callee {
	struct place at;
	bool called_on; /* at is a return address: the call before it must be reached */
};

struct seen {
	struct place place;
	UT_hash_handle hh;
};

struct search {
	struct callee callee;
	struct place *queue;
	size_t nr, next;
	bool anywhere; /* it comes by an indirect jump, or by a name that no file defines */
	bool found;
	struct seen *seen;
};

#define MAX_SEARCHED 60000

static void follow(struct search *s, struct file *file, uint64_t vaddr)
{
	struct place place = {};
	struct seen *seen;

	place.file = file;
	place.vaddr = vaddr;
	HASH_FIND(hh, s->seen, &place, sizeof(place), seen);
	if (seen)
		return;
	/* entered at its start, a function reaches what is inside it */
	if (file == s->callee.at.file && is_start(file, vaddr) &&
	    function_of(file, s->callee.at.vaddr - s->callee.called_on) == vaddr)
		s->found = true;
	seen = calloc(1, sizeof(*seen));
	seen->place = place;
	HASH_ADD(hh, s->seen, place, sizeof(place), seen);
	APPEND(s->queue, s->nr, place);
}

/* every function of this name: which of them it was, the dynamic linker knew */
static void follow_name(struct search *s, const char *name)
{
	size_t nr = s->nr;
	bool was_found = s->found;

	for (struct file *f = files; f; f = f->hh.next) {
		for (size_t i = 0; i < f->nr_symbols; i++) {
			if (!f->symbols[i].dynamic || strcmp(f->symbols[i].name, name) != 0)
				continue;
			/* its resolver may have chosen any function there */
			if (f->symbols[i].ifunc)
				s->found |= f == s->callee.at.file;
			follow(s, f, f->symbols[i].vaddr);
		}
	}
	if (s->nr == nr && s->found == was_found)
		s->anywhere = true;
}

static void follow_content(struct search *s, struct file *file, uint64_t vaddr)
{
	size_t left;
	const uint8_t *bytes = bytes_at(file, vaddr, false, &left);
	uint64_t target = 0;

	if (bytes && left >= 8)
		memcpy(&target, bytes, 8);
	if (target)
		follow(s, file, target);
}

static void follow_slot(struct search *s, struct file *file, uint64_t vaddr)
{
	const struct slot *slot = slot_at(file, vaddr);
	const char *base = strrchr(s->callee.at.file->path, '/');

	/*
	 * a lazy call is bound by ld.so, and the program calls itself through slots that need no
	 * name
	 */
	if (!slot || !slot->name ||
	    (slot->type != R_X86_64_JUMP_SLOT && slot->type != R_X86_64_GLOB_DAT))
		s->anywhere = true;
	else if (slot->type == R_X86_64_JUMP_SLOT && base && strncmp(base, "/ld-", 4) == 0)
		s->found = true;
	else
		follow_name(s, slot->name);
	/* before it is bound, a lazy slot leads back into the PLT */
	if (slot && slot->type == R_X86_64_JUMP_SLOT)
		follow_content(s, file, vaddr);
}

static void search_from(struct search *s, struct place place)
{
	const struct callee *c = &s->callee;
	struct insn insn;

	if (!decode(place.file, place.vaddr, &insn))
		return;
	if (place.file == c->at.file) {
		if (c->called_on)
			s->found |= insn.d.mnemonic == ZYDIS_MNEMONIC_CALL &&
				    place.vaddr + insn.d.length == c->at.vaddr;
		else
			s->found |= place.vaddr == c->at.vaddr;
	}
	switch (insn.d.meta.category) {
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_COND_BR:
		if (insn.direct)
			follow(s, place.file, insn.target);
		else if (insn.through_slot)
			follow_slot(s, place.file, insn.target);
		else
			s->anywhere = true;
		if (insn.d.meta.category == ZYDIS_CATEGORY_UNCOND_BR)
			return;
		break;
	case ZYDIS_CATEGORY_RET:
		/* a return address pushed by hand leads there */
		return;
	case ZYDIS_CATEGORY_CALL:
		/* one that does not return, at a function's end */
		if (is_start(place.file, place.vaddr + insn.d.length))
			return;
		break;
	default:
		break;
	}
	if (insn.d.mnemonic != ZYDIS_MNEMONIC_HLT && insn.d.mnemonic != ZYDIS_MNEMONIC_UD2)
		follow(s, place.file, place.vaddr + insn.d.length);
}

enum verdict {
	DIRECT,
	BY_JUMPS,
	BY_SLOT,
	BY_NAME_UNKNOWN,
	INDIRECT,
	PLANTED,
	SIGNAL,
	UNCHECKED,
	NO_CALL,
	UNREACHABLE, /* from here on: wrong */
	NR_VERDICTS
};

static const char *const verdict_names[] = {
	[DIRECT] = "direct",
	[BY_JUMPS] = "by jumps",
	[BY_SLOT] = "by the GOT",
	[BY_NAME_UNKNOWN] = "possible by an indirect jump",
	[INDIRECT] = "by an indirect call",
	[PLANTED] = "planted",
	[SIGNAL] = "signals",
	[UNCHECKED] = "outside files",
	[NO_CALL] = "no call before the return address",
	[UNREACHABLE] = "the call leads elsewhere",
};
_Static_assert(sizeof(verdict_names) / sizeof(*verdict_names) == NR_VERDICTS, "a name for each");

static enum verdict reaches(struct file *file, const struct insn *call, const struct callee *callee)
{
	struct search s = { .callee = *callee };
	struct seen *seen, *next;
	enum verdict verdict;

	if (call->through_slot)
		follow_slot(&s, file, call->target);
	else
		follow(&s, file, call->target);
	verdict = s.found ? DIRECT : BY_JUMPS;
	if (call->through_slot)
		verdict = BY_SLOT;
	while (!s.found && s.next < s.nr && s.nr < MAX_SEARCHED)
		search_from(&s, s.queue[s.next++]);
	if (!s.found)
		verdict = s.anywhere || s.nr >= MAX_SEARCHED ? BY_NAME_UNKNOWN : UNREACHABLE;
	HASH_ITER(hh, s.seen, seen, next) {
		HASH_DEL(s.seen, seen);
		free(seen);
	}
	free(s.queue);
	return verdict;
}

/* ---- edges ---- */

/* where code writes a return address that no call left there */
static const char *const planters[] = { "__start_context", "make_fcontext" };

struct edge {
	struct edge_key {
		struct place caller;
		struct place callee;
		uint64_t called_on;
	} key;
	unsigned long count;
	enum verdict verdict;
	UT_hash_handle hh;
};

static struct edge *edges;

static bool is_planted(const struct place *caller)
{
	const char *name = symbol_of(caller->file, caller->vaddr - 1);
	size_t left;
	const uint8_t *bytes = bytes_at(caller->file, caller->vaddr - 1, true, &left);

	/* Go's goexit, also without its symbol: nop; call goexit1; nop, entered behind the first */
	if (bytes && left >= 7 && bytes[0] == 0x90 && bytes[1] == 0xe8 && bytes[6] == 0x90)
		return true;

	for (size_t i = 0; i < sizeof(planters) / sizeof(*planters); i++)
		if (strcmp(name, planters[i]) == 0)
			return true;
	return false;
}

static enum verdict judge(const struct edge_key *key)
{
	struct callee callee = { key->callee, key->called_on };
	const struct place *caller = &key->caller;
	struct insn call = {};

	if (!caller->file || !caller->file->has_code)
		return UNCHECKED;
	if (is_signal_return(caller->file, caller->vaddr))
		return SIGNAL;
	if (!call_before(caller->file, caller->vaddr, &call))
		return is_planted(caller) ? PLANTED : NO_CALL;
	if (!call.direct && !call.through_slot)
		return INDIRECT;
	if (!callee.at.file || !callee.at.file->has_code)
		return call.direct ? UNCHECKED : INDIRECT;
	return reaches(caller->file, &call, &callee);
}

static struct place place_of(struct json_object *frame)
{
	struct json_object *module, *offset, *build_id = NULL;
	struct place place = {};

	if (!json_object_object_get_ex(frame, "module", &module) ||
	    !json_object_object_get_ex(frame, "file_offset", &offset))
		return place;
	json_object_object_get_ex(frame, "build_id", &build_id);
	place.file = read_file(json_object_get_string(module),
			       build_id ? json_object_get_string(build_id) : NULL);
	/* another mount namespace's, or replaced since */
	if (build_id && place.file->build_id[0] &&
	    strcmp(json_object_get_string(build_id), place.file->build_id) != 0)
		place.file = NULL;
	else if (!vaddr_of(place.file, json_object_get_int64(offset), &place.vaddr))
		place.file = NULL;
	return place;
}

static void add_edge(struct place caller, struct place callee, bool called_on, unsigned long count)
{
	struct edge_key key;
	struct edge *edge;

	memset(&key, 0, sizeof(key));
	key.caller = caller;
	key.callee = callee;
	key.called_on = called_on;
	HASH_FIND(hh, edges, &key, sizeof(key), edge);
	if (!edge) {
		edge = calloc(1, sizeof(*edge));
		edge->key = key;
		HASH_ADD(hh, edges, key, sizeof(key), edge);
	}
	edge->count += count;
}

static unsigned long nr_frames;

/*
 * from here on, the caller is what a signal interrupted: in a restorer, or in what Go's handler
 * makes it seem to have called
 */
static bool is_trampoline(const struct place *p)
{
	const char *name;

	if (!p->file || !p->file->has_code)
		return false;
	name = symbol_of(p->file, p->vaddr);
	return is_in_signal_return(p->file, p->vaddr) || is_in_async_preempt(p->file, p->vaddr) ||
	       !strncmp(name, "runtime.sigpanic", 16);
}

static void read_stack(struct json_object *user, unsigned long count)
{
	struct place callee = {};
	bool called_on = false, trampoline = false;

	for (size_t i = 0; i < json_object_array_length(user); i++) {
		struct json_object *frame = json_object_array_get_idx(user, i);
		struct place place = place_of(frame);

		if (json_object_object_get_ex(frame, "inlined", NULL))
			continue;
		nr_frames += count;
		/* what a signal interrupted called nobody, and its pc is no return address */
		if (i > 0 && !trampoline)
			add_edge(place, callee, called_on, count);
		called_on = i > 0 && !trampoline;
		trampoline = is_trampoline(&place);
		callee = place;
	}
}

static int read_stacks(const char *path)
{
	FILE *in = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;

	if (!in)
		return -1;
	while (getline(&line, &room, in) > 0) {
		struct json_object *stack = json_tokener_parse(line), *user, *count;

		if (stack && json_object_object_get_ex(stack, "user", &user) &&
		    json_object_object_get_ex(stack, "count", &count))
			read_stack(user, json_object_get_int64(count));
		json_object_put(stack);
	}
	free(line);
	return fclose(in);
}

static void print_place(const struct place *p)
{
	if (p->file)
		printf("%s+%#lx (%s)", p->file->path, p->vaddr, symbol_of(p->file, p->vaddr - 1));
	else
		printf("outside files");
}

static void print_edge(const struct edge *e)
{
	printf("%lu %s: ", e->count, verdict_names[e->verdict]);
	print_place(&e->key.caller);
	printf(" -> ");
	print_place(&e->key.callee);
	printf("\n");
}

static int by_count(struct edge *l, struct edge *r)
{
	return l->count > r->count ? -1 : l->count < r->count;
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	unsigned long nr[NR_VERDICTS] = {}, frames[NR_VERDICTS] = {};

	if (argc < 2 + verbose || elf_version(EV_CURRENT) == EV_NONE ||
	    !ZYAN_SUCCESS(
		    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return 2;
	for (int i = 1 + verbose; i < argc; i++) {
		if (read_stacks(argv[i])) {
			fprintf(stderr, "edges: cannot read '%s'\n", argv[i]);
			return 2;
		}
	}
	HASH_SORT(edges, by_count);
	for (struct edge *e = edges; e; e = e->hh.next) {
		e->verdict = judge(&e->key);
		nr[e->verdict]++;
		frames[e->verdict] += e->count;
		if (e->verdict >= NO_CALL || (verbose && e->verdict == BY_NAME_UNKNOWN))
			print_edge(e);
	}
	printf("%lu frames, %u edges;", nr_frames, HASH_COUNT(edges));
	for (int v = 0; v < NR_VERDICTS; v++)
		if (nr[v] && v < NO_CALL)
			printf(" %s %lu (%lu),", verdict_names[v], nr[v], frames[v]);
	printf(" wrong %lu (%lu)\n", nr[NO_CALL] + nr[UNREACHABLE],
	       frames[NO_CALL] + frames[UNREACHABLE]);
	return nr[NO_CALL] + nr[UNREACHABLE] > 0;
}
