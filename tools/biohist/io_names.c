// SPDX-License-Identifier: GPL-2.0-or-later
#include "io_names.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "report/escape.h"
#include "report/json.h"

#define MINOR_BITS 20 /* of the kernel's own dev_t */

/* ---- disks ---- */

static uint32_t kernel_dev(unsigned major, unsigned minor)
{
	return major << MINOR_BITS | minor;
}

/* is it the name or the path of a device's node? */
static bool find_node(const char *name, uint32_t *dev)
{
	static const char *const forms[] = { "%s", "/dev/%s", "/dev/mapper/%s" };
	char path[PATH_MAX];
	struct stat status;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (snprintf(path, sizeof(path), forms[i], name) >= (int)sizeof(path) ||
		    stat(path, &status) || !S_ISBLK(status.st_mode))
			continue;
		*dev = kernel_dev(major(status.st_rdev), minor(status.st_rdev));
		return true;
	}
	return false;
}

struct disk_name {
	char text[132]; /* device mapper's are the longest: 128 with the end */
};

struct sys_path {
	char text[64];
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

/* the path of something that sysfs has about a device */
static struct sys_path sys_path(uint32_t dev, const char *what)
{
	struct sys_path path;

	snprintf(path.text, sizeof(path.text), "/sys/dev/block/%u:%u%s", dev >> MINOR_BITS,
		 dev & ((1 << MINOR_BITS) - 1), what);
	return path;
}

/* device mapper's own name, else the kernel's: as lsblk has it */
static struct disk_name disk_name(uint32_t dev)
{
	struct disk_name name;
	char target[PATH_MAX];
	ssize_t length;
	char *slash;

	if (read_line(sys_path(dev, "/dm/name").text, name.text, sizeof(name.text)))
		return name;
	length = readlink(sys_path(dev, "").text, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = 0;
	slash = strrchr(target, '/');
	if (!slash || strlen(slash + 1) >= sizeof(name.text)) {
		snprintf(name.text, sizeof(name.text), "%u:%u", dev >> MINOR_BITS,
			 dev & ((1 << MINOR_BITS) - 1));
		return name;
	}
	strcpy(name.text, slash + 1);
	for (char *c = name.text; *c; c++)
		if (*c == '!') /* sysfs' / */
			*c = '/';
	return name;
}

/* is it lsblk's name of a device? Such a one need not have a node in /dev, as in a container */
static bool find_in_sysfs(const char *name, uint32_t *dev)
{
	DIR *devices = opendir("/sys/dev/block");
	unsigned major, minor;
	struct dirent *entry;
	bool found = false;

	while (devices && !found && (entry = readdir(devices))) {
		if (sscanf(entry->d_name, "%u:%u", &major, &minor) != 2)
			continue;
		found = !strcmp(disk_name(kernel_dev(major, minor)).text, name);
		if (found)
			*dev = kernel_dev(major, minor);
	}
	if (devices)
		closedir(devices);
	return found;
}

bool io_names_find_disk(const char *name, uint32_t *dev, bool *is_partition)
{
	if (!find_node(name, dev) && !find_in_sysfs(name, dev))
		return false;
	*is_partition = !access(sys_path(*dev, "/partition").text, F_OK);
	return true;
}

/* ---- operations ---- */

/* by number (enum req_op); those that have had several numbers are not among them */
static const char *const operations[] = {
	[0] = "read",    [1] = "write",        [2] = "flush",
	[3] = "discard", [5] = "secure-erase", [9] = "write-zeroes",
};

static const char *const flag_names[] = {
	[IO_SYNC] = "sync",
	[IO_META] = "metadata",
	[IO_PRIORITY] = "priority",
	[IO_IDLE] = "idle",
	[IO_FUA] = "fua",
	[IO_PREFLUSH] = "preflush",
	[IO_READ_AHEAD] = "read-ahead",
	[IO_BACKGROUND] = "background",
	[IO_NO_WAIT] = "no-wait",
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
	[IO_QUEUED] = "queued",
	[IO_ON_DEVICE] = "on the device",
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
		print_escaped(out, disk_name(key->dev).text);
		comma = ", ";
	}
	if (key->pid || key->comm[0]) {
		fputs(comma, out);
		print_escaped(out, key->comm);
		if (key->pid)
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
		json_object_object_add(object, "disk", json_name(disk_name(key->dev).text));
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
		json_object_object_add(object, "part",
				       json_object_new_string(key->part == IO_QUEUED ? "queued"
										     : "device"));
	return object;
}
