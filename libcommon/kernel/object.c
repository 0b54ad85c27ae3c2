// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/object.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- constants ---- */

/*
 * Finds a constant in the object's .rodata, and the map of that section. NULL: there is none of
 * this name
 */
static const struct btf_var_secinfo *find_constant(const struct bpf_object *object,
						   const char *name, struct bpf_map **rodata)
{
	const struct btf *btf = bpf_object__btf(object);
	int section = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
	const struct btf_type *type = section < 0 ? NULL : btf__type_by_id(btf, section);
	const struct btf_var_secinfo *v = type ? btf_var_secinfos(type) : NULL;
	struct bpf_map *map;

	for (int i = 0; type && i < btf_vlen(type); i++, v++) {
		if (strcmp(btf__name_by_offset(btf, btf__type_by_id(btf, v->type)->name_off), name))
			continue;
		bpf_object__for_each_map(map, object) {
			if (strstr(bpf_map__name(map), ".rodata")) {
				*rodata = map;
				return v;
			}
		}
	}
	return NULL;
}

size_t object_constant_size(const struct bpf_object *object, const char *constant)
{
	struct bpf_map *map;
	const struct btf_var_secinfo *v = find_constant(object, constant, &map);

	return v ? v->size : 0;
}

int object_set(struct bpf_object *object, const char *constant, const void *value, size_t size)
{
	struct bpf_map *map;
	const struct btf_var_secinfo *v = find_constant(object, constant, &map);
	const void *image;
	size_t bytes;
	char *changed;
	int error;

	if (!v)
		return -ENOENT;
	image = bpf_map__initial_value(map, &bytes);
	if (!image || v->size != size || v->offset + size > bytes)
		return -EINVAL;
	changed = malloc(bytes);
	if (!changed)
		return -ENOMEM;
	memcpy(changed, image, bytes);
	memcpy(changed + v->offset, value, size);
	error = bpf_map__set_initial_value(map, changed, bytes);
	free(changed);
	return error;
}

/* ---- maps ---- */

int object_resize(struct bpf_object *object, const char *name, uint32_t nr)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);

	return map ? bpf_map__set_max_entries(map, nr) : -ENOENT;
}

int object_preallocate(struct bpf_object *object, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);

	return map ? bpf_map__set_map_flags(map, bpf_map__map_flags(map) & ~BPF_F_NO_PREALLOC)
		   : -ENOENT;
}

int object_resize_to_cpus(struct bpf_object *object, const char *map)
{
	int nr = libbpf_num_possible_cpus();

	return nr < 0 ? nr : object_resize(object, map, nr);
}

bool object_has_variables(const struct bpf_object_skeleton *skeleton)
{
	for (int i = 0; i < skeleton->map_cnt; i++) {
		const struct bpf_map_skeleton *map =
			(void *)skeleton->maps + i * skeleton->map_skel_sz;

		/* one without a type holds strings, which nobody asks for by name */
		if (map->mmaped && bpf_map__btf_value_type_id(*map->map) && !*map->mmaped)
			return false;
	}
	return true;
}

int object_list_id(struct bpf_object *object, const char *map, uint32_t id)
{
	int fd = bpf_object__find_map_fd_by_name(object, map);
	__u8 one = 1;

	if (fd < 0)
		return fd;
	return bpf_map_update_elem(fd, &id, &one, BPF_ANY) ? -errno : 0;
}

bool object_is_listed(const struct bpf_object *object, const char *map, uint32_t id)
{
	__u8 value;

	return !bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(object, map), &id, &value);
}

int object_listed_ids(const struct bpf_object *object, const char *name, uint32_t **ids, size_t *nr)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, name);
	__u32 count = map ? bpf_map__max_entries(map) : 0, after;
	__u8 *values = calloc(count + 1, sizeof(*values));
	uint32_t *keys = calloc(count + 1, sizeof(*keys));
	int error = values && keys ? 0 : -ENOMEM;

	if (!map)
		error = -ENOENT;
	if (!error &&
	    bpf_map_lookup_batch(bpf_map__fd(map), NULL, &after, keys, values, &count, NULL) &&
	    errno != ENOENT)
		error = -errno; /* ENOENT: these are all */
	free(values);
	if (error) {
		free(keys);
		return error;
	}
	*ids = keys;
	*nr = count;
	return 0;
}

int object_sum_counts(struct bpf_object *object, const char *map, void *sum, size_t size)
{
	int nr = libbpf_num_possible_cpus(), fd = bpf_object__find_map_fd_by_name(object, map);
	__u64 *cpus = nr > 0 ? calloc(nr, size) : NULL, *counts = sum;
	__u32 zero = 0;

	if (!cpus)
		return nr < 0 ? nr : -ENOMEM;
	if (fd < 0 || bpf_map_lookup_elem(fd, &zero, cpus)) {
		free(cpus);
		return fd < 0 ? fd : -errno;
	}
	memset(sum, 0, size);
	for (size_t i = 0, nr_counts = size / sizeof(*counts); i < nr * nr_counts; i++)
		counts[i % nr_counts] += cpus[i];
	free(cpus);
	return 0;
}

/* ---- programs ---- */

bool object_has_program(const struct bpf_object *object, const char *program)
{
	return bpf_object__find_program_by_name(object, program);
}

void *object_section(const struct bpf_object *object, const char *section)
{
	struct bpf_map *map;
	size_t size;

	bpf_object__for_each_map(map, object)
		if (strstr(bpf_map__name(map), section))
			return (void *)bpf_map__initial_value(map, &size);
	return NULL;
}

bool object_is_loaded(const struct bpf_object *object, const char *name)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(object, name);

	return program && bpf_program__fd(program) >= 0;
}

int object_autoload(struct bpf_object *object, const char *name)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);

	return program ? bpf_program__set_autoload(program, true) : -ENOENT;
}

static bool program_info(const struct bpf_program *program, struct bpf_prog_info *info)
{
	__u32 size = sizeof(*info);

	*info = (struct bpf_prog_info){};
	return program && bpf_program__fd(program) >= 0 &&
	       !bpf_obj_get_info_by_fd(bpf_program__fd(program), info, &size);
}

bool object_missed(const struct bpf_object *object, const char *program, uint64_t *missed)
{
	struct bpf_prog_info info;

	if (!program_info(bpf_object__find_program_by_name(object, program), &info))
		return false;
	*missed = info.recursion_misses;
	return true;
}

uint64_t program_missed(const struct bpf_program *program)
{
	struct bpf_prog_info info;

	return program_info(program, &info) ? info.recursion_misses : 0;
}

uint32_t program_verified(const struct bpf_program *program)
{
	struct bpf_prog_info info;

	return program_info(program, &info) ? info.verified_insns : 0;
}

void object_verified(const struct bpf_object *object,
		     void (*tell)(const char *program, uint32_t instructions))
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
		if (bpf_program__autoload(program))
			tell(bpf_program__name(program), program_verified(program));
}

static uint64_t map_bytes(int fd)
{
	unsigned long long bytes = 0;
	char name[40], line[128];
	FILE *file;

	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	file = fopen(name, "re");
	while (file && fgets(line, sizeof(line), file) &&
	       sscanf(line, "memlock: %llu", &bytes) != 1)
		;
	if (file)
		fclose(file);
	return bytes;
}

/* what a map may take whose elements are allocated when they are added: 0 for others */
static uint64_t most_map_bytes(const struct bpf_map *map)
{
	/* struct htab_elem, bpf_mem_alloc's list, struct bucket */
	enum { ELEMENT = 48, LINK = 8, BUCKET = 16 };
	uint64_t key = (bpf_map__key_size(map) + 7) / 8 * 8,
		 value = (bpf_map__value_size(map) + 7) / 8 * 8;
	uint64_t bytes = ELEMENT + LINK + key + value, class = 64, buckets;

	if (bpf_map__type(map) != BPF_MAP_TYPE_HASH ||
	    !(bpf_map__map_flags(map) & BPF_F_NO_PREALLOC))
		return 0;
	/* kmalloc()'s sizes are powers of two, 96 and 192 */
	while (class < bytes)
		class *= 2;
	if ((class == 128 || class == 256) && bytes <= class / 4 * 3)
		class = class / 4 * 3;
	for (buckets = 1; buckets < bpf_map__max_entries(map);)
		buckets *= 2;
	return class * bpf_map__max_entries(map) + BUCKET * buckets;
}

uint64_t object_map_bytes(const struct bpf_object *object)
{
	const struct bpf_map *map;
	uint64_t bytes = 0;

	bpf_object__for_each_map(map, object)
		if (bpf_map__fd(map) >= 0)
			bytes += most_map_bytes(map) ?: map_bytes(bpf_map__fd(map));
	return bytes;
}
