/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wallprof's recording (report/recording.h), read back into what its reports are made of. */
#ifndef EHPERF_WALLPROF_WALL_RECORDING_H
#define EHPERF_WALLPROF_WALL_RECORDING_H

#include "report/recording.h"
#include "wallprof/wall.h"

struct wall_recording;

/*
 * Reads the rest of an opened recording. What is in its periods and samples stays in the file,
 * which must be one that can be read again, and is read again at each visit of a life. 0, -ENOMEM
 * or -EBADMSG: recording->lines.wrong says why. *read is to be freed in any case, and
 * wall->writer.out is the caller's to set
 */
int wall_recording_read(struct wall_recording **read, struct wall *wall,
			struct recording *recording);
void wall_recording_free(struct wall_recording *read);

/* timeline_visit() of one of its lives */
int wall_recording_visit(struct wall_recording *read, const struct life *life,
			 const struct timeline_visitor *visitor);

#endif
