/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Around opening and loading a BPF object: constants, limits, and what to tell the user when it fails. */
#ifndef EHPERF_BPF_LOAD_H
#define EHPERF_BPF_LOAD_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * To be called first. libbpf's own messages go to stderr if verbose; what they say of a failure is
 * kept for bpf_load_explain(). Raises RLIMIT_MEMLOCK and RLIMIT_NOFILE as far as it can.
 */
void bpf_load_init(bool verbose);

/* Sets a `const volatile` variable of an opened, not yet loaded object. 0, -ENOENT, -EINVAL (its size is another) */
int bpf_load_set(struct bpf_object *object, const char *name, const void *value, size_t size);

/* how many instructions the verifier went through for this loaded program; 0: the kernel does not tell */
uint32_t bpf_load_verified(const struct bpf_program *program);

bool bpf_load_kernel_is_older_than(int major, int minor);

/* Why opening, loading or attaching ended with this error, in one line, and what to do about it, in another */
void bpf_load_explain(int error, char *cause, size_t size, const char **cure);

#endif
