#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What the endings of -o's file select, as its readers see it: browsers, go tool pprof, importers.
# bats file_tags=beside

load lib

# one run of cpuprof on a program whose stacks are known, as $WORK/out.ENDING
profile() {	# ENDING [OPTION...]
	local ending=$1
	shift
	cpuprof -q -F 999 "$@" -o "$WORK/out.$ending" -- nested burn 1 2>"$WORK/err" >/dev/null
}

# the number of samples, as the tool said at the end
samples() {
	sed -nE 's/^cpuprof: ([0-9]+) samples in .*/\1/p' "$WORK/err"
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
	[ "$(samples)" -gt 500 ]
	[ "$(xmllint --xpath 'string(//*[@id = "frames"]/*[1]/*[local-name() = "title"])' "$WORK/out.svg")" = "all: $(samples) samples, 100.00 %" ]
	# its callees stand on it, side by side, and are as wide as their samples
	xmllint --xpath '//*[@id = "frames"]/*/*[local-name() = "title"]/text()' "$WORK/out.svg" | grep -q '^nested: '
	! grep -nE '(href|src) *=|url\(|@import|https?://' "$WORK/out.svg" | grep -v 'http://www.w3.org/\(2000/svg\|1999/xhtml\)'
}

@test ".svg in a browser: click, zoom, search with the matched share, reset, keys" {
	need_root
	need chromium python3
	profile svg
	frame() { echo "[...document.querySelectorAll('#frames g')].find(g => g.textContent.startsWith('$1'))"; }
	"$BATS_TEST_DIRNAME/browse" "$WORK/out.svg" \
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
	diff "$WORK/values" - <<-END
		$(samples)
		"nested [thread]: $(with_commas "$(samples)") samples, 100.00 %"
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
	go tool pprof -sample_index=samples -tree "$WORK/out.pb.gz" >/dev/null
	go tool pprof -raw "$WORK/out.pb.gz" >"$WORK/raw"
	grep -q "nested $(readelf -n "$ROOT/build/tests/nested" | awk '/Build ID/ { print $3 }')" "$WORK/raw"
	# nanoseconds are the samples' number times the period
	awk -v n="$(samples)" '/^Samples:/ { on = 1; getline; next } /^Locations/ { on = 0 }
		on && /^ +[0-9]+ +[0-9]+:/ { samples += $1; ns += $2 } END { exit !(samples == n && ns == n * 1001001) }' "$WORK/raw"
}

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

@test "a full disk: an error, whatever the format" {
	need_root
	local ending
	[ -c /dev/full ] || skip "needs /dev/full"
	for ending in txt folded jsonl svg pb.gz; do
		ln -sf /dev/full "$WORK/x.$ending"
		run cpuprof -q -F 999 -o "$WORK/x.$ending" -- nested burn 0.3
		echo "$ending: $status $output"
		[ "$status" -eq 1 ]
		[[ "$output" == *"No space left on device"* || "$output" == *"an earlier write failed"* ]]
	done
}
