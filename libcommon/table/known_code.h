/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code of certain programs, recognized by its bytes, that has no CFI, or whose CFI does not say
 * that the stack ends there. Each piece has a name, and beside its bytes its source file and its
 * assembly.
 */
#ifndef EHPERF_TABLE_KNOWN_CODE_H
#define EHPERF_TABLE_KNOWN_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables_abi.h"

/* from code[at] on, up to the next row's */
struct known_row {
	size_t at;
	struct eh_rule rule;
};

#define MAX_KNOWN_ROWS 5

/* code[rows[0].at .. end) */
struct known_code {
	const char *name;
	size_t end, nr_rows;
	struct known_row rows[MAX_KNOWN_ROWS];
};

/* a piece as it is looked for */
#define ANY_BYTE        (-1)
#define MAX_KNOWN_BYTES 112
struct known_piece {
	const char *name;
	struct {
		uint8_t at;
		struct eh_rule (*rule)(void);
	} rows[MAX_KNOWN_ROWS];
	/*
	 * A return address leads to its first byte, though no call comes before: it was put on a
	 * stack. So the row begins a byte earlier, where return addresses are looked up.
	 */
	bool returned_to;
	uint8_t nr;
	int16_t bytes[MAX_KNOWN_BYTES];
};
#define KNOWN_BYTES(...) \
	.nr = sizeof((int16_t[]){ __VA_ARGS__ }) / sizeof(int16_t), .bytes = { __VA_ARGS__ }

extern const struct known_piece known_pieces[]; /* the machine's, up to one without a name */

/* the first piece of code[0 .. size) that begins at or behind code[from]; false: there is none */
bool known_code_next(const uint8_t *code, size_t size, size_t from, struct known_code *piece);

/*
 * Pieces that FDEs cover are searched for only at a file's exports: in the function of this name,
 * or in a function whose address it takes.
 */
struct known_export {
	const char *symbol, *piece;
	bool address_taken;
};
extern const struct known_export known_exports[]; /* up to one without a symbol */

/* the piece of this name, if code[0 .. size) begins with it, or anywhere in it */
bool known_code_at(const char *name, const uint8_t *code, size_t size, struct known_code *piece);
bool known_code_in(const char *name, const uint8_t *code, size_t size, struct known_code *piece);

/*
 * GCC's __x86_return_thunk, whose CFI is wrong at its last instruction.
 * known_is_return_thunk_fde(): may this FDE, of `length` bytes of code, be its?
 * known_is_return_thunk(): is this code the thunk? known_return_thunk: the right rule of its last
 * byte.
 */
#define RETURN_THUNK_BYTES 18
bool known_is_return_thunk_fde(uint64_t length, const uint8_t *program, size_t program_bytes);
bool known_is_return_thunk(const uint8_t *code);
extern const struct eh_rule known_return_thunk;

/*
 * GHC's generated code has no CFI. Haskell's stack is another one; rsp stays where StgRun() has put
 * it, except around calls of C. StgRun() is the piece STG_RUN, and has so many bytes.
 */
#define STG_RUN       "GHC's StgRun"
#define STG_RUN_BYTES 0x5a
/* Is most of this such code? Each function ends with a jump that no compiler of C writes. */
bool known_is_stg(const uint8_t *code, size_t size);
/* its rule; in_call: around a call of C without arguments on the stack */
struct eh_rule known_stg_rule(bool in_call);
/*
 * where rsp is lower: code[start .. end). by_8: as known_stg_rule(true) says; else it is not known
 * by how much
 */
struct known_stg_call {
	size_t start, end;
	bool by_8;
};
/* the next one from code[from] on; false: there is none. Looks at most so far behind its start: */
#define STG_CALL_BYTES 256
bool known_stg_next_call(const uint8_t *code, size_t size, size_t from,
			 struct known_stg_call *call);

/* a frame without a caller */
struct eh_rule known_outermost(void);
/* the kernel's frame below a signal handler's: struct ucontext lies at rsp */
struct eh_rule known_signal_frame(void);

#endif
