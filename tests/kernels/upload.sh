# SPDX-License-Identifier: GPL-2.0-or-later
# In the guest: make bench-upload's program. Few files are here, so their tables are used again and again.
find /bin /lib /lib64 /usr -type f | upload 1400
