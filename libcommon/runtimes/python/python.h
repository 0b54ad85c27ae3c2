/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EHPERF_RUNTIMES_PYTHON_H
#define EHPERF_RUNTIMES_PYTHON_H

#include "unwind/runtime.h"

extern const struct runtime python_runtime;

#endif
