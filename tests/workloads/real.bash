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
	head -c 30000000 /dev/urandom | tr '\0-\377' 'a-zA-Z0-9 \n' >"$1/text" 2>/dev/null
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

# becomes git in a repository of its own, whatever repository the caller is in: call it in a subshell
exec_git() {	# DIRECTORY ARGUMENT...
	unset $(git rev-parse --local-env-vars)
	export HOME=$1 GIT_DIR=$1/.git GIT_CONFIG_NOSYSTEM=1
	exec git "${@:2}"
}

# what `git repack` spends its time in, as a process of its own: nobody has to find git's child
start_git() {
	(exec_git "$1" init -q) || return
	find /usr/include -name '*.h' -type f -exec cat {} + 2>/dev/null | head -c 16000000 | split -a 4 -b 20000 - "$1/part"
	printf '%s\n' "$1"/part* | exec_git "$1" hash-object -w --no-filters --stdin-paths >"$1/ids" || return
	exec_git "$1" pack-objects -q --stdout --threads=2 --no-reuse-delta --window=4000 --depth=200 <"$1/ids" >/dev/null &
	pid=$! started=$!
}

stop_real() {
	kill -- "-$started" 2>/dev/null || kill "$started" 2>/dev/null || true
	wait "$started" 2>/dev/null || true
}
