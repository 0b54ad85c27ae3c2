#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later

load lib.bash
. "$BATS_TEST_DIRNAME/helpers/tiling.bash"
. "$BATS_TEST_DIRNAME/workloads/servers.bash"

# bats test_tags=check
@test "wrong arguments: one clear line, exit 2; the options of --help are those of the man page" {
	while IFS='|' read -r arguments pattern; do
		run wallprof $arguments
		[ "$status" -eq 2 ]
		[[ "${lines[0]}" =~ $pattern ]]
	done <<-'EOF'
		-p , 1|not a list of process IDs, or names of 1 to 15 bytes: ','
		-p 0 1|not a process ID: '0'
		-F 0 1|not a frequency
		--buffer 5 1|not a power of 2
		--comm x 1|unrecognized option '--comm'
		-C 0 1|invalid option -- 'C'
		--every 1s 2|unrecognized option '--every'
		-o x.pb.gz 1|must end in .txt, .folded, .jsonl, .html, .svg, .json or .pftrace: 'x.pb.gz'
		-o x.perf 1|must end in .*: 'x.perf'
		--top 3 -j 1|--top is for text
	EOF
	options_agree wallprof cpuprof
	refuses_without_root wallprof
}

@test "--cgroup: the threads that are in it, or in one below, and no others; those that begin, too" {
	need_root
	need jq
	local cgroups cgroup inner
	cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	cgroup=$cgroups/wallprof-test.$$
	[ -n "$cgroups" ] && mkdir "$cgroup" || skip "no cgroup can be made"
	background bash -c 'echo $$ >"$1/cgroup.procs" && while :; do sleep 0.05; done' bash "$cgroup"
	inner=$pid
	background sh -c 'while :; do perl -e "select undef, undef, undef, 0.02"; done'	# outside of it, threads begin too
	wait_until grep -qx "$inner" "$cgroup/cgroup.procs"
	wallprof -q -j -o "$WORK/out" --cgroup "$cgroup" 1
	kill "$inner"
	jq -r 'select(.type == "thread") | .comm' "$WORK/out" | sort | uniq -c
	wait_until rmdir "$cgroup"
	[ "$(jq -r 'select(.type == "thread") | .comm' "$WORK/out" | sort -u | tr '\n' ' ')" = "bash sleep " ]
	[ "$(jq -rs 'map(select(.type == "thread" and .tid == '"$inner"')) | length' "$WORK/out")" -eq 1 ]
	expect "$(jq -rs 'map(select(.type == "thread")) | length' "$WORK/out") > 5"
}

@test "--cgroup: a thread that moves in has a life there, with its name, and none while it is elsewhere" {
	need_root
	need jq perl
	local cgroups cgroup mover
	cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	cgroup=$cgroups/wallprof-moves.$$
	[ -n "$cgroups" ] && mkdir "$cgroup" || skip "no cgroup can be made"
	background perl -e 'select undef, undef, undef, 0.05 while 1'
	mover=$pid
	rm -f "$WORK/err"
	wallprof -j -o "$WORK/out" --cgroup "$cgroup" 2>"$WORK/err" 3>&- &
	local tool=$! place
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	for place in "$cgroup" "$cgroups" "$cgroup"; do
		echo "$mover" >"$place/cgroup.procs"
		sleep 0.6
	done
	kill -INT "$tool"
	wait "$tool"
	kill "$mover"
	wait_until rmdir "$cgroup"
	jq -c 'select(.type == "thread")' "$WORK/out"
	[ "$(jq -r 'select(.type == "thread") | "\(.pid) \(.tid) \(.comm)"' "$WORK/out" | uniq -c | tr -s ' ')" = " 2 $mover $mover perl" ]
	# its lives are of waiting, all but a few milliseconds, and it was elsewhere between them
	jq -ers '[.[] | select(.type == "thread")] as $lives | ([$lives[] | .to_ns - .from_ns] | add) as $lived |
		([.[] | select(.type == "period" and .state != "running") | .to_ns - .from_ns] | add) as $off |
		"lived \($lived), off the CPU \($off), elsewhere \($lives[1].from_ns - $lives[0].to_ns)",
		($off > 0.9 * $lived and $lives[1].from_ns - $lives[0].to_ns > 5e8)' "$WORK/out"
}

# bats test_tags=full
@test "-l, -i: source lines and inlined functions, in each format that has names" {
	need_root
	cat >"$WORK/lines.c" <<-'EOF'
		#include <unistd.h>
		static inline __attribute__((always_inline)) int nap(void) { return usleep(1000); }
		int main(void) { for (int i = 0; i < 20; i++) nap(); return 0; }
	EOF
	gcc -g -O1 -o "$WORK/lines" "$WORK/lines.c"
	local ending
	for ending in txt folded jsonl html svg json; do
		wallprof -q -i -l -o "$WORK/out.$ending" -- "$WORK/lines"
		wallprof -q -o "$WORK/bare.$ending" -- "$WORK/lines"
		grep -q 'lines\.c' "$WORK/out.$ending"
		grep -q '\bnap\b' "$WORK/out.$ending"
		refute grep -q '\bnap\b' "$WORK/bare.$ending"
	done
}

@test "rings: every thread's life is tiled, runs as long as the scheduler says, and each wait was ended by the thread before" {
	need_root
	local kind tid before came right others
	for kind in futex pipe cond; do
		measure -- ring $kind 5 $(sized 4000 1000)
		tiled 6
		[ "$(summary .lost_periods)" -eq 0 ]
		while read -r tid before came _; do
			read -r right others < <(jq -n -r --argjson tid "$tid" --argjson before "$before" '
				[inputs | select(.type == "period" and .tid == $tid and .woken_by) | .woken_by.tid == $before] |
				"\(map(select(.)) | length) \(map(select(. | not)) | length)"' "$WORK/out")
			echo "# $kind: $tid: the token came $came times; $right waits ended by $before, $others by others" >&3
			# nobody else ends a wait for the token
			expect "$right >= 0.5 * $came && $right <= $came + 1 && $others <= 5"
		done <"$WORK/command.out"
		ran_as_scheduled 0 <"$WORK/command.out"
	done
}

@test "make -j4, node, a shell's pipes: every life is tiled, and nothing is lost" {
	need_root
	need make
	printf '%s\n' 'all: 1 2 3 4 5 6 7 8' '%:' '	@for i in 1 2 3; do /bin/true; done; sleep 0.02' >"$WORK/Makefile"
	measure -- make -s -j4 -C "$WORK"
	tiled 30
	valid_json
	if extra node; then
		measure -- node -e 'let n = 0; const t = setInterval(() => { for (let i = 0; i < 1e6; i++) n += i; if (n > 1e13) clearInterval(t) }, 1);
			require("fs").readFileSync("/etc/passwd"); require("crypto").pbkdf2("a", "b", 1e5, 64, "sha512", () => {})'
		tiled 5
	fi
	measure -- sh -c 'seq 100000 | sort -R | sort -n | tail -n 1'
	tiled 5
	[ "$(summary .lost_periods)" -eq 0 ]
}

# bats test_tags=full
@test "redis under load: tiled, and runs as long as the scheduler says" {
	need_root
	need redis-server redis-benchmark
	cat >"$WORK/load" <<-'EOF'
		cd "$1"
		redis-server --port 0 --unixsocket "$1/socket" --dir "$1" --save '' >/dev/null &
		while ! [ -S socket ]; do sleep 0.1; done
		redis-benchmark -s socket -q -n 20000 -c 10 -t set >/dev/null
		for task in /proc/$!/task/*; do read -r ran rest <$task/schedstat; echo "${task##*/} $ran"; done
		kill $!
	EOF
	measure -- sh "$WORK/load" "$WORK"
	tiled 8
	[ "$(summary .lost_periods)" -eq 0 ]
	# redis ends afterwards
	ran_as_scheduled 10000000 <"$WORK/command.out"
}

@test "whole stacks, and each end reason: as many as the lines of samples and periods have; code without a table is said" {
	need_root
	local idle ended
	for idle in "" --idle; do
		measure $idle -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; (sleep 0.1; :) | cat'
		valid_json
		# NAME NUMBER NANOSECONDS of what is off the CPU; samples share the time that their thread ran, 1 ns each at most left out
		jq -n -r 'reduce inputs as $l ({}; if $l.type == "stacks" then .reason[$l.id | tostring] = $l.ended_by
				elif $l.type == "sample" then (.nr[.reason[$l.stack | tostring] // "lost"] += 1 | .sampled[$l.tid | tostring] = 1)
				elif $l.type == "period" and $l.why then .nr[.reason[$l.stack | tostring] // "lost"] += 1 |
					.off_ns += $l.to_ns - $l.from_ns
				elif $l.type == "period" and $l.state == "running" then .ran[$l.tid | tostring] += $l.to_ns - $l.from_ns
				else . end) |
			(.nr | to_entries | sort_by(.key)[] | "\(.key) \(.value)"),
			"ns \(. as $all | .off_ns + ([.ran | to_entries[] | select($all.sampled[.key]).value] | add // 0))"' "$WORK/out" >"$WORK/expected"
		diff <(grep -v '^ns' "$WORK/expected") <(summary '.ended | to_entries | sort_by(.key)[] | select(.value > 0) | "\(.key) \(.value)"')
		expect "$(awk '/^ns/ { print $2 }' "$WORK/expected") - $(summary '.ended_ns | add') < 100000"
		expect "$(awk '/^ns/ { print $2 }' "$WORK/expected") >= $(summary '.ended_ns | add')"
		grep -Eq '^wallprof: .*, user stacks complete for (100|99)[.0-9]* % of [0-9.]+ s, [0-9]+ lost' "$WORK/err"
	done
	background garbage-text "$WORK/garbage"
	wait_until grep -q ready "$WORK/background.out"
	measure_while_it_runs 200 wallprof -p "$pid" -j
	ended=$(summary .ended.no_table)
	expect "$ended > 0.9 * $(summary .samples)"
	grep -Eq "^wallprof: $ended \([0-9.]+ s\) ended no_table: " "$WORK/err"
}

@test "a buffer that is too small: as many periods are lost as are missing in the threads' numbers, and their time is lost" {
	need_root
	measure --buffer 4 -- ring pipe 4 20000
	tiled 5
	local lost gaps
	lost=$(summary .lost_periods)
	gaps=$(jq -n '[inputs | select(.type == "thread") | .lost] | add' "$WORK/out")
	echo "# $lost periods lost, $gaps missing" >&3
	[ "$lost" -gt 100 ]
	# unless the end of a thread was lost as well: then nobody knows its last number
	[ "$lost" -eq "$gaps" ] || { [ "$(summary .lost_names)" -gt 0 ] && [ "$lost" -gt "$gaps" ]; }
	[ "$(jq -n '[inputs | select(.type == "period" and .state == "lost") | .lost] | add' "$WORK/out")" -eq "$gaps" ]
}

@test "threads blocked before the start until after the end, and one that runs all the time, are there" {
	need_root
	background sleep 1000
	local sleeper=$pid
	background sh -c 'echo ready; while :; do :; done'
	wait_until grep -q ready "$WORK/background.out"
	wait_until is_sleeping "$sleeper"
	measure -p "$sleeper,$pid" 1
	tiled 2
	expect "$(awk -v tid="$sleeper" '$1 == tid { print $5 / $7 }' "$WORK/tiles") > 0.999"
	[ "$(jq -r "select(.type == \"period\" and .tid == $sleeper) | \"\(.why) \(.open)\"" "$WORK/out")" = "S true" ]
	expect "$(awk -v tid="$pid" '$1 == tid { print ($3 + $4) / $7 }' "$WORK/tiles") > 0.999"
	# of 999, on a machine that runs nothing else; how many a busy one takes is the machine's
	expect "$(jq -n "[inputs | select(.type == \"sample\" and .tid == $pid)] | length" "$WORK/out") > 10"
}

@test "text and folded: what adds up, and hostile names" {
	need_root
	need perl
	cat >"$WORK/hostile" <<-'EOF'
		$0 = "a;b\e[2J\n";
		pipe R, W;
		if (!fork) { close W; sysread R, $b, 1; select undef, undef, undef, 0.3; exit }
		my $x = 0; $x += $_ for 1..3000000; close W; wait
	EOF
	COLUMNS=120 wallprof -q -- perl "$WORK/hostile" >"$WORK/text" 2>/dev/null
	grep -qE '^ +[0-9]+ +[0-9]+ a\\x3bb\\x1b\[2J\\x0a +[0-9.]+ +[0-9.]+ +S [0-9.]+ ' "$WORK/text"
	grep -q '^what was waited for' "$WORK/text"
	refute grep -q $'\e' "$WORK/text"
	mkdir "$WORK/tmp"
	TMPDIR=$WORK/tmp wallprof -q -f -- perl "$WORK/hostile" >"$WORK/folded" 2>"$WORK/err"
	rmdir "$WORK/tmp"	# its temporary file is gone
	refute grep -q $'\e' "$WORK/folded"
	# preempted when it is about to sleep, it waits for a CPU meanwhile
	expect "$(awk '/\[(blocked S|waiting)\]/ { n += $NF } END { print n }' "$WORK/folded") > 280000"
	expect "$(awk '/Perl_.*\[running\]/ { n += $NF } END { print n }' "$WORK/folded") > 20000"
}

@test "a process that has ended, and that nobody has waited for, does not run" {
	need_root
	need python3
	local zombie
	python3 -c 'import subprocess, time
p = subprocess.Popen(["true"])
print(p.pid, flush=True)
time.sleep(30)' >"$WORK/pid" &
	local parent=$!
	until [ -s "$WORK/pid" ]; do sleep 0.05; done
	zombie=$(cat "$WORK/pid")
	until grep -q '^State:.*zombie' "/proc/$zombie/status"; do sleep 0.05; done
	wallprof -j -q -o "$WORK/out.jsonl" 0.5 2>"$WORK/err"
	kill $parent
	jq -e -n --argjson zombie "$zombie" 'any(inputs; .type == "thread" and .tid == $zombie) | not' "$WORK/out.jsonl"
	jq -e -n --argjson parent "$parent" 'any(inputs; .type == "thread" and .tid == $parent)' "$WORK/out.jsonl"
}

# what the script returns as JSON, which drives the page by pointer and keys
driven() {	# PAGE SCRIPT
	look_at "$1" eval "(() => {
		const mouse = (type, x, y, more = {}) => page.lanes.canvas.dispatchEvent(new PointerEvent(type, {bubbles: true, clientX: x, clientY: y, ...more}));
		const place = (time, lane) => { const box = page.lanes.canvas.getBoundingClientRect();
			return [box.left + page.lanes.x(time), box.top + page.lanes.y(lane) + page.lanes.row / 2]; };
		const click = (time, lane) => { mouse('pointerdown', ...place(time, lane)); mouse('pointerup', ...place(time, lane)); };
		const press = key => document.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
		$2 })()" | tail -n +2
}

# bats test_tags=full
@test "the page: zoom, pan, a click with the waker and an arrow to its lane, a range, search, keys" {
	need_root
	need chromium
	wallprof -q -o "$WORK/page.html" -- ring futex 4 60 >"$WORK/command.out" 2>/dev/null
	refute grep -qE '(src|href)=' "$WORK/page.html"
	driven "$WORK/page.html" '
		const t = page.timeline, lanes = page.lanes, result = {};
		result.lives = t.lives.map(life => [life.tid, life.start[life.nr] - life.from]);
		result.total = page.flame.tree.total[0];
		result.tiled = t.lives.reduce((sum, life) => sum + life.start[life.nr] - life.start[0], 0);
		press("+"); press("+");
		result.zoomed = t.duration / (lanes.to - lanes.from);
		const from = lanes.from;
		press("ArrowRight");
		result.moved = lanes.from > from;
		press("0");
		result.all = lanes.to - lanes.from === t.duration;
		result.wakers = [];
		t.lives.forEach((life, lane) => {
			for (let i = life.nr - 1; i >= 0; i--)
				if (life.state[i] === BLOCKED && life.waker[i]) {
					lanes.show(life.start[i] - 1e5, life.start[i + 1] + 1e5);
					click((life.start[i] + life.start[i + 1]) / 2, lane);
					result.wakers.push([life.tid, t.tids[life.waker[i]], lanes.arrow && t.lives[lanes.arrow.from].tid,
						document.querySelector("#waker li").textContent, document.querySelector("#picked li").textContent]);
					return;
				}
		});
		press("n");
		press("0");
		mouse("pointerdown", ...place(t.duration / 4, 0)); mouse("pointermove", ...place(t.duration / 2, 0));
		mouse("pointerup", ...place(t.duration / 2, 0));
		result.range = [page.range.from / t.duration, page.range.to / t.duration];
		result.part = page.flame.tree.total[0] / result.total;
		page.search("futex_wait");
		result.found = document.querySelector("#found").textContent;
		result.matched = lanes.matches.size;
		result.rows = page.rows.length;
		return result;' >"$WORK/result"
	cat "$WORK/result"
	jq -e '(.total - .tiled | fabs) < 1000 and .zoomed > 3.9 and .zoomed < 4.1 and .moved and .all' "$WORK/result"
	jq -e '(.range[0] - 0.25 | fabs) < 0.01 and (.range[1] - 0.5 | fabs) < 0.01 and .part > 0.1 and .part < 0.4' "$WORK/result"
	jq -e '.matched > 0 and .rows > 10 and (.found | test("%"))' "$WORK/result"
	# the last wait of each thread of the ring was ended by the one before
	while read -r tid before _; do
		jq -e --argjson tid "$tid" --argjson before "$before" '.wakers[] | select(.[0] == $tid) |
			.[1] == $before and .[2] == $before and .[3] == "try_to_wake_up" and .[4] == "__schedule"' "$WORK/result"
	done <"$WORK/command.out"
}

# bats test_tags=full
@test "the page: kernel threads in state I are drawn as idle; what slept throughout can be hidden" {
	need_root
	need chromium
	wallprof -q -o "$WORK/page.html" 1 2>"$WORK/err"
	driven "$WORK/page.html" '
		const t = page.timeline, lanes = page.lanes, fills = t.lives.flatMap(life => [...life.state].flatMap((state, i) =>
			state === BLOCKED && t.why[life.key[i]] === "I" ? [lanes.fillOf(life, i)] : []));
		const slept = t.lives.filter(life => [...life.state].every((state, i) => state === BLOCKED && t.why[life.key[i]] !== "D")).length;
		const result = {idle: fills.length, fills: [...new Set(fills)], line: lanes.colours.line, lives: t.lives.length, slept};
		const shown = () => lanes.rows.filter(row => !row.lives).length;
		result.said = +document.querySelector("#slept").textContent;
		result.before = shown();
		document.querySelector("#hide").click();
		result.after = shown();
		return result;' >"$WORK/result"
	cat "$WORK/result"
	jq -e '.idle > 0 and .fills == [.line]' "$WORK/result"
	jq -e '.said >= .slept and .slept > 0 and .before == .lives and .after == .lives - .said' "$WORK/result"
}

# bats test_tags=full
@test "the page: idle waits are in their lanes, and neither in the flame graph nor among the functions" {
	need_root
	need chromium
	background idle
	wait_until grep -q ready "$WORK/background.out"
	local program=$pid option
	for option in "" --idle; do
		wallprof -q $option -o "$WORK/page.html" -p "$program" 1.5 2>"$WORK/err"
		driven "$WORK/page.html" '
			const t = page.timeline, tree = page.flame.tree;
			return {
				lanes: t.lives.length,
				lived: t.lives.reduce((sum, life) => sum + life.start[life.nr] - life.start[0], 0),
				idle: t.lives.flatMap(life => [...life.key].some((key, i) => life.state[i] === BLOCKED && t.idle.has(key)) ? [life.tid] : []),
				total: tree.total[0],
				functions: page.rows.filter(row => row.name === "accept").length,
			};' >"$WORK/result${option}"
		cat "$WORK/result${option}"
	done
	diff <(awk '$2 == "idle" { print $1 }' "$WORK/background.out" | sort) <(jq '.idle[]' "$WORK/result" | sort)
	jq -e '.lanes == 16' "$WORK/result"
	# four of the lanes
	jq -e '.total < .lived * 0.78 and .total > .lived * 0.7 and .functions == 0' "$WORK/result"
	jq -e '(.total - .lived | fabs) < 1000 and .functions == 1 and .idle == []' "$WORK/result--idle"
}
