// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/hotspot/hotspot_image.h"

#include <errno.h>

#include "dwarf/exports.h"
#include "machine_abi.h"

int hotspot_image_read(struct hotspot_image *image, struct elf_file *file)
{
	uint64_t structs, stride, types, size, bias;
	int error = exports_find(file, "gHotSpotVMStructs", &structs, &size);

	if (!error && REG_SENDER_SP == EH_NR_REGS)
		return -ENOTSUP;	/* nothing is known of frames on this machine */

	if (!error)
		error = exports_find(file, "gHotSpotVMStructEntryArrayStride", &stride, &size);
	if (!error)
		error = exports_find(file, "gHotSpotVMTypes", &types, &size);
	if (error)
		return error == -ENODATA ? -ENOENT : error;
	error = elf_file_text_bias(file, &bias);
	if (error)
		return error;
	*image = (struct hotspot_image){
		.structs_from_text = structs - bias, .stride_from_text = stride - bias, .types_from_text = types - bias,
	};
	return 0;
}
