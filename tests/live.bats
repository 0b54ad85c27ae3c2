#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# --live: the view in the terminal. tmux is the terminal, types keys, and says what is on the screen.

load lib.bash

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR/programs
	mkdir -p "$PROGRAMS"
	cp "$BATS_TEST_DIRNAME/../build/tests/nested" "$PROGRAMS/other"
}

# a shell with job control in a terminal of tmux
terminal() {	# [COLUMNS LINES]
	need_root
	need tmux
	SOCKET=$BATS_TEST_TMPDIR/socket
	env -u TMUX -u NO_COLOR LC_ALL="${LOCALE-C.UTF-8}" tmux -S "$SOCKET" -f /dev/null new-session -d -x "${1:-80}" -y "${2:-24}" \
		"cd '$WORK' && PS1='ready> ' PATH='$PATH' exec bash --norc --noprofile -i"
	wait_until shows '^ready>'
	type_line 'stty -a >before'
}

teardown() {
	[ -z "${stopped_server:-}" ] || kill -CONT "$stopped_server" || true
	[ -z "${SOCKET:-}" ] || tmux -S "$SOCKET" kill-server 2>/dev/null || true
	end_children
	rm -rf "$WORK"
}

keys() { tmux -S "$SOCKET" send-keys "$@"; }
type_line() {
	keys -l "$1"
	keys Enter
}
screen() { tmux -S "$SOCKET" capture-pane -p "$@"; }
tool_there() {	# PID
	local shell children
	shell=$(state '#{pane_pid}')
	read -r -a children <"/proc/$shell/task/$shell/children"
	echo "${children[0]}"
}
shows() { screen | grep -qE -e "$1"; }
state() { tmux -S "$SOCKET" display-message -p "$1"; }

# the view is there, and has as many samples or periods
wait_for_samples() {	# [LEAST]
	local LEAST=${1:-20}
	enough() { [ "$(samples)" -ge "$LEAST" ]; }
	wait_until enough || { screen; return 1; }
}
samples() { screen | sed -nE '2s/^([0-9]+) .*/\1/p' | grep . || echo 0; }

# and drawn to its last line
is_paused() { screen | head -n 1 | grep -q PAUSED && is_still; }
is_still() {
	local before
	before=$(screen)
	sleep 0.2
	[ "$(screen)" = "$before" ]
}

wait_until_drawn() {	# PATTERN of one of its lines
	wait_until shows "$1"
	wait_until is_still
}

# the shell is back, and the terminal as it was before
wait_until_left() {
	wait_until shows '^ready>$'
	type_line 'stty -a >after'
	wait_until test -s "$WORK/after"
	wait_until cmp "$WORK/before" "$WORK/after"
	[ "$(state '#{alternate_on} #{cursor_flag} #{mouse_any_flag}')" = "0 1 0" ] ||
		{ state 'screen, cursor, mouse: #{alternate_on} #{cursor_flag} #{mouse_any_flag}'; return 1; }
	rm -f "$WORK/after"
}

two_programs() {
	background nested burn 1000
	nested=$pid
	background "$PROGRAMS/other" burn 1000
	other=$pid
}

# folded stacks: who calls the function, and whom it calls, each with its samples
calls_of() {	# FUNCTION
	awk -v f="$1" '{ n = $NF; sub(/ [0-9]+$/, ""); nr = split($0, frame, ";"); split("", seen)
		for (i = 3; i <= nr; i++) {
			if (frame[i] == f && !seen["by", frame[i - 1]]++) all["called by " frame[i - 1]] += n
			if (frame[i - 1] == f && !seen["to", frame[i]]++) all["calls " frame[i]] += n
		} } END { for (call in all) print call, all[call] }'
}

@test "the figures on the screen are those of the report that q leaves, in each pane" {
	local shown self total value name function
	two_programs
	terminal 140 100	# the tree has both programs, and all names are whole
	type_line "cpuprof --live -p $nested,$other -o report.txt -o report.folded"
	wait_for_samples 50
	keys p
	wait_until is_paused
	shown=$(samples)
	# the flame graph: all
	shows "^100\.0 %, $shown samples: all"
	# the functions: the first rows
	keys u
	wait_until_drawn '^self %  total % +samples  function'
	screen >"$WORK/functions"
	# the second function's callers and callees
	keys Down
	keys Enter
	wait_until_drawn '^[0-9.]+ % self, [0-9.]+ % total'
	screen >"$WORK/calls"
	keys BSpace
	wait_until_drawn '^self %  total % +samples  function'
	# the stacks: the first row
	keys l
	wait_until_drawn '^ +% +samples  thread'
	screen >"$WORK/stacks"
	# the tree: its threads
	keys t
	wait_until_drawn '^total %  self %'
	screen >"$WORK/tree"
	keys q
	wait_until_left
	wait_until test -s "$WORK/report.folded"
	[ "$(awk '{ n += $NF } END { print n }' "$WORK/report.folded")" -eq "$shown" ]
	sed -n '5,7p' "$WORK/functions" | while read -r self total value name _; do
		# a name that has no room ends in an ellipsis
		awk -v row="$self $total $value ${name%…}" 'index($1 " " $2 " " $3 " " $4, row) == 1 { found = 1 } END { exit !found }' "$WORK/report.txt" ||
			{ echo "$self $total $value $name"; return 1; }
	done
	function=$(sed -nE '4s/.* total: //p' "$WORK/calls")
	[ "$function" = "$(sed -n 6p "$WORK/functions" | awk '{ print $4 }')" ]
	sed -nE '5,$s/^ *[0-9.]+ +([0-9]+)  (called by|calls) +([^ ]+).*/\2 \3 \1/p' "$WORK/calls" | sort >"$WORK/shown"
	calls_of "$function" <"$WORK/report.folded" | sort | diff - "$WORK/shown"
	grep -q '^called by ' "$WORK/shown"
	read -r self value name _ < <(sed -n 5p "$WORK/stacks")
	grep -qx " *$value samples, $self % of all" "$WORK/report.txt"
	for name in nested other; do
		value=$(awk -v name="$name" '$0 ~ "^" name ";" { n += $NF } { all += $NF } END { printf "%.1f", 100 * n / all }' "$WORK/report.folded")
		grep -qE "^ +$value +0\.0  - $name *$" "$WORK/tree"
	done
}

click() {
	keys -l $'\e[M #%'
	keys -l $'\e[M##%'
}

@test "flame graph: what is zoomed into is as wide as the terminal; back shows all again" {
	two_programs
	terminal
	type_line "cpuprof --live -p $nested,$other"
	wait_for_samples 50
	keys p
	wait_until is_paused
	# side by side, the hotter one first
	wait_until shows '^(nested|other) +(nested|other) *$'
	keys Down
	keys Right
	wait_until_drawn '^[0-9.]+ %, [0-9]+ samples: (nested|other) '
	screen | tail -n 1 >"$WORK/selected"
	local name share
	read -r share _ _ _ name _ <"$WORK/selected"
	[ "$(printf '%.0f' "$share")" -lt 75 ]
	keys Enter
	wait_until shows "^$name *$"
	refute shows "\[$([ "$name" = other ] && echo nested || echo other)\+"
	keys BSpace
	wait_until shows '^(nested|other) +(nested|other) *$'
	# by the mouse: a click selects, a second one zooms. Column 3 of the fifth line, in the encoding of screen's terminfo
	click
	wait_until shows '^[0-9.]+ %, [0-9]+ samples: (nested|other) '
	click
	wait_until shows '^(nested|other) *$'
	keys BSpace
	wait_until shows '^(nested|other) +(nested|other) *$'
	# it stays selected while the figures change
	screen | tail -n 1 >"$WORK/selected"
	read -r _ _ _ _ name _ <"$WORK/selected"
	keys p
	sleep 2
	shows "samples: $name "
}

@test "search: the share of what matches is that of the report; n goes to the next match" {
	local shown
	two_programs
	terminal
	type_line "cpuprof --live -p $nested,$other -o report.folded"
	wait_for_samples 50
	keys p
	wait_until is_paused
	keys /
	keys -l '^other$|\[other\+'
	keys Enter
	wait_until shows '^[0-9.]+ % match\.'
	shown=$(screen | sed -nE 's/^([0-9.]+) % match\..*/\1/p')
	shows 'match\. [0-9.]+ %, [0-9]+ samples: other '
	keys n
	wait_until shows 'match\. .* samples: \[other\+'
	keys N
	wait_until shows 'match\. .* samples: other '
	for pane in t u l; do
		keys $pane
		wait_until shows '^ *(self|total)? *%.*'
		wait_until shows "^${shown//./\\.} % match\."
	done
	keys /
	keys -l '('
	keys Enter
	wait_until shows 'Unmatched'
	keys q
	wait_until test -s "$WORK/report.folded"
	[ "$(awk '/^other;/ { n += $NF } { all += $NF } END { printf "%.1f", 100 * n / all }' "$WORK/report.folded")" = "$shown" ]
}

only() {	# PATTERN
	keys '&'
	wait_until shows '^Show only stacks that match'
	keys -l "$1"
	keys Enter
}

@test "only what matches is shown: by process, thread or function; so does what is saved, and the report" {
	local shown
	two_programs
	terminal
	type_line "cpuprof --live -p $nested,$other -o report.folded -o report.jsonl"
	wait_for_samples 50
	keys l
	wait_until_drawn '^ +% +samples  thread'
	wait_until shows 'nested'
	wait_until shows 'other'
	only '('
	wait_until shows 'Unmatched'
	only '(.)\1'
	wait_until shows 'no back references'
	only "^$nested\$"
	only_nested() { shows "only /.$nested" && shows 'nested' && ! shows '[0-9]  other'; }
	wait_until only_nested
	only ''
	wait_until shows '[0-9]  other'
	# its share of the samples, and the command line
	keys P
	wait_until_drawn '^ +% +samples +PID  command'
	shows "^ *[0-9.]+ +[0-9]+ +$nested  .*nested burn 1000$"
	screen | sed -n '4,5p' | awk '{ sum += $1 } END { exit !(sum > 99.8 && sum < 100.2) }'
	shows '^2 processes\. Enter'
	keys /
	keys -l "^ *$other "
	keys Enter
	keys n
	keys Enter
	wait_until shows "only /.$other\\$/"
	wait_until shows '^1 process\. Enter'
	keys l
	only_the_other() { shows '[0-9]  other' && ! shows '[0-9]  nested'; }
	wait_until only_the_other
	only ''
	all_again() { ! shows 'only /' && shows '[0-9]  other'; }
	wait_until all_again
	only '^other$'
	only_other() { shows 'only /\^other\$/' && shows '[0-9]  other' && ! shows '[0-9]  nested'; }
	wait_until only_other
	keys p
	wait_until is_paused
	shown=$(samples)
	only nested
	wait_until shows 'not while it is paused'
	keys s
	keys -l saved.jsonl
	keys Enter
	wait_until shows "^saved in 'saved.jsonl'"
	keys q
	wait_until_left
	wait_until test -s "$WORK/report.folded"
	shows 'these are only the stacks that match "\^other\$"'
	refute grep -v '^other;' "$WORK/report.folded"
	[ "$(awk '{ n += $NF } END { print n }' "$WORK/report.folded")" -eq "$shown" ]
	for name in report saved; do
		valid_json "$WORK/$name.jsonl"
		[ "$(jq -r 'select(.type == "summary") | "\(.samples) \(.only)"' "$WORK/$name.jsonl")" = "$shown ^other\$" ]
		[ "$(jq -r 'select(.type == "stack").comm' "$WORK/$name.jsonl" | sort -u)" = other ]
	done
}

# bats test_tags=full
@test "only what matches: by function, command line and cgroup" {
	local cgroup
	background nested burn 1000
	nested=$pid
	background perl -e '1 while 1' a-word-of-the-command-line
	terminal
	type_line "cpuprof --live -p $nested,$pid"
	wait_for_samples 50
	keys l
	both() { shows '[0-9]  nested' && shows '[0-9]  perl'; }
	only_perl() { shows "only /$1" && shows '[0-9]  perl' && ! shows '[0-9]  nested'; }
	wait_until both
	only '^Perl_'
	wait_until only_perl '\^Perl_'
	only ''
	wait_until both
	only 'word-of-the-command'
	wait_until only_perl word
	only ''
	wait_until both
	cgroup=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/live-test.$$
	mkdir "$cgroup" 2>/dev/null || skip "no cgroup can be made"
	echo "$pid" >"$cgroup/cgroup.procs"
	only "live-test.$$\$"
	wait_until only_perl live-test
	keys q
	wait_until_left
	end_children
	rmdir "$cgroup"
}

# bats test_tags=full
@test "only what matches: of waits, a process's share is of all that is shown, and idle threads are no others'" {
	local busy
	background sh -c 'while :; do sleep 0.05; done'
	busy=$pid
	background sleep 1000	# idle, as much else on the machine
	terminal
	type_line "offcputime --live -o report.jsonl"
	wait_until shows '^[0-9]+ periods'
	sleep 3
	keys P
	wait_until_drawn '^ +% +.* PID  command'
	only_busy() { shows "only /.$busy\\$/" && shows "^ *100\.0 +[0-9.]+ +$busy  "; }
	only "^$busy\$"
	wait_until only_busy
	keys q
	wait_until_left
	wait_until test -s "$WORK/report.jsonl"
	valid_json "$WORK/report.jsonl"
	[ "$(jq -r 'select(.type == "stack").pid' "$WORK/report.jsonl" | sort -u)" = "$busy" ]
	[ "$(jq -r 'select(.type == "summary") | .idle_threads // 0' "$WORK/report.jsonl")" = 0 ]
}

@test "idle threads are in no pane's sums; what is saved from a picture has the names that q's report has, and both have the idle" {
	local shown python
	background /usr/bin/python3 -c 'import time
def waits(): time.sleep(0.02)
while True: waits()'
	python=$pid
	background idle
	wait_until grep -q ready "$WORK/background.out"
	terminal 140 60
	type_line "offcputime --live -p $pid,$python -o report.jsonl"
	wait_until shows '^[0-9]+ periods'
	sleep 2
	keys p
	wait_until is_paused
	shown=$(screen | sed -nE 's/^100\.0 %, ([0-9]+) us: all.*/\1/p')
	keys s
	type_line saved.jsonl
	wait_until shows "^saved in 'saved.jsonl'"
	keys s
	type_line saved.folded
	wait_until shows "^saved in 'saved.folded'"
	keys q
	wait_until_left
	wait_until test -s "$WORK/report.jsonl"
	valid_json "$WORK/report.jsonl"
	jq -s 'map(select(.type == "stack"))' "$WORK/report.jsonl" >"$WORK/report"
	jq -s 'map(select(.type == "stack"))' "$WORK/saved.jsonl" | cmp - "$WORK/report"
	for name in saved report; do
		jq 'select(.type == "summary") | [.python_calls, .python_named, .frames, .named, .idle_threads]' "$WORK/$name.jsonl" >"$WORK/$name.counts"
	done
	refute grep -q null "$WORK/saved.counts"
	cmp "$WORK/saved.counts" "$WORK/report.counts"
	[ "$(jq 'map(select(.idle).tid) | unique | length' "$WORK/report")" -eq "$(grep -c ' idle ' "$WORK/background.out")" ]
	# each stack, or all that have one name, rounded
	expect "$shown - $(jq 'map(select(.idle | not).value_ns) | add / 1000' "$WORK/report") < 2"
	expect "$(jq 'map(select(.idle | not).value_ns) | add / 1000' "$WORK/report") - $shown < 2"
	expect "$(awk '{ n += $NF } END { print n }' "$WORK/saved.folded") - $shown < 200"
	grep -q '^idle;.*main;' "$WORK/saved.folded"
	grep -q '^python3;.*;<module>.*;waits' "$WORK/saved.folded"
}

@test "pause: what is shown stays, and measuring goes on; q leaves what was shown" {
	local shown now
	two_programs
	terminal
	type_line "cpuprof --live -p $nested -F 499 -o report.folded"
	wait_for_samples 50
	keys p
	wait_until is_paused
	shown=$(samples)
	screen | sed 1d >"$WORK/one"
	wait_until_it_ran "$nested" 1000
	screen | sed 1d | diff "$WORK/one" -
	keys p
	more() { [ "$(samples)" -ge $((shown + 300)) ]; }
	wait_until more
	# Ctrl-S does not stop it
	keys C-s
	shown=$(samples)
	wait_until more
	# a window ends when the pause began
	keys p
	wait_until is_paused
	now=$(samples)
	keys w
	type_line 0.5
	wait_until shows 'the [0-9.]+ s until [0-9:]{8}, PAUSED'
	expect "0 < $(samples) && $(samples) < $now / 2"
	keys ']'
	wait_until shows 'the last [0-9.]+ s, PAUSED'
	# r ends the pause
	keys w
	keys Enter
	wait_until shows 'not while it is paused'
	keys r
	running() { shows 'the last [0-9.]+ s, every'; }
	wait_until running
	wait_for_samples
	keys p
	wait_until is_paused
	now=$(samples)
	keys q
	wait_until_left
	[ "$(awk '{ n += $NF } END { print n }' "$WORK/report.folded")" -eq "$now" ]
}

# bats test_tags=full
@test "pause: what is saved has the command line and the cgroup of a process that has ended since" {
	[ -e /proc/self/cgroup ] || skip "there are no cgroups"
	background nested burn 1000
	terminal
	type_line "cpuprof --live"
	wait_until shows "\\($pid\\)"
	keys p
	wait_until is_paused
	kill "$pid"
	wait_until refute test -e "/proc/$pid"
	keys s
	type_line "paused.jsonl"
	wait_until shows "^saved in 'paused.jsonl'"
	jq -e -s --argjson pid "$pid" 'any(.[]; .type == "process" and .pid == $pid and (.cmdline | test("nested burn")) and (.cgroup | length > 0))' \
		"$WORK/paused.jsonl"
	keys q
	wait_until_left
}

# bats test_tags=full
@test "steps back show each drawing's time once, to the first; forth leads to where it was" {
	local all steps=0 sum=0 head
	two_programs
	terminal
	type_line "cpuprof --live -p $nested -F 199 -o report.folded"
	wait_for_samples 200
	keys p
	wait_until is_paused
	all=$(samples)
	while :; do
		head=$(screen | head -n 1)
		keys '['
		has_stepped() { shows '^nothing older is kept' || [ "$(screen | head -n 1)" != "$head" ]; }
		wait_until has_stepped
		wait_until is_still
		! shows '^nothing older is kept' || break
		shows 's until [0-9:]{8}, PAUSED'
		steps=$((steps + 1)) sum=$((sum + $(samples)))
	done
	echo "$steps steps, $sum of $all samples"
	[ "$steps" -ge 2 ]
	[ "$sum" -eq "$all" ]
	for ((; steps > 1; steps--)); do
		keys ']'
	done
	wait_until is_still
	shows 's until [0-9:]{8}, PAUSED'
	sum=$(samples)
	keys q
	wait_until_left
	[ "$(awk '{ n += $NF } END { print n }' "$WORK/report.folded")" -eq "$sum" ]
}

# bats test_tags=full
@test "reset, only the last seconds, and decaying" {
	local before rate
	two_programs
	terminal
	type_line "cpuprof --live -p $nested -F 199"
	wait_for_samples 200
	keys r p
	fewer() { [ "$(samples)" -lt 150 ]; }
	wait_until fewer
	keys p
	wait_for_samples 400
	before=$(samples)
	keys w
	wait_until shows '^Show the last seconds'
	type_line 1
	wait_until shows 'the last [0-9.]+ s,'
	sleep 2
	screen | sed -nE '1s/.*the last ([0-9.]+) s,.*/\1/p; 2s/^([0-9]+) samples in ([0-9.]+) s.*/\1 \2/p' | xargs >"$WORK/shown"
	echo "of $before: $(cat "$WORK/shown")"
	awk -v before="$before" '{ exit !($2 > 0 && $2 < before && $1 == $3 && $2 <= 199 * $1 + 20) }' "$WORK/shown"
	keys w
	type_line nonsense
	wait_until shows "not a number of seconds: 'nonsense'"
	keys w
	type_line '~1'
	wait_until shows 'decaying, half in 1 s, every'
	# by slices of a second, half-lives of 1 s add up to 2 s: 1 + 1/2 + 1/4…; as many samples a second as in the last one
	rate=$(awk '{ print $2 / $3 }' "$WORK/shown")
	sleep 3
	screen | sed -nE '2s/^([0-9]+) samples in ([0-9.]+) s.*/\1 \2/p' >"$WORK/shown"
	echo "decaying: $(cat "$WORK/shown")"
	awk -v rate="$rate" '{ exit !($2 > 1 && $2 < 3 && $1 > 0.5 * rate * $2 && $1 < 2 * rate * $2) }' "$WORK/shown"
	keys s
	type_line "$WORK/decaying.jsonl"
	wait_until shows 'saved in'
	jq -es '.[0].half_life == 1 and .[-1].seconds > 1 and .[-1].seconds < 3' "$WORK/decaying.jsonl"
	keys w
	keys Enter
	wait_until shows 'since the start'
}

# bats test_tags=full
@test "an opened stack stays the same, while others come before it" {
	local i
	background /usr/bin/python3 -c 'import json, re
while True: re.sub("[0-9]+", lambda m: json.dumps([m[0]]), "".join(map(str, range(300))))'
	local python=$pid
	background nested burn 1000
	terminal 80 60
	type_line "cpuprof --live -F 99 -p $python,$pid"
	wait_for_samples 20
	keys l
	wait_until shows 'thread, and the stack'
	type_line '/nested'
	wait_until shows 'match'
	keys Enter
	wait_until shows '^[0-9]+ samples?, [0-9.]+ % of all'
	shows 'nested \('
	for i in 1 2 3; do
		local seen
		seen=$(samples)
		more() { [ "$(samples)" -gt "$seen" ]; }
		wait_until more
		shows '^[0-9]+ samples?, [0-9.]+ % of all'
		shows 'nested \('
	done
	keys q
	wait_until_left
}

# bats test_tags=full
@test "the refresh: < more often, > less often" {
	local shown often seldom
	two_programs
	terminal
	type_line "cpuprof --live -F 199 -p $nested -o report.folded"
	wait_until shows 'every 1 s'
	# how often the head changes in 4 s
	drawings() {
		local n=0 head now i
		head=$(samples)
		for i in {1..40}; do
			now=$(samples)
			[ "$now" = "$head" ] || n=$((n + 1))
			head=$now
			sleep 0.1
		done
		echo "$n"
	}
	keys '<' '<' '<' '<'
	wait_until shows 'every 0.25 s'
	often=$(drawings)
	keys '>' '>' '>'
	wait_until shows 'every 2 s'
	seldom=$(drawings)
	echo "$often and $seldom drawings"
	expect "$often > 1.5 * $seldom && $seldom > 0"
	# what has come since the last drawing is not in the report of who leaves
	wait_for_samples
	keys '>' '>' '>' '>'
	wait_until shows 'every 30 s'
	shown=$(samples)
	wait_until_it_ran "$nested" 1000
	keys q
	wait_until_left
	[ "$(awk '{ n += $NF } END { print n }' "$WORK/report.folded")" -eq "$shown" ]
}

# bats test_tags=full
@test "paused or left before the first drawing; a command that is not there; a duration" {
	two_programs
	terminal
	type_line "cpuprof --live -p $nested -o report.folded"
	wait_until shows '^Sampling'
	wait_until_it_ran "$nested" 150
	keys p q
	wait_until_left
	[ -s "$WORK/report.folded" ]
	type_line 'clear; cpuprof --live -- /no/such/program; echo status $?'
	wait_until shows '^status 127'
	shows "^cpuprof: cannot run '/no/such/program': No such file"
	wait_until_left
	# what has come since the last drawing is in the report of a measurement that ends by itself
	type_line "clear; cpuprof --live -p $nested -F 100 -o report.jsonl 2.7"
	wait_until shows '^Sampling'
	wait_until test -s "$WORK/report.jsonl"
	wait_until_left
	jq -e 'select(.type == "summary") | .seconds >= 2.7' "$WORK/report.jsonl"
	[ "$(head -n 1 "$WORK/report.jsonl" | jq -r .type)" = start ]
	# nothing of a report is in the view
	type_line "clear; cpuprof --live -j -p $nested 2>err"
	wait_for_samples 1
	refute shows 'type'
	keys q
	wait_until grep -q ' samples in ' "$WORK/err"
	screen -S - -J >"$WORK/scrolled"
	[ "$(grep -c '^{"type":"start"' "$WORK/scrolled")" -eq 1 ]
	refute grep start "$WORK/err"
}

@test "save: in the format of the ending; no file is replaced unasked" {
	local shown
	two_programs
	terminal
	type_line "cpuprof --live -p $nested"
	wait_for_samples
	keys p
	wait_until is_paused
	shown=$(samples)
	echo mine >"$WORK/there.folded"
	for name in new.folded new.jsonl new.svg new.pb.gz new.html new.json new.txt new.perf; do
		keys s
		type_line "$name"
		wait_until shows "^saved in '$name'"
		[ "$(stat -c %a "$WORK/$name")" = 600 ]
	done
	[ "$(awk '{ n += $NF } END { print n }' "$WORK/new.folded")" -eq "$shown" ]
	[ "$(jq -s 'map(select(.type == "stack").count) | add' "$WORK/new.jsonl")" -eq "$shown" ]
	[ "$(head -n 1 "$WORK/new.jsonl" | jq -r .type)" = start ]
	grep -q '</svg>' "$WORK/new.svg"
	gzip -t "$WORK/new.pb.gz"
	grep -q '</html>' "$WORK/new.html"
	[ "$(jq '[.profiles[].weights[]] | length > 0' "$WORK/new.json")" = true ]
	expect "$(awk 'NR > 1 { n += $3 } END { print n }' "$WORK/new.txt") > 0.9 * $shown"
	[ "$(grep -c '^nested ' "$WORK/new.perf")" -eq "$shown" ]
	keys s
	type_line there.folded
	wait_until shows '^The file exists. Replace it'
	keys n
	echo mine >"$WORK/nothing.png"
	keys s
	type_line nothing.png
	wait_until shows '^the name must end in'
	[ "$(cat "$WORK/there.folded")" = mine ]
	keys s
	type_line there.folded
	wait_until shows '^The file exists. Replace it'
	keys y
	wait_until shows "^saved in 'there.folded'"
	diff "$WORK/there.folded" "$WORK/new.folded"
	keys s
	type_line no/such/folder.folded
	wait_until shows 'cannot write'
	[ "$(ls "$WORK" | grep -c part)" -eq 0 ]
}

@test "60x12, 200x60 and smaller: the head is above, the last line below, the view in between" {
	local columns lines
	two_programs
	terminal
	type_line "cpuprof --live -p $nested,$other"
	wait_for_samples
	for size in 60x12 200x60 20x5 10x2 80x24; do
		columns=${size%x*} lines=${size#*x}
		tmux -S "$SOCKET" resize-window -x "$columns" -y "$lines"
		fits() {
			[ "$(screen | wc -l)" -eq "$lines" ] && screen | head -n 1 | grep -q "^Sampling" &&
				{ [ "$lines" -lt 12 ] || { screen | tail -n 1 | grep -q '^100.0 %' && screen | sed -n $((lines < 15 ? 3 : 4))p | grep -qx 'all *'; }; } &&
				{ [ "$lines" -lt 15 ] || screen | sed -n 3p | grep -qE "^[0-9.]+ % (nested|other) \([0-9]+\)   [0-9.]+ % (nested|other) "; }
		}
		wait_until fits
	done
	for pane in t l u P; do
		keys $pane
		for size in 60x12 10x2 200x60 80x24; do
			columns=${size%x*} lines=${size#*x}
			tmux -S "$SOCKET" resize-window -x "$columns" -y "$lines"
			# the last row is there, or as many as there is room for
			fits() {
				[ "$(screen | wc -l)" -eq "$lines" ] && screen | head -n 1 | grep -q "^Sampling" &&
					{ [ "$lines" -lt 12 ] || screen | sed -n '3,$p' | grep -q 'total\|thread\|command'; }
			}
			wait_until fits
		done
	done
	# by the mouse: a click selects the third row, a second one opens it; the wheel goes to the row below
	keys p u
	wait_until_drawn '^self %  total % +samples  function'
	local function
	function=$(screen | sed -n 7p | awk '{ print $4 }')
	keys -l $'\e[M #\''
	keys -l $'\e[M##\''
	sleep 0.2
	keys -l $'\e[M #\''
	keys -l $'\e[M##\''
	opened() { screen | grep -E '^[0-9.]+ % self, ' | grep -F " total: ${function%…}"; }
	wait_until opened
	keys BSpace
	wait_until_drawn '^self %  total % +samples  function'
	keys Home
	function=$(screen | sed -n 6p | awk '{ print $4 }')
	keys -l $'\e[Ma#$'
	keys Enter
	wait_until opened
	keys p f
	keys '?'
	wait_until_drawn '^q +quit'
	[ "$(screen | awk '{ print length }' | sort -n | tail -n 1)" -le 80 ]
	! shows '…$' || screen | sed -n '3,15p' | { ! grep '…'; }
	# a resize is no key, which would end the help
	tmux -S "$SOCKET" resize-window -x 90 -y 30
	wait_until_drawn '^q +quit'
	[ "$(screen | wc -l)" -eq 30 ]
	screen | tail -n 1 | grep -q '100.0 %'
	tmux -S "$SOCKET" resize-window -x 80 -y 24	# as before: stty -a has it
	keys q
	wait_until_left
}

@test "Ctrl-Z gives the terminal back, and fg the view" {
	need dash
	two_programs
	terminal
	type_line 'exec dash -i'	# it does not mend the terminal, as bash does
	type_line "cpuprof --live -p $nested"
	wait_for_samples
	keys C-z
	wait_until shows 'Stopped +cpuprof'
	[ "$(state '#{alternate_on} #{cursor_flag}')" = "0 1" ]
	type_line 'stty -a | diff - before && echo the "same"'
	wait_until shows '^the same$'
	type_line fg
	wait_until shows '^100\.0 %'
	[ "$(state '#{alternate_on}')" = 1 ]
	wait_for_samples 100
	# by a signal that cannot be handled, which leaves the picture there
	kill -STOP "$(tool_there)"
	wait_until shows 'Stopped.* cpuprof'
	keys -l fg	# the terminal takes keys as the view does: Enter is none
	keys C-j
	wait_for_samples $(($(samples) + 50))
	keys '?'
	wait_until_drawn '^q +quit'
	keys '?'
	keys q
	wait_until_left
}

@test "Ctrl-Z where no shell can continue it: the view goes on, and takes keys at once" {
	two_programs
	terminal
	tmux -S "$SOCKET" set-option -g remain-on-exit on
	tmux -S "$SOCKET" new-window "cd '$WORK' && PATH='$PATH' exec cpuprof --live -p $nested"
	wait_for_samples
	keys C-z
	wait_for_samples $(($(samples) + 50))
	keys '?'
	wait_until_drawn '^q +quit'
	keys q
	wait_until shows '^cpuprof: [0-9]+ samples in '
}

@test "colours: none with NO_COLOR; a locale without UTF-8 gets ASCII" {
	local colour=$'\e\\[[0-9;]*([34]8;5|3[0-7]|4[0-7])'
	two_programs
	LOCALE=C terminal
	type_line "cpuprof --live -p $nested,$other"
	wait_for_samples
	wait_until is_still
	screen -e | grep -qE "$colour"
	screen -e | sed -n '3,$p' | { ! grep -P '[^\x00-\x7f]'; }
	keys q
	wait_until_left
	type_line "clear; NO_COLOR=1 cpuprof --live -p $nested,$other"
	wait_for_samples
	wait_until is_still
	screen -e | { ! grep -E "$colour"; }
	shows '^(nested|other) +\|(nested|other)'
}

# bats test_tags=full
@test "each kind of terminal: its colours, and it is as before" {
	local type colours eight=$'\e\\[([0-9]+;)*(3[0-7]|4[0-7])m' more=$'\e\\[[0-9;]*[34]8;5'
	# of ncurses-term's xterm-direct, what matters here
	printf '%s\n' 'direct|red, green and blue,' ' RGB, colors#0x1000000, pairs#0x7FFF,' \
		' setaf=\E[%?%p1%{8}%<%t3%p1%d%e38:2::%p1%{65536}%/%d:%p1%{256}%/%{255}%&%d:%p1%{255}%&%d%;m,' \
		' setab=\E[%?%p1%{8}%<%t4%p1%d%e48:2::%p1%{65536}%/%d:%p1%{256}%/%{255}%&%d:%p1%{255}%&%d%;m,' \
		' use=xterm-256color,' >"$WORK/direct.ti"
	tic -x -o "$WORK/terminfo" "$WORK/direct.ti"
	two_programs
	terminal
	while read -r type colours; do
		type_line "clear; TERMINFO_DIRS=$WORK/terminfo: TERM=$type cpuprof --live -p $nested,$other"
		wait_for_samples
		wait_until is_still
		shows '^(nested|other) +.(nested|other)'
		screen -e >"$WORK/screen"
		case $colours in
		none) refute grep -E "$eight|$more" "$WORK/screen" ;;
		8) grep -qE "$eight" "$WORK/screen" && refute grep -E "$more" "$WORK/screen" ;;
		# a user frame, and one of the kernel's or a thread's
		256) grep -qE $'\e\\[[0-9;]*48;5;(215|179)m' "$WORK/screen" && grep -qE $'\e\\[[0-9;]*48;5;(251|248)m' "$WORK/screen" ;;
		all) grep -qE $'\e\\[[0-9;]*48;2;255;175;95m|\e\\[[0-9;]*48;2;215;175;95m' "$WORK/screen" &&
			refute grep -E $'48;2;0;0;|[34]8;5' "$WORK/screen" ;;
		esac || { echo "TERM=$type"; return 1; }
		keys q
		wait_until_left
	done <<-END
		vt100 none
		vt220 none
		xterm-mono none
		linux 8
		ansi 8
		rxvt 8
		screen 8
		tmux 8
		xterm 8
		screen-256color 256
		tmux-256color 256
		xterm-256color 256
		direct all
	END
}

# SECONDS at most, but not 0
some_time() { sleep "$((RANDOM % $1)).$((RANDOM % 9 + 1))"; }

# a random child of the process
child_of() { cat "/proc/$1/task"/*/children | tr ' ' '\n' | grep . | shuf -n 1; }

# The view ends by each of the signals; before WORKER, at another moment, one of its children does. The terminal is as before.
end_by() {	# SECONDS SIGNAL|WORKER...
	local signal tool child
	need dash
	two_programs
	terminal
	for signal in "${@:2}"; do
		tmux -S "$SOCKET" clear-history
		# a shell that mends no terminal is the first to see it
		type_line "clear; dash -c 'cpuprof --live -q -p $nested -o report.folded 2>err; stty -a >ended'"
		tool=
		tool_begun() { tool=$(cat "/proc/$(tool_there)/task"/*/children 2>/dev/null | xargs) && [ -n "$tool" ] && [ "$(cat "/proc/$tool/comm")" = cpuprof ]; }
		wait_until tool_begun
		case $signal in
		TERM | INT | HUP) some_time "$1" ;;
		# before the view, these are nobody's business
		*) wait_for_samples 1 && some_time 1 ;;
		esac
		if [ "$signal" = WORKER ]; then
			some_time 1
			child=$(child_of "$tool")
			kill -KILL "$child"
			wait_until_gone "$child"
			wait_for_samples "$(($(samples) + 100))"
			signal=TERM
		fi
		kill -"$signal" "$tool"
		wait_until_gone "$tool"
		wait_until test -s "$WORK/ended"
		cmp "$WORK/before" "$WORK/ended" && wait_until_left || { echo "after SIG$signal"; return 1; }
		rm "$WORK/ended"
	done
}

# bats test_tags=full
@test "ended by a signal at any moment, it leaves the terminal as it was" {
	end_by 1 TERM INT HUP SEGV ABRT QUIT USR1 WORKER
}

# bats test_tags=full
@test "ended by a signal at 50 random moments, also when a worker has died: the terminal is as before" {
	end_by 3 $(shuf -r -n 50 -e TERM INT HUP USR2 RTMIN XCPU WORKER)
}

# bats test_tags=full
@test "in the background it measures on and draws nothing; kill ends it there, too" {
	two_programs
	terminal
	# its messages may come when the shell is already there
	type_line "cpuprof --live -p $nested -o report.folded 2>err"
	wait_for_samples
	keys C-z
	wait_until shows 'Stopped +cpuprof'
	type_line 'clear; bg; stty -a | diff - before && echo the "same"'
	wait_until shows '^the same$'
	wait_until_it_ran "$nested" 1000
	refute shows '^Sampling'
	type_line fg
	wait_for_samples 150	# 50 of them since bg
	keys C-z
	wait_until shows 'Stopped +cpuprof'
	type_line 'clear; kill %1'
	wait_until test -e "$WORK/report.folded"
	wait_until grep -q ' samples in ' "$WORK/err"
	keys Enter
	wait_until_left
	[ "$(awk '{ n += $NF } END { print n }' "$WORK/report.folded")" -ge 150 ]
}

@test "a command writes nothing into the view and reads no key; its output is printed afterwards" {
	terminal
	echo 'cat; while :; do echo to standard output; echo to standard error >&2; printf "\033[35mmagenta\033[0m\n"; sleep 0.1; done' >"$WORK/command"
	type_line 'cpuprof --live -o report.folded -- sh command'
	wait_until shows '^(to standard (error|output)|\\x1b\[35mmagenta.*) *$'
	sleep 1
	# the last line that it wrote is below; nothing else of it is on the screen
	[ "$(screen | sed '$d' | grep -cE 'to standard|magenta')" -eq 0 ]
	keys o
	all_of_it() { [ "$(screen | sed '1,2d; $d' | grep -cE '^to standard (error|output)$')" -gt 10 ]; }
	wait_until all_of_it
	shows '^\\x1b\[35mmagenta'
	keys u
	wait_until shows '^self %'
	keys C-c
	wait_until_left
	shows '^to standard output$'
	shows '^to standard error$'
	test -e "$WORK/report.folded"
}

@test "a command that writes without end: little of it is kept, the last lines are printed, and what outlives the tool goes on" {
	local keeper file
	terminal
	echo 'while :; do echo alive; echo again >alive; sleep 0.1; done' >"$WORK/outlives"
	echo 'sh outlives & echo $! >pid; exec yes a line of the command' >"$WORK/command"
	type_line 'cpuprof --live -q -o report.folded -- sh command & echo $! >tool; fg'
	wait_until shows '^a line of the command *$'
	keeper=$(pgrep -x -P "$(cat "$WORK/tool")" ehperf-output)
	file=/proc/$keeper/fd/1
	readlink "$file" | grep '^/memfd:ehperf output'
	for _ in {1..20}; do
		[ "$(stat -L -c %b "$file")" -lt 4096 ] || { stat -L "$file"; return 1; }	# of 512 bytes
		sleep 0.1
	done
	expect "$(stat -L -c %s "$file") > 10e6"
	keys C-c
	wait_until_left
	shows '^a line of the command$'
	rm "$WORK/alive"
	wait_until test -s "$WORK/alive"
	kill "$(cat "$WORK/pid")"
	wait_until_gone "$keeper"
}

# bats test_tags=timing
@test "a terminal that stops reading: the measuring ends in time, and the report is written" {
	local tty tool
	two_programs
	terminal 200 50
	type_line "cpuprof --live -p $nested -F 997 -o report.jsonl 8; echo status \$? >left"
	wait_for_samples
	stopped_server=$(state '#{pid}') tty=$(state '#{pane_tty}') tool=$(tool_there)
	kill -STOP "$stopped_server"
	status=0
	timeout 1 head -c 1M /dev/zero >"$tty" || status=$?
	[ "$status" = 124 ]	# there is no room any more for what is drawn
	[ ! -s "$WORK/left" ]
	kill -CONT "$tool"
	wait_until test -s "$WORK/left"
	kill -CONT "$stopped_server"
	[[ $(<"$WORK/left") == 'status 0' ]]
	[ "$(jq 'select(.type == "summary") | .seconds >= 8 and .seconds < 9' "$WORK/report.jsonl")" = true ]
	wait_until_left
}

@test "a thread's name is escaped" {
	terminal
	background bash -c 'printf "%b" "\\033[2J\\033]0;x\\007y" >/proc/$$/comm; while :; do :; done'
	type_line "cpuprof --live -p $pid"
	wait_for_samples
	wait_until shows '^\\x1b\[2J\\x1b\]0\\x3bx\\x07y'
	keys t
	wait_until shows '- \\x1b\[2J'
	shows '^Sampling'
}

@test "offcputime, offwaketime and stackcount have it" {
	terminal
	background nested sleep
	type_line "offcputime --live -p $pid -o report.folded"
	wait_for_samples
	wait_until shows '^100\.0 %, [0-9]+ us: all'
	keys p
	wait_until is_paused
	screen | tail -n 1 >"$WORK/shown"
	# a stack begins with the function that has its time for itself, not with the scheduler
	keys u
	wait_until_drawn '^self %'
	screen | awk 'NR == 5 { print $4 }' >"$WORK/function"
	keys l
	wait_until_drawn '^ +% +us  thread'
	grep -q . "$WORK/function"
	screen | sed -n 5p | grep -F "nested ($pid) " | grep -F " $(cat "$WORK/function") <"
	keys q
	wait_until_left
	# each text is rounded to the nearest microsecond for itself
	read -r shown lines < <(sed -nE 's/.* ([0-9]+) us: all.*/\1/p' "$WORK/shown" | tr '\n' ' '; wc -l <"$WORK/report.folded")
	awk -v shown="$shown" -v lines="$lines" '{ n += $NF } END { off = n > shown ? n - shown : shown - n; exit !(off <= (lines + 1) / 2) }' "$WORK/report.folded"
	type_line "clear; offwaketime --live -p $pid"
	wait_for_samples
	wait_until shows ' us: all'
	keys q
	wait_until_left
	type_line "clear; stackcount --live -p $pid t:sched:sched_switch"
	wait_for_samples
	wait_until shows '^100\.0 %, [0-9]+ events: all'
	keys q
	wait_until_left
}

# bats test_tags=full
@test "wallprof has it: a thread's states, as its own account has them; q leaves the report" {
	terminal
	background perl -e 'while (1) { my $until = times + 0.2; 1 while times < $until; select undef, undef, undef, 0.3 }'
	local ran waited began now shown
	type_line "clear; wallprof --live -o - -o page.html -p $pid"
	wait_for_samples 500
	# over the same time as a window of the view that begins now: proc_pid_schedstat, in ns
	read -r ran waited _ <"/proc/$pid/schedstat"
	began=$(date +%s%N)
	keys r
	wait_until shows '^[0-9]+ records, [4-9]\.'
	keys p
	wait_until is_paused
	read -r ran waited now < <(awk -v ran="$ran" -v waited="$waited" -v ns="$(($(date +%s%N) - began))" \
		'{ print 100 * ($1 - ran) / ns, 100 * ($2 - waited) / ns, ns / 1e9 }' "/proc/$pid/schedstat")
	keys /
	keys -l '^\[running\]$'
	keys Enter
	wait_until shows '^[0-9.]+ % match\.'
	shown=$(screen | sed -nE 's/^([0-9.]+) % match\..*/\1/p')
	echo "of $now s: running $ran %, waiting $waited %; shown: running $shown %"
	expect "$shown - $ran < 8 && $ran - $shown < 8"
	keys q
	wait_until_left
	screen -S -100 | grep -q 'BLOCKED   WAKE-UPS'
}

# a thread that computes 0.2 s of CPU time, sleeps 0.3 s, and so on
computes_and_sleeps() {
	background /usr/bin/python3 -c 'import time
while True:
	end = time.thread_time() + 0.2
	while time.thread_time() < end: pass
	time.sleep(0.3)'
}

# the share of a state in the file of stacks, in percent, as the view prints it
share_of() {	# EVENT
	jq -n --arg event "$1" '[inputs | select(.type == "stack")] | 100 * (map(select(.event | startswith($event)).value_ns) | add) / (map(.value_ns) | add)' \
		"$WORK/shown.jsonl" | xargs printf '%.1f\n'
}

# bats test_tags=full
@test "wallprof: the time by state, as saved, as the program spends it, and in the timeline that q leaves" {
	local shown state
	terminal 80 200
	computes_and_sleeps
	type_line "wallprof --live -p $pid -o report.jsonl"
	wait_for_samples 100
	wait_until_it_ran "$pid" 2000
	keys p
	wait_until is_paused
	shown=$(samples)
	shows "^$shown records, [0-9.]+ s in [0-9.]+ s, [0-9.]+ s a second, [0-9.]+ % complete, 0 lost"
	keys s
	type_line shown.jsonl
	wait_until shows "^saved in 'shown.jsonl'"
	keys t
	wait_until_drawn '^total %  self %'
	screen >"$WORK/tree"
	wait_until_it_ran "$pid" 500
	keys q
	wait_until_left
	[ "$(jq -n '[inputs | select(.type == "stack").count] | add' "$WORK/shown.jsonl")" -eq "$shown" ]
	grep -qE "^ +$(share_of '[blocked S]') +0\.0  +[-+] \[blocked S\] *$" "$WORK/tree"
	# a sample may be missing at each end of a run
	expect "($(share_of '[running]') / $(share_of '[blocked') - 2 / 3) ^ 2 < 0.02"
	valid_json "$WORK/shown.jsonl"
	jq -ne '[inputs | select(.type == "period") | {state, ns: (.to_ns - .from_ns)}] | group_by(.state) |
		map({key: .[0].state, value: (map(.ns) | add)}) | from_entries | (.running / .blocked - 2 / 3 | fabs) < 0.1' "$WORK/report.jsonl"
	# of the time that was shown, not of the pause
	expect "($(sed -nE '2s/.* in ([0-9.]+) s,.*/\1/p' "$WORK/tree") - $(jq 'select(.type == "summary").seconds' "$WORK/report.jsonl")) ^ 2 < 0.01"
	expect "($(jq -n '[inputs | select(.type == "stack" and .event == "[blocked S]").value_ns] | add' "$WORK/shown.jsonl") / \
		$(jq -n '[inputs | select(.state == "blocked" and .why == "S") | .to_ns - .from_ns] | add' "$WORK/report.jsonl") - 1) ^ 2 < 0.0001"
	jq -ne '[inputs] | (map(select(.type == "thread"))[0]) as $thread | map(select(.type == "period")) |
		.[0].from_ns == $thread.from_ns and .[-1].to_ns == $thread.to_ns and length >= $thread.periods' "$WORK/report.jsonl"
	flame "$WORK/report.jsonl" -o "$WORK/timeline.html"
	# what was saved can be read again
	flame "$WORK/shown.jsonl" -o "$WORK/again.folded"
	for state in running waiting 'blocked S'; do
		awk -v state="[$state]" '{ all += $NF } index($0, ";" state ";") { n += $NF } END { printf "%.1f\n", 100 * n / all }' "$WORK/again.folded"
		share_of "[$state]"
	done >"$WORK/shares"
	[ "$(sed -n 'p;n' "$WORK/shares")" = "$(sed -n 'n;p' "$WORK/shares")" ]
}

# bats test_tags=full
@test "wallprof: of a window, q leaves the timeline of just that time" {
	local state
	terminal 80 200
	computes_and_sleeps
	type_line "wallprof --live -p $pid -o report.jsonl"
	wait_until_it_ran "$pid" 2500
	keys w
	wait_until shows '^Show the last seconds'
	type_line 3
	wait_until shows 'the last [0-9.]+ s,'
	keys p
	wait_until is_paused
	keys s
	type_line shown.jsonl
	wait_until shows "^saved in 'shown.jsonl'"
	wait_until_it_ran "$pid" 500
	keys q
	wait_until_left
	# it does not begin where the measurement does: the thread is there, and began before
	jq -es 'map(select(.type == "period")) | (map(.to_ns) | max) - (map(.from_ns) | min) | . > 1.9e9 and . < 4.1e9' "$WORK/report.jsonl"
	# what was shown is what was left, state by state
	for state in running blocked; do
		jq -s --arg state "$state" '[map(select(.type == "stack" and (.event | test($state))).value_ns) | add] | .[0]' "$WORK/shown.jsonl"
		jq -s --arg state "$state" '[map(select(.type == "period" and .state == $state) | .to_ns - .from_ns) | add] | .[0]' "$WORK/report.jsonl"
	done | paste - - | tee "$WORK/states"
	awk '{ bad += ($1 / $2 - 1) ^ 2 > 0.01 } END { exit bad || NR != 2 }' "$WORK/states"
}

row_of() { screen | sed -nE "s#^$1 +([RWBL]+) *\$#\1#p"; }
scale() { screen | sed -n 3,4p | grep -oE '\|[0-9.]+ s' | tr -d '| s' | xargs; }
last_line_has() { screen | tail -n 1 | grep -qE -e "$1"; }

# bats test_tags=full
@test "wallprof: what the timeline saves while it is measured is what q leaves of that time, in each format; and only what matches" {
	local first
	background sh -c 'while :; do sleep 0.01; done'
	first=$pid
	computes_and_sleeps
	terminal 80 30
	type_line "wallprof --live -p $first,$pid -o report.jsonl -o report.folded -o report.pftrace -o report.json -o report.svg"
	wait_until_it_ran "$pid" 2500
	keys w
	wait_until shows '^Show the last seconds'
	type_line 2
	wait_until shows 'the last [0-9.]+ s,'
	keys p
	wait_until is_paused
	keys i
	wait_until is_still
	for name in saved.jsonl saved.folded saved.pftrace saved.json saved.svg saved.html saved.txt; do
		keys s
		wait_until shows '^Save as .*\.pftrace'
		type_line $name
		wait_until shows "^saved in '$name'"
	done
	keys s
	type_line saved.perf
	wait_until shows '^the name must end in .*\.pftrace'
	wait_until_it_ran "$pid" 500
	keys q
	wait_until_left
	wait_until test -s "$WORK/report.svg"
	valid_json "$WORK/saved.jsonl"
	timeline_of() { jq -c 'select(.type == "thread" or .type == "period" or .type == "sample")' "$WORK/$1.jsonl"; }
	timeline_of report >"$WORK/timeline"
	[ "$(wc -l <"$WORK/timeline")" -gt 100 ]
	timeline_of saved | cmp - "$WORK/timeline"
	# each stack is named by something, and all that is named is there
	jq -r 'select(.type == "stacks").id' "$WORK/saved.jsonl" | sort -u >"$WORK/there"
	jq -r 'select(.type == "period" or .type == "sample") | .stack, .woken_by.stack // empty | select(. > 0)' "$WORK/saved.jsonl" | sort -u | diff - "$WORK/there"
	cmp "$WORK/saved.folded" "$WORK/report.folded"
	jq .profiles "$WORK/report.json" >"$WORK/profiles"
	jq .profiles "$WORK/saved.json" | cmp - "$WORK/profiles"
	for name in report saved; do
		grep -o '<title>.*</title>' "$WORK/$name.svg" >"$WORK/$name.titles"
	done
	[ -s "$WORK/saved.titles" ]
	cmp "$WORK/saved.titles" "$WORK/report.titles"
	expect "$(stat -c %s "$WORK/saved.pftrace") > 0.9 * $(stat -c %s "$WORK/report.pftrace")"
	grep -q '</html>' "$WORK/saved.html"
	grep -q running "$WORK/saved.txt"

	type_line "wallprof --live -p $first,$pid -o report2.jsonl"
	wait_until shows '^[0-9]+ records'
	sleep 2
	only "^$pid\$"
	wait_until shows "only /"
	keys i
	wait_until shows "^python3 \\($pid/$pid\\) "
	keys s
	type_line only.jsonl
	wait_until shows "^saved in 'only.jsonl'"
	[ "$(jq -r 'select(.type == "thread").pid' "$WORK/only.jsonl" | sort -u)" = "$pid" ]
	[ "$(jq -r 'select(.type == "summary").only' "$WORK/only.jsonl")" = "^$pid\$" ]
	[ "$(jq -s 'map(select(.type == "period")) | length' "$WORK/only.jsonl")" -gt 10 ]
	valid_json "$WORK/only.jsonl"
	jq -r 'select(.type == "summary").said' "$WORK/only.jsonl" | grep -qx "wallprof: these are only the threads with stacks that match \"^$pid\\$\""
	keys q
	wait_until_left

	# whether all threads are idle, all tell, not those that match
	background idle all
	wait_until grep -q ready "$WORK/background.out"
	type_line "wallprof --live -p $first,$pid -o report3.jsonl"
	wait_until shows '^[0-9]+ records'
	sleep 2
	only "^$pid\$"
	wait_until shows "only /"
	keys i
	wait_until_drawn "^idle \\($pid/$pid\\) "
	keys s
	type_line idle.jsonl
	wait_until shows "^saved in 'idle.jsonl'"
	[ "$(jq 'select(.type == "summary").idle_threads' "$WORK/idle.jsonl")" -eq "$(grep -c ' idle ' "$WORK/background.out")" ]
	keys q
	wait_until_left
}

@test "wallprof's timeline: a letter for each state as long as it took, and the shares those of the JSON" {
	local row shares first seconds
	# wide enough for all of it
	terminal 500 24
	computes_and_sleeps
	type_line "wallprof --live -p $pid -o report.jsonl -o report.html -o report.pftrace"
	wait_for_samples 100
	wait_until_it_ran "$pid" 2000
	keys i
	wait_until last_line_has "^python3 \\($pid/$pid\\): [0-9.]+ % Running, [0-9.]+ % Waiting, [0-9.]+ % Blocked"
	keys p
	wait_until is_paused
	row=$(row_of "python3 \\($pid/$pid\\)")
	read -r first seconds _ < <(scale)
	[ "$first $seconds" = "0 1" ]
	screen | tail -n 1 | grep -oE '[0-9.]+ % [RWB]' | sed 's/ % / /' >"$WORK/shares"
	# finer: each sleep of 0.3 s is five cells of 0.05 s at least, unless it is at an end
	keys +
	finer() { [[ " $(scale) " == *.5\ * ]]; }
	wait_until finer
	row_of "python3 \\($pid/$pid\\)" | grep -oE '[RW]B+[RW]' | { ! grep -vE 'BBBBB'; }
	keys q
	wait_until_left
	grep -q '</html>' "$WORK/report.html"
	[ -s "$WORK/report.pftrace" ]
	# the same from the JSON, of as many tenths of a second
	jq -n --argjson cells "${#row}" '[inputs | select(.type == "period")] | (.[0].from_ns + $cells * 1e8) as $until |
		map({key: .state, ns: (([.to_ns, $until] | min) - .from_ns)} | select(.ns > 0)) | (map(.ns) | add) as $all |
		group_by(.key) | map({key: .[0].key, value: (100 * (map(.ns) | add) / $all)}) | from_entries |
		"\(.running) R", "\(.waiting) W", "\(.blocked) B"' -r "$WORK/report.jsonl" >"$WORK/reported"
	paste "$WORK/shares" "$WORK/reported"
	paste "$WORK/shares" "$WORK/reported" | awk '{ bad += $2 != $4 || $1 - $3 > 1 || $3 - $1 > 1 } END { exit bad || NR != 3 }'
	expect "($(awk '{ share[$2] = $1 } END { print share["R"] / share["B"] }' "$WORK/shares") - 2 / 3) ^ 2 < 0.02"
	# as long as there are cells, and no more than rounding apart
	awk -v row="$row" '{ share = 100 * gsub($2, "", row) / '${#row}'; bad += share - $1 > 25 || $1 - share > 25 } END { exit bad || NR != 3 }' "$WORK/shares"
}

# bats test_tags=full
@test "the head counts what was lost in the time that is shown; so does the report that q leaves" {
	local busy before
	background busy-bpf 300
	busy=$pid
	two_programs
	terminal 120 24
	type_line "cpuprof --live -F 499 -o report.jsonl"
	lost() { screen | sed -nE '2s/.*, ([0-9]+) lost.*/\1/p' | grep . || echo 0; }
	some_lost() { [ "$(lost)" -ge 20 ]; }
	wait_until some_lost
	kill "$busy"
	wait_until_gone "$busy"
	sleep 1
	before=$(lost)
	keys r
	fewer_lost() { [ "$(samples)" -ge 20 ] && [ "$(lost)" -lt "$before" ]; }
	wait_until fewer_lost
	keys p
	wait_until is_paused
	before=$(lost)
	keys q
	wait_until_left
	[ "$(jq 'select(.type == "summary").lost' "$WORK/report.jsonl")" -eq "$before" ]
}

# bats test_tags=full
@test "wallprof's timeline marks what was lost, and the head counts it" {
	local tid share
	terminal 300 24
	background ring pipe 4 100000000
	type_line "wallprof --live --buffer 4 -p $pid -o report.jsonl"
	# so long that the end, of which the timeline tells nothing yet, has little weight
	long_enough() { [ "$(screen | sed -nE '2s/.* in ([0-9]+)\.[0-9]+ s,.*/\1/p')" -ge 3 ]; }
	wait_until long_enough
	keys i
	wait_until shows '^ring [^L]+L'
	keys p
	wait_until is_paused
	screen | sed -n 2p | grep -qE ', [1-9][0-9]* lost'
	read -r tid share < <(screen | tail -n 1 | sed -nE 's#^ring \([0-9]+/([0-9]+)\): .* ([0-9.]+) % Lost.*#\1 \2#p')
	keys q
	wait_until_left
	expect "($(jq -n --argjson tid "$tid" '[inputs | select(.type == "period" and .tid == $tid)] | map(.to_ns - .from_ns) as $all |
		100 * (map(select(.state == "lost") | .to_ns - .from_ns) | add) / ($all | add)' "$WORK/report.jsonl") - $share) ^ 2 < 25"
}

# bats test_tags=full
@test "wallprof's timeline: it scrolls with the measurement, and steps back; most active first; ASCII, no colours" {
	local before colour=$'\e\\[[0-9;]*([34]8;5|3[0-7]|4[0-7])'
	computes_and_sleeps
	local computes=$pid
	background sleep 1000
	local sleeps=$pid
	LOCALE=C terminal 80 12
	type_line "wallprof --live -p $sleeps,$computes"
	wait_for_samples 1000
	keys i
	wait_until_drawn "^python3"
	[ "$(screen | sed -nE '4,5s/ .*//p' | xargs)" = "python3 sleep" ]
	screen -e | sed -n 5p | grep -qE "$colour"
	keys /
	type_line '^sleep'
	wait_until last_line_has "^sleep \\($sleeps/$sleeps\\): 0.0 % Running, 0.0 % Waiting, 100.0 % Blocked"
	only '^sleep$'
	only_sleeps() { shows '^sleep \(' && ! shows '^python3 \('; }
	wait_until only_sleeps
	only ''
	wait_until shows '^python3 \('
	scrolled() { [ "$(scale | cut -d ' ' -f 1)" != 0 ]; }
	wait_until scrolled
	keys p
	wait_until is_paused
	before=$(scale)
	keys '['
	wait_until shows ' s until '
	wait_until is_still
	expect "$(scale | cut -d ' ' -f 1) <= ${before%% *}"
	keys q
	wait_until_left
	type_line "clear; NO_COLOR=1 wallprof --live -p $sleeps,$computes"
	wait_for_samples 500
	keys i
	wait_until_drawn '^sleep \([0-9/]+\) +B+ *$'
	screen -e | { ! grep -E "$colour"; }
	# who has no timeline has no key for it
	keys q
	wait_until_left
	type_line "clear; cpuprof --live -p $computes"
	wait_for_samples
	keys u i
	wait_until shows '^self %'
	keys Tab
	wait_until shows '^ +% +samples +PID'
	keys Tab
	wait_until shows '^100\.0 %, [0-9]+ samples: all'
}

@test "without a terminal, and with options that make no sense with it: one line, and exit status 2" {
	need_root
	run cpuprof --live </dev/null
	[[ "$status $output" == "2 cpuprof: --live: standard input and output must be a terminal" ]]
	need tmux
	terminal
	type_line 'clear; cpuprof --live --every 1 2>&1 | cat; TERM=dumb cpuprof --live; echo status $?'
	wait_until shows '^status 2'
	shows 'cpuprof: --live and --every exclude each other'
	shows 'cpuprof: --live: the terminal is not one that can be drawn on: see TERM'
	run funclat --help
	[[ $output != *--live* ]]
}

@test "--serve beside it: the last line has the URL; a browser gets what the report has" {
	need curl jq python3
	local url
	two_programs
	terminal
	type_line "cpuprof --live --serve -p $nested,$other -o report.jsonl"
	wait_for_samples
	wait_until shows '^http://127\.0\.0\.1:[0-9]+/[0-9a-f]{32}/ *$'
	url=$(screen | grep -oE 'http://127\.0\.0\.1:[0-9]+/[0-9a-f]{32}/')
	# nobody looks yet, so that a slice is long
	wait_until shows ' samples in [4-9]\.'
	curl -sN "${url}events" >"$WORK/events" 3>&- &
	local reader=$!
	pids+=("$reader")
	wait_for_samples 200
	# who looks in a browser gets a slice a second, however seldom the terminal is drawn
	keys '>' '>' '>' '>'
	wait_until shows 'every 30 s'
	local had
	wait_until grep -q '^event: slice' "$WORK/events"
	had=$(grep -c '^event: slice' "$WORK/events")
	five_more() { [ "$(grep -c '^event: slice' "$WORK/events")" -ge $((had + 5)) ]; }
	SECONDS=0
	wait_until five_more
	[ "$SECONDS" -lt 25 ]
	keys '<' '<' '<' '<'
	wait_until shows 'every 1 s'
	wait_for_samples $(($(samples) + 1))
	keys q
	wait_until_left
	wait "$reader"
	sed -n 's/^data: {"begins"/{"begins"/p' "$WORK/events" | jq -se 'map(.summary.seconds) | .[0] > 2.5 and (.[1:] | min) < 0.6 * .[0]'
	stream-stacks "$WORK/events" >"$WORK/streamed"
	diff <(jq -s 'map(select(.type == "stack") | .count) | add' "$WORK/report.jsonl") <(jq -s 'map(select(.type == "stack") | .count) | add' "$WORK/streamed")
	# it stays in the terminal
	shows "open $url in"
}
