#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# --as USER: what a command that is not trusted gets of its caller's terminal, environment and descriptors, and that a terminal
# works for it as without the tool.

load lib.bash

bats_require_minimum_version 1.5.0

as_nobody=(cpuprof -q -o /dev/null --as nobody --)

# $WORK/theirs is nobody's
their_directory() {
	chmod 755 "$WORK"
	mkdir "$WORK/theirs"
	chown nobody: "$WORK/theirs"
}

# the command on a terminal, with the steps on stdin; what is shown is in $WORK/shown
on_terminal() {	# COMMAND [ARG...]
	timeout 200 typist "$@" >"$WORK/shown" 2>&1 || { cat "$WORK/shown"; return 1; }
	cat "$WORK/shown"
}

a_shell=(bash --norc --noprofile --noediting -i)

@test "--as USER: the command is that user's, with no capabilities; a user that does not exist is an error" {
	need_root
	local tool
	for tool in cpuprof offcputime offwaketime wallprof "stackcount page-faults" "funclat u:libc:getppid" biohist mapupdlat; do
		$tool -q --as nobody -- sh -c "id -u; id -g; grep CapEff /proc/self/status >&2; exit 3" >"$WORK/out" 2>"$WORK/err" || [ $? -eq 3 ]
		[ "$(head -n 2 "$WORK/out" | paste -sd ' ')" = "$(id -u nobody) $(id -g nobody)" ]
		grep -qE 'CapEff:\s0+$' "$WORK/err"
		run $tool --as no-such-user -- true
		[ "$status" -eq 2 ]
		[[ "$output" == *"no such user: 'no-such-user'"* ]]
	done
}

@test "--as USER: capabilities that the tool has by a user's, not by being root, end with it" {
	need_root
	need setpriv
	local caps=-all,+bpf,+perfmon,+sys_ptrace,+syslog,+setuid,+setgid
	chmod 755 "$WORK"
	install -m 755 "$ROOT/build/cpuprof" "$WORK"
	setpriv --reuid=12345 --regid=12345 --clear-groups --inh-caps=$caps --ambient-caps=$caps \
		"$WORK/cpuprof" -q -o /dev/null --as nobody -- grep -E '^(Uid|Cap(Inh|Prm|Eff|Amb)):' /proc/self/status >"$WORK/caps"
	cat "$WORK/caps"
	[ "$(grep -cE '^Cap.*:\s0+$' "$WORK/caps")" -eq 4 ]
	grep -qE "^Uid:\s$(id -u nobody)\s" "$WORK/caps"
}

@test "a command has the limits and the signals that its caller has given it; its status is known where SIGCHLD is ignored" {
	need_root
	local soft
	for soft in 300 400; do
		[ "$(ulimit -Sn $soft; ulimit -Sl 64; cpuprof -q -o /dev/null -- bash -c 'ulimit -Sn; ulimit -Sl; ulimit -Hl' | paste -sd ' ')" = \
			"$soft 64 $(ulimit -Hl)" ]
	done
	local how ignored
	for how in DEFAULT IGNORE; do
		ignored=$(perl -e '$SIG{CHLD} = shift; exec @ARGV' $how cpuprof -q -o /dev/null -- sed -n 's/^SigIgn:\s*/0x/p' /proc/self/status)
		[ $((ignored >> 16 & 1)) -eq $([ $how = IGNORE ] && echo 1 || echo 0) ]	# SIGCHLD; others may be ignored here
	done
	run perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV' cpuprof -q -o /dev/null -- sh -c 'exit 7'
	[ "$status" -eq 7 ]
}

@test "--as USER: neither the environment, nor descriptors, nor a directory that is closed to that user; pipes and the umask stay" {
	need_root
	their_directory
	mkdir -m 700 "$WORK/closed" "$WORK/closed/open"
	chmod 755 "$WORK/closed/open"
	in_it() {	# COMMAND...
		env SECRET=of-root XDG_RUNTIME_DIR=/run/user/0 SUDO_USER=root HOME=/root LC_ALL=C.UTF-8 TERM=vt100 LANG=C "${as_nobody[@]}" "$@"
	}
	in_it env >"$WORK/env" 7</etc/shadow 8>"$WORK/root's" 2>"$WORK/err"
	cat "$WORK/env"
	[ "$(cut -d = -f 1 "$WORK/env" | sort | paste -sd ' ')" = "HOME LANG LC_ALL LOGNAME PATH SHELL TERM USER" ]
	grep -qx "HOME=$(getent passwd nobody | cut -d : -f 6)" "$WORK/env"
	grep -qx "SHELL=$(getent passwd nobody | cut -d : -f 7)" "$WORK/env"
	grep -qx "PATH=$PATH" "$WORK/env"
	grep -qx 'LC_ALL=C.UTF-8' "$WORK/env"
	# 3 is ls's own
	[ "$(in_it ls /proc/self/fd 7</etc/shadow 8>"$WORK/root's" | paste -sd ' ')" = "0 1 2 3" ]
	[ "$(umask 027; in_it sh -c umask)" = 0027 ]
	# a session of its own
	[ "$(in_it ps -o sid= -p $$ | tr -d ' ')" != "$(in_it sh -c 'ps -o sid= -p $$' | tr -d ' ')" ]
	cd "$WORK/theirs"
	[ "$(in_it pwd)" = "$WORK/theirs" ]
	cd "$WORK/closed/open"
	[ "$(in_it pwd 2>"$WORK/err")" = / ]
	grep -qx "cpuprof: nobody may not enter '$WORK/closed/open': the command runs in '/'" "$WORK/err"
	cd /
	[ "$(printf '%s\n' b a | in_it cat | sort | paste -sd ' ')" = "a b" ]
	run in_it sh -c 'kill -TERM $$'
	[ "$status" -eq 143 ]
	PATH=${BATS_TEST_DIRNAME%/*}/build:/usr/bin:/bin run -127 in_it no-such-program
	[[ "$output" == *"cannot run 'no-such-program'"* ]]
}

@test "--as USER: what is typed after the command's end is not read by a process that it has left, though it took the terminal" {
	need_root
	need python3
	their_directory
	cat >"$WORK/attack.py" <<-'EOF'
		import fcntl, os, signal, sys, termios, time
		terminal = os.open("/dev/tty", os.O_RDWR)
		if os.fork() == 0:
		    for number in signal.SIGTTOU, signal.SIGTTIN, signal.SIGHUP, signal.SIGTERM:
		        signal.signal(number, signal.SIG_IGN)
		    os.setpgid(0, 0)
		    mode = termios.tcgetattr(terminal)
		    mode[3] |= termios.TOSTOP
		    termios.tcsetattr(terminal, termios.TCSANOW, mode)
		    os.tcsetpgrp(terminal, os.getpgrp())
		    open("ready", "w").close()
		    for i in range(600):    # until the file is gone, a minute at most
		        try:
		            open("keys", "ab").write(os.read(terminal, 100))
		        except OSError:
		            pass
		        if not os.path.exists("ready"):
		            break
		        time.sleep(0.1)
		    os._exit(0)
		try:
		    fcntl.ioctl(terminal, termios.TIOCSTI, b"#")
		except OSError:
		    pass
		while not os.path.exists("ready"):
		    time.sleep(0.1)
		print("attack" + "ed", flush=True)
	EOF
	cd "$WORK/theirs"
	on_terminal "${a_shell[@]}" <<-EOF
		type PS1='shell> '\n
		expect shell>
		type ${as_nobody[*]} /usr/bin/python3 $WORK/attack.py\n
		expect attacked
		expect shell>
		mode
		type roots-password\n
		expect roots-password: command not found
		expect shell>
		mode
		type exit 7\n
		end
	EOF
	rm -f ready
	[ ! -e keys ] || cat keys
	refute grep -q password keys
	[ "$(grep -c '\[cooked\]' "$WORK/shown")" -eq 2 ]
	grep -q 'status 7, cooked' "$WORK/shown"
	refute grep -q Stopped "$WORK/shown"
}

@test "--as USER on a terminal: another one, with its size; typing, Ctrl-Z, the shell's fg and bg, and a new size" {
	need_root
	need python3
	their_directory
	cat >"$WORK/command" <<-'EOF'
		[ "$(tty)" != "$1" ] && echo "another"
		stty size
		echo hello >/dev/stderr
		echo ready
		read x; echo "got <$x>"
		read x; stty size
		cat
		echo over
	EOF
	chmod 644 "$WORK/command"
	on_terminal "${a_shell[@]}" <<-EOF
		type PS1='shell> '\n
		expect shell>
		type ${as_nobody[*]} sh $WORK/command \$(tty)\n
		expect another\r\n24 80\r\nhello\r\nready
		until raw
		type \x1a
		expect Stopped
		expect shell>
		mode
		type bg\n
		expect shell>
		type jobs\n
		expect Running
		mode
		type fg\n
		until raw
		type some words\n
		expect got <some words>
		size 30 90
		type \n
		expect 30 90
		type echoed\n
		expect echoed\r\nechoed\r\n
		type \x04
		expect over
		until cooked
		type set -b; ${as_nobody[*]} sh -c 'read x; echo "read [\$x]"' &\n
		expect Stopped
		mode
		type fg\n
		until raw
		type in turn\n
		expect read [in turn]
		until cooked
		type exit 7\n
		end
	EOF
	[ "$(grep -c '\[cooked\]' "$WORK/shown")" -eq 3 ]
}

@test "--as USER on a terminal: Ctrl-C ends the measuring and the command; the mode is restored, whatever ends the tool" {
	need_root
	need python3
	local signal
	on_terminal cpuprof -o /dev/null --as nobody -- sh -c 'trap "exit 5" INT; echo ready; while :; do sleep 0.1; done' <<-'EOF'
		expect Ctrl-C to end\r\n
		expect ready
		until raw
		type \x03
		expect cpuprof:
		end
	EOF
	grep -q 'status 5, cooked' "$WORK/shown"
	# it goes on after the duration, and is typed to
	on_terminal cpuprof -o /dev/null --as nobody 0.1 -- sh -c 'read x; echo "got <$x>"' <<-'EOF'
		expect still runs, and is no longer measured
		type words\n
		expect got <words>
		end
	EOF
	grep -q 'status 0, cooked' "$WORK/shown"
	for signal in INT TERM HUP KILL; do
		on_terminal "${as_nobody[@]}" sh -c 'echo ready; while :; do sleep 0.1; done' <<-EOF
			expect ready
			until raw
			kill $signal
			until cooked
			end
		EOF
		grep -q "status $((128 + $(kill -l $signal))), cooked" "$WORK/shown"
	done
	# the command ignores all: the second one ends the tool
	on_terminal "${as_nobody[@]}" sh -c 'trap "" INT TERM; echo ready; sleep 60' <<-EOF
		expect ready
		until raw
		type \x03
		expect sample
		pause
		type \x03
		until cooked
		end
	EOF
	grep -q 'status 130, cooked' "$WORK/shown"
}

@test "--as USER in a pipeline on a terminal: what is typed is the reader's, until the command reads; Ctrl-C ends both" {
	need_root
	need python3
	on_terminal bash -c "${as_nobody[*]} sh -c 'echo ready >&2; sleep 0.5; echo x' | { read key </dev/tty; echo \"key <\$key>\"; cat; }" <<-'EOF'
		expect ready
		mode
		type abc\n
		expect key <abc>
		expect x
		end
	EOF
	grep -q '\[cooked\]' "$WORK/shown"
	on_terminal bash -c "${as_nobody[*]} cat | sort" <<-'EOF'
		until raw
		type b\na\n\x04
		expect a\r\nb
		end
	EOF
	grep -q 'status 0, cooked' "$WORK/shown"
	on_terminal bash -c "${as_nobody[*]} sh -c 'trap \"exit 5\" INT; echo ready >&2; while :; do sleep 0.1; done' | cat; exit \${PIPESTATUS[0]}" <<-'EOF'
		expect ready
		type \x03
		expect sample
		end
	EOF
}
