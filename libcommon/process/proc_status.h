/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of /proc/PID/status, proc_pid_status(5). */
#ifndef EHPERF_PROCESS_PROC_STATUS_H
#define EHPERF_PROCESS_PROC_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The first number of this field, like "Tgid:" or "Uid:" (the real one). False: there is no such
 * process or thread
 */
bool proc_status_number(pid_t tid, const char *field, uint32_t *number);

#endif
