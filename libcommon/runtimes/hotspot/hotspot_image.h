/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that holds a HotSpot JVM: libjvm.so, or a program that it was linked into. */
#ifndef EHPERF_RUNTIMES_HOTSPOT_IMAGE_H
#define EHPERF_RUNTIMES_HOTSPOT_IMAGE_H

#include "dwarf/elf_file.h"
#include "runtimes/hotspot/hotspot_vm.h"

/* 0; -ENOENT: the file does not export a JVM's tables; -EBADMSG */
int hotspot_image_read(struct hotspot_image *image, struct elf_file *file);

#endif
