/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A BPF object's constants, maps and programs, by name: for callers that do not use libbpf. */
#ifndef EHPERF_KERNEL_OBJECT_H
#define EHPERF_KERNEL_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct bpf_object_skeleton;
struct bpf_program;

/* ---- opened, and not yet loaded ---- */

/* Sets a `const volatile` variable. 0, -ENOENT, -EINVAL (its size is another) */
int object_set(struct bpf_object *object, const char *constant, const void *value, size_t size);
/* the size of such a variable in bytes; 0: there is none of this name */
size_t object_constant_size(const struct bpf_object *object, const char *constant);
/* Sets a map's max_entries. 0, -ENOENT or -errno */
int object_resize(struct bpf_object *object, const char *map, uint32_t nr);
/*
 * Before loading: the map's elements are allocated at once. For programs that may run in an NMI: a
 * map without that counts its elements with a lock, which a reader of its fdinfo may hold on the
 * same CPU. 0 or -errno
 */
int object_preallocate(struct bpf_object *object, const char *map);
/* Sets a map's max_entries to the number of possible CPUs. 0, -ENOENT or -errno */
int object_resize_to_cpus(struct bpf_object *object, const char *map);

bool object_has_program(const struct bpf_object *object, const char *program);
/*
 * Lets a program be loaded whose section begins with ?: without this call it is not. 0 or -ENOENT
 */
int object_autoload(struct bpf_object *object, const char *program);

/* ---- loaded ---- */

/*
 * The variables of a section of its own, such as ".data.name", which the programs see, too. NULL:
 * there is none
 */
void *object_section(const struct bpf_object *object, const char *section);

bool object_is_loaded(const struct bpf_object *object, const char *program);

/*
 * Do the skeleton's pointers lead to the programs' variables? If libbpf's probe for arrays that can
 * be mapped failed, also because there was no memory, they are NULL without an error.
 */
bool object_has_variables(const struct bpf_object_skeleton *skeleton);

/* Puts an ID into a map whose keys are u32 and whose values are one byte. 0 or -errno */
int object_list_id(struct bpf_object *object, const char *map, uint32_t id);

/* Is it in such a map? */
bool object_is_listed(const struct bpf_object *object, const char *map, uint32_t id);

/*
 * The IDs in such a map, in an array that the caller frees. One that is put in meanwhile may be
 * missing. 0 or -errno
 */
int object_listed_ids(const struct bpf_object *object, const char *map, uint32_t **ids, size_t *nr);

/* Sums the one element of a per-CPU array, a struct of u64 counters, over all CPUs. 0 or -errno */
int object_sum_counts(struct bpf_object *object, const char *map, void *sum, size_t size);

/*
 * the kernel's memory that its maps may take: what their fdinfo says, and elements that are not
 * there yet
 */
uint64_t object_map_bytes(const struct bpf_object *object);

/*
 * How many events the kernel withheld from a program to prevent recursion on a CPU
 * (bpf_prog_info.recursion_misses). False if the program was not loaded
 */
bool object_missed(const struct bpf_object *object, const char *program, uint64_t *missed);

uint64_t program_missed(const struct bpf_program *program); /* 0 for one that was not loaded */

/* how many instructions the verifier processed for a program; 0: not known */
uint32_t program_verified(const struct bpf_program *program);
/* Calls tell() for each program that was loaded. */
void object_verified(const struct bpf_object *object,
		     void (*tell)(const char *program, uint32_t instructions));

#endif
