// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/hotspot/hotspot_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtimes/hotspot/hotspot_method.h"
#include "runtimes/hotspot/interpreter_rules.h"
#include "runtimes/hotspot/jit_rules.h"
#include "table/code_rules.h"
#include "table/machine.h"

/* the limit of what one question may make us read */
#define MAX_READ_BYTES (16 << 20)

_Static_assert(MAX_HOTSPOT_PCS <= MAX_MEMORY_WORDS, "all that are known can be looked for at once");

/* ---- rows ---- */

struct rows {
	struct hotspot_code *code;
	uint32_t base; /* of the offsets that come, from the blob's start */
	size_t room;   /* in rows */
	bool full;
	uint8_t sender_sp; /* struct interpreter_piece */
};

static void add_row(void *arg, size_t at, const struct eh_rule *rule)
{
	struct rows *rows = arg;
	struct hotspot_code *code = rows->code;
	struct hotspot_row row = { .at = rows->base + at, .rule = *rule };

	if (code->nr_rows && code->rows[code->nr_rows - 1].at == row.at)
		code->nr_rows--;
	if (code->nr_rows && !memcmp(&code->rows[code->nr_rows - 1].rule, rule, sizeof(*rule)))
		return;
	if (code->nr_rows == rows->room)
		rows->full = true;
	else
		code->rows[code->nr_rows++] = row;
}

static void add_unknown(struct rows *rows, uint32_t at)
{
	static const struct eh_rule unknown = { .kind = RULE_NONE, .flags = RULE_FROM_CODE };

	rows->base = 0;
	add_row(rows, at, &unknown);
}

/* ---- the interpreter ---- */

static bool begins_with(const char *string, const char *prefix)
{
	return !strncmp(string, prefix, strlen(prefix));
}

/*
 * InterpreterCodelet in hotspot/share/interpreter/interpreter.hpp; its code begins at a multiple of
 * CODELET_ALIGNMENT
 */
struct codelet {
	uint64_t description;
	uint32_t bytes, bytecode;
};
#define MAX_CODELETS 4096

/* where the interpreter's frame is complete, it has its method */
static void add_interpreted_row(void *arg, size_t at, const struct eh_rule *rule)
{
	struct eh_rule interpreted = *rule;

	if (rule->kind == RULE_DEREF)
		interpreted.flags |= RULE_INTERPRETED;
	add_row(arg, at, &interpreted);
}

static int add_interpreter(struct rows *rows, const uint8_t *code,
			   const struct hotspot_heaps *heaps, struct memory_reader *memory)
{
	const struct hotspot_blob *blob = &rows->code->blob;
	struct eh_rule framed = interpreter_frame_rule();
	uint64_t at = heaps->interpreter_start, end = heaps->interpreter_end;
	int error = 0;

	if (at < blob->code_start || end > blob->code_end || at > end)
		return -EBADMSG;
	rows->base = blob->code_start - blob->start;
	for (int i = 0; i < MAX_CODELETS && at < end && !error; i++) {
		struct interpreter_piece piece = { .sender_sp = rows->sender_sp };
		struct codelet codelet;
		char description[64];
		code_rule_fn *add = add_interpreted_row;

		memcpy(&codelet, code + (at - blob->code_start), sizeof(codelet));
		if (codelet.bytes < sizeof(codelet) || codelet.bytes > end - at)
			return -EBADMSG;
		memory_string(memory, codelet.description, description, sizeof(description));
		piece.start =
			((at + sizeof(codelet) + CODELET_ALIGNMENT - 1) & -CODELET_ALIGNMENT) -
			blob->code_start;
		piece.end = at + codelet.bytes - blob->code_start;
		piece.enters = strstr(description, "method entry point");
		piece.is_called = begins_with(description, "result handlers");
		/*
		 * compiled code's frames become interpreted ones here; until all are there, they
		 * have what was there before
		 */
		if (begins_with(description, "deoptimization entry points"))
			add = add_row;
		/* a return address at the beginning of the code is looked up before it */
		add(rows, at - blob->code_start, &framed);
		if (piece.start < piece.end)
			error = interpreter_rules(code, &piece, add, rows);
		at += codelet.bytes;
	}
	return error;
}

/* ---- blobs ---- */

static int add_compiled(struct rows *rows, const uint8_t *code)
{
	const struct hotspot_blob *b = &rows->code->blob;
	struct jit_code jit = {
		.bytes = code,
		.size = b->code_end - b->code_start,
		.vaddr = b->code_start,
		.frame_bytes = b->frame_bytes,
		.complete = b->complete,
		.nr_entries = 1,
	};

	if (b->entry)
		jit.entries[jit.nr_entries++] = b->entry;
	if (b->osr_entry)
		jit.entries[jit.nr_entries++] = b->osr_entry;
	rows->base = b->code_start - b->start;
	return jit_rules(&jit, add_row, rows);
}

static int add_adapters(struct rows *rows, const uint8_t *code)
{
	const struct hotspot_blob *b = &rows->code->blob;
	struct interpreter_piece piece = { .end = b->code_end - b->code_start,
					   .enters = b->kind != HOTSPOT_TABLES,
					   .enters_again = b->kind == HOTSPOT_ENTRIES,
					   .is_called = true,
					   .sender_sp = rows->sender_sp };

	rows->base = b->code_start - b->start;
	return interpreter_rules(code, &piece, add_row, rows);
}

static int add_routines(struct rows *rows, const uint8_t *code)
{
	const struct hotspot_blob *b = &rows->code->blob;

	rows->base = b->code_start - b->start;
	return code_rules(code, b->code_end - b->code_start, b->code_start, add_row, rows);
}

static int add_rows(struct rows *rows, const uint8_t *code, const struct hotspot_heaps *heaps,
		    struct memory_reader *memory)
{
	switch (rows->code->blob.kind) {
	case HOTSPOT_INTERPRETER:
		return add_interpreter(rows, code, heaps, memory);
	case HOTSPOT_METHOD:
	case HOTSPOT_NATIVE:
	case HOTSPOT_STUB:
		return add_compiled(rows, code);
	case HOTSPOT_ADAPTERS:
	case HOTSPOT_ENTRIES:
	case HOTSPOT_TABLES:
		return add_adapters(rows, code);
	case HOTSPOT_ROUTINES:
		return add_routines(rows, code);
	default:
		return 0;
	}
}

/*
 * The code's rows, of the room behind it. Without any, it is known that there are none. 0 or -errno
 */
static int describe(struct hotspot_code *code, size_t room, const struct hotspot_vm *vm,
		    const struct hotspot_heaps *heaps, struct memory_reader *memory)
{
	struct rows rows = { .code = code,
			     .room = room / sizeof(code->rows[0]),
			     .sender_sp = REG_SENDER_SP(vm->version) };
	size_t bytes = code->blob.code_end - code->blob.code_start;
	uint8_t *text = malloc(bytes + 1);
	int error;

	if (!text || rows.room < 2) {
		free(text);
		return !text ? -ENOMEM : -EFBIG;
	}
	memory_read(memory, code->blob.code_start, text, bytes);
	add_unknown(&rows, 0);
	error = memory->bad ? -EBADMSG : add_rows(&rows, text, heaps, memory);
	free(text);
	if (code->blob.code_end < code->blob.end)
		add_unknown(&rows, code->blob.code_end - code->blob.start);
	if (error == -EBADMSG) {
		code->nr_rows = 1;
		error = 0;
	}
	return rows.full ? -EFBIG : error;
}

/* ---- names ---- */

static struct hotspot_scopes scopes; /* large */

/* Writes `scopes`, in so much room: its bytes, 0: there is none */
static uint32_t write_name(struct hotspot_name *name, size_t room, uint64_t address)
{
	size_t bytes = hotspot_name_bytes(scopes.nr_places, scopes.nr_scopes, scopes.text_bytes);

	if (bytes > room)
		return 0;
	*name = (struct hotspot_name){ .address = address };
	hotspot_name_fill(name, &scopes);
	return bytes;
}

/* The code's name, behind its rows. 0 or -EFBIG */
static int name_code(struct hotspot_code *code, size_t room, const struct hotspot_vm *vm,
		     struct memory_reader *memory)
{
	struct hotspot_name *name = (struct hotspot_name *)hotspot_code_name(code);
	const struct hotspot_blob *b = &code->blob;

	hotspot_scopes_begin(&scopes);
	if (b->kind == HOTSPOT_METHOD || b->kind == HOTSPOT_NATIVE)
		hotspot_scopes_read(&scopes, b, vm, memory);
	if (hotspot_rows_bytes(code) > room)
		return -EFBIG;
	code->name_bytes = write_name(name, room - hotspot_rows_bytes(code), b->code_start);
	if (!code->name_bytes)
		return -EFBIG;
	memcpy(name->name, b->name, sizeof(name->name));
	return 0;
}

/* ---- interpreted methods ---- */

#define COUNTERS_BYTES (64 << 10) /* JDK 17 has 32 KB */

static void count_unloaded(const struct hotspot_question *q, struct hotspot_answer *answer,
			   struct memory_reader *memory)
{
	memory->bad = false;
	memory->max_bytes += COUNTERS_BYTES; /* also where all the others are used up */
	memory->reads = 0;
	answer->unloaded_at = q->unloaded_at ? q->unloaded_at : hotspot_unloaded_at(&q->vm, memory);
	answer->unloaded = memory_u64(memory, answer->unloaded_at);
	if (!answer->unloaded_at || memory->bad)
		answer->unloaded = -1;
}

static size_t named_bytes(const struct hotspot_named *named)
{
	return (sizeof(*named) + named->name_bytes + 7) / 8 * 8;
}

static bool is_method(const struct hotspot_vm *vm, struct memory_reader *memory,
		      const struct hotspot_method_key *key)
{
	memory->bad = false;
	return hotspot_method_identity(vm, memory, key->address) == key->identity;
}

/* false: nothing that can be read lies there, or another method than was asked for */
static bool read_named(const struct hotspot_question *q, struct hotspot_named *named, size_t room,
		       struct memory_reader *memory)
{
	uint64_t address = named->key.address, identity;
	struct hotspot_method m;

	memory->bad = false;
	identity = hotspot_method_identity(&q->vm, memory, address);
	if (!identity || (named->key.identity && named->key.identity != identity) ||
	    hotspot_method_read(&m, &q->vm, memory, address))
		return false;
	named->key.identity = identity;
	named->bytecode = m.bytecode;
	named->bytecode_bytes = m.bytecode_bytes;
	hotspot_scopes_of_method(&scopes, &q->vm, memory, address);
	if (!scopes.nr_scopes)
		return false;
	named->name_bytes = write_name((struct hotspot_name *)(named + 1), room, address);
	return named->name_bytes;
}

static void answer_method(const struct hotspot_question *q, struct hotspot_answer *answer,
			  size_t room, size_t *bytes, struct memory_reader *memory, uint32_t number)
{
	struct hotspot_named *named = (struct hotspot_named *)((uint8_t *)answer + *bytes);

	if (room - *bytes < sizeof(*named) + 8)
		return;
	*named = (struct hotspot_named){ .key = q->methods[number], .number = number };
	if (read_named(q, named, room - *bytes - sizeof(*named) - 8, memory))
		*bytes += named_bytes(named);
}

static void answer_methods(const struct hotspot_question *q, struct hotspot_answer *answer,
			   size_t room, size_t *bytes, struct memory_reader *memory)
{
	for (uint32_t i = 0; i < q->nr_methods && i < MAX_HOTSPOT_METHODS; i++)
		answer_method(q, answer, room, bytes, memory, i);
	/* what was there while its name was read was there before and after that */
	memory_reader_forget(memory);
	for (size_t at = sizeof(*answer); at < *bytes;) {
		struct hotspot_named *named = (struct hotspot_named *)((uint8_t *)answer + at);

		named->gone = !is_method(&q->vm, memory, &named->key);
		at += named_bytes(named);
	}
	count_unloaded(q, answer, memory);
}

static bool is_identity(uint64_t identity)
{
	return identity == METHOD_IDENTITY(identity) &&
	       identity >> 58 == (FRAME_HOTSPOT | HOTSPOT_SECOND) >> 58;
}

const struct hotspot_named *hotspot_named_next(const struct hotspot_answer *answer, size_t bytes,
					       size_t *at)
{
	const struct hotspot_named *named =
		(const struct hotspot_named *)((const uint8_t *)answer + *at);

	if (*at % 8 || *at > bytes || bytes - *at < sizeof(*named) || named->name_bytes > bytes ||
	    named_bytes(named) > bytes - *at || named->number >= MAX_HOTSPOT_METHODS ||
	    named->bytecode_bytes > UINT16_MAX || !is_identity(named->key.identity) ||
	    (named->name_bytes &&
	     !hotspot_name_is_sound((const struct hotspot_name *)(named + 1), named->name_bytes)))
		return NULL;
	*at += named_bytes(named);
	return named;
}

/* ---- questions ---- */

static size_t code_bytes(const struct hotspot_code *code)
{
	return (sizeof(*code) + hotspot_rows_bytes(code) + code->name_bytes + 7) / 8 * 8;
}

static bool is_answered(const struct hotspot_answer *answer, size_t bytes, uint64_t pc)
{
	size_t at = sizeof(*answer);
	const struct hotspot_code *code;

	while ((code = hotspot_code_next(answer, bytes, &at)))
		if (pc >= code->blob.start && pc < code->blob.end)
			return true;
	return false;
}

/* Appends what lies at pc, if anything does. 0 or -errno: the answer stays as it was */
static int answer_pc(const struct hotspot_question *q, struct hotspot_answer *answer, size_t room,
		     size_t *bytes, struct memory_reader *memory, uint64_t pc)
{
	struct hotspot_code *code = (struct hotspot_code *)((uint8_t *)answer + *bytes);
	int error;

	if (room - *bytes < sizeof(*code) + 16)
		return -EFBIG;
	*code = (struct hotspot_code){};
	memory->bad = false;
	if (hotspot_blob_find(&code->blob, &answer->heaps, &q->vm, memory, pc))
		return 0;
	room -= *bytes + sizeof(*code) + 16;
	error = describe(code, room, &q->vm, &answer->heaps, memory);
	memory->bad = false;
	if (!error)
		error = name_code(code, room, &q->vm, memory);
	if (error)
		return error;
	*bytes += code_bytes(code);
	answer->nr_codes++;
	return 0;
}

static void look_for_known(const struct hotspot_question *q, struct hotspot_answer *answer,
			   struct memory_reader *memory)
{
	uint64_t at[MAX_HOTSPOT_PCS] = {};
	uint32_t words[MAX_HOTSPOT_PCS],
		nr = q->nr_known < MAX_HOTSPOT_PCS ? q->nr_known : MAX_HOTSPOT_PCS, read;

	for (uint32_t i = 0; i < nr; i++)
		at[i] = q->known[i].at;
	read = memory_read_words(memory, at, words, nr);
	for (uint32_t i = 0; i < nr; i++)
		answer->gone[i] = i >= read || words[i] != q->known[i].word;
}

int hotspot_answer(const struct hotspot_question *q, struct memory_reader *memory,
		   struct hotspot_answer *answer, size_t room, size_t *bytes)
{
	int error = 0;

	if (room < sizeof(*answer))
		return -EFBIG;
	*answer = (struct hotspot_answer){};
	*bytes = sizeof(*answer);
	if (q->attach) {
		error = hotspot_vm_read(&answer->vm, memory, &q->image, q->text);
		return error ? error : hotspot_heaps_read(&answer->heaps, &answer->vm, memory);
	}
	if (q->nr_methods) {
		answer_methods(q, answer, room, bytes, memory);
		return 0;
	}
	answer->vm = q->vm;
	error = hotspot_heaps_read(&answer->heaps, &q->vm, memory);
	if (!error)
		look_for_known(q, answer, memory);
	for (uint32_t i = 0; i < q->nr_pcs && i < MAX_HOTSPOT_PCS && !error; i++)
		if (!is_answered(answer, *bytes, q->pcs[i]))
			error = answer_pc(q, answer, room, bytes, memory, q->pcs[i]);
	count_unloaded(q, answer, memory);
	return error == -EFBIG && answer->nr_codes ? 0 : error;
}

_Static_assert(sizeof(struct hotspot_question) <= FOREIGN_QUESTION_BYTES,
	       "struct hotspot_question");

static int work(const void *question, const struct process_memory *of, void *answer, size_t room,
		size_t *bytes)
{
	/* large; workers have one thread, and we ask from one */
	static struct memory_reader memory;
	const struct hotspot_question *q = question;

	memory_reader_begin(&memory, of, MAX_READ_BYTES);
	return hotspot_answer(q, &memory, answer, room, bytes);
}

/* Could these be those of a JVM? An answer may have anything. */
static bool heaps_are_sound(const struct hotspot_heaps *heaps)
{
	if (heaps->nr > MAX_CODE_HEAPS)
		return false;
	for (uint32_t i = 0; i < heaps->nr; i++)
		if (heaps->heap[i].start >= heaps->heap[i].limit)
			return false;
	return true;
}

int hotspot_ask(struct foreign *foreign, const struct hotspot_question *q,
		const struct hotspot_answer **answer, size_t *bytes)
{
	const void *got;
	int error = foreign_call(foreign, q->pid, work, q, sizeof(*q), &got, bytes);

	if (error)
		return error;
	*answer = got;
	return *bytes < sizeof(**answer) || !heaps_are_sound(&(*answer)->heaps) ? -EBADMSG : 0;
}

const struct hotspot_code *hotspot_code_next(const struct hotspot_answer *answer, size_t bytes,
					     size_t *at)
{
	const struct hotspot_code *code =
		(const struct hotspot_code *)((const uint8_t *)answer + *at);
	const struct hotspot_blob *b = &code->blob;

	if (*at % 8 || *at > bytes || bytes - *at < sizeof(*code) || code->nr_rows > bytes ||
	    code->name_bytes > bytes || code_bytes(code) > bytes - *at ||
	    !hotspot_name_is_sound(hotspot_code_name(code), code->name_bytes) ||
	    b->start >= b->end || b->end - b->start > MAX_BLOB_BYTES ||
	    b->end >= 1ULL << USER_ADDRESS_BITS || b->code_start < b->start ||
	    b->code_end < b->code_start || b->end < b->code_end || b->kind >= NR_HOTSPOT_KINDS ||
	    b->name[sizeof(b->name) - 1] || !code->nr_rows || code->rows[0].at)
		return NULL;
	for (uint32_t i = 1; i < code->nr_rows; i++)
		if (code->rows[i].at <= code->rows[i - 1].at ||
		    code->rows[i].at >= b->end - b->start)
			return NULL;
	*at += code_bytes(code);
	return code;
}
