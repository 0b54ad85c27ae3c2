#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What the endings of -o's file select, as its readers see it: browsers, go tool pprof, importers.

load lib

# one run of cpuprof on a program whose stacks are known, as $WORK/out.ENDING
profile() {	# ENDING [OPTION...]
	local ending=$1
	shift
	cpuprof -q -F 999 "$@" -o "$WORK/out.$ending" -- nested burn 1 2>"$WORK/err" >/dev/null
}

# the number of samples, as the tool said at the end
samples() {
	sed -nE 's/^cpuprof: ([0-9]+) samples? in .*/\1/p' "$WORK/err"
}

# 1234 -> 1,234
with_commas() {
	sed -E ':more; s/^([0-9]+)([0-9]{3})/\1,\2/; t more' <<<"$1"
}

@test ".svg: a picture without scripts: each frame's share is its samples'" {
	need_root
	need xmllint
	profile svg
	xmllint --noout "$WORK/out.svg"
	[ "$(samples)" -gt 100 ]
	[ "$(xmllint --xpath 'string(//*[@id = "frames"]/*[1]/*[local-name() = "title"])' "$WORK/out.svg")" = "all: $(samples) samples, 100.00 %" ]
	# its callees stand on it, side by side, and are as wide as their samples
	xmllint --xpath '//*[@id = "frames"]/*/*[local-name() = "title"]/text()' "$WORK/out.svg" | grep -q '^nested: '
	sed 's,http://www.w3.org/\(2000/svg\|1999/xhtml\),,g' "$WORK/out.svg" >"$WORK/names"
	refute grep -nE '(href|src) *=|url\(|@import|https?://' "$WORK/names"
}

# bats test_tags=full
@test "-o several times: one run in each format, the sums are the same; not twice to one file" {
	need_root
	need xmllint jq
	local args
	cpuprof -F 499 -o "$WORK/x.jsonl" -o - -o "$WORK/x.svg" -o "$WORK/x.folded" -- nested burn 0.5 >"$WORK/out" 2>"$WORK/err"
	[ "$(samples)" -gt 50 ]
	[ "$(jq -s 'map(select(.type == "stack").count) | add' "$WORK/x.jsonl")" -eq "$(samples)" ]
	[ "$(head -n 1 "$WORK/x.jsonl" | jq -r .type)" = start ]
	[ "$(awk '{ n += $NF } END { print n }' "$WORK/x.folded")" -eq "$(samples)" ]
	grep -q "<title>all: $(samples) samples" "$WORK/x.svg"
	[ "$(awk '/ samples?, .* of all/ { n += $1 } END { print n }' "$WORK/out")" -eq "$(samples)" ]
	# each by itself where there are intervals
	cpuprof -q --every 0.2 -o "$WORK/of-%Y.svg" -o "$WORK/all.folded" -o "$WORK/of-%Y.jsonl" -- nested burn 0.5 2>/dev/null
	[ -s "$WORK/of-$(date +%Y)-2.svg" ]
	[ -s "$WORK/of-$(date +%Y)-2.jsonl" ]
	[ "$(awk 'NF { n += $NF } END { print n }' "$WORK/all.folded")" -eq \
		"$(cat "$WORK"/of-*.jsonl | jq -s 'map(select(.type == "stack").count) | add')" ]
	ln -s . "$WORK/here"
	for args in "-o - -o -" "-o /dev/stdout -o -" "-o $WORK/y.svg -o $WORK/here/y.svg"; do
		run cpuprof $args 0.1
		echo "$output"
		[ "$status" -eq 2 ]
		[[ "${lines[0]}" == *"two -o name the same file"* ]]
	done
	# one that cannot be opened is known before anything is measured, and leaves none behind
	run cpuprof -o "$WORK/z.svg" -o "$WORK/nowhere/z.svg"
	[ "$status" -eq 1 ]
	[ -z "$(ls "$WORK" | grep '^z')" ]
}

@test "command lines tell processes of one name apart: text, JSON, pages; of what a process has become, too" {
	need_root
	need jq xmllint
	local one two burner=$ROOT/build/tests/nested
	background "$burner" burn 60
	one=$pid
	# it becomes the program while it is measured
	background sh -c 'until [ -e "$1" ]; do :; done; exec "$0" burn 61' "$burner" "$WORK/go"
	two=$pid
	rm -f "$WORK/err"
	cpuprof -F 499 -p "$one,$two" -o "$WORK/x.jsonl" -o "$WORK/x.txt" -o "$WORK/x.html" -o "$WORK/x.folded" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	wait_until_it_ran "$two" 300
	touch "$WORK/go"
	wait_until grep -qx nested "/proc/$two/comm"
	wait_until_it_ran "$two" 500
	wait_until_it_ran "$one" 100
	kill -INT "$tool"
	wait "$tool"
	jq -c 'select(.type == "process")' "$WORK/x.jsonl"
	for one in "$one 60" "$two 61"; do
		jq -se --argjson pid "${one% *}" --arg line "$burner burn ${one#* }" \
			'map(select(.type == "process" and .pid == $pid)) | length == 1 and .[0].cmdline == $line' "$WORK/x.jsonl"
		grep -A 1 -E "^    - +nested \(${one% *}\)$" "$WORK/x.txt" | grep -qxF "    command:         $burner burn ${one#* }"
		grep -oE '^"commands":.*' "$WORK/x.html" | sed 's/^"commands"://; s/,$//' | jq -e --arg line "$burner burn ${one#* }" 'any(.[]; . == $line)'
	done
	# folded stacks are as bcc's
	refute grep -q 'burn 6' "$WORK/x.folded"
	# a process line comes before the stacks of the process
	jq -se '[foreach .[] as $l ({}; if $l.type == "process" then .[$l.pid | tostring] = true else . end;
		select($l.type == "stack") | .[$l.pid | tostring])] | all' "$WORK/x.jsonl"
}

@test "command lines are an attacker's choice: escaped in every format, cut, none of who has gone or has none" {
	need_root
	need jq setpriv
	local long ending
	long=$(head -c 100000 /dev/zero | tr '\0' a)
	chmod 755 "$WORK"
	mkfifo -m 666 "$WORK/fifo"
	# more at once than go into one request
	cat >"$WORK/many" <<-'END'
		for i in $(seq 70); do
			(exec -a "$(printf 'x\033[31m\n;\xff\u202e</script>%s' "$i")" bash -c 'read -t 8 x <>"$0"' "$1" "$2") &
		done
		wait
	END
	offcputime -q -o "$WORK/x.jsonl" -o "$WORK/x.txt" -o "$WORK/x.html" -o "$WORK/x.svg" -o "$WORK/x.pb.gz" -- \
		setpriv --reuid=65534 --regid=65534 --clear-groups bash "$WORK/many" "$WORK/fifo" "$long" 2>"$WORK/err"
	jq -se 'map(select(.type == "process" and (.cmdline // "" | startswith("x\u001b[31m"))).cmdline) | unique | length == 70' "$WORK/x.jsonl"
	jq -se 'map(select(.type == "process").cmdline // "" | utf8bytelength) | max <= 123 + 2 * 120' "$WORK/x.jsonl"
	jq -se 'map(select(.type == "process" and (.cmdline // "" | startswith("x"))).cmdline) | all(endswith("…"))' "$WORK/x.jsonl"
	for ending in jsonl txt html svg; do
		echo "$ending"
		iconv -f utf-8 -t utf-8 "$WORK/x.$ending" >/dev/null
		refute grep -qa "$(printf '\x1b\|\xe2\x80\xae')" "$WORK/x.$ending"
		flame "$WORK/x.jsonl" -o "$WORK/again.html"
		[ "$(stat -c %a "$WORK/x.$ending")" = 600 ]
	done
	[ "$(grep -c '</script' "$WORK/x.html")" -eq 2 ]
	grep -qF 'command:         x\x1b[31m\x0a;\xff\xe2\x80\xae</script>' "$WORK/x.txt"
	# kernel threads have none
	offcputime -q -k -o "$WORK/k.jsonl" 0.2 2>/dev/null
	jq -se 'map(select(.type == "process" and .cmdline)) | length == 0' "$WORK/k.jsonl"
}

# bats test_tags=full
@test ".svg in a browser: click, zoom, search with the matched share, reset, keys" {
	need_root
	need chromium python3
	profile svg
	frame() { echo "[...document.querySelectorAll('#frames g')].find(g => g.textContent.startsWith('$1'))"; }
	browse "$WORK/out.svg" \
		eval 'flame.tree.total[0]' \
		hover "$(frame nested)" \
		eval 'document.querySelector(".about").textContent' \
		click "$(frame '[nested+')" \
		eval 'flame.tree.name(flame.zoomed).startsWith("[nested+")' \
		eval 'Math.round(document.querySelector(".selected rect").getAttribute("width")) === Math.round(flame.width)' \
		key / type '^.nested[+]' \
		eval 'document.querySelector(".share").textContent.replace(/.*: /, "") === flame.tree.total[flame.tree.label.findIndex(l => l >= 0 && /^.nested[+]/.test(flame.tree.labels[l].text))].toLocaleString("en-US") + " samples"' \
		eval 'document.querySelectorAll(".match").length > 1' \
		key Escape \
		eval 'document.querySelector("input").value' \
		key Escape \
		eval 'flame.zoomed' \
		key ArrowUp eval 'flame.tree.name(flame.selected)' \
		key Enter eval 'flame.tree.name(flame.zoomed)' \
		key r key i eval 'flame.rootBelow' >"$WORK/values"
	cat "$WORK/values"
	# but for what the command's process did before its exec()
	local own
	own=$(sed -nE '2s/^"nested \[thread\]: ([0-9,]+) samples, .*/\1/p' "$WORK/values" | tr -d ,)
	expect "$own <= $(samples) && $own >= $(samples) - 5"
	diff "$WORK/values" - <<-END
		$(samples)
		"nested [thread]: $(with_commas "$own") samples, $(awk -v own="$own" -v all="$(samples)" 'BEGIN { printf "%.2f", 100 * own / all }') %"
		true
		true
		true
		true
		""
		0
		"nested"
		"nested"
		false
	END
}

@test ".pb.gz, decoded: the period and its unit, each sample's time, kernel frames before the user's, the leaf first" {
	need_root
	need jq
	profile pb.gz -F 250
	pprof-json "$WORK/out.pb.gz" >"$WORK/out"
	jq -e --argjson samples "$(samples)" '.period == 4000000 and .unit == "nanoseconds" and ([.samples[].values[0]] | add) == $samples and
		all(.samples[]; .values[1] == .values[0] * 4000000)' "$WORK/out"
	background sleep 1000
	wait_until is_sleeping "$pid"
	offcputime -q -p "$pid" -o "$WORK/off.pb.gz" 0.5
	pprof-json "$WORK/off.pb.gz" | jq -r '.samples[0].frames[] | .[0][0]' >"$WORK/frames"
	cat "$WORK/frames"
	# the kernel's account leaves out the scheduler's functions, at the leaf
	sed -n 's/^\[<0>\] \([^+]*\)+.*/\1/p' "/proc/$pid/stack" | grep -v '^__schedule$' >"$WORK/kernels"
	sed "/^$(tail -n 1 "$WORK/kernels")\$/q" "$WORK/frames" | tail -n "$(wc -l <"$WORK/kernels")" | diff "$WORK/kernels" -
	[ "$(tail -n 1 "$WORK/frames" | grep -cE '^_start$|^\[sleep')" -eq 1 ]
}

# bats test_tags=full
@test ".pb.gz: go tool pprof has the same functions, callers and totals" {
	need_root
	need go
	# one run, read in both ways: pprof's own text against what the JSON says
	profile pb.gz
	export PPROF_TMPDIR=$WORK
	go tool pprof -sample_index=samples -top -nodecount=0 -nodefraction=0 "$WORK/out.pb.gz" >"$WORK/top"
	cat "$WORK/top"
	[ "$(sed -nE 's/.*Total samples = ([0-9]+) .*/\1/p' "$WORK/top")" -eq "$(samples)" ]
	# flat values add up to all
	[ "$(awk '/flat%/ { on = 1; next } on { n += $1 } END { print n }' "$WORK/top")" -eq "$(samples)" ]
	grep -q '^ *0 .* 100% .*\[nested+0x' "$WORK/top"
	go tool pprof -sample_index=samples -traces "$WORK/out.pb.gz" >"$WORK/traces"
	[ "$(grep -cE '^ +comm: +nested$' "$WORK/traces")" -gt 0 ]
	# each trace begins, after its labels, with its value
	[ "$(awk '/^-+\+-+$/ { first = 1; next } first && $1 ~ /^[0-9]+$/ { n += $1; first = 0 } END { print n }' "$WORK/traces")" -eq "$(samples)" ]
	go tool pprof -sample_index=samples -tree -nodecount=0 -nodefraction=0 "$WORK/out.pb.gz" >"$WORK/tree"
	grep -q "nodes accounting for $(samples), 100% of $(samples) total" "$WORK/tree"
	# the first mapping, which is taken for the program
	grep -q '^File: nested$' "$WORK/top"
	go tool pprof -raw "$WORK/out.pb.gz" >"$WORK/raw"
	grep -q "nested $(readelf -n "$ROOT/build/tests/nested" | awk '/Build ID/ { print $3 }')" "$WORK/raw"
	# nanoseconds are the samples' number times the period
	awk -v n="$(samples)" '/^Samples:/ { on = 1; getline; next } /^Locations/ { on = 0 }
		on && /^ +[0-9]+ +[0-9]+:/ { samples += $1; ns += $2 } END { exit !(samples == n && ns == n * 1001001) }' "$WORK/raw"
}

# bats test_tags=full
@test ".pb.gz of offcputime: times, with threads and their states" {
	need_root
	need go
	export PPROF_TMPDIR=$WORK
	background waits futex
	sleep 0.3
	offcputime -q -p "$pid" -o "$WORK/off.pb.gz" 1 2>"$WORK/err"
	go tool pprof -raw "$WORK/off.pb.gz" >"$WORK/raw"
	grep -q 'off_cpu/nanoseconds' "$WORK/raw"
	grep -q 'state:\[S\]' "$WORK/raw"
	grep -q "pid:\[$pid\]" "$WORK/raw"
}

# bats test_tags=full
@test ".html in a browser: groups, threads, stacks, functions with callers and callees" {
	need_root
	need chromium python3
	profile html
	grep -q "default-src 'none'" "$WORK/out.html"
	browse "$WORK/out.html" \
		eval 'flame.tree.total[0]' \
		eval '(page.group.value = "thread", page.choose(), /^nested \([0-9]+\/[0-9]+\)$/.test(page.tree().name(page.tree().callees[0][0])))' \
		eval '(page.group.value = "process", page.choose(), /^nested \([0-9]+\): .*nested burn 1$/.test(page.tree().name(page.tree().callees[0][0])))' \
		eval '(page.group.value = "none", page.choose(), page.tree().kind(page.tree().callees[0][0]))' \
		eval '(page.filter.value = page.filter.options[2].value, page.choose(), page.tree().total[0] > 0)' \
		eval '(page.filter.value = "", page.group.value = "name", page.choose(), page.tree().total[0])' \
		click 'document.querySelector("[data-view=stacks]")' \
		eval 'document.querySelectorAll("tbody tr").length > 0' \
		click 'document.querySelector("summary")' \
		eval 'document.querySelector("details").textContent.endsWith("nested")' \
		click 'document.querySelector("[data-view=functions]")' \
		click '[...document.querySelectorAll("tr[data-label]")].find(row => row.textContent.endsWith("__libc_start_call_main"))' \
		eval 'butterfly.callers.tree.total[0] === butterfly.callees.tree.total[0]' \
		eval '[...document.querySelectorAll("tr.chosen td")][2].textContent.split(" ")[0] === butterfly.callees.tree.total[0].toLocaleString("en-US")' \
		eval 'butterfly.callers.tree.name(2)' \
		eval 'butterfly.callees.tree.name(2).startsWith("[nested+")' >"$WORK/values"
	cat "$WORK/values"
	diff "$WORK/values" - <<-END
		$(samples)
		true
		true
		"u"
		true
		$(samples)
		true
		true
		true
		true
		"__libc_start_main"
		true
	END
}

# bats test_tags=full
@test ".json: speedscope's own importer reads it" {
	need_root
	need chromium python3 npm
	(cd "$WORK" && timeout 60 npm pack speedscope@1.25.0 >/dev/null 2>&1) || skip "npm cannot fetch speedscope"
	tar -C "$WORK" -xzf "$WORK"/speedscope-*.tgz
	profile json -U	# few functions: those out of view are not in the page
	jq -e --argjson n "$(samples)" '.profiles[0] | (.weights | add) == $n and .endValue == $n and (.samples | length) == (.weights | length)' "$WORK/out.json"
	jq -e '([.profiles[0].samples[][]] | max) < (.shared.frames | length)' "$WORK/out.json"
	printf 'speedscope.loadFileFromBase64("out.json", "%s")' "$(base64 -w 0 "$WORK/out.json")" >"$WORK/profile.js"
	# its sandwich view has each function's total
	browse --fragment "localProfilePath=$WORK/profile.js" "$WORK/package/dist/release/index.html" \
		eval 'new Promise(done => setTimeout(done, 2000))' type 3 eval 'new Promise(done => setTimeout(done, 1000))' \
		eval 'document.title' eval 'document.body.innerText' >"$WORK/values"
	cat "$WORK/values"
	grep -q 'cpuprof -q -F 999' "$WORK/values"
	root=$(jq '.shared.frames as $f | [.profiles[0] | [.samples, .weights] | transpose[] | select($f[.[0][0]].name == "nested")[1]] | add' "$WORK/out.json")
	# a sample without a user stack has no other frame
	self=$(jq '.shared.frames as $f | [.profiles[0] | [.samples, .weights] | transpose[] | select(.[0] | length == 1 and $f[.[0]].name == "nested")[1]] | add // 0' "$WORK/out.json")
	[ "$root" -gt 300 ]
	expect "$self < $root / 50"
	grep -qE "$(with_commas "$root") \([>0-9.]+%\)\\\\n\\\\t$self \([<0-9.]+%\)\\\\n\\\\tnested" "$WORK/values"
	python3 -c 'import json, sys, jsonschema
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))' "$WORK/out.json" "$WORK/package/dist/release/file-format-schema.json"
}

# bats test_tags=full
@test ".perf: speedscope's importer of perf script's text reads it" {
	need_root
	need chromium python3 npm
	(cd "$WORK" && timeout 60 npm pack speedscope@1.25.0 >/dev/null 2>&1) || skip "npm cannot fetch speedscope"
	tar -C "$WORK" -xzf "$WORK"/speedscope-*.tgz
	profile perf -U	# few functions: those out of view are not in the page
	printf 'speedscope.loadFileFromBase64("out.perf", "%s")' "$(base64 -w 0 "$WORK/out.perf")" >"$WORK/profile.js"
	browse --fragment "localProfilePath=$WORK/profile.js" "$WORK/package/dist/release/index.html" \
		eval 'new Promise(done => setTimeout(done, 2000))' type 3 eval 'new Promise(done => setTimeout(done, 1000))' \
		eval 'document.body.innerText' >"$WORK/values"
	cat "$WORK/values"
	# a thread of its own, and its outermost function with the time of all its samples but the last
	grep -qE 'nested pid: [0-9]+ tid: [0-9]+' "$WORK/values"
	grep -qE '__libc_start_call_main' "$WORK/values"
	grep -qE "\[nested\+0x[0-9a-f]+\]" "$WORK/values"
}

# what FlameGraph's stackcollapse-perf.pl does: its two expressions for the first line and for a frame, and a count of one
# for each sample, or its period
collapse() {
	perl -ne 'chomp;
		if (/^$/) { $count{join ";", $comm, @stack} += $period || 1 if @stack; @stack = (); $period = 0 }
		elsif (/^(\S.+?)\s+(\d+)\/*(\d+)*\s+/) { $comm = $1; $period = $1 if /:\s*(\d+)\s+(\S+):\s*$/ }
		elsif (/^\s*(\w+)\s*(.+) \((.*)\)/) { my $name = $2; $name =~ s/\+0x[\da-f]+$//; unshift @stack, $name }
		else { die "unrecognised: $_" }
		END { print "$_ $count{$_}\n" for sort keys %count }'
}

# bats test_tags=full
@test ".perf: collapsed, it is the folded output" {
	need_root
	need perl
	profile perf
	collapse <"$WORK/out.perf" >"$WORK/folded"
	head -n 3 "$WORK/folded"
	[ "$(awk '{ n += $NF } END { print n }' "$WORK/folded")" -eq "$(samples)" ]
	grep -qE '^nested;\[nested\+0x[0-9a-f]+\];__libc_start_main;' "$WORK/folded"
	grep -q '(\[kernel.kallsyms\])$' "$WORK/out.perf"
	# vaddrs that addr2line takes
	grep -q "$(nm -D --defined-only $LIBC | awk '/ __libc_start_main@/ { print "__libc_start_main" }' | head -n 1)+0x" "$WORK/out.perf"
	background waits futex
	wait_until grep -q ready "$WORK/background.out"
	wait_until is_sleeping "$pid"
	offcputime -q -p "$pid" -o "$WORK/off.perf" 1 2>/dev/null
	collapse <"$WORK/off.perf" >"$WORK/folded"
	[ "$(awk '{ n += $NF } END { print n }' "$WORK/folded")" -ge 900000 ]
}

@test "offwaketime's pictures have the waker on what it woke" {
	need_root
	need xmllint jq
	background setsid sh -c 'while :; do echo; sleep 0.01; done | cat >/dev/null'
	pids=("-$pid")	# with its children
	offwaketime -q -o "$WORK/x.json" 1 2>/dev/null
	jq -r '.shared.frames as $f | .profiles[0].samples[] | [.[] | $f[.].name] | join(";")' "$WORK/x.json" |
		grep -qE '^cat;.*;--;try_to_wake_up.*;sh$|^cat;.*;--;.*;sh$'
}

@test "hostile names are escaped in every format" {
	need_root
	local ending name
	name=$(printf '<scr>]]>&"\x1b[\xff')
	cp "$ROOT/build/tests/nested" "$WORK/$name"
	for ending in svg html pb.gz json jsonl perf folded txt; do
		cpuprof -q -F 999 -o "$WORK/x.$ending" -- "$WORK/$name" burn 0.2 2>/dev/null
		[ -s "$WORK/x.$ending" ]
	done
	for ending in svg html json jsonl perf; do
		iconv -f utf-8 -t utf-8 "$WORK/x.$ending" >/dev/null
		refute grep -q "$(printf '\x1b')" "$WORK/x.$ending"
	done
	xmllint --noout "$WORK/x.svg"
	[ "$(grep -c '</script' "$WORK/x.svg")" -eq 2 ]
	[ "$(grep -c '</script' "$WORK/x.html")" -eq 2 ]
	jq -e '[.shared.frames[].name | select(startswith("<scr>]]>&\""))] | length > 0' "$WORK/x.json"
	if extra go; then
		PPROF_TMPDIR=$WORK go tool pprof -traces "$WORK/x.pb.gz" >"$WORK/traces"
		grep -qF 'comm:  <scr>]]>&"\u{1b}[' "$WORK/traces"
	fi
	if extra chromium; then
		for ending in svg html; do
			browse "$WORK/x.$ending" eval 'flame.tree.labels.some(label => label.text.startsWith("<scr>]]>&\""))' | grep -x true
		done
	fi
}

@test "--every: reports whose names the time does not tell apart have numbers, and none is lost" {
	need_root
	need jq
	local n
	cpuprof -q --every 0.2 -F 499 -o "$WORK/of-%Y.jsonl" -- nested burn 1 2>"$WORK/err"
	ls "$WORK"
	n=$(jq -s 'map(select(.type == "summary")) | length' "$WORK"/of-*.jsonl)
	[ "$n" -ge 4 ]
	[ "$(ls "$WORK"/of-*.jsonl | wc -l)" -eq "$n" ]
	[ -s "$WORK/of-$(date +%Y).jsonl" ]
	[ -s "$WORK/of-$(date +%Y)-2.jsonl" ]
	# each report's samples are in its file: as many as the reports were said to have
	[ "$(cat "$WORK"/of-*.jsonl | jq -s 'map(select(.type == "summary").samples) | add')" -eq \
		"$(cat "$WORK"/of-*.jsonl | jq -s 'map(select(.type == "stack").count) | add')" ]
}

@test "a full disk: an error, whatever the format; the report of before stays, and no unfinished one" {
	need_root
	local ending disk=$WORK/disk
	mkdir "$disk"
	"${in_mount_namespace[@]}" true || skip "needs a mount namespace"
	for ending in txt jsonl html pb.gz $(sized "folded svg json perf" ""); do
		run unshare --mount bash -ec 'mount -t tmpfs -o size=64k none "$1"; echo before >"$1/x.$2"
			dd if=/dev/zero of="$1/filler" status=none 2>&- || true
			cpuprof -q -F 999 -o "$1/../first.$2" -o "$1/x.$2" -o "$1/../last.$2" -- nested burn 0.3 || status=$?
			ls -A "$1" | paste -sd " "; cat "$1/x.$2"; exit $status' bash "$disk" $ending
		echo "$ending: $status $output"
		[ "$status" -eq 1 ]
		[[ "$output" == *": No space left on device"* ]]
		[ "$(tail -n 2 <<<"$output")" = "filler x.$ending"$'\n'before ]
		[ -s "$WORK/first.$ending" ]
		[ -s "$WORK/last.$ending" ]	# on another disk
	done
}

@test "a pprof file that nobody reads any more: the command is waited for, and the other outputs are whole" {
	need_root
	mkfifo "$WORK/x.pb.gz"
	(exec 9<"$WORK/x.pb.gz") 3>&- &	# a reader that goes at once
	local status=0
	cpuprof -q -o "$WORK/x.txt" -o "$WORK/x.pb.gz" --duration 0.3 -- sh -c 'sleep 2; echo the end' >"$WORK/said" || status=$?
	[ "$status" -eq 1 ]
	[ "$(cat "$WORK/said")" = "the end" ]
	[ -e "$WORK/x.txt" ]
}

@test "Ctrl-C while a short report waits for its reader: nothing is cut, nothing is said, and the exit code is 0" {
	need_root
	local full tool status=0
	full_pipe "$WORK/pipe"
	cpuprof -f -- nested burn 0.3 >"$WORK/pipe" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q pipe_write "/proc/$tool/wchan"
	kill -INT "$tool"
	drain_pipe
	wait_until_gone "$tool"
	wait "$tool" || status=$?
	cat "$WORK/err"
	[ "$status" -eq 0 ]
	refute grep signal "$WORK/err"
	exec {full}>&-
}

@test "-o in a directory of others': no link is followed, no name is known before, and files are their owner's alone" {
	need_root
	need setpriv
	local tool dir=$WORK/theirs output
	chmod 755 "$WORK"
	mkdir "$dir"
	chown 65534:65534 "$dir"
	echo precious >"$WORK/precious"
	chmod 644 "$WORK/precious"
	umask 022
	links() {	# NAME...
		local name
		for name; do
			setpriv --reuid=65534 --regid=65534 --clear-groups ln -sf "$WORK/precious" "$dir/$name"
		done
	}
	links a.folded a.folded.part b.txt c.svg r%.folded r%.folded.part r%-2.folded
	cpuprof -q -o "$dir/a.folded" -- nested burn 0.1 2>/dev/null
	biohist -q -o "$dir/b.txt" 0.1 1 2>/dev/null
	echo "a;b 1" | flame -o "$dir/c.svg"
	cpuprof -q --every 0.1 -o "$dir/r%%.folded" -- nested burn 0.5 2>/dev/null
	ls -la "$dir"
	[ "$(cat "$WORK/precious")" = precious ]
	[ -z "$(find "$dir" -user 0 ! -type f)" ]
	for output in a.folded b.txt r%.folded r%-2.folded; do
		[[ "$(stat -c '%F %u %a' "$dir/$output")" == regular*file" 0 600" ]]
	done
	grep -q '^nested;' "$dir/a.folded"
	# what a picture is made of, its user has read
	[ "$(stat -c '%F %u %a' "$dir/c.svg")" = "regular file 0 644" ]
	(umask 077; echo "a;b 1" | flame -o "$dir/c.svg")
	[ "$(stat -c %a "$dir/c.svg")" = 600 ]
	# nothing is left but these, and what was a link and was not written to
	[ "$(ls -A "$dir" | grep -c '\.part$')" -eq 2 ]
	# a FIFO of somebody else's, who may never read it
	setpriv --reuid=65534 --regid=65534 --clear-groups mkfifo "$dir/d.folded"
	run timeout 60 cpuprof -q -o "$dir/d.folded" 0.1
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"a FIFO of your own"* ]]
}

@test "-o: a FIFO is written itself, and waited for no longer than the run would last; a device, too; descriptors by their names" {
	need_root
	local tool
	mkfifo "$WORK/x.folded"
	timeout 60 cat "$WORK/x.folded" >"$WORK/read" 3>&- &
	tool=$!
	timeout 60 cpuprof -q -o "$WORK/x.folded" -- nested burn 0.2 2>/dev/null
	wait $tool
	grep -q '^nested;' "$WORK/read"
	[ -p "$WORK/x.folded" ]
	run timeout 60 cpuprof -q -o "$WORK/x.folded" 0.2
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"no process reads it" ]]
	# a signal ends the waiting
	"$ROOT/build/cpuprof" -q -o "$WORK/x.folded" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	# bash, which becomes cpuprof, may heed it, too
	heeds_sigterm() { [ "$(cat "/proc/$tool/comm")" = cpuprof ] && (($(awk '/^SigCgt/ { print "0x" $2 }' "/proc/$tool/status") & 1 << 14)); }
	wait_until heeds_sigterm
	kill "$tool"
	wait "$tool" || true
	grep -q 'no process reads it' "$WORK/err"
	cpuprof -q -j -o /dev/null 0.1 2>/dev/null
	[ -c /dev/null ]
	[ "$(cpuprof -q -j -o /dev/stdout 0.1 2>/dev/null | head -n 1 | jq -r .type)" = start ]
	[ "$(cpuprof -q -j -o /dev/stderr 0.1 2>&1 >/dev/null | head -n 1 | jq -r .type)" = start ]
	cpuprof -q -j -o /proc/self/fd/8 0.1 8>"$WORK/out" 2>/dev/null
	[ "$(head -n 1 "$WORK/out" | jq -r .type)" = start ]
	[ -h /dev/stdout ]
	[ -h /dev/stderr ]
}

@test "-o: a report has its name once it is whole, one that grows from its first interval on; what is unfinished is removed" {
	need_root
	need jq
	local tool signal
	echo before >"$WORK/x.folded"
	for signal in INT TERM; do
		rm -f "$WORK/err"
		cpuprof -F 99 -o "$WORK/x.folded" 2>"$WORK/err" 3>&- &
		tool=$!
		pids+=("$tool")
		wait_until grep -q Ctrl-C "$WORK/err"
		[ "$(cat "$WORK/x.folded")" = before ]
		ls "$WORK" | grep -qE '^x\.folded\..{6}\.part$'
		kill -$signal $tool
		wait $tool
		refute ls "$WORK"/*.part
		[ -s "$WORK/x.folded" ]
		[ "$(head -n 1 "$WORK/x.folded")" != before ]
		echo before >"$WORK/x.folded"
	done
	# an error: the report of before stays
	run cpuprof -q -o "$WORK/x.folded" -p 4194304 1
	[ "$status" -eq 1 ]
	[ "$(cat "$WORK/x.folded")" = before ]
	refute ls "$WORK"/*.part
	# read while it grows
	cpuprof -q -j --every 0.2 -F 99 -o "$WORK/all.jsonl" 2>/dev/null 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until eval '[ "$(jq -r "select(.type == \"summary\").type" "$WORK/all.jsonl" 2>/dev/null | wc -l)" -ge 2 ]'
	kill -0 $tool
	kill -INT $tool
	wait $tool
	refute ls "$WORK"/*.part
}

@test "--every: a report for each interval, in files named by time; together they are the whole" {
	need_root
	need jq
	background nested burn 30
	background waits futex
	cpuprof -q -F 499 --every 0.5 -p "${pids[0]}" -j -o "$WORK/%s.jsonl" 2>/dev/null </dev/null 0.3
	[ "$(ls "$WORK"/*.jsonl | wc -l)" -eq 1 ]
	rm "$WORK"/*.jsonl
	# of two seconds each: where one ends a second late, the next one does not begin in the same second, which is its name
	local tool before from ran began=$EPOCHREALTIME
	rm -f "$WORK/err"
	cpuprof -F 499 --every 2 -p "${pids[0]}" -j -o "$WORK/%s.jsonl" 2>"$WORK/err" 3>&- &
	tool=$!
	open_files() { ls -l "/proc/$tool/fd" | grep -cE "$WORK/|/dev/null$"; }
	wait_until grep -q Ctrl-C "$WORK/err"
	from=$(ran_ns "${pids[0]}")
	wait_until eval '[ "$(ls "$WORK"/*.jsonl | wc -l)" -ge 1 ]'
	before=$(open_files)
	wait_until eval '[ "$(ls "$WORK"/*.jsonl | wc -l)" -ge 3 ]'
	# what a report was written to is closed; one may be just being opened
	expect "$(open_files) <= $before + 1"
	ran=$(($(ran_ns "${pids[0]}") - from))
	kill -INT $tool
	wait $tool
	ls "$WORK"
	refute ls "$WORK"/*.part
	jq -se --arg began "$began" --arg ended "$EPOCHREALTIME" --argjson ran "$ran" 'map(select(.type == "summary")) | (map(.samples + .lost) | add) as $due |
		length >= 4 and (map(.seconds) | add) <= ($ended | tonumber) - ($began | tonumber) and $due >= 0.95 * 499 * $ran / 1e9' "$WORK"/*.jsonl
	for file in "$WORK"/*.jsonl; do
		[ "$(head -n 1 "$file" | jq -r .type)" = start ]
		[ "$(tail -n 1 "$file" | jq -r .type)" = summary ]
		jq -se '(map(select(.type == "stack") | .count) | add // 0) as $sum | .[-1].samples == $sum' "$file"
	done
	# text and JSON follow each other in one file; pictures need a file each
	cpuprof -q -F 99 --every 0.5 -p "${pids[0]}" -o "$WORK/all.txt" 2.2 2>/dev/null
	[ "$(grep -cE '^[0-9]{2}:[0-9]{2}:[0-9]{2}$' "$WORK/all.txt")" -ge 2 ]
	run cpuprof --every 1 -o "$WORK/x.svg" 1
	[ "$status" -eq 2 ]
	[[ "$output" == *"needs a conversion of strftime(3)"* ]]
	run cpuprof --every 0 1
	[ "$status" -eq 2 ]
	# a thread that blocks all the time keeps its stack, and is off the CPU for no longer than the tool has run
	began=$EPOCHREALTIME
	offcputime -q -j --every 0.5 -p "${pids[1]}" 2 2>/dev/null >"$WORK/off"
	jq -se '[.[] | select(.type == "stack" and .ended_by != "complete")] | length <= 1' "$WORK/off"	# before its tables are made
	jq -se --arg began "$began" --arg ended "$EPOCHREALTIME" '[.[] | select(.type == "stack") | .value_ns] |
		add > 1.8e9 and add / 1e9 <= ($ended | tonumber) - ($began | tonumber)' "$WORK/off"
}

# bats test_tags=check
@test "--help: under headings, an option to a line, two examples at the end that the tool's options allow" {
	local tool option
	for tool in cpuprof offcputime offwaketime wallprof stackcount funclat biohist mapupdlat; do
		"$tool" --help >"$WORK/help"
		echo "$tool: $(sed -n 's/^ \([A-Z].*:\)$/\1/p' "$WORK/help" | paste -sd ' ')"
		[[ "$(sed -n 's/^ \([A-Z].*:\)$/\1/p' "$WORK/help" | paste -sd ' ')" =~ ^'What is measured: Processes and threads: Output:'(' Names: Limits:')?$ ]]
		# a line that goes on
		refute grep -E '^ {20,}[^ ]' "$WORK/help"
		expect "$(sed -n '/^Examples:$/,$p' "$WORK/help" | grep -c "^  $tool ") == 2 && $(sed -n '/^Examples:$/,$p' "$WORK/help" | wc -l) == 3"
		for option in $(sed -n "/^Examples:\$/,\$ { s/ -- .*//; s/^  $tool//p }" "$WORK/help" | grep -oE ' -[a-zA-Z]| --[a-z-]+'); do
			grep -qE "^ .*$option\\b" <(sed '/^Examples:$/,$d' "$WORK/help") || { echo "$tool has no $option"; return 1; }
		done
		[[ "$("$tool" -V)" == "$tool (ehperf) "[0-9]* ]]
	done
}
