// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/symbol_name.h"

#include <string.h>

#include "dwarf/demangle.h"

/* GCC's and LLVM's. Without its number, one of the first kind is a part of a name: "list.clone" */
static const char *const numbered_suffixes[] = {
	"lto_priv", "constprop", "isra", "part", "llvm", "clone", "ipa_cp", "simdclone", NULL,
};
static const char *const other_suffixes[] = {
	"cold", "localalias", "warm", "hot", "unlikely", NULL,
};

static bool has(const char *const *suffixes, const char *suffix, size_t length)
{
	for (; *suffixes; suffixes++)
		if (strlen(*suffixes) == length && !memcmp(*suffixes, suffix, length))
			return true;
	return false;
}

/*
 * where the last ".part" of the name begins; 0: there is none, as a leading dot is part of a name
 */
static size_t last_dot(const char *name, size_t length)
{
	while (length > 1 && name[length - 1] != '.')
		length--;
	return length > 1 ? length - 1 : 0;
}

/* the length without one suffix, with its number if it has one */
static size_t without_suffix(const char *name, size_t length)
{
	size_t dot = last_dot(name, length), end = length, bytes;

	if (!dot)
		return length;
	if (dot + 1 < length && strspn(name + dot + 1, "0123456789") >= length - dot - 1) {
		end = dot;
		dot = last_dot(name, end);
	}
	bytes = end - dot - 1;
	if (dot && (has(other_suffixes, name + dot + 1, bytes) ||
		    (end < length && has(numbered_suffixes, name + dot + 1, bytes))))
		return dot;
	return length;
}

size_t symbol_name_fold(const char *raw)
{
	size_t length = strnlen(raw, DEMANGLE_MAX_MANGLED), shorter;
	const char *version = length ? memchr(raw + 1, '@', length - 1) : NULL;

	if (version)
		length = version - raw;
	while ((shorter = without_suffix(raw, length)) < length)
		length = shorter;
	return length;
}

char *symbol_name_for_people(const char *raw, bool no_demangle, bool is_go)
{
	char folded[DEMANGLE_MAX_MANGLED + 1], *name;
	size_t length = is_go ? strnlen(raw, DEMANGLE_MAX_MANGLED) : symbol_name_fold(raw);

	memcpy(folded, raw, length);
	folded[length] = 0;
	name = no_demangle ? NULL : demangle(folded);
	return name ? name : strndup(folded, DEMANGLE_MAX_NAME - 1);
}
