# SPDX-License-Identifier: GPL-2.0-or-later
# What a worker could try once a hostile file has taken it over.
escapes
echo "status $?"
