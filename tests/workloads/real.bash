# SPDX-License-Identifier: GPL-2.0-or-later
# Real stripped programs from the distribution, busy until killed. start_NAME DIRECTORY leaves the
# process to look at in $pid, and the process or process group to end in $started.

real_programs="python3 xz sqlite3 perl cc1 git"

start_python3() {
	cat >"$1/burn.py" <<-'EOF'
		import json, re
		def walk(x, depth):
		    return walk(x, depth - 1) if depth else re.sub(r'(\d+)', lambda m: str(int(m.group(1)) + 1), json.dumps(x))
		while True:
		    walk({str(i): [i, str(i) * 3, {'a': i}] for i in range(200)}, 20)
	EOF
	/usr/bin/python3 "$1/burn.py" >/dev/null &
	pid=$! started=$!
}

start_xz() {
	head -c 60000000 /dev/urandom | tr '\0-\377' 'a-zA-Z0-9 \n' >"$1/text" 2>/dev/null
	xz -9 -T1 -k -c "$1/text" >/dev/null &
	pid=$! started=$!
}

start_sqlite3() {
	sqlite3 :memory: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000)
		SELECT count(*), sum(length(printf('%d-%s', i, hex(i)))) FROM n WHERE i % 7 LIKE '%3%';" >/dev/null &
	pid=$! started=$!
}

start_perl() {
	perl -e 'while (1) { my %h; $h{$_ % 977} .= sprintf("%x", $_) for 1 .. 100000;
		my $s = join ",", sort { $h{$a} cmp $h{$b} } keys %h; $s =~ s/(\w+),(\w+)/$2-$1/g }' &
	pid=$! started=$!
}

start_cc1() {
	awk 'BEGIN { for (f = 0; f < 20000; f++) {
		printf "int f%d(int *a, int n) { int s = %d; for (int i = 0; i < n; i++) {", f, f;
		printf " switch ((a[i] ^ i) %% 7) { case 0: s += a[i] * %d; break; case 1: s ^= a[i] >> 3; break;", f + 1;
		printf " case 2: s -= a[n - i - 1]; break; default: s *= 3; } a[i] = s %% %d; } return s; }\n", f + 3 } }' >"$1/big.c"
	"$(gcc -print-prog-name=cc1)" -quiet -O2 "$1/big.c" -o /dev/null &
	pid=$! started=$!
}

start_git() {
	(
		unset $(git rev-parse --local-env-vars)
		export HOME=$1 GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@x
		git init -q "$1/repo" && cd "$1/repo" || exit
		for round in 1 2 3 4 5 6; do
			for file in $(seq 60); do
				find /usr/include -name '*.h' -type f | sed -n "$((file * 5)),$((file * 5 + 4 + round))p" | xargs cat >"file$file"
			done
			git add . && git commit -qm "round $round"
		done
	) >/dev/null
	setsid env -C "$1/repo" -u GIT_DIR -u GIT_WORK_TREE -u GIT_INDEX_FILE \
		sh -c 'while :; do git -c pack.threads=2 repack -q -a -d -f --window=4000 --depth=200; done' &
	started=$!
	for _ in $(seq 100); do
		# its own grandchild: a name alone may be somebody else's process
		repack=$(pgrep -P "$started" -x git) && pid=$(pgrep -P "$repack" -x git) && return
		sleep 0.05
	done
	return 1
}

stop_real() {
	kill -- "-$started" 2>/dev/null || kill "$started" 2>/dev/null || true
	wait "$started" 2>/dev/null || true
}
