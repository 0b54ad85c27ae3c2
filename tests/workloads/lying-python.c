// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lying-python MODE SLEEPS: a program that exports what CPython 3.11 does, with structures of its
 * own in their place, and sleeps a millisecond so many times:
 *
 *   frames       frames that lead in a circle
 *   threads      threads that do; none is the running one
 *   interpreters interpreters that do
 *   wild         pointers to nowhere, into the kernel, to the last byte of a page
 *   huge         a function whose name, file and lines are said to be endless
 *   torn         a function whose strings are another's when they are looked at again
 *   random       bytes by chance, others at each sleep
 *   good         one function, "honest", in "honest.py": that all of the above is not for want of a
 *                frame
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

const unsigned long Py_Version = 0x030b02f0;
uint64_t _PyRuntime[64];

/* words of the structs, by what CPython 3.11 has there */
enum { INTERPRETERS = 5 };                                    /* of the runtime */
enum { NEXT_INTERPRETER = 0, THREADS = 2 };                   /* of an interpreter */
enum { NEXT_THREAD = 1, CFRAME = 7, THREAD_ID = 19 };         /* of a thread */
enum { CURRENT_FRAME = 1 };                                   /* of a _PyCFrame */
enum { CODE = 4, PREVIOUS = 6, INSTRUCTION = 7, ENTRY = 68 }; /* of a frame; ENTRY in bytes */
enum { FIRST_LINE = 72, FILE_NAME = 14, NAME = 15, QUALNAME = 16, LINES = 17, INSTRUCTIONS = 23 };

static uint64_t *page(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static uint64_t at(const void *address)
{
	return (uintptr_t)address;
}

static uint64_t string(const char *text, uint64_t length)
{
	uint64_t *s = page();

	s[0] = 1;
	s[2] = length;
	((uint32_t *)s)[8] = 1 << 2 | 1 << 5 | 1 << 6; /* a byte each, compact, ASCII */
	strcpy((char *)s + 48, text);
	return at(s);
}

static uint64_t *interpreter, *thread, *cframe, *frame, *code, *lines;

static void make_good(uint64_t *on_stack)
{
	interpreter = page();
	thread = page();
	frame = page();
	code = page();
	lines = page();
	cframe = on_stack;
	_PyRuntime[INTERPRETERS] = at(interpreter);
	interpreter[THREADS] = at(thread);
	thread[THREAD_ID] = pthread_self();
	thread[CFRAME] = at(cframe);
	cframe[CURRENT_FRAME] = at(frame);
	frame[CODE] = at(code);
	frame[INSTRUCTION] = at(code + INSTRUCTIONS);
	((char *)frame)[ENTRY] = 1;
	code[0] = 1;
	code[FILE_NAME] = string("honest.py", 9);
	code[NAME] = code[QUALNAME] = string("honest", 6);
	*(int *)((char *)code + FIRST_LINE) = 7;
	lines[2] = 2;
	code[LINES] = at(lines);
}

static uint64_t random_word(void)
{
	uint64_t *const places[] = { interpreter, thread, frame, code, cframe, _PyRuntime };

	switch (random() % 4) {
	case 0:
		return at(places[random() % 6]) + random() % 4096;
	case 1:
		return (uint64_t)random() << 33 ^ random();
	case 2:
		return random() % 8;
	default:
		return ~(uint64_t)(random() % 64);
	}
}

static void lie(const char *mode)
{
	uint64_t *const whole[] = { interpreter, thread, frame, code };
	uint64_t *const wild[] = { &frame[PREVIOUS],         &frame[CODE],
				   &cframe[CURRENT_FRAME],   &thread[CFRAME],
				   &thread[NEXT_THREAD],     &interpreter[THREADS],
				   &_PyRuntime[INTERPRETERS] };
	static const uint64_t nowhere[] = {
		8, 0xffffffff81000000, 0x7ffffffffff9, 0xdead000000000000, ~0ull, 0x1000
	};

	if (!strcmp(mode, "frames")) {
		frame[PREVIOUS] = at(frame);
	} else if (!strcmp(mode, "threads")) {
		thread[THREAD_ID] = 1;
		thread[NEXT_THREAD] = at(thread);
	} else if (!strcmp(mode, "interpreters")) {
		interpreter[THREADS] = 0;
		interpreter[NEXT_INTERPRETER] = at(interpreter);
	} else if (!strcmp(mode, "wild")) {
		*wild[random() % 7] = random() % 7 ? nowhere[random() % 6] : at(frame) + 4095;
	} else if (!strcmp(mode, "huge")) {
		code[QUALNAME] = string("honest", INT64_MAX);
		code[FILE_NAME] = string("honest.py", UINT64_MAX);
		lines[2] = UINT64_MAX / 2;
	} else if (!strcmp(mode, "torn")) {
		code[QUALNAME] = string("another", 7);
		code[0] = at(code); /* no count of references */
	} else if (!strcmp(mode, "random")) {
		for (int i = 0; i < 40; i++)
			whole[random() % 4][random() % 32] = random_word();
		if (random() % 4)
			thread[THREAD_ID] = pthread_self();
		_PyRuntime[INTERPRETERS] = at(interpreter);
		interpreter[THREADS] = at(thread);
	}
}

int main(int argc, char **argv)
{
	uint64_t on_stack[8] = {};

	if (argc < 3)
		return 2;
	make_good(on_stack);
	for (int i = 0; i < 400; i++)
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL); /* time to be known */
	for (int i = 0, nr = atoi(argv[2]); i < nr; i++) {
		lie(argv[1]);
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	}
	return 0;
}
