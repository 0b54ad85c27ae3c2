/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that stay functions, with frames of their own, whatever the compiler thinks of them. */
#define NOINLINE __attribute__((noinline, noclone, noipa))

#define CALL(name, callee, bytes)                              \
	NOINLINE int name(int x)                               \
	{                                                      \
		volatile char room[bytes];                     \
                                                               \
		room[x % sizeof(room)] = x;                    \
		return callee(x + 1) + room[x % sizeof(room)]; \
	}
