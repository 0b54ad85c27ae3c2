// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/worker_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr header;
};

bool worker_message_send(int socket, const struct worker_message *message, int flags)
{
	union control control = { .header = {
		.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct iovec data = { (void *)message, sizeof(*message) };
	struct msghdr header = { .msg_iov = &data, .msg_iovlen = 1 };

	/* by sendto(), which workers may call that pass nothing on */
	if (message->file.fd < 0)
		return send(socket, message, sizeof(*message), MSG_NOSIGNAL | flags) == sizeof(*message);
	memcpy(CMSG_DATA(&control.header), &message->file.fd, sizeof(int));
	header.msg_control = &control;
	header.msg_controllen = sizeof(control);
	return sendmsg(socket, &header, MSG_NOSIGNAL | flags) == sizeof(*message);
}

/* -1: none has come */
static int descriptor(struct msghdr *header)
{
	const struct cmsghdr *first = CMSG_FIRSTHDR(header);
	int fd = -1;

	if (first && first->cmsg_level == SOL_SOCKET && first->cmsg_type == SCM_RIGHTS && first->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(first), sizeof(int));
	return fd;
}

int worker_message_receive(int socket, struct worker_message *message, bool takes_file, int flags)
{
	union control control;
	struct iovec data = { message, sizeof(*message) };
	struct msghdr header = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = takes_file ? CMSG_LEN(sizeof(int)) : 0,	/* CMSG_SPACE() would take two of them */
	};
	ssize_t got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | flags);
	int fd;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -ECHILD;
	fd = takes_file ? descriptor(&header) : -1;
	if (got != sizeof(*message)) {
		if (fd >= 0)
			close(fd);
		return -ECHILD;
	}
	if (fd >= 0)
		message->file.fd = fd;
	else if (message->file.fd >= 0)
		message->file.fd = -EBADF;	/* the sender's, which has not come */
	return 0;
}
