#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that people run (tests/programs.table): their stacks are complete, and no caller in them is wrong.
# PROGRAMS=NAME,… measures only these rows; RECORDINGS=DIRECTORY keeps what was recorded.

load lib.bash

bin=$ROOT/build/tests/programs

# builds $out unless it is there and newer than its source
build() {	# COMMAND
	[ ! -e "$out" ] || [ "$src" -nt "$out" ] || return 0
	mkdir -p "$bin"
	eval "$1" >"$WORK/build" 2>&1 || { cat "$WORK/build" >&2; return 1; }
}

# frames of noise, for the encoders
make_noise() {
	[ ! -s "$bin/noise.yuv" ] || return 0
	mkdir -p "$bin"
	head -c $((640 * 360 * 3 / 2 * 50)) /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 2>/dev/null >"$bin/noise.yuv"
}

# one P, so that the goroutines that a thread runs stay its own; one thread for dgemm
step() {	# SHARE TOOL COMMAND
	local figures
	eval "GOMAXPROCS=1 OPENBLAS_NUM_THREADS=1 timeout 120 $2 $3" >"$WORK/steps" 2>/dev/null </dev/null || true
	figures=$(grep -E '^[0-9]+ instructions' "$WORK/steps") || figures="it did not end"
	echo "# $state $name: $figures" >&3
	[[ $figures == *", 0 wrong; "*" whole walks, 0 wrong;"* ]] &&
		awk -v share="$1" '{ exit !($1 > 50000 && $3 > 500 && $(NF - 1) <= 100 * (1 - share)) }' <<<"$figures"
}

measure() {	# TOOL COMMAND
	local pid tool
	if [[ $1 == attach* ]]; then
		eval "background $2"
		wait_until eval '[ "$(ls "/proc/$pid/task" | wc -l)" = 5 ]'
		rm -f "$WORK/err"
		${1#attach } -j -o "$recorded" -p "$pid" 2>"$WORK/err" 3>&- & tool=$!
		pids+=("$tool")
		wait_until grep -q Ctrl-C "$WORK/err" || return
		kill -USR1 "$pid"
		wait_until_gone "$pid"
		kill -INT "$tool"
		wait "$tool"
	else
		eval "$1 -j -q -o $recorded -- $2" >"$WORK/stdout" 2>"$WORK/err" </dev/null
	fi || true	# the program's own status
}

# one row: fails if it is due and not reached
check() {
	local state=$1 name=$2 share=$3 tool=$4 source=$5 build=$6 command=$7 out src recorded figures
	out=$bin/$name src=$ROOT/tests/workloads/$source
	recorded=${RECORDINGS:-$WORK}/$name.jsonl
	[ "$build" = - ] || build "$build" || return 1
	if [[ $tool == single-step* ]]; then
		step "$share" "$tool" "$command" || [ "$state" = open ]
		return
	fi
	# the tables of its files are made no later than the program's own time has come; runtimes have threads
	[ "$state" != core ] || tool=${tool/#cpuprof/on_one_cpu cpuprof}
	measure "$tool" "$command"
	# the first samples of a process may come before it is known: of one, beside other tests, 60 ms did
	figures=$(jq -r 'select(.type == "summary") | (.samples - .ended.no_user - ([.ended.unknown_process, ([3, 0.03 * .samples] | max)] | min)) as $all | "\($all) \(if $all > 0 then .ended.complete / $all else 0 end) \(
		.ended | with_entries(select(.value > 0 and .key != "no_user")) | tostring)"' "$recorded")
	echo "# $state $name: $figures, expected $share" >&3
	edges "$recorded" >"$WORK/edges" || { tail -n 5 "$WORK/edges" | sed "s/^/# $state $name: /" >&3; [ "$state" = open ] || return 1; }
	[ "$state" = open ] || awk -v share="$share" '{ exit !($1 > 100 && $2 >= share) }' <<<"$figures"
}

# the rows in one of these states, all of them or those named by $PROGRAMS; none may be missed
check_rows() {	# STATE...
	local state name share tool source build command missed=()
	export GOCACHE=$ROOT/build/tests/gocache HOME=$WORK OPENBLAS_NUM_THREADS=2
	while IFS='|' read -r state name share tool source build command; do
		state=${state// /} name=${name// /} source=${source// /}
		[[ " $* " == *" ${state:-none} "* && ( -z ${PROGRAMS-} || ,$PROGRAMS, == *,$name,* ) ]] || continue
		check "$state" "$name" "$share" "$tool" "$source" "$build" "$command" || missed+=("$name")
	done <"$ROOT/tests/programs.table"
	echo "missed: ${missed[*]}"
	[ ${#missed[@]} -eq 0 ]
}

# bats test_tags=timing
@test "programs that need no runtime: the share of complete stacks, and no wrong caller" {
	need_root
	need g++ musl-gcc
	check_rows core
}

# bats test_tags=full,timing
@test "programs of runtimes and servers: the share of complete stacks, and no wrong caller" {
	need_root
	make_noise
	check_rows due open
}

@test "the oracle, edges, detects impossible callers" {
	need_root
	cpuprof -j -q -F 999 -o "$WORK/good.jsonl" -- nested burn 0.5
	edges "$WORK/good.jsonl"
	# one caller left out, as a walk by frame pointers does it; a return address in the middle of a function
	jq -c 'if .type == "stack" and (.user | length) > 8 then del(.user[4]) else . end' "$WORK/good.jsonl" >"$WORK/left-out.jsonl"
	jq -c 'if .type == "stack" and (.user | length) > 8 then .user[4].file_offset += 2 else . end' "$WORK/good.jsonl" >"$WORK/moved.jsonl"
	run edges "$WORK/left-out.jsonl"
	[ "$status" -eq 1 ]
	[[ "$output" == *"the call leads elsewhere"* ]]
	run edges "$WORK/moved.jsonl"
	[ "$status" -eq 1 ]
	[[ "$output" == *"no call before"* ]]
}

# bats test_tags=full
@test "frames of compilers and interpreters: every caller has a call to its callee: a million, or 100,000" {
	need_root
	need g++
	local sources=$ROOT/tests/workloads headers=100 hertz=499 least=100000 pieces=30 keys=150000 frames
	[ "$SIZE" != full ] || headers=3000 hertz=1999 least=1000000 pieces=60 keys=300000
	awk -f "$sources/templates.awk" >"$WORK/deep.cc"
	cat >"$WORK/work.sh" <<-EOF
		g++ -O1 -S -o /dev/null $WORK/deep.cc
		g++ -O2 -c -o /dev/null $sources/throws.cc
		gcc -O2 -c -o /dev/null $sources/hard.c
		/usr/bin/python3 -c 'import json, re
		for i in range($pieces): re.sub(r"\d+", lambda m: json.dumps(m[0]), str(list(range(3000))))'
		perl -e 'my %h; \$h{\$_ % 977} .= sprintf("%x", \$_) for 1 .. $keys; print length join ",", sort { \$h{\$a} cmp \$h{\$b} } keys %h'
		find /usr/include -name '*.h' -type f | head -n $headers | xargs cat | xz -6 -c
	EOF
	cpuprof -j -q -F $hertz -o "$WORK/million.jsonl" -- sh "$WORK/work.sh" >/dev/null 2>"$WORK/err"
	edges "$WORK/million.jsonl" >"$WORK/edges" || { head -n 20 "$WORK/edges" | sed 's|^|# |' >&3; return 1; }
	echo "# $(tail -n 1 "$WORK/edges")" >&3
	read -r frames _ <"$WORK/edges"
	expect "$frames > $least"
}
