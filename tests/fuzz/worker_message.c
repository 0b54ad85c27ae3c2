// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the tool reads from a worker's socket. The input says how many descriptors are sent, whether
 * the receiver takes any, and which bytes of a good message are changed. Each descriptor that comes
 * is the receiver's once, or is closed.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "process/worker_message.h"

#define MAX_SENT 20

static int lowest_free(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

static void send_bytes(int socket, const void *bytes, size_t size, unsigned nr)
{
	union {
		char bytes[CMSG_SPACE(MAX_SENT * sizeof(int))];
		struct cmsghdr header;
	} control = { .header = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct iovec data = { (void *)bytes, size };
	struct msghdr header = { .msg_iov = &data, .msg_iovlen = 1 };
	int fds[MAX_SENT];

	for (unsigned i = 0; i < nr; i++)
		fds[i] = socket;
	if (nr) {
		memcpy(CMSG_DATA(&control.header), fds, nr * sizeof(int));
		control.header.cmsg_len = CMSG_LEN(nr * sizeof(int));
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(nr * sizeof(int));
	}
	must(sendmsg(socket, &header, MSG_NOSIGNAL) == (ssize_t)size, "it is sent");
}

/* one that is there twice is not open the second time */
static void close_each(const struct worker_file *file)
{
	must(file->fd < 0 || !close(file->fd), "an open descriptor");
	for (unsigned i = 0; i < file->nr_more; i++)
		must(!close(file->more[i].fd), "another open descriptor");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	union {
		struct worker_message message;
		uint8_t bytes[2 * sizeof(struct worker_message)];
	} sent = { .message = { .bytes = 8, .file.fd = -EBADF } };
	struct worker_message got;
	size_t length = sizeof(sent.message);
	int ends[2], before, error;
	bool takes_file;

	if (size < 2)
		return 0;
	takes_file = bytes[0] & 1;
	sent.message.file.fd = bytes[0] & 2 ? 0 : -EBADF;
	sent.message.file.nr_more = bytes[0] >> 2 & 15;
	if (bytes[0] & 64)
		length = bytes[1] % sizeof(sent);
	must(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), "sockets");
	for (size_t i = 2; i + 1 < size; i += 2)
		sent.bytes[bytes[i] % sizeof(sent.message)] = bytes[i + 1];
	before = lowest_free();
	send_bytes(ends[0], &sent, length, bytes[1] % MAX_SENT);
	error = worker_message_receive(ends[1], &got, takes_file, MSG_DONTWAIT);
	must(!error || error == -ECHILD, "an answer, or none");
	must(got.file.nr_more <= WORKER_MORE, "as many as there is room for");
	if (error || !takes_file)
		must(got.file.fd < 0 && !got.file.nr_more, "no file");
	else
		close_each(&got.file);
	must(lowest_free() == before, "no descriptor is left");
	close(ends[0]);
	close(ends[1]);
	return 0;
}
