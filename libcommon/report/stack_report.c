// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/stack_report.h"

#include <string.h>

static const struct {
	const char *ending;	/* of a file's name */
	int (*print)(const struct stack_writer *writer, const struct measure *measure,
		     const struct stack_entry *entries, size_t nr);
} formats[] = {
	[REPORT_TEXT] = { ".txt", stack_report_text },
	[REPORT_FOLDED] = { ".folded", stack_report_folded },
	[REPORT_JSON] = { ".json", stack_report_json },
};
_Static_assert(sizeof(formats) / sizeof(formats[0]) == NR_REPORT_FORMATS, "a printer for each format");

bool report_format_of(const char *file_name, enum report_format *format)
{
	size_t length = strlen(file_name);

	for (int i = 0; i < NR_REPORT_FORMATS; i++) {
		size_t ending = strlen(formats[i].ending);

		if (length > ending && !strcmp(file_name + length - ending, formats[i].ending)) {
			*format = i;
			return true;
		}
	}
	return false;
}

int stack_report(enum report_format format, const struct stack_writer *writer, const struct measure *measure,
		 const struct stack_entry *entries, size_t nr)
{
	return formats[format].print(writer, measure, entries, nr);
}
