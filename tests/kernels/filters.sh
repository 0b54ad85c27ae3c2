# SPDX-License-Identifier: GPL-2.0-or-later
# Each tool with every option that makes its programs longer, for the verifier; the options find who is asked for.
mkdir /tmp/cgroup
mount -t cgroup2 none /tmp/cgroup
mkdir -p /tmp/cgroup/above/below
begin() {	# COMMAND...: in the cgroup below
	"$@" >/dev/null &
	one=$!
	echo $one >/tmp/cgroup/above/below/cgroup.procs
	sleep 1
}
begin nested sleep
measure offcputime -v -j --comm nested --cgroup /tmp/cgroup/above -p $one -t $one -u -C 0,1 --state RSDTtPI --time blocked \
	-m 1 -M 10s 2
sed -n 's/^{/slept {/p' /tmp/out
measure offcputime -j --comm nested --cgroup /tmp/cgroup/above -k 1
sed -n 's/^{/nobody {/p' /tmp/out
kill $one
begin nested burn 100
measure cpuprof -v -j -F 199 --comm nested --cgroup /tmp/cgroup/above -p $one -t $one -u -C 0,1 2
sed -n 's/^{/burnt {/p' /tmp/out
kill $one
measure mapupdlat -v -j --cmd all --type hash --map plain --by all -P --slow 1 -U -- mapinmap hash 100 2 0 plain
sed -n 's/^{/called {/p' /tmp/out
