/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The passes by which code_rules() fills the rules of linked instructions (code_insns.h):
 * backwards, then forwards; for generated code, also pieces and branches.
 */
#ifndef EHPERF_TABLE_CODE_SOLVE_H
#define EHPERF_TABLE_CODE_SOLVE_H

#include "table/code_insns.h"

/* From all returns backwards. false: the rules do not converge, and none is reliable. */
bool code_solve_backward(struct code *code);

/*
 * Forwards from the first instructions of functions that do not return, where no rule is known yet.
 */
void code_solve_forward(struct code *code);

/*
 * Forwards from the calls of generated code's pieces: a piece takes the return address off the
 * stack, and pushes it to return, so that it has its caller's frame (sljit's fast calls, as PCRE2
 * makes them). 0 or -ENOMEM
 */
int code_solve_pieces(struct code *code);

/*
 * Forwards from branches in generated code, up to the first call: what holds before a branch holds
 * on both of its ways.
 */
void code_solve_branches(struct code *code);

/* Does instruction i lie at an address that functions are aligned to? */
bool code_is_aligned(const struct code *code, size_t i);

/* Does Go's check of the stack's end begin at instruction i? */
bool code_is_stack_check(const struct code *code, size_t i);

/*
 * Does a function's prologue stand at instruction i: endbr64 or not, and the push of a register
 * that a call preserves; or Go's check of the stack's end?
 */
bool code_is_prologue(const struct code *code, size_t i);

#endif
