// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/cli.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/escape.h"
#include "run/output_file.h"

/* ---- help ---- */

enum { OPTION_USAGE = 0x1000 };

static const struct argp_option help_options[] = {
	{ "help", 'h', NULL, 0, "list the options", -1 },
	{ NULL, '?', NULL, OPTION_ALIAS, NULL, -1 },
	{ "usage", OPTION_USAGE, NULL, 0, "print a short usage line", -1 },
	{ "version", 'V', NULL, 0, "print the tool's name and version", -1 },
	{},
};

static error_t parse_help(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	switch (key) {
	case 'h':
	case '?':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		break;
	case OPTION_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		break;
	case 'V':
		printf("%s (ehperf) %s\n", program_invocation_short_name, EHPERF_VERSION);
		exit(EXIT_SUCCESS);
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp cli_help_argp = { .options = help_options, .parser = parse_help };

/* ---- output ---- */

/* why writing failed, where cli_flush() has seen it */
static int write_error;

void cli_flush(FILE *file)
{
	if (fflush(file))
		write_error = errno;
}

/* Has the last reader of a pipe closed it? */
static bool is_broken_pipe(FILE *file)
{
	struct pollfd fd = { .fd = fileno(file) };

	return poll(&fd, 1, 0) == 1 && fd.revents & POLLERR;
}

bool cli_close(FILE *file, const char *name)
{
	bool failed = ferror(file), broken = failed && is_broken_pipe(file);

	/* a stream does not remember why it failed; another byte fails for the same reason */
	if (failed && !broken && !write_error && write(fileno(file), "\n", 1) < 0)
		write_error = errno;
	errno = 0;
	failed |= fflush(file) != 0;
	if (fileno(file) > STDERR_FILENO)
		failed |= fclose(file) != 0;
	if (!failed)
		return true;
	if (!errno)
		errno = write_error;
	if (errno != EPIPE && !broken)
		cli_warn("cannot write %s: %s", name,
			 errno ? strerror(errno) : "an earlier write failed");
	output_file_discard(file);
	return false;
}

void cli_finish(FILE *file, const char *name)
{
	if (cli_close(file, name))
		return;
	output_file_remove();
	_exit(EXIT_FAILURE);
}

static void finish(void)
{
	output_file_remove();
	cli_finish(stdout, "standard output");
}

/*
 * of a message, with paths whose every byte is escaped: one write() for each, also beside other
 * programs'
 */
#define MESSAGE_BYTES 32768

static bool ignored_children;

void cli_init(void)
{
	static char message[MESSAGE_BYTES];
	int fd;

	/*
	 * If the caller closed one of the standard descriptors, none of our files may get its
	 * number. Output that is closed is an error for who writes to it.
	 */
	while ((fd = open("/dev/null", O_RDONLY)) >= 0 && fd <= STDERR_FILENO)
		;
	close(fd);
	setvbuf(stderr, message, _IOLBF, sizeof(message));
	ignored_children = signal(SIGCHLD, SIG_DFL) == SIG_IGN; /* else they cannot be waited for */
	argp_err_exit_status = EXIT_USAGE;
	atexit(finish);
}

void cli_restore_signals(void)
{
	if (ignored_children)
		signal(SIGCHLD, SIG_IGN);
}

/* ---- messages ---- */

static void say(const char *format, va_list args)
{
	char *message;

	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	if (vasprintf(&message, format, args) < 0) {
		fputs("no memory for a message\n", stderr);
		return;
	}
	print_message(stderr, message);
	putc('\n', stderr);
	free(message);
}

void cli_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

void cli_die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	exit(status);
}

void cli_check(int error, const char *doing)
{
	if (!error)
		return;
	cli_warn("cannot %s: %s", doing, strerror(-error));
	if (error == -EMFILE)
		cli_warn("raise the limit with 'ulimit -n'");
	exit(EXIT_FAILURE);
}

/* ---- values ---- */

const char *cli_output_name(const char *name)
{
	return strcmp(name, "-") && strcmp(name, "/dev/stdout") ? name : NULL;
}

bool cli_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	unsigned long long n;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || *end || n < min || n > max)
		return false;
	*value = n;
	return true;
}

bool cli_parse_time(const char *text, uint64_t unit_ns, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 },  { "us", 1e3 }, { "ms", 1e6 },
		      { "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 } };
	double unit = unit_ns, value;
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	if (text[0] == '0' && tolower((unsigned char)text[1]) == 'x')
		return false;
	errno = 0;
	value = strtod(text, &end);
	if (errno || end == text || !isfinite(value))
		return false;
	if (*end) {
		size_t i, nr = sizeof(units) / sizeof(units[0]);

		for (i = 0; i < nr && strcmp(end, units[i].name); i++)
			;
		if (i == nr)
			return false;
		unit = units[i].ns;
	}
	value *= unit;
	if (value >= (double)INT64_MAX)
		return false;
	*ns = llround(value);
	return true;
}

bool cli_parse_ids(const char *text, struct id_list *list)
{
	for (;;) {
		size_t length = strcspn(text, ",");
		char number[16];
		uint64_t id;
		pid_t *more;

		if (length >= sizeof(number))
			return false;
		memcpy(number, text, length);
		number[length] = 0;
		if (!cli_parse_number(number, 1, INT_MAX, &id))
			return false;
		more = reallocarray(list->ids, list->nr + 1, sizeof(*more));
		if (!more)
			return false;
		list->ids = more;
		list->ids[list->nr++] = id;
		if (!text[length])
			return true;
		text += length + 1;
	}
}
