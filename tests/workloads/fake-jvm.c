// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fake-jvm LIBJVM BLOBS BYTES THREADS MICROSECONDS: no JVM runs here, but the library says where
 * its code heap is, and what is there is our choice: so many blobs of so many bytes of code, which
 * threads spin in, with addresses of them all on their stacks. The address of each blob's name
 * changes all the time, so that what was read of a blob is out of date. Until it is killed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEGMENT_BITS 7
#define CODE_AT      512 /* in a block */

/* HotSpot's vmStructs.hpp */
struct entry {
	const char *type, *field, *kind;
	int32_t is_static;
	uint64_t offset;
	void *address;
};

static struct entry *entries;
static char names[2][24] = { "StubRoutines (1)", "StubRoutines (1)" };
static uint8_t *heap;
static size_t nr, bytes, stride, name_at;
static unsigned pause_us;

static struct entry *find(const char *type, const char *field)
{
	for (struct entry *e = entries; e->type; e++)
		if (!strcmp(e->type, type) && !strcmp(e->field, field))
			return e;
	fprintf(stderr, "fake-jvm: no %s::%s\n", type, field);
	exit(1);
}

/* The member of the object. */
static void put(uint8_t *object, const char *type, const char *field, const void *value,
		size_t size)
{
	memcpy(object + find(type, field)->offset, value, size);
}

static void put_pointer(uint8_t *object, const char *type, const char *field, const void *pointer)
{
	put(object, type, field, &pointer, sizeof(pointer));
}

static void put_int(uint8_t *object, const char *type, const char *field, int value)
{
	put(object, type, field, &value, sizeof(value));
}

static void *rename_blobs(void *arg)
{
	(void)arg;
	for (unsigned i = 0;; i++) {
		for (size_t b = 0; b < nr; b++)
			*(volatile uintptr_t *)(heap + b * stride + name_at) =
				(uintptr_t)names[i & 1];
		usleep(pause_us);
	}
	return NULL;
}

static void *run(void *arg)
{
	void (*spin)(long) = (void (*)(long))(heap + CODE_AT);
	volatile uintptr_t on_stack[512];

	for (size_t i = 0; i < 512; i++)
		on_stack[i] = (uintptr_t)(heap + i % nr * stride + CODE_AT + 64 + i);
	for (;;) {
		spin(100000000);
		(void)on_stack[3];
	}
	return arg;
}

static void write_blob(uint8_t *block, size_t header)
{
	/* dec %rdi; jnz; ret */
	static const uint8_t spin[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
	/*
	 * push %rbp; sub $32, %rsp; test %rdi, %rdi; jz; dec %rdi; jnz; add $32, %rsp; pop %rbp;
	 * ret
	 */
	static const uint8_t code[] = { 0x55, 0x48, 0x83, 0xec, 0x20, 0x48, 0x85,
					0xff, 0x74, 0x05, 0x48, 0xff, 0xcf, 0x75,
					0xf6, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3 };
	uint64_t length = stride >> SEGMENT_BITS;
	uint8_t *blob = block + header;

	block[find("HeapBlock::Header", "_used")->offset] = 1;
	put(block, "HeapBlock::Header", "_length", &length, sizeof(length));
	put_pointer(blob, "CodeBlob", "_name", names[0]);
	put_int(blob, "CodeBlob", "_size", bytes);
	put_int(blob, "CodeBlob", "_frame_size", 0);
	put_pointer(blob, "CodeBlob", "_code_begin", block + CODE_AT);
	put_pointer(blob, "CodeBlob", "_code_end", blob + bytes - 8);
	memcpy(block + CODE_AT, spin, sizeof(spin));
	for (size_t at = CODE_AT + 16; at + sizeof(code) < bytes - 64; at += sizeof(code))
		memcpy(block + at, code, sizeof(code));
}

static void write_heap(void)
{
	size_t header = (find("HeapBlock::Header", "_used")->offset + 8) / 8 * 8,
	       total = stride * nr;
	uint8_t *segments = malloc(total >> SEGMENT_BITS), *code_heap = calloc(1, 4096),
		*array = calloc(1, 4096);
	uint8_t *memory = code_heap + find("CodeHeap", "_memory")->offset,
		*map = code_heap + find("CodeHeap", "_segmap")->offset;
	static void *heaps[1];

	heap = mmap(NULL, total, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	if (heap == MAP_FAILED || !segments || !code_heap || !array)
		exit(1);
	name_at = header + find("CodeBlob", "_name")->offset;
	memset(segments, 0xff, total >> SEGMENT_BITS);
	for (size_t b = 0; b < nr; b++) {
		/* each segment says how many there are from the block's first one to it */
		for (size_t s = 0; s <= (bytes >> SEGMENT_BITS) + 1; s++)
			segments[(b * stride >> SEGMENT_BITS) + s] = s < 255 ? s : 254;
		write_blob(heap + b * stride, header);
	}
	put_pointer(memory, "VirtualSpace", "_low", heap);
	put_pointer(memory, "VirtualSpace", "_high", heap + total);
	put_pointer(memory, "VirtualSpace", "_high_boundary", heap + total);
	put_pointer(map, "VirtualSpace", "_low", segments);
	put_pointer(map, "VirtualSpace", "_high", segments + (total >> SEGMENT_BITS));
	put_int(code_heap, "CodeHeap", "_log2_segment_size", SEGMENT_BITS);
	heaps[0] = code_heap;
	put_int(array, "GrowableArrayBase", "_len", 1);
	put_pointer(array, "GrowableArray<int>", "_data", heaps);
	*(void **)find("CodeCache", "_heaps")->address = array;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	void *jvm;

	if (argc != 6)
		return 2;
	nr = atoi(argv[2]);
	bytes = atol(argv[3]);
	stride = (bytes + 4096 + 0xffff) & ~0xffffUL;
	pause_us = atoi(argv[5]);
	jvm = dlopen(argv[1], RTLD_NOW);
	if (!jvm) {
		fprintf(stderr, "fake-jvm: %s\n", dlerror());
		return 1;
	}
	entries = *(struct entry **)dlsym(jvm, "gHotSpotVMStructs");
	write_heap();
	pthread_create(&thread, NULL, rename_blobs, NULL);
	for (int i = atoi(argv[4]); i > 1; i--)
		pthread_create(&thread, NULL, run, NULL);
	run(NULL);
}
