# SPDX-License-Identifier: GPL-2.0-or-later
# Servers from the distribution, and others that wait much, under load. start_NAME DIRECTORY leaves the processes to
# look at in the array server_pids, and what ends it all in stop_servers; it fails where the program is not here.

servers="postgres_load redis nginx python_threads node"

server_pids=() to_stop=()

stop_servers() {
	local p
	for p in "${to_stop[@]}"; do
		kill -INT "$p" 2>/dev/null || true	# of postgres: do not wait for clients
		kill "$p" 2>/dev/null || true
	done
	for p in "${to_stop[@]}"; do
		wait "$p" 2>/dev/null || true
	done
	to_stop=() server_pids=()
}

run_in_background() {
	"$@" >/dev/null 2>&1 3>&- &
	to_stop+=($!)
	pids+=($!)
}

pg_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)

as_postgres() {
	setpriv --reuid=postgres --regid=postgres --clear-groups "$@"
}

psql_() {
	as_postgres psql -qAt -h "$pg_socket" postgres "$@"
}

# the PIDs of the other backends for which this holds; fails while there are none
psql_waits() {
	psql_ -c "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND $1" | grep .
}

start_postgres() {
	[ -n "$pg_bin" ] || return 1
	pg_socket=$1
	mkdir -p "$1" && chown postgres "$1" && chmod 755 "${1%/*}"
	as_postgres "$pg_bin/initdb" -A trust -D "$1/data" >/dev/null 2>&1 || return 1
	run_in_background as_postgres "$pg_bin/postgres" -D "$1/data" -k "$1" -c listen_addresses=
	wait_until psql_ -c 'SELECT 1'
}

start_postgres_load() {
	start_postgres "$1" || return 1
	as_postgres "$pg_bin/pgbench" -h "$pg_socket" -i -q postgres >/dev/null 2>&1
	run_in_background as_postgres "$pg_bin/pgbench" -h "$pg_socket" -c 4 -T 60 postgres
	sleep 0.5
	local main
	main=$(head -n 1 "$1/data/postmaster.pid")
	mapfile -t server_pids < <(echo "$main"; pgrep -P "$main")
}

start_redis() {
	command -v redis-server >/dev/null || return 1
	mkdir -p "$1"
	run_in_background redis-server --port 0 --unixsocket "$1/socket" --dir "$1" --save ''
	server_pids=("${to_stop[-1]}")
	wait_until test -S "$1/socket"
	run_in_background redis-benchmark -s "$1/socket" -q -n 100000000 -c 10
}

start_nginx() {
	command -v nginx >/dev/null && command -v ab >/dev/null || return 1
	mkdir -p "$1/www"
	head -c 100000 /dev/zero >"$1/www/x"
	cat >"$1/conf" <<-CONF
		daemon off; pid $1/pid; error_log $1/error; worker_processes 2; user root;
		events { worker_connections 64; }
		http { access_log $1/access; client_body_temp_path $1/a; proxy_temp_path $1/b; fastcgi_temp_path $1/c;
			uwsgi_temp_path $1/d; scgi_temp_path $1/e;
			server { listen 127.0.0.1:18080; root $1/www; } }
	CONF
	run_in_background nginx -c "$1/conf" -p "$1"
	local main=${to_stop[-1]}
	wait_until pgrep -P "$main"
	run_in_background ab -c 4 -t 60 -n 100000000 http://127.0.0.1:18080/x
	mapfile -t server_pids < <(echo "$main"; pgrep -P "$main")
}

start_python_threads() {
	mkdir -p "$1"
	cat >"$1/threads.py" <<-'PY'
		import queue, threading, time, socket
		q = queue.Queue()
		a, b = socket.socketpair()
		def take():
		    while True: q.get()
		def put():
		    while True: q.put(1); time.sleep(0.001)
		def read():
		    while True: b.recv(1)
		def write():
		    while True: a.send(b"x"); time.sleep(0.002)
		for f in (take, put, read, write): threading.Thread(target=f).start()
	PY
	run_in_background /usr/bin/python3 "$1/threads.py"
	server_pids=("${to_stop[-1]}")
}

start_node() {
	command -v node >/dev/null || return 1
	mkdir -p "$1"
	cat >"$1/x.js" <<-'JS'
		const fs = require('fs'), crypto = require('crypto');
		setInterval(() => fs.readFile('/etc/passwd', () => {}), 2);
		setInterval(() => crypto.pbkdf2('a', 'b', 1000, 32, 'sha256', () => {}), 5);
	JS
	run_in_background node "$1/x.js"
	server_pids=("${to_stop[-1]}")
}
