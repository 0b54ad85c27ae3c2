# SPDX-License-Identifier: GPL-2.0-or-later
# Disks of each kind that the kernel has a module for, a volume of device mapper on a partition, and an array of RAM disks:
# what lsblk names them, and the same requests to each, as /proc/diskstats counts them. Then a disk whose requests take 100 ms,
# and a partition.
if [ ! -e /sys/kernel/btf/vmlinux ]; then
	measure biohist -j
	exit
fi
for module in virtio_pci virtio_blk loop "brd rd_nr=3 rd_size=16384" "null_blk nr_devices=1 gb=1" dm-mod raid0; do
	modprobe $module 2>/dev/null || echo "no module: $module"
done
truncate -s 16M /tmp/image
losetup /dev/loop0 /tmp/image
dmsetup create a-volume --noudevsync --noudevrules --table "0 32768 linear /dev/vda1 2048" && dmsetup mknodes
# the array, as mdadm would make it
echo md_an-array >/sys/module/md_mod/parameters/new_array
(
	cd /sys/block/md_an-array/md && echo raid0 >level && echo 65536 >chunk_size && echo 2 >raid_disks
	for member in 1 2; do
		cat /sys/block/ram$member/dev >new_dev
		echo 16384 >dev-ram$member/size
		echo $((member - 1)) >dev-ram$member/slot
	done
	echo active >array_state
)
lsblk -ln -e 999 -o NAME,MAJ:MIN,TYPE | sed 's/^/disk /'

requests() {	# DISK
	dd if=/dev/zero of=$1 bs=64k count=40 oflag=direct
	dd if=$1 of=/dev/null bs=12k count=50 iflag=direct
	dd if=/dev/zero of=$1 bs=256k count=20 conv=fsync
	echo 1 >/proc/sys/vm/drop_caches
	dd if=$1 of=/dev/null bs=256k count=20
}
rm -f /tmp/err
(
	until grep -q Ctrl-C /tmp/err; do sleep 0.1; done
	cat /proc/diskstats >/tmp/before
	for disk in vda1 loop0 ram0 nullb0 mapper/a-volume md_an-array; do
		requests /dev/$disk
	done >/dev/null 2>&1
	sleep 0.2
	cat /proc/diskstats >/tmp/after
	kill -TERM $(pidof biohist)
) &
measure biohist -v -j -D -F --size
if [ $status -ne 0 ]; then
	kill $!
	exit
fi
wait
grep '^{' /tmp/out
sed 's/^/before /' /tmp/before
sed 's/^/after /' /tmp/after
[ "$SIZE" = full ] || exit 0
measure biohist -j -d vdb -- reads /dev/vdb 12 4096
sed 's/^/slow /' /tmp/out
measure biohist -j --size -D -d vda1 -- sh -c 'dd if=/dev/vda1 of=/dev/null bs=16k count=7 iflag=direct
	dd if=/dev/vda of=/dev/null bs=16k count=9 iflag=direct'
sed -n 's/^{/partition {/p' /tmp/out
