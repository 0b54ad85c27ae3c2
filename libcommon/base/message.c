// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/message.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	char bytes[CMSG_SPACE(MESSAGE_MAX_FDS * sizeof(int))];
	struct cmsghdr header;
};

bool message_send(int socket, const void *data, size_t bytes, const int *fds, size_t nr_fds, int flags)
{
	union control control = { .header = {
		.cmsg_len = CMSG_LEN(nr_fds * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct iovec all = { (void *)data, bytes };
	const struct msghdr message = {
		.msg_iov = &all, .msg_iovlen = 1, .msg_control = nr_fds ? &control : NULL,
		.msg_controllen = nr_fds ? CMSG_SPACE(nr_fds * sizeof(int)) : 0,
	};

	if (nr_fds)
		memcpy(CMSG_DATA(&control.header), fds, nr_fds * sizeof(int));
	return sendmsg(socket, &message, MSG_NOSIGNAL | flags) == (ssize_t)bytes;
}

ssize_t message_receive(int socket, void *data, size_t room, int *fds, size_t *nr_fds)
{
	union control control;
	struct iovec all = { data, room };
	struct msghdr message = {
		.msg_iov = &all, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = CMSG_SPACE(*nr_fds * sizeof(int)),
	};
	ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	bool has = header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS;
	size_t nr = has ? (header->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0, room_for = *nr_fds;
	int received[sizeof(control) / sizeof(int)];

	if (nr)
		memcpy(received, CMSG_DATA(header), nr * sizeof(int));
	for (size_t i = 0; i < nr; i++) {	/* a control buffer is rounded up: one more may fit in */
		if (i < room_for)
			fds[i] = received[i];
		else
			close(received[i]);
	}
	*nr_fds = nr < room_for ? nr : room_for;
	return got;
}
