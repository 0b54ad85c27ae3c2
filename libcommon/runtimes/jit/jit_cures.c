// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/jit/jit_cures.h"

#include <fnmatch.h>
#include <stddef.h>

static const struct {
	const char *name, *cure;
} cures[] = {
	{ "node*", "start it with --perf-basic-prof" },
	{ "MainThread", "if that is node, start it with --perf-basic-prof" },
	{ "java*", "run 'jcmd PID Compiler.perfmap' meanwhile (JDK 17 or later)" },
	{ "libjvm.so*", "run 'jcmd PID Compiler.perfmap' meanwhile (JDK 17 or later)" },
	{ "dotnet*", "start it with DOTNET_PerfMapEnabled=1 in its environment" },
	{ "libcoreclr.so*", "start it with DOTNET_PerfMapEnabled=1 in its environment" },
	{ ".NET*", "start it with DOTNET_PerfMapEnabled=1 in its environment" },
	{ "beam*", "start it with +JPperf true" },
	{ "erl*", "start it with +JPperf true" },
	{ "*_scheduler", "start it with +JPperf true" },
	{ "ruby*", "start it with --yjit-perf" },
};

const char *jit_cure(const char *name)
{
	for (size_t i = 0; i < sizeof(cures) / sizeof(cures[0]); i++)
		if (!fnmatch(cures[i].name, name, 0))
			return cures[i].cure;
	return NULL;
}
