// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * uring: a worker thread of io_uring, which the kernel makes, waits half a second for bytes in a
 * pipe. Status 77: the kernel has no io_uring for it
 */
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	struct io_uring_params params = {};
	int ring = syscall(SYS_io_uring_setup, 4, &params), ends[2];
	struct io_uring_sqe *entries;
	uint32_t *tail, *index;
	uint8_t *submitted;
	char byte;

	if (ring < 0 || pipe(ends))
		return 77;
	submitted = mmap(NULL, params.sq_off.array + params.sq_entries * sizeof(uint32_t),
			 PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	entries = mmap(NULL, params.sq_entries * sizeof(*entries), PROT_READ | PROT_WRITE,
		       MAP_SHARED, ring, IORING_OFF_SQES);
	if (submitted == MAP_FAILED || entries == MAP_FAILED)
		return 77;
	entries[0] = (struct io_uring_sqe){
		.opcode = IORING_OP_READ,
		.flags = IOSQE_ASYNC,
		.fd = ends[0],
		.addr = (uintptr_t)&byte,
		.len = 1,
	};
	tail = (uint32_t *)(submitted + params.sq_off.tail);
	index = (uint32_t *)(submitted + params.sq_off.array);
	index[0] = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0) != 1)
		return 77;
	usleep(500000);
	if (write(ends[1], "x", 1) != 1)
		return 1;
	return syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0;
}
