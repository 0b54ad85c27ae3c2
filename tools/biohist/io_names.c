// SPDX-License-Identifier: GPL-2.0-or-later
#include "io_names.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "report/escape.h"
#include "report/json.h"

#define MINOR_BITS 20	/* of the kernel's own dev_t */

/* ---- disks ---- */

static uint32_t kernel_dev(unsigned major, unsigned minor)
{
	return major << MINOR_BITS | minor;
}

bool io_names_find_disk(const char *name, uint32_t *dev, bool *is_partition)
{
	static const char *const forms[] = { "%s", "/dev/%s", "/dev/mapper/%s" };
	char path[PATH_MAX];
	struct stat status;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (snprintf(path, sizeof(path), forms[i], name) >= (int)sizeof(path) || stat(path, &status) ||
		    !S_ISBLK(status.st_mode))
			continue;
		*dev = kernel_dev(major(status.st_rdev), minor(status.st_rdev));
		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/partition", major(status.st_rdev), minor(status.st_rdev));
		*is_partition = !access(path, F_OK);
		return true;
	}
	return false;
}

struct disk_name {
	char text[128];
};

static bool read_line(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");
	bool read = file && fgets(text, size, file);

	if (file)
		fclose(file);
	if (read)
		text[strcspn(text, "\n")] = 0;
	return read && *text;
}

/* device mapper's own name, else the kernel's: as lsblk has it */
static struct disk_name disk_name(uint32_t dev)
{
	unsigned major = dev >> MINOR_BITS, minor = dev & ((1 << MINOR_BITS) - 1);
	struct disk_name name;
	char path[64], target[PATH_MAX];
	ssize_t length;
	char *slash;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/dm/name", major, minor);
	if (read_line(path, name.text, sizeof(name.text)))
		return name;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major, minor);
	length = readlink(path, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = 0;
	slash = strrchr(target, '/');
	if (slash && strlen(slash + 1) < sizeof(name.text))
		strcpy(name.text, slash + 1);
	else
		snprintf(name.text, sizeof(name.text), "%u:%u", major, minor);
	return name;
}

/* ---- operations ---- */

/* by number (enum req_op); those that have had several numbers are not among them */
static const char *const operations[] = {
	[0] = "read", [1] = "write", [2] = "flush", [3] = "discard", [5] = "secure-erase", [9] = "write-zeroes",
};

static const char *const flag_names[] = {
	[IO_SYNC] = "sync", [IO_META] = "metadata", [IO_PRIORITY] = "priority", [IO_IDLE] = "idle", [IO_FUA] = "fua",
	[IO_PREFLUSH] = "preflush", [IO_READ_AHEAD] = "read-ahead", [IO_BACKGROUND] = "background", [IO_NO_WAIT] = "no-wait",
};
_Static_assert(sizeof(flag_names) / sizeof(flag_names[0]) == NR_IO_FLAGS, "names of enum io_flag");

static void print_operation(FILE *out, const struct io_key *key)
{
	uint32_t operation = key->operation - 1;

	if (operation < sizeof(operations) / sizeof(operations[0]) && operations[operation])
		fputs(operations[operation], out);
	else
		fprintf(out, "operation %u", operation);
}

/* ---- keys ---- */

static const char *const part_names[NR_IO_PARTS] = {
	[IO_QUEUED] = "queued", [IO_ON_DEVICE] = "on the device",
};

struct series_title io_names_title(const void *series)
{
	const struct io_key *key = series;
	struct series_title title = {};
	FILE *out = fmemopen(title.text, sizeof(title.text), "w");
	const char *comma = "";

	if (!out)
		return title;
	if (key->dev) {
		fputs(disk_name(key->dev).text, out);
		comma = ", ";
	}
	if (key->pid || key->comm[0]) {
		fputs(comma, out);
		print_escaped(out, key->comm);
		fprintf(out, " (%u)", key->pid);
		comma = ", ";
	}
	if (key->operation) {
		fputs(comma, out);
		print_operation(out, key);
		for (int i = 0; i < NR_IO_FLAGS; i++)
			if (key->flags >> i & 1)
				fprintf(out, " %s", flag_names[i]);
		comma = ", ";
	}
	if (key->part)
		fprintf(out, "%s%s", comma, part_names[key->part]);
	else if (!*comma)
		fputs("all I/O", out);
	fclose(out);
	return title;
}

struct json_object *io_names_json(const void *series)
{
	const struct io_key *key = series;
	struct json_object *object = json_object_new_object(), *flags = json_object_new_array();
	char operation[32];
	FILE *out;

	if (key->dev)
		json_object_object_add(object, "disk", json_object_new_string(disk_name(key->dev).text));
	if (key->pid || key->comm[0]) {
		json_object_object_add(object, "pid", json_object_new_int64(key->pid));
		json_object_object_add(object, "comm", json_name(key->comm));
	}
	out = key->operation ? fmemopen(operation, sizeof(operation), "w") : NULL;
	if (out) {
		print_operation(out, key);
		fclose(out);
		json_object_object_add(object, "operation", json_object_new_string(operation));
		for (int i = 0; i < NR_IO_FLAGS; i++)
			if (key->flags >> i & 1)
				json_object_array_add(flags, json_object_new_string(flag_names[i]));
		json_object_object_add(object, "flags", json_object_get(flags));
	}
	json_object_put(flags);
	if (key->part)
		json_object_object_add(object, "part", json_object_new_string(key->part == IO_QUEUED ? "queued" : "device"));
	return object;
}
