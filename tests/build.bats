#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The build: what it gives depends on the sources only.
# bats file_tags=check

load lib.bash

# one tool's BPF program, the code that embeds it, and code without BPF, of a copy of the sources there
make_there() {	# DIRECTORY COMMAND...
	mkdir -p "$1"
	tar -C "$ROOT" -cf - Makefile bpf libcommon tools man tests/unit | tar -C "$1" -xf -
	env -u MAKEFLAGS -u MAKELEVEL "${@:2}" make -C "$1" build/tools/ehdump/ehdump.bpf.o build/tools/ehdump/ehdump.o \
		build/libcommon/base.a
}

sums_of() {	# DIRECTORY
	(cd "$1/build" && find . -name '*.[oah]' -exec sha256sum {} + | sort -k 2)
}

@test "it asks no kernel, and gives the same in every directory" {
	need_root
	need unshare
	make_there "$WORK/one"
	make_there "$WORK/a/longer/path" "${in_mount_namespace[@]}" sh -c 'mount -t tmpfs none /sys && exec "$@"' sh
	sums_of "$WORK/one" >"$WORK/sums"
	grep 'skel/ehdump.skel.h' "$WORK/sums"
	diff "$WORK/sums" <(sums_of "$WORK/a/longer/path")
}
