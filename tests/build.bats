#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The build: what it gives depends on the sources only; its flags and its messages.
# bats file_tags=check

load lib.bash

copy_sources() {	# DIRECTORY
	mkdir -p "$1"
	tar -C "$ROOT" --exclude=./build --exclude=./.git -cf - . | tar -C "$1" -xf -
}

# make, as if not called by another
make_in() {	# DIRECTORY ARG...
	env -u MAKEFLAGS -u MAKELEVEL "${prefix[@]}" make -C "$@"
}

# one tool's BPF program, the code that embeds it, and code without BPF, in a copy of the sources
build_parts() {	# DIRECTORY
	copy_sources "$1"
	make_in "$1" build/tools/ehdump/ehdump.bpf.o build/tools/ehdump/ehdump.o build/libcommon/base.a
}

sums_of() {	# DIRECTORY
	(cd "$1/build" && find . -name '*.[oah]' -exec sha256sum {} + | sort -k 2)
}

@test "it asks no kernel, and gives the same in every directory" {
	need_root
	need unshare
	build_parts "$WORK/one"
	prefix=("${in_mount_namespace[@]}" sh -c 'mount -t tmpfs none /sys && exec "$@"' sh)
	build_parts "$WORK/a/longer/path"
	sums_of "$WORK/one" >"$WORK/sums"
	grep 'skel/ehdump.skel.h' "$WORK/sums"
	diff "$WORK/sums" <(sums_of "$WORK/a/longer/path")
}

@test "CPPFLAGS, CFLAGS and LDFLAGS reach every object and every program, but those that are measured" {
	copy_sources "$WORK/one"
	make_in "$WORK/one" -n V=1 CPPFLAGS=-DGIVEN_CPP CFLAGS=-DGIVEN_C LDFLAGS=-Wl,-given all test-programs build/bench/load |
		grep -E '^cc ' | grep -vE ' -fsanitize=|tests/(bench/)?workloads/' >"$WORK/ours"
	[ "$(grep -c ' -c ' "$WORK/ours")" -gt 100 ]
	grep -E '[.]c( |$)' "$WORK/ours" >"$WORK/compiled"
	refute grep -v -e '-DGIVEN_CPP -DGIVEN_C' "$WORK/compiled"
	grep -v ' -c ' "$WORK/ours" >"$WORK/linked"
	refute grep -v -e '-Wl,-given' "$WORK/linked"
}

# bats test_tags=full
@test "make says what it makes; with V=1, the commands; a recipe that fails leaves no file" {
	local object=build/tools/ehdump/ehdump.bpf.o command='^clang .* -c tools/ehdump/ehdump[.]bpf[.]c'
	copy_sources "$WORK/one"
	make_in "$WORK/one" "$object" >"$WORK/out"
	grep -qx $'  BPF\ttools/ehdump/ehdump[.]bpf[.]o' "$WORK/out"
	refute grep -E "$command" "$WORK/out"
	make_in "$WORK/one" -B V=1 "$object" >"$WORK/out"
	grep -qE "$command" "$WORK/out"
	printf '#!/bin/sh\necho half\nexit 1\n' >"$WORK/half"
	chmod +x "$WORK/half"
	refute make_in "$WORK/one" BPFTOOL="$WORK/half" build/skel/ehdump.skel.h
	[ -z "$(ls "$WORK/one/build/skel")" ]
}
