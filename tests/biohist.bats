#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later

load lib.bash

teardown() {
	end_children
	[ -z "${scheduler-}" ] || echo "$scheduler" >"/sys/block/$disk/queue/scheduler"
	[ -z "${iostats-}" ] || echo "$iostats" >"/sys/block/$disk/queue/iostats"
	[ -z "${disk-}" ] || losetup -d "/dev/$disk"
	umount "$WORK/mnt" 2>/dev/null || true
	rm -rf "$WORK"
}

# a loop device of 64 MiB, all its own; its name is in $disk
need_disk() {
	need_root
	need losetup
	truncate -s 64M "$WORK/disk"
	disk=$(losetup -f --show "$WORK/disk") || skip "needs a loop device"
	disk=${disk#/dev/}
}

# "READS SECTORS WRITES SECTORS DISCARDS SECTORS FLUSHES MILLISECONDS" so far, as the kernel counts them
diskstats() {
	awk -v disk="$disk" '$3 == disk { print $4, $6, $8, $10, $15, $17, $19, $7 + $11 }' /proc/diskstats
}

# the same, but for the time, of the histograms of --size -F in $WORK/out
counted() {
	jq -rs 'def sum(op; f): [.[] | select(.type == "histogram" and (.key.operation | sub("write-.*"; "write")) == op) | f] | add // 0;
		[sum("read"; .count), sum("read"; .total_bytes / 512), sum("write"; .count), sum("write"; .total_bytes / 512),
		sum("discard"; .count), sum("discard"; .total_bytes / 512), sum("flush"; .count)] | join(" ")' "$WORK/out"
}

# Is what $WORK/out has what the kernel has counted since? A kernel that runs no BPF program while a virtual machine's agent is
# the running thread does not tell of each I/O's end. Such I/Os are said, and missing
counted_all() {	# BEFORE
	local ours theirs missing
	ours=$(counted)
	theirs=$(difference "$1" "$(diskstats)")
	missing=$(summary '.in_flight + .ends_unseen')
	echo "$ours; the kernel: $theirs; not seen to end: $missing"
	paste <(tr ' ' '\n' <<<"$ours") <(tr ' ' '\n' <<<"$theirs") |
		awk -v missing="$missing" '$1 > $2 { exit bad = 1 } NR != 2 && NR != 4 && NR != 6 { n += $2 - $1 } { all += $2 - $1 }
			END { exit bad || n != missing || (!n && all) }'
}

# the same for a number of I/Os that is known
all_of() {	# COUNT EXPECTED
	echo "$1 of $2; not seen to end: $(summary '.in_flight + .ends_unseen')"
	[ "$(($1 + $(summary '.in_flight + .ends_unseen')))" -eq "$2" ]
}

# how many I/Os a report of text says were not seen to end
said_missing() {	# FILE
	awk '/ I\/Os? (not done|lost)/ { n += $2 } END { print n + 0 }' "$1"
}

difference() {	# BEFORE AFTER
	paste -d ' ' <(tr ' ' '\n' <<<"$1") <(tr ' ' '\n' <<<"$2") | awk 'NR <= 7 { printf "%s%d", s, $2 - $1; s = " " }'
}

random_io() {	# ARG...
	fio --name=x --filename="/dev/$disk" --direct=1 --size=32M --output-format=json --output="$WORK/fio" "$@"
}

# bats test_tags=check
@test "wrong arguments: one clear line, exit 2" {
	while IFS='|' read -r arguments pattern; do
		run biohist $arguments
		echo "biohist $arguments: $status: $output"
		[ "$status" -eq 2 ]
		[[ "${lines[0]}" =~ $pattern ]]
	done <<-'EOT'
		-Q --size 1|-Q and --size exclude each other
		--size -m 1|-n, -u and -m are units of time
		-u --size 1|-n, -u and -m are units of time
		--heatmap --stacks 1|a heat map has no stacks: leave out --stacks
		--stacks -o heat.svg 1|a heat map has no stacks: leave out --stacks
		--slow 5ms -o heat.svg 1|--slow prints lines
	EOT
}

# bats test_tags=full
@test "fio on a loop device: as many I/Os and bytes as /proc/diskstats has, and as fio says" {
	need_disk
	need fio
	local before
	before=$(diskstats)
	biohist -j -d "$disk" -F --size -- fio --name=x --filename="/dev/$disk" --direct=1 --size=32M --rw=randrw --bsrange=4k-64k \
		--ioengine=libaio --iodepth=8 --norandommap --output-format=json --output="$WORK/fio" >"$WORK/out"
	valid_json
	counted_all "$before"
	[ "$(summary '.begun_before + .errors')" -eq 0 ]
	[ "$(summary '.in_flight + .ends_unseen')" -ne 0 ] || [ "$(jq '[.jobs[0] | .read.io_bytes + .write.io_bytes] | add' "$WORK/fio")" -eq \
		"$(jq -s 'map(select(.type == "histogram").total_bytes) | add' "$WORK/out")" ]
	[ "$(jq -s 'map(select(.type == "histogram").buckets[].count) | add' "$WORK/out")" -eq "$(summary .ios)" ]
}

@test "I/Os of one, three and five sectors: each as large as it is, and all as /proc/diskstats has them" {
	need_disk
	local before sectors
	before=$(diskstats)
	biohist -j -d "$disk" -F --size -- sh -c 'for sectors in 1 3 5; do
		dd if=/dev/zero of="$0" bs=$((sectors * 512)) count=20 oflag=direct status=none; done' "/dev/$disk" >"$WORK/out"
	counted_all "$before"
	for sectors in 1 3 5; do
		expect "20 - $(summary '.in_flight + .ends_unseen') <= $(jq -s --argjson bytes $((sectors * 512)) '[.[] | select(.key.operation? == "write").buckets[] |
			select(.from <= $bytes and .to > $bytes).count] | add // 0' "$WORK/out")"
	done
}

@test "a file system with flushes, discards and metadata: as /proc/diskstats has them" {
	need_disk
	need mkfs.ext4 fstrim
	mkfs.ext4 -q -F "/dev/$disk"
	mkdir "$WORK/mnt"
	local before
	before=$(diskstats)
	rm -f "$WORK/err"
	biohist -j -d "/dev/$disk" -F --size >"$WORK/out" 2>"$WORK/err" 3>&- &
	local tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	mount "/dev/$disk" "$WORK/mnt"
	local i
	for i in 1 2 3 4 5; do
		dd if=/dev/urandom of="$WORK/mnt/$i" bs=8k count=100 conv=fsync status=none
	done
	sync
	rm "$WORK/mnt"/[1-5]
	fstrim "$WORK/mnt"
	umount "$WORK/mnt"
	wait_until grep -qE '^ *0 +0$' "/sys/block/$disk/inflight"
	sleep 0.3
	kill -INT $tool
	wait $tool
	cat "$WORK/err"
	jq -c 'select(.type == "histogram") | [.key.operation, (.key.flags | join(" ")), .count]' "$WORK/out"
	counted_all "$before"
	expect "$(jq -s 'map(select(.key.operation? == "flush").count) | add' "$WORK/out") > 5"
	jq -r 'select(.type == "histogram") | .key.flags[]' "$WORK/out" | grep -qx metadata
}

@test "in a PID namespace, which those who begin the I/Os are outside of: as /proc/diskstats has it" {
	need_disk
	need unshare
	local before tool
	before=$(diskstats)
	rm -f "$WORK/err"
	biohist=$(command -v biohist) "${in_pid_namespace[@]}" bash -c 'exec "$biohist" -j -d "$0" -F --size' "$disk" >"$WORK/out" 2>"$WORK/err" 3>&- &
	tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	dd if=/dev/zero of="/dev/$disk" bs=64k count=100 conv=fsync status=none
	kill -INT "$(pgrep -P $tool)"
	wait $tool
	counted_all "$before"
	expect "$(summary .ios) > 10 && $(summary .begun_before) == 0"
}

# bats test_tags=full
@test "times: the kernel's own sum within 2 %, and less than what fio has waited" {
	need_disk
	need fio
	local before after ours theirs
	read -ra before < <(diskstats)
	biohist -j -d "$disk" -- fio --name=x --filename="/dev/$disk" --direct=1 --size=48M --rw=randread --bs=512k --ioengine=libaio \
		--iodepth=16 --output-format=json --output="$WORK/fio" >"$WORK/out"
	read -ra after < <(diskstats)
	ours=$(jq -s 'map(select(.type == "histogram").total_ns) | add / 1e6' "$WORK/out")
	theirs=$((after[7] - before[7]))
	echo "ours $ours ms, the kernel's $theirs ms"
	expect "$theirs > 20 && $ours >= 0.98 * $theirs - 1 && $ours <= 1.02 * $theirs + 1"
	all_of "$(summary .ios)" "$(jq .jobs[0].read.total_ios "$WORK/fio")"
	expect "$(jq -s 'map(select(.type == "histogram").mean_ns) | add' "$WORK/out") <= $(jq .jobs[0].read.clat_ns.mean "$WORK/fio")"
	expect "$(jq -s 'map(select(.type == "histogram").max_ns) | add' "$WORK/out") <= $(jq .jobs[0].read.lat_ns.max "$WORK/fio")"
}

# a disk of which each read takes as long: a loop device on a file system whose server is slow
need_disk_that_takes() {	# MILLISECONDS
	need_root
	need losetup
	mkdir "$WORK/mnt"
	head -c 32M /dev/urandom >"$WORK/disk"
	hung-fs "$WORK/mnt" "$WORK/disk" "$1" >"$WORK/ready" 2>&1 3>&- &
	pids+=($!)
	wait_until grep -q ready "$WORK/ready" || skip "needs FUSE"
	disk=$(losetup -r -f --show "$WORK/mnt/f") || skip "needs a loop device"
	disk=${disk#/dev/}
}

# such a disk, of which each read takes 3 ms, whose scheduler queues and merges 256 requests; and $WORK/reads.py DISK NR...,
# which reads those of its blocks of 64 KiB at once, and prints how long each took
need_disk_with_queue() {
	need_disk_that_takes 3
	need python3
	grep -q mq-deadline "/sys/block/$disk/queue/scheduler" || skip "needs the scheduler mq-deadline"
	scheduler=$(sed -E 's/.*\[(.*)\].*/\1/' "/sys/block/$disk/queue/scheduler")
	echo mq-deadline >"/sys/block/$disk/queue/scheduler"
	echo 256 >"/sys/block/$disk/queue/nr_requests"
	cat >"$WORK/reads.py" <<-'PY'
		import mmap, os, sys, threading, time
		fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
		blocks = sys.argv[2:]
		together = threading.Barrier(len(blocks))
		def read(block):
		    to = mmap.mmap(-1, 65536)
		    together.wait()
		    began = time.monotonic_ns()
		    os.preadv(fd, [to], int(block) * 65536)
		    sys.stdout.write(f"{time.monotonic_ns() - began}\n")	# in one piece
		for block in blocks: threading.Thread(target=read, args=(block,)).start()
	PY
}

# bats test_tags=full
@test "--slow: each I/O that takes longer, by itself: within 2 % of fio's own log; with the stacks of who began it" {
	need_disk_that_takes 40
	need fio chrt
	# what fio waits for a CPU, it counts as I/O
	biohist -j -d "$disk" --slow 20ms --stacks -- chrt -f 50 fio --name=x --filename="/dev/$disk" --readonly --direct=1 --size=32M --rw=randread \
		--bs=64k --number_ios=40 --ioengine=psync --thread --write_lat_log="$WORK/log" --log_offset=1 --output-format=json \
		--output="$WORK/fio" >"$WORK/out"
	valid_json
	# what took fio longer; sorted, because the log need not be in the order of the ends
	awk -F ', *' '$2 > 20e6 { print $2 }' "$WORK"/log_clat.1.log | sort -n >"$WORK/fio_ns"
	jq -r 'select(.type == "io") | .latency_ns' "$WORK/out" | sort -n >"$WORK/our_ns"
	paste "$WORK/fio_ns" "$WORK/our_ns" | awk '
		NF != 2 || $2 > $1 { bad++; print }
		$2 >= 0.98 * $1 { good++ }
		END { print good + 0, "of", NR; exit !(NR >= 20 && good >= 0.9 * NR && !bad) }'
	[ "$(jq -r --arg disk "$disk" 'select(.type == "io" and .key.disk == $disk and .key.operation == "read" and .bytes == 65536 and .queued_ns + .device_ns == .latency_ns) | .key.comm' "$WORK/out" | sort | uniq -c | awk '{ print $1, $2 }')" = "$(wc -l <"$WORK/our_ns") fio" ]
	# down to the thread's start, and up to where the block layer takes it; no frame is of our own program
	jq -r 'select(.type == "io") | .stacks[0] | [.comm, .ended_by, any(.user[].symbol; . == "pread64" or . == "__libc_pread64" or . == "pread"), any(.kernel[].symbol; test("submit_bio")), any(.kernel[].symbol; test("^bpf_|__bpf_trace|__traceiter"))] | @tsv' "$WORK/out" |
		sort | uniq -c | tee /dev/stderr | awk '{ n += $1 } $2 == "fio" && $3 == "complete" && $4 == "true" && $5 == "true" && $6 == "false" { good += $1 } END { exit !(n >= 20 && good >= 0.95 * n) }'
}

@test "--slow: the time in the queue counts, too" {
	need_disk_with_queue
	# a loop device takes 128 at a time, for 0.4 s; the others wait in the queue
	biohist -j -o "$WORK/out" -d "$disk" --slow 524288us -- /usr/bin/python3 "$WORK/reads.py" "/dev/$disk" $(seq 0 2 510) >"$WORK/reads" 2>"$WORK/err"
	local reads rows slow
	reads=$(awk '$1 > 524288000' "$WORK/reads" | wc -l)
	# the histogram's rows from there on
	rows=$(jq -s 'map(select(.type == "histogram").buckets[] | select(.from >= 524288000).count) | add // 0' "$WORK/out")
	slow=$(jq -s 'map(select(.type == "io")) | length' "$WORK/out")
	echo "$slow took longer than 0.5 s, by the histogram $rows, by the program $reads"
	expect "$slow > 10 && $slow == $rows && $slow <= $reads"
}

@test "requests that the scheduler merges: as many I/Os and bytes as /proc/diskstats has" {
	need_disk_with_queue
	local before merged i
	# it merges those that wait at a time, which on a slow machine may be none
	for i in 1 2 3 4 5 6 7 8 9 10; do
		before=$(diskstats)
		merged=$(awk -v disk="$disk" '$3 == disk { print $5 }' /proc/diskstats)
		biohist -j -o "$WORK/out" -d "$disk" -F --size -- /usr/bin/python3 "$WORK/reads.py" "/dev/$disk" $(seq 0 511 | shuf -n 256) >"$WORK/reads" 2>"$WORK/err"
		merged=$(($(awk -v disk="$disk" '$3 == disk { print $5 }' /proc/diskstats) - merged))
		echo "$merged merged"
		counted_all "$before"
		[ "$merged" -eq 0 ] || break
	done
	[ "$merged" -gt 0 ]
}

@test "--stacks: most of a histogram's time, or of its bytes, by the stacks in which its I/Os began" {
	need_disk
	local size
	for size in "" --size; do
		biohist -j --stacks $size -d "$disk" -- sh -c "dd if=/dev/zero of=/dev/$disk bs=64k count=100 oflag=direct status=none; sleep 0.2; dd if=/dev/$disk of=/dev/null bs=128k count=100 iflag=direct status=none" >"$WORK/out"
		valid_json
		jq -r 'select(.type == "histogram").stacks[] | [.comm, .value_ns // .value_bytes, .ended_by, .user[0].symbol] | @tsv' "$WORK/out"
		# all of it: there are but few stacks, unless some could not be unwound yet
		expect "$(jq -s 'map(select(.type == "histogram"))[0] | (.stacks | map(.value_ns // .value_bytes) | add) / (.total_ns // .total_bytes)' "$WORK/out") >= 0.9"
	done
	# the kernel does not tell of some ends
	expect "$(jq -s 'map(select(.type == "histogram"))[0].stacks | map(select(any(.user[:3][].symbol; . == "__read" or . == "read")).value_bytes) | add' "$WORK/out") >= \
		12 * 1024 * 1024 - 128 * 1024 * $(summary '.in_flight + .ends_unseen')"
	biohist --stacks -d "$disk" -- dd if=/dev/zero of="/dev/$disk" bs=64k count=100 oflag=direct status=none | tee /dev/stderr >"$WORK/out"
	grep -qE '^ +[0-9.]+ %  [0-9.]+ (us|ms|s) begun by dd \([0-9]+\) in$' "$WORK/out"
}

@test "-Q: the time in the queue and that on the device are the whole" {
	need_disk
	biohist -j -Q -d "$disk" -- dd if="/dev/$disk" of=/dev/null bs=64k count=512 iflag=direct status=none >"$WORK/out"
	[ "$(jq -r 'select(.type == "histogram") | .key.part' "$WORK/out" | sort | tr '\n' ' ')" = "device queued " ]
	[ "$(jq -r 'select(.type == "histogram") | .count' "$WORK/out" | sort -u)" = "$(summary .ios)" ]
	all_of "$(summary .ios)" 512
}

# bats test_tags=alone
@test "requests that are done are forgotten" {
	need_disk
	need bpftool
	rm -f "$WORK/err"
	biohist -j -o "$WORK/out" -d "$disk" 2>"$WORK/err" 3>&- &
	local tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	dd if=/dev/zero of="/dev/$disk" bs=64k count=500 oflag=direct conv=fsync status=none
	local kept map
	# others may have a map of this name, too
	map=$(comm -12 <(sed -n 's/^map_id:\s*//p' "/proc/$tool/fdinfo/"* | sort -u) \
		<(bpftool -j map show | jq '.[] | select(.name == "under_way").id' | sort))
	bpftool map dump id "$map" >"$WORK/kept"
	jq -c ".[]" "$WORK/kept"
	kept=$(jq length "$WORK/kept")
	kill -INT $tool
	wait $tool
	all_of "$(summary .ios)" 502
	echo "$kept kept; not seen to end: $(summary '.in_flight + .ends_unseen')"
	expect "$kept <= $(summary '.in_flight + .ends_unseen')"
}

@test "-P: flushes without data are nobody's, and have a name" {
	need_disk
	rm -f "$WORK/err"
	biohist -j -P -d "$disk" >"$WORK/out" 2>"$WORK/err" 3>&- &
	local tool=$!
	pids+=("$tool")
	wait_until grep -q Ctrl-C "$WORK/err"
	dd if=/dev/zero of="/dev/$disk" bs=64k count=1 oflag=direct conv=fsync status=none
	kill -INT $tool
	wait $tool
	jq -c 'select(.type == "histogram") | [.key, .count]' "$WORK/out"
	expect "$(jq -s 'map(select(.type == "histogram" and .key.comm == "[flush]").count) | add // 0' "$WORK/out") + $(summary '.in_flight + .ends_unseen') >= 1"
	[ "$(jq -s 'map(select(.type == "histogram" and .key.comm == "")) | length' "$WORK/out")" -eq 0 ]
}

@test "-P: dd's and cksum's sizes, each its own; text in bcc's layout" {
	need_disk
	local before missing
	before=$(diskstats | cut -d ' ' -f 1)
	biohist --size -P -d "$disk" -- sh -c "dd if=/dev/zero of=/dev/$disk bs=64k count=50 oflag=direct status=none; cksum /dev/$disk >/dev/null" >"$WORK/out" 2>"$WORK/err"
	cat "$WORK/out" "$WORK/err"
	grep -qE '^     kbytes              : count     distribution$' "$WORK/out"
	# counted_all() has the reason
	missing=$(said_missing "$WORK/err")
	ios() { awk -v name="$1" '$1 == name && /^[a-z]+ \([0-9]+\)$/ { at = 1 } at && $1 == "ios" { print $2; exit }' "$WORK/out"; }
	[ "$(($(ios dd) + $(ios cksum) + missing))" -eq $((50 + $(diskstats | cut -d ' ' -f 1) - before)) ]
	[ "$missing" -eq 0 ] || return 0
	sed -n '/^dd /,/^$/p' "$WORK/out" | grep -qE '^ +64 -> 127 +: 50 +\|\*{40}\|$'
	sed -n '/^dd /,/^$/p' "$WORK/out" | grep -q '^ios 50  total 3.125 MiB  min 64.00 KiB'
	sed -n '/^cksum /,/^$/p' "$WORK/out" | grep -qE '^ios [0-9]+  total 64.00 MiB'
}

@test "-D: disks by their names; -d: one disk only" {
	need_disk
	biohist -j -D --size -- dd if=/dev/zero of="/dev/$disk" bs=64k count=50 seek=10 oflag=direct status=none >"$WORK/out"
	valid_json
	all_of "$(jq -r --arg disk "$disk" 'select(.type == "histogram" and .key.disk == $disk) | .count' "$WORK/out")" 50
	run biohist -d nonsense 1
	[ "$status" -eq 1 ]
	[ "$output" = "biohist: no disk and no partition has this name: 'nonsense'" ]
	run biohist -d "$disk" -d "$disk" 1
	[ "$status" -eq 2 ]
	# in a container there may be no device nodes
	unshare --mount --propagation unchanged sh -ec 'mount --make-rprivate /dev; mount -t tmpfs none /dev; exec "$@"' sh \
		"$(command -v biohist)" -q -d "$disk" 0.1 1
}

# bats test_tags=full
@test "-d: a partition" {
	need_disk
	need sfdisk
	echo ',32M' | sfdisk -q --no-reread "/dev/$disk"
	losetup -d "/dev/$disk"
	disk=$(losetup -P -f --show "$WORK/disk")
	disk=${disk#/dev/}
	[ -e "/sys/block/$disk/${disk}p1" ] || skip "no partitions of loop devices"
	mknod "$WORK/p1" b $(tr : ' ' <"/sys/block/$disk/${disk}p1/dev")	# udev may not be there to do it
	biohist -j -d "${disk}p1" -- sh -c "dd if=/dev/zero of=$WORK/p1 bs=64k count=5 oflag=direct status=none; dd if=/dev/zero of=/dev/$disk bs=64k count=50 seek=600 oflag=direct status=none" >"$WORK/out"
	all_of "$(summary .ios)" 5
	# where the kernel keeps no statistics, requests do not name the partition
	iostats=$(cat "/sys/block/$disk/queue/iostats")
	echo 0 >"/sys/block/$disk/queue/iostats"
	biohist -j -d "${disk}p1" -- sh -c "dd if=/dev/zero of=$WORK/p1 bs=64k count=5 oflag=direct status=none; dd if=/dev/zero of=/dev/$disk bs=64k count=50 seek=600 oflag=direct status=none" >"$WORK/out"
	all_of "$(summary .ios)" 5
}

@test "a disk without a queue of requests (zram): as /proc/diskstats has it" {
	need_root
	[ -b /dev/zram0 ] && [ "$(cat /sys/block/zram0/disksize)" = 0 ] || skip "needs an unused zram0"
	echo 32M >/sys/block/zram0/disksize
	local before after
	before=$(disk=zram0 diskstats)
	biohist -j -F --size -d zram0 -- dd if=/dev/urandom of=/dev/zram0 bs=64k count=20 oflag=direct status=none >"$WORK/out"
	after=$(disk=zram0 diskstats)
	echo 1 >/sys/block/zram0/reset
	[ "$(counted)" = "$(difference "$before" "$after")" ]
	expect "$(summary .ios) >= 20"
}

@test "a heat map in the terminal and as SVG: every I/O is in a cell" {
	need_disk
	need xmllint
	local command=(dd if="/dev/$disk" of=/dev/null bs=64k count=512 iflag=direct status=none)
	biohist --heatmap -d "$disk" 0.05 -- "${command[@]}" >"$WORK/out"
	cat "$WORK/out"
	grep -qE '^ +[0-9.]+ (ms|us) \|[ .:=+*#%@-]+\|$' "$WORK/out"
	biohist -o "$WORK/heat.svg" -d "$disk" 0.05 -- "${command[@]}" 2>"$WORK/err"
	cat "$WORK/err"
	xmllint --noout "$WORK/heat.svg"
	# counted_all() has the reason
	[ "$(grep -oE '<title>[0-9]+ from' "$WORK/heat.svg" | awk -F '[> ]' '{ n += $2 } END { print n }')" -eq $((512 - $(said_missing "$WORK/err"))) ]
	biohist --heatmap --size -d "$disk" 0.05 -- "${command[@]}" | grep -qE '^ +[0-9.]+ KiB \|'
}

# bats test_tags=check
@test "each BPF program takes at most 15,000 instructions to verify" {
	need_root
	biohist -v --stacks --slow 1 -P -F -Q -D -p $$ 0.1 1 2>&1 >/dev/null | awk '/instructions verified/ { print $2, $3 }' | tee "$WORK/verified"
	grep -q request_completed "$WORK/verified"
	awk '$2 > 15000 { exit 1 }' "$WORK/verified"
}

# bats test_tags=check
@test "the options of --help are those of the man page; it does not run without privileges" {
	options_agree biohist mapupdlat
	refuses_without_root biohist
}
