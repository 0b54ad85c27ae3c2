// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/hotspot/hotspot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "dwarf/exports.h"
#include "machine_abi.h"
#include "process/trust.h"
#include "process/workers.h"
#include "runtimes/hotspot/hotspot_parts.h"
#include "stacks_abi.h"
#include "tables_abi.h"

/* a JVM that cannot be read, as when it is just beginning, is tried again after this time */
#define RETRY_NS   20000000ULL
#define NO_ROOM_NS 1000000000 /* the same if its user had no room for its pages */

/* so many pieces of one process are known, with those that are gone */
#define MAX_PIECES (1u << 20)

/* ---- new, free ---- */

static int process_new(void **own, struct slabs *slabs, pid_t pid)
{
	struct hotspot_module module = { .module.pending = PENDING_ROWS };
	struct hotspot *h = calloc(1, sizeof(*h));
	uint32_t uid;

	if (!h)
		return -ENOMEM;
	h->slabs = slabs;
	h->pid = pid;
	uid = OWNERS_UID(owner_of_process(pid));
	h->user = hotspot_user_of(uid);
	h->slabs_user = slabs_user(slabs, uid);
	if (!h->user || !h->slabs_user) {
		free(h);
		return -ENOMEM;
	}
	hotspot_methods_begin(&h->methods, pid, h->user);
	h->module = slabs_alloc(slabs, sizeof(module));
	if (!h->module) {
		int error = -errno;

		free(h);
		return error;
	}
	memcpy(slabs_at(slabs, h->module), &module, sizeof(module));
	*own = h;
	return 0;
}

static size_t rows_bytes(const struct piece *piece)
{
	return piece->nr_rows * sizeof(piece->rows[0]);
}

static size_t piece_bytes(const struct piece *piece)
{
	return sizeof(*piece) + rows_bytes(piece) + piece->name_bytes;
}

/*
 * The module stays, empty: a walk may come to it by a list of mappings that is kept for a raw
 * sample.
 */
static void process_free(void *own)
{
	struct hotspot *h = own;
	struct published_module *module = slabs_at(h->slabs, h->module);

	__atomic_store_n(&module->tables[TABLE_CFI].nr_pages, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&module->pending, 0, __ATOMIC_RELEASE);
	hotspot_release_pages(h);
	for (size_t i = 0; i < h->nr_all; i++) {
		user_room_give(h->user, piece_bytes(h->all[i]));
		free(h->all[i]->rows);
		free(h->all[i]->name);
		free(h->all[i]);
	}
	free(h->all);
	free(h->pieces);
	free(h->old);
	hotspot_methods_free(&h->methods);
	free(h);
}

static loc_t code_module(const void *own)
{
	const struct hotspot *h = own;

	return h->module;
}

/* Without an image, this JVM cannot be read, and no walk asks for rows from now on. */
static void describe(const struct runtime_process *process, struct published_runtimes *says,
		     uint64_t text)
{
	struct hotspot *h = process->own;
	const struct hotspot_image *image = process->image;
	struct published_module *module = slabs_at(h->slabs, h->module);

	(void)says;
	if (h->has_image)
		return;
	h->has_image = true;
	h->is_hopeless = !image;
	if (h->is_hopeless) {
		__atomic_store_n(&module->pending, 0, __ATOMIC_RELEASE);
		return;
	}
	h->image = *image;
	h->text = text;
}

/* ---- pieces ---- */

static struct piece *piece_at(const struct hotspot *h, uint64_t address)
{
	size_t i = hotspot_first_behind(h, address);

	return i < h->nr && h->pieces[i]->blob.start <= address ? h->pieces[i] : NULL;
}

static void remove_pieces(struct hotspot *h, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		user_room_give(h->user, rows_bytes(h->pieces[i]));
		free(h->pieces[i]->rows);
		h->pieces[i]->rows = NULL;
		h->pieces[i]->nr_rows = 0;
	}
	memmove(h->pieces + first, h->pieces + end, (h->nr - end) * sizeof(*h->pieces));
	h->nr -= end - first;
}

static void remove_piece(struct hotspot *h, const struct piece *piece)
{
	size_t i = hotspot_first_behind(h, piece->blob.start);
	uint64_t start = piece->blob.start, end = piece->blob.end;

	if (i == h->nr || h->pieces[i] != piece)
		return;
	remove_pieces(h, i, i + 1);
	hotspot_write_pages(h, start, end);
}

static struct piece *new_piece(const struct hotspot *h, const struct hotspot_code *code)
{
	struct piece *piece = calloc(1, sizeof(*piece));

	if (!piece)
		return NULL;
	piece->blob = code->blob;
	piece->number = h->nr_all;
	piece->nr_rows = code->nr_rows;
	piece->name_bytes = code->name_bytes;
	piece->rows = malloc(rows_bytes(piece));
	piece->name = malloc(code->name_bytes);
	if (!piece->rows || !piece->name || !user_room_take(h->user, piece_bytes(piece))) {
		free(piece->rows);
		free(piece->name);
		free(piece);
		return NULL;
	}
	memcpy(piece->rows, code->rows, rows_bytes(piece));
	memcpy(piece->name, hotspot_code_name(code), code->name_bytes);
	return piece;
}

/* Adds the code in the place of what was there; what is known already stays. */
static void add_piece(struct hotspot *h, const struct hotspot_code *code, uint64_t seen_ns)
{
	const struct hotspot_blob *b = &code->blob;
	struct piece *known = piece_at(h, b->start), *piece;
	size_t first = hotspot_first_behind(h, b->start), end = first;
	uint64_t from = b->start, to = b->end;

	if (known && known->blob.start == b->start && known->blob.end == b->end &&
	    known->blob.word == b->word) {
		known->seen_ns = seen_ns;
		return;
	}
	if (h->nr_all == MAX_PIECES || array_reserve(&h->pieces, &h->room, h->nr + 1) ||
	    array_reserve(&h->all, &h->all_room, h->nr_all + 1))
		return;
	piece = new_piece(h, code);
	if (!piece)
		return;
	piece->seen_ns = seen_ns;
	for (; end < h->nr && h->pieces[end]->blob.start < b->end; end++) {
		from = h->pieces[end]->blob.start < from ? h->pieces[end]->blob.start : from;
		to = h->pieces[end]->blob.end > to ? h->pieces[end]->blob.end : to;
	}
	remove_pieces(h, first, end);
	memmove(h->pieces + first + 1, h->pieces + first, (h->nr - first) * sizeof(*h->pieces));
	h->pieces[first] = piece;
	h->nr++;
	h->all[h->nr_all++] = piece;
	hotspot_write_pages(h, from, to);
}

/* ---- questions ---- */

static int ask(struct hotspot *h, struct foreign *foreign, const struct hotspot_answer **answer,
	       size_t *bytes)
{
	h->question.pid = h->pid;
	h->nr_questions++;
	return hotspot_ask(foreign, &h->question, answer, bytes);
}

#define LAYOUT_SINCE 11 /* the Symbol's */

/* where the kernel finds what a Method is, if this version of the JVM says so */
static void write_layout(struct hotspot *h)
{
	struct hotspot_module *module = slabs_at(h->slabs, h->module);
	const struct hotspot_vm *vm = &h->question.vm;
	static const enum hotspot_field needed[] = {
		VM_METHOD_CONST, VM_CONST_POOL, VM_CONST_CODE_SIZE, VM_POOL_HOLDER, VM_KLASS_NAME,
	};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!hotspot_has(vm, needed[i]) || vm->field[needed[i]].at > UINT16_MAX)
			return;
	if (vm->version < LAYOUT_SINCE)
		return;
	module->layout = (struct hotspot_layout){
		.method_const = vm->field[VM_METHOD_CONST].at,
		.const_pool = vm->field[VM_CONST_POOL].at,
		.const_code_size = vm->field[VM_CONST_CODE_SIZE].at,
		.pool_holder = vm->field[VM_POOL_HOLDER].at,
		.klass_name = vm->field[VM_KLASS_NAME].at,
		.const_bytes = vm->type_bytes[VM_TYPE_CONST_METHOD],
	};
}

/* false: the VM cannot be read, not yet maybe */
static bool read_vm(struct hotspot *h, struct foreign *foreign)
{
	const struct hotspot_answer *answer;
	uint64_t now = clock_ns();
	size_t bytes;

	if (h->is_read || !h->has_image || h->is_hopeless)
		return h->is_read;
	if (now - h->tried_ns < (h->lacks_room ? NO_ROOM_NS : RETRY_NS))
		return false;
	h->tried_ns = now;
	h->question =
		(struct hotspot_question){ .attach = true, .image = h->image, .text = h->text };
	if (ask(h, foreign, &answer, &bytes))
		return false;
	h->heaps = answer->heaps;
	h->question.vm = answer->vm;
	h->question.attach = false;
	write_layout(h);
	h->is_read = !hotspot_make_pages(h);
	h->lacks_room = !h->is_read;
	return h->is_read;
}

static bool in_heaps(const struct hotspot *h, uint64_t address)
{
	for (uint32_t i = 0; i < h->heaps.nr; i++)
		if (address >= h->heaps.heap[i].start && address < h->heaps.heap[i].limit)
			return true;
	return false;
}

static void begin_question(struct hotspot *h)
{
	h->question.nr_known = h->question.nr_pcs = 0;
}

static void ask_for_pc(struct hotspot *h, uint64_t pc)
{
	struct hotspot_question *q = &h->question;

	for (uint32_t i = 0; i < q->nr_pcs; i++)
		if (q->pcs[i] == pc)
			return;
	if (q->nr_pcs < MAX_HOTSPOT_PCS)
		q->pcs[q->nr_pcs++] = pc;
}

/* What was there after the sample needs no asking. */
static void ask_for(struct hotspot *h, uint64_t pc, uint64_t sampled_ns)
{
	struct piece *piece = piece_at(h, pc);
	struct hotspot_question *q = &h->question;

	if (!piece) {
		ask_for_pc(h, pc);
	} else if (piece->seen_ns < sampled_ns && piece->asked != h->nr_questions + 1 &&
		   q->nr_known < MAX_HOTSPOT_PCS) {
		piece->asked = h->nr_questions + 1;
		q->known[q->nr_known++] = (struct hotspot_word){ .at = piece->blob.word_at,
								 .word = piece->blob.word };
	}
}

/* Removes the pieces that are gone; the others were seen. false: none is gone */
static bool remove_gone(struct hotspot *h, const struct hotspot_answer *answer, uint64_t seen_ns)
{
	bool any = false;

	for (uint32_t i = 0; i < h->question.nr_known; i++) {
		/* the word lies in the piece's own head */
		struct piece *piece = piece_at(h, h->question.known[i].at);

		if (piece && answer->gone[i])
			remove_piece(h, piece);
		else if (piece)
			piece->seen_ns = seen_ns;
		any |= piece && answer->gone[i];
	}
	return any;
}

/* false: there is no answer. *gone: some of what was known is not there any more */
static bool take_answer(struct hotspot *h, struct foreign *foreign, bool *gone)
{
	const struct hotspot_answer *answer;
	const struct hotspot_code *code;
	size_t bytes, at = sizeof(*answer);
	uint64_t now = clock_ns();

	if (ask(h, foreign, &answer, &bytes))
		return false;
	h->heaps = answer->heaps;
	h->question.unloaded_at = answer->unloaded_at;
	hotspot_methods_note_unloaded(&h->methods, answer->unloaded);
	*gone = remove_gone(h, answer, now);
	while ((code = hotspot_code_next(answer, bytes, &at)))
		add_piece(h, code, now);
	return true;
}

/* Asks for the code of a stack, and how many classes were thrown away. false: there is no answer */
static bool ask_for_stack(struct hotspot *h, struct foreign *foreign, uint64_t time_ns, uint64_t pc,
			  const uint64_t *words, size_t nr)
{
	bool gone = true;

	for (int round = 0; round < 2 && gone; round++) {
		begin_question(h);
		if (in_heaps(h, pc))
			ask_for(h, pc, time_ns);
		for (size_t i = 0; i < nr; i++)
			if (in_heaps(h, words[i]))
				ask_for(h, words[i], time_ns);
		if (!(h->question.nr_known | h->question.nr_pcs))
			break;
		if (!take_answer(h, foreign, &gone))
			return false;
	}
	return true;
}

static uint32_t look(void *own, struct foreign *foreign, uint64_t time_ns, uint64_t pc,
		     const uint64_t *words, size_t nr)
{
	struct hotspot *h = own;

	hotspot_release_old(h, clock_ns());
	return read_vm(h, foreign) && ask_for_stack(h, foreign, time_ns, pc, words, nr)
		       ? hotspot_methods_epoch(&h->methods, time_ns)
		       : METHOD_NO_EPOCH;
}

static bool want(void *own, struct foreign *foreign, uint64_t pc)
{
	struct hotspot *h = own;
	bool gone;

	if (!read_vm(h, foreign) || piece_at(h, pc))
		return false;
	begin_question(h);
	ask_for_pc(h, pc);
	return take_answer(h, foreign, &gone) && piece_at(h, pc);
}

/* ---- frames ---- */

/*
 * the piece that lay at this address when its frames had this tag; NULL: it is not known any more
 */
static struct piece *piece_of(const struct hotspot *h, uint64_t address, uint32_t tag)
{
	struct piece *piece = piece_at(h, address);

	if (piece && hotspot_tag_of(piece) == tag)
		return piece;
	for (size_t number = tag - 1; number < h->nr_all; number += MAX_FRAME_TAG) {
		piece = h->all[number];
		if (address >= piece->blob.start && address < piece->blob.end)
			return piece;
	}
	return NULL;
}

/* The number of the piece's name; 0: it has none */
static uint32_t number_of(struct hotspot *h, struct hotspot_names *names, struct piece *piece)
{
	if (piece && !hotspot_names_use(names, piece->name_number))
		piece->name_number = hotspot_names_add(names, piece->name, h->user);
	return piece ? piece->name_number : 0;
}

_Static_assert(MAX_BLOB_BYTES <= 1ULL << (57 - HOTSPOT_OFFSET_SHIFT),
	       "an offset in code fits into a frame");

static uint64_t see_frame(struct hotspot *h, struct hotspot_names *names, uint64_t frame)
{
	uint64_t address = frame & ((1ULL << FRAME_TAG_SHIFT) - 1);
	struct piece *piece = h ? piece_of(h, address, FRAME_TAG(frame)) : NULL;
	uint32_t number = number_of(h, names, piece);

	if (!number || address < piece->blob.code_start)
		return frame & ~((uint64_t)FRAME_TAG(~0ULL) << FRAME_TAG_SHIFT);
	return FRAME_HOTSPOT | (frame & FRAME_CALL ? HOTSPOT_BY_CALL : 0) |
	       (address - piece->blob.code_start) << HOTSPOT_OFFSET_SHIFT | number;
}

/* the two words of a method that is interpreted; without a name, it is the interpreter */
static uint64_t see_method(struct hotspot *h, struct hotspot_names *names, const uint64_t *words)
{
	uint32_t number = h ? hotspot_methods_find(&h->methods, words) : 0;

	if (!number)
		return FRAME_HOTSPOT |
		       (h ? number_of(h, names, piece_at(h, h->heaps.interpreter_start)) : 0);
	return FRAME_HOTSPOT | HOTSPOT_BY_CALL |
	       (uint64_t)METHOD_PLACE(words[1]) << HOTSPOT_OFFSET_SHIFT | number;
}

/*
 * Replaces by numbers of names (hotspot_names.h): the addresses of frames in the JVM's code, and
 * the two words of each interpreted method (hotspot_abi.h). Of a process that is not known, no
 * frame has a name.
 */
static uint32_t see(void *names, const struct runtime_process *process, struct foreign *foreign,
		    pid_t pid, uint64_t *frames, uint32_t nr)
{
	struct hotspot *h = process->own;
	uint32_t kept = 0;

	(void)pid;
	if (h && h->is_read)
		hotspot_methods_read(&h->methods, &h->question, foreign, names, frames, nr);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t tag = FRAME_TAG(frames[i]);

		if (hotspot_is_method(frames, nr, i)) {
			frames[kept++] = see_method(h, names, &frames[i]);
			i++;
		} else if (frames[i] & FRAME_ADDRESS && !FRAME_IS_RUNTIME(frames[i]) && tag &&
			   tag <= MAX_FRAME_TAG) {
			frames[kept++] = see_frame(h, names, frames[i]);
		} else {
			frames[kept++] = frames[i];
		}
	}
	return kept;
}

/* ---- as a runtime ---- */

/*
 * The file is libjvm.so, or a program that it was linked into. 0; -ENOENT: it does not export a
 * JVM's tables; -EBADMSG
 */
static int read_image(void *image, struct elf_file *file)
{
	uint64_t structs, stride, types, size, bias;
	int error = exports_find(file, "gHotSpotVMStructs", &structs, &size);

	if (!error)
		error = exports_find(file, "gHotSpotVMStructEntryArrayStride", &stride, &size);
	if (!error)
		error = exports_find(file, "gHotSpotVMTypes", &types, &size);
	if (error)
		return error == -ENODATA ? -ENOENT : error;
	error = elf_file_text_bias(file, &bias);
	if (error)
		return error;
	*(struct hotspot_image *)image = (struct hotspot_image){
		.structs_from_text = structs - bias,
		.stride_from_text = stride - bias,
		.types_from_text = types - bias,
	};
	return 0;
}
_Static_assert(sizeof(struct hotspot_image) <= RUNTIME_IMAGE_BYTES, "struct hotspot_image");

/*
 * Is this libjvm.so? That has to be known before it is compiled, for its code runs from the first.
 */
static bool is_file(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && !strncmp(slash + 1, "libjvm.so", strlen("libjvm.so"));
}

/* what of HotSpot's own is known by another name to people */
static const char *name_of_code(const struct hotspot_name *code)
{
	return strcmp(code->name, "Interpreter") ? code->name : "[interpreter]";
}

static size_t find(const void *names, uint64_t frame, struct runtime_function *functions,
		   size_t max)
{
	const struct hotspot_name *code = hotspot_names_get(names, HOTSPOT_NUMBER(frame));
	size_t nr = code ? hotspot_names_of(code, frame, functions, max) : 0;

	if (!code || nr)
		return nr;
	functions[0] = (struct runtime_function){ .name = name_of_code(code) };
	return 1;
}

static void use(void *names, uint64_t frame)
{
	hotspot_names_use(names, HOTSPOT_NUMBER(frame));
}

static void forget(void *names)
{
	hotspot_names_forget(names);
}

static void *names_new(void)
{
	return hotspot_names_new();
}

static void names_free(void *names)
{
	hotspot_names_free(names);
}

const struct runtime hotspot_runtime = {
	.name = "hotspot",
	.language = "Java",
	.implementation = "HotSpot",
	.frames = FRAME_HOTSPOT,
	.frames_mask = 63ULL << 58,
	.read_image = read_image,
	.is_file = is_file,
	.process_new = process_new,
	.process_free = process_free,
	.describe = describe,
	.code_module = code_module,
	.look = look,
	.want = want,
	.names_new = names_new,
	.names_free = names_free,
	.see = see,
	.use = use,
	.forget = forget,
	.find = find,
};
