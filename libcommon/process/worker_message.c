// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/worker_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_FILES (1 + WORKER_MORE)

union control {
	char bytes[CMSG_SPACE(MAX_FILES * sizeof(int))];
	struct cmsghdr header;
};

void worker_file_add(struct worker_file *file, uint8_t what, int fd)
{
	if (fd < 0)
		return;
	if (file->nr_more < WORKER_MORE)
		file->more[file->nr_more++] = (struct worker_other_file){ fd, what };
	else
		close(fd);
}

int worker_file_take(struct worker_file *file, uint8_t what)
{
	for (unsigned i = 0; i < file->nr_more; i++) {
		int fd = file->more[i].fd;

		if (file->more[i].what != what)
			continue;
		memmove(&file->more[i], &file->more[i + 1],
			(--file->nr_more - i) * sizeof(file->more[0]));
		return fd;
	}
	return -1;
}

void worker_file_close(struct worker_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	for (unsigned i = 0; i < file->nr_more; i++)
		close(file->more[i].fd);
	*file = (struct worker_file){ .fd = -EBADF };
}

bool worker_message_send(int socket, const struct worker_message *message, int flags)
{
	union control control = { .header = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct iovec data = { (void *)message, sizeof(*message) };
	struct msghdr header = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control };
	const struct worker_file *file = &message->file;
	int fds[MAX_FILES], nr = 0;

	if (file->fd >= 0)
		fds[nr++] = file->fd;
	for (unsigned i = 0; i < file->nr_more; i++)
		fds[nr++] = file->more[i].fd;
	/* by sendto(), which workers may call that pass nothing on */
	if (!nr)
		return send(socket, message, sizeof(*message), MSG_NOSIGNAL | flags) ==
		       sizeof(*message);
	memcpy(CMSG_DATA(&control.header), fds, nr * sizeof(int));
	control.header.cmsg_len = CMSG_LEN(nr * sizeof(int));
	header.msg_controllen = CMSG_SPACE(nr * sizeof(int));
	return sendmsg(socket, &header, MSG_NOSIGNAL | flags) == sizeof(*message);
}

/* Takes the descriptors that have come; returns how many there are. */
static unsigned take_descriptors(struct msghdr *header, int fds[MAX_FILES])
{
	const struct cmsghdr *first = CMSG_FIRSTHDR(header);
	size_t bytes;

	if (!first || first->cmsg_level != SOL_SOCKET || first->cmsg_type != SCM_RIGHTS)
		return 0;
	bytes = first->cmsg_len - CMSG_LEN(0);
	memcpy(fds, CMSG_DATA(first), bytes);
	return bytes / sizeof(int);
}

/*
 * Puts what has come in the place of the sender's descriptors. False: others have come than the
 * message says
 */
static bool put_descriptors(struct worker_file *file, const int fds[MAX_FILES], unsigned nr)
{
	unsigned taken = file->fd >= 0;

	if (file->nr_more > WORKER_MORE || nr != taken + file->nr_more)
		return false;
	if (taken)
		file->fd = fds[0];
	for (unsigned i = 0; i < file->nr_more; i++)
		file->more[i].fd = fds[taken + i];
	return true;
}

int worker_message_receive(int socket, struct worker_message *message, bool takes_file, int flags)
{
	union control control;
	struct iovec data = { message, sizeof(*message) };
	struct msghdr header = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		/* CMSG_SPACE() might take one more */
		.msg_controllen = takes_file ? CMSG_LEN(MAX_FILES * sizeof(int)) : 0,
	};
	ssize_t got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | flags);
	int fds[MAX_FILES];
	unsigned nr;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -ECHILD;
	nr = takes_file ? take_descriptors(&header, fds) : 0;
	if (got == sizeof(*message) && takes_file && put_descriptors(&message->file, fds, nr))
		return 0;
	for (unsigned i = 0; i < nr; i++)
		close(fds[i]);
	if (got != sizeof(*message) || takes_file) {
		/* the sender's numbers are files of ours */
		message->file = (struct worker_file){ .fd = -EBADF };
		return -ECHILD;
	}
	message->file =
		(struct worker_file){ .fd = message->file.fd < 0 ? message->file.fd : -EBADF };
	return 0;
}
