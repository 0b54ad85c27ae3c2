// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hung-fs DIRECTORY FILE [MILLISECONDS]: mounts a file system with the files f, f1, f2 and so on,
 * each with FILE's bytes; each read takes so long. After SIGUSR1 it takes requests and answers
 * none, as a hung server does: who waits for one cannot be killed. It goes with the process. Says
 * "ready".
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_READ  (128 << 10)
#define FILE_NODE 2

static int device, source, read_ms;
static struct stat source_stat;
static volatile sig_atomic_t hangs;

static void hang(int signal)
{
	(void)signal;
	hangs = 1;
}

static void reply(const struct fuse_in_header *in, int error, const void *bytes, size_t nr)
{
	static char out[sizeof(struct fuse_out_header) + MAX_READ];
	struct fuse_out_header header = { .len = sizeof(header) + nr,
					  .error = error,
					  .unique = in->unique };

	if (hangs)
		return;
	memcpy(out, &header, sizeof(header));
	memcpy(out + sizeof(header), bytes, nr);
	if (write(device, out, header.len) < 0 && errno != ENOENT)
		exit(1);
}

static struct fuse_attr attributes(uint64_t node)
{
	if (node < FILE_NODE)
		return (struct fuse_attr){ .ino = 1, .mode = S_IFDIR | 0755, .nlink = 2 };
	return (struct fuse_attr){
		.ino = node,
		.size = source_stat.st_size,
		.blocks = (source_stat.st_size + 511) / 512,
		.mtime = 1,
		.mode = S_IFREG | 0755,
		.nlink = 1,
		.blksize = 4096,
	};
}

static void look_up(const struct fuse_in_header *in, const char *name)
{
	uint64_t node = FILE_NODE + strtoul(name + 1, NULL, 10);
	struct fuse_entry_out entry = { .nodeid = node, .attr = attributes(node) };

	reply(in, *name == 'f' ? 0 : -ENOENT, &entry, *name == 'f' ? sizeof(entry) : 0);
}

static void read_file(const struct fuse_in_header *in, const struct fuse_read_in *wanted)
{
	static char bytes[MAX_READ];
	ssize_t nr = pread(source, bytes, wanted->size < MAX_READ ? wanted->size : MAX_READ,
			   wanted->offset);

	usleep(read_ms * 1000);
	reply(in, nr < 0 ? -EIO : 0, bytes, nr < 0 ? 0 : nr);
}

static void answer(const struct fuse_in_header *in)
{
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = MAX_READ,
		.max_write = 4096,
	};
	struct fuse_attr_out attr = { .attr = attributes(in->nodeid) };
	struct fuse_open_out open = { .open_flags = FOPEN_KEEP_CACHE };

	switch (in->opcode) {
	case FUSE_INIT:
		return reply(in, 0, &init, sizeof(init));
	case FUSE_LOOKUP:
		return look_up(in, (const char *)(in + 1));
	case FUSE_GETATTR:
		return reply(in, 0, &attr, sizeof(attr));
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		return reply(in, 0, &open, sizeof(open));
	case FUSE_READ:
		return read_file(in, (const struct fuse_read_in *)(in + 1));
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		return;
	default:
		return reply(in,
			     in->opcode == FUSE_RELEASE || in->opcode == FUSE_FLUSH ? 0 : -ENOSYS,
			     NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static char request[FUSE_MIN_READ_BUFFER + MAX_READ];
	char options[80];

	if (argc < 3)
		return 2;
	read_ms = argc > 3 ? atoi(argv[3]) : 0;
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	source = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (device < 0 || source < 0 || fstat(source, &source_stat))
		return 77;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 device);
	if (mount("hung-fs", argv[1], "fuse", MS_NODEV | MS_NOSUID, options))
		return 77;
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = hang }, NULL);
	puts("ready");
	fflush(stdout);
	for (;;) {
		ssize_t got = read(device, request, sizeof(request));

		if (got >= (ssize_t)sizeof(struct fuse_in_header))
			answer((const struct fuse_in_header *)request);
		else if (got < 0 && errno != EINTR && errno != ENOENT && errno != EAGAIN)
			return 0; /* unmounted */
	}
}
