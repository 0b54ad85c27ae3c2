#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What ehperf-fleet(7) says: its files and its commands, as they stand there, against a receiver on this machine.
# bats file_tags=full

load lib.bash

PAGE=$ROOT/man/man7/ehperf-fleet.7

# a receiver of profiles, at $url, that keeps them in $WORK/received
start_receiver() {
	mkdir -p "$WORK/received"
	background receiver "$WORK/received"
	wait_until test -s "$WORK/received/port"
	url=http://127.0.0.1:$(cat "$WORK/received/port")
}

# files that cpuprof names by time, as the page's service does, but each second
sample() {	# ENDING SECONDS
	local command
	command=$(sed -n 's,^ExecStart=/usr/sbin/,,p' "$WORK/page/etc/systemd/system/ehperf.service")
	mkdir -p "$WORK/host"
	sed "s,--every 60,--every 1,; s,/var/lib/ehperf/%%s.pb.gz,$WORK/host/%s.$1," <<<"$command" >"$WORK/command"
	grep -q "cpuprof .*-F 19 --every 1 -o $WORK/host/%s.$1" "$WORK/command"
	sh -c "$(cat "$WORK/command") -p $nested $2" 2>/dev/null
}

setup_file() {
	command -v gawk >/dev/null || skip "needs gawk"
}

# the page's files in $WORK/page, and a program to be sampled
begin() {
	extract_files "$PAGE" "$WORK/page"
	background nested burn 60
	nested=$pid
}

@test "its files are what their programs take" {
	begin
	(cd "$WORK/page" && find . -type f | sort) | diff - <(printf '%s\n' ./daemonset.yaml ./etc/systemd/system/ehperf-send.service \
		./etc/systemd/system/ehperf-send.timer ./etc/systemd/system/ehperf.service ./functions.sql ./look.sh ./merge.sh ./programs.sql \
		./usr/local/sbin/ehperf-send ./usr/local/sbin/parca-send)
	local file
	for file in "$WORK"/page/usr/local/sbin/* "$WORK"/page/*.sh; do
		sh -n "$file"
	done
	if python3 -c 'import yaml' 2>/dev/null; then
		python3 -c 'import sys, yaml
pod = yaml.safe_load(open(sys.argv[1]))["spec"]["template"]["spec"]
assert pod["hostPID"] and [c["command"][0] for c in pod["containers"]] == ["cpuprof", "sh"]
print("\n".join(pod["containers"][0]["command"]))' "$WORK/page/daemonset.yaml" >"$WORK/command"
		# the tool takes these arguments
		mapfile -t command <"$WORK/command"
		"${command[@]:0:6}" -o /dev/null --help >/dev/null
	fi
	if command -v systemd-analyze >/dev/null; then
		sed -i "s,/usr/sbin/,$ROOT/build/,; s,/usr/local/sbin/,$WORK/page/usr/local/sbin/," "$WORK"/page/etc/systemd/system/*
		chmod +x "$WORK"/page/usr/local/sbin/*
		systemd-analyze verify --man=no "$WORK"/page/etc/systemd/system/* 2>&1 | grep -F "$WORK/page" >"$WORK/complaints" || true
		cat "$WORK/complaints"
		[ ! -s "$WORK/complaints" ]
	fi
}

@test "ehperf-send: each profile arrives at Pyroscope as it was, with its times; what cannot be sent is kept" {
	need_root
	need curl python3 jq
	begin
	start_receiver
	sample pb.gz 3.2
	# of two that begin within a second, the later one has a number, too
	local nr newest
	newest=$(ls "$WORK"/host/[0-9]*[0-9].pb.gz | grep -v -- - | tail -n 1)
	cp "$newest" "${newest%.pb.gz}-9.pb.gz"
	ls -l "$WORK/host"
	nr=$(ls "$WORK"/host/*.pb.gz | wc -l)
	[ "$nr" -ge 3 ]
	cp -r "$WORK/host" "$WORK/kept"
	touch "$WORK/received/down"
	run sh "$WORK/page/usr/local/sbin/ehperf-send" "$url" "$WORK/host"
	[ "$status" -eq 1 ]
	diff -r "$WORK/host" "$WORK/kept"
	rm "$WORK/received/down"
	# one that is none does not keep the others back, and is not kept for good
	echo none >"$WORK/host/1.pb.gz"
	touch -d '2 days ago' "$WORK/host/1.pb.gz"
	run sh "$WORK/page/usr/local/sbin/ehperf-send" "$url" "$WORK/host"
	echo "$output"
	[ "$status" -eq 1 ]
	[ -z "$(ls "$WORK/host")" ]
	[ "$(ls "$WORK"/received/*.pb.gz | wc -l)" -eq "$nr" ]
	local i=0 file
	for file in "$WORK"/kept/*.pb.gz; do
		i=$((i + 1))
		cmp "$file" "$WORK/received/$i.pb.gz"
		jq -e --arg name "ehperf{host=$(uname -n)}" --argjson from "$(basename "$file" .pb.gz | sed 's/-.*//')" \
			'.name == $name and .from == $from and .until > $from' "$WORK/received/$i.json"
	done
	sh "$WORK/page/usr/local/sbin/ehperf-send" "$url" "$WORK/host"	# nothing to do
	if extra go; then
		PPROF_TMPDIR=$WORK go tool pprof -top "$WORK/received/1.pb.gz" | grep -q '^File: nested$'
	fi
}

@test "parca-send: a profile arrives as it was" {
	need_root
	need curl python3 jq
	begin
	start_receiver
	sample pb.gz 1
	local file
	file=$(ls "$WORK"/host/*.pb.gz | head -n 1)
	sh "$WORK/page/usr/local/sbin/parca-send" "$url" "$file"
	cmp "$file" "$WORK/received/1.pb.gz"
	jq -e --arg node "$(uname -n)" '.name == "ehperf" and .labels.node == $node' "$WORK/received/1.json"
	echo none >"$WORK/none"
	refute sh "$WORK/page/usr/local/sbin/parca-send" "$url" "$WORK/none"
}

@test "go tool pprof adds files up" {
	need_root
	need go jq
	begin
	mkdir -p "$WORK/today"
	sample pb.gz 3
	mv "$WORK"/host/*.pb.gz "$WORK/today"
	cd "$WORK"
	export PPROF_TMPDIR=$WORK
	local file each=0
	for file in today/*.pb.gz; do
		each=$((each + $(go tool pprof -raw "$file" | awk '/^Samples:/ { on = 1; getline; next } /^Locations/ { on = 0 } on && /^ +[0-9]+ +[0-9]+:/ { n += $1 } END { print n + 0 }')))
	done
	[ "$each" -gt 5 ]
	go tool pprof -sample_index=samples -top today/*.pb.gz | grep -q "Total samples = $each "
	go tool pprof -proto -output=today.pb.gz today/*.pb.gz >/dev/null
	cp today.pb.gz yesterday.pb.gz
	sh "$WORK/page/merge.sh" >"$WORK/out"
	cat "$WORK/out"
	grep -q 'Type: cpu' "$WORK/out"
	# the same day twice: no difference
	[ "$(awk '/flat%/ { part++ } part == 2 && $1 ~ /^[0-9.]+m?s$/ && $1 != "0s" && $1 != "0" { n++ } END { print n + 0 }' "$WORK/out")" -eq 0 ]
}

# two hosts' lines, each in a directory
two_hosts() {
	sample jsonl 2.2
	mkdir "$WORK/hosts"
	mv "$WORK/host" "$WORK/hosts/a"
	cp -r "$WORK/hosts/a" "$WORK/hosts/b"
	sed -i '/"type":"start"/s/"host":"[^"]*"/"host":"another"/' "$WORK"/hosts/b/*.jsonl
}

@test "DuckDB adds up the JSON lines of two hosts" {
	need_root
	need node npm jq
	begin
	two_hosts
	(cd "$WORK" && timeout 120 npm install --silent --no-audit --no-fund --ignore-scripts @duckdb/node-api@1.3.2-alpha.26 >/dev/null 2>&1) ||
		skip "npm cannot fetch DuckDB"
	cat >"$WORK/query.js" <<-'END'
		const fs = require('fs');
		require('@duckdb/node-api').DuckDBInstance.create().then(db => db.connect()).then(db => db.runAndReadAll(fs.readFileSync(process.argv[2], 'utf8')))
			.then(result => result.getRows().forEach(row => console.log(row.join('\t'))));
	END
	cd "$WORK/hosts"
	NODE_PATH=$WORK/node_modules node "$WORK/query.js" "$WORK/page/functions.sql" >"$WORK/rows"
	cat "$WORK/rows"
	# the same by jq
	cat */*.jsonl | jq -r 'select(.type == "stack") | "\(.kernel[0].symbol // .user[0].symbol // .user[0].module)\t\(.count)"' |
		awk -F '\t' '{ n[$1] += $2 } END { for (f in n) print f "\t" n[f] "\t2" }' | LC_ALL=C sort -t "$(printf '\t')" -k 2,2nr -k 1,1 | head -n 10 >"$WORK/expected"
	diff "$WORK/expected" "$WORK/rows"
}

@test "ClickHouse adds up the JSON lines of two hosts" {
	need_root
	need clickhouse-local jq
	begin
	two_hosts
	cd "$WORK/hosts"
	clickhouse-local --queries-file "$WORK/page/programs.sql" >"$WORK/rows"
	diff "$WORK/rows" <(cat */*.jsonl | jq -r 'select(.type == "stack") | "\(.comm)\t\(.count)"' |
		awk -F '\t' '{ n[$1] += $2 } END { for (c in n) print c "\t" n[c] }' | sort -t "$(printf '\t')" -k 2,2nr -k 1,1 | head -n 10)
}

@test "a look at one host: its tool serves there, on the port that ssh passes on" {
	need_root
	begin
	mkdir "$WORK/bin"
	printf '#!/bin/sh\necho "$*" >>"%s/ssh"\nshift 4\nexec "$@"\n' "$WORK" >"$WORK/bin/ssh"
	printf '#!/bin/sh\nexec "$@"\n' >"$WORK/bin/sudo"
	chmod +x "$WORK"/bin/*
	sed -i 's/8000/18765/g' "$WORK/page/look.sh"
	PATH=$WORK/bin:$PATH sh "$WORK/page/look.sh" host offcputime -p "$nested" 1 >/dev/null 2>"$WORK/err"
	PATH=$WORK/bin:$PATH background sh "$WORK/page/look.sh" host
	wait_until grep -q Ctrl-C "$WORK/background.out"
	kill -INT "$pid"
	grep -q '^offcputime: .* http://127.0.0.1:18765/' "$WORK/err"
	grep -q '^cpuprof: .* http://127.0.0.1:18765/' "$WORK/background.out"
	[ "$(grep -c '^-t -L 18765:127.0.0.1:18765 host sudo' "$WORK/ssh")" -eq 2 ]
}
