# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion of ehperf's tools. Options, what they take and what comes first are read from the tool's own --help, so
# this file knows no option; it knows where to find a PID, an event, or a map.

# In these functions, _ehperf_tool is what runs the tool: its name, or ehperf and its name.

# reads the tool's --help: _ehperf_takes[OPTION] is the word for its argument, or empty; _ehperf_operand is that of the first operand
_ehperf_read_help() {
	local line words word takes
	_ehperf_takes=() _ehperf_operand=
	while IFS= read -r line; do
		if [[ $line =~ ^Usage:.*\[OPTION\.\.\.\]\ \[?([A-Z|]+) ]]; then
			_ehperf_operand=${BASH_REMATCH[1]}
		fi
		[[ $line =~ ^\ +(-.*)$ ]] || continue
		takes=
		[[ ${BASH_REMATCH[1]} =~ ^[^=]*--[a-z-]+=([A-Z|]+) ]] && takes=${BASH_REMATCH[1]}
		IFS=' ' read -ra words <<<"${line%%=*}"
		for word in "${words[@]}"; do
			[[ $word == -* ]] || break
			word=${word%,}
			_ehperf_takes[${word%[}]=$takes	# --option[=ARG]
		done
	done < <("${_ehperf_tool[@]}" --help 2>/dev/null)
}

# names of processes, as far as they are plain words
_ehperf_names() {
	cat /proc/[0-9]*/comm 2>/dev/null | grep -v '[^A-Za-z0-9._-]'
}

# the candidates for VALUE, an argument that --help calls KIND, in COMPREPLY
_ehperf_values() {	# KIND VALUE
	local name=${_ehperf_tool[-1]} value=$2 list=
	case $1 in
	PID | 'PID|NAME' | TID)
		[[ $value != *,* ]] || list=${value%,*},
		local dir=/proc/[0-9]* names=
		[ "$1" != TID ] || dir=/proc/[0-9]*/task/[0-9]*
		[[ $1 != *NAME ]] || names=$(_ehperf_names)
		COMPREPLY=($(compgen -P "$list" -W "$(printf '%s\n' $dir | sed 's|.*/||')"$'\n'"$names" -- "${value##*,}"))
		;;
	EVENT | FUNCTION | PATTERN)
		# the name of a program or library, up to the second colon, is a file's
		if [[ $value == u:*/* && $value != u:*:* || $value == usdt:*/* && $value != usdt:*:* ]]; then
			compopt -o filenames -o nospace 2>/dev/null
			COMPREPLY=($(compgen -P "${value%%:*}:" -f -- "${value#*:}"))
			return
		fi
		# one that measures something else has no list of its own
		[ -n "${_ehperf_takes[--list]+set}" ] || _ehperf_tool[-1]=${name%"${name##*/}"}stackcount
		COMPREPLY=($(compgen -W "$("${_ehperf_tool[@]}" --list "$value*" 2>/dev/null)" -- "$value"))
		;;
	'ID|NAME') COMPREPLY=($(compgen -W "$(bpftool map list 2>/dev/null |
		sed -nE 's/^([0-9]+): \S+ +(name (\S+))?.*/\1\n\3/p')" -- "$value")) ;;
	CPU) COMPREPLY=($(compgen -W "$(printf '%s\n' /sys/devices/system/cpu/cpu[0-9]* | sed 's/.*cpu//')" -- "$value")) ;;
	DISK) COMPREPLY=($(compgen -W "$(cd /sys/class/block && printf '%s\n' *)" -- "$value")) ;;
	NAME) COMPREPLY=($(compgen -W "$(_ehperf_names)" -- "$value")) ;;
	USER) COMPREPLY=($(compgen -u -- "$value")) ;;
	FILE | 'FILE|PID' | PATH | DIR | BEFORE)
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$value"))
		;;
	esac
}

_ehperf() {
	local IFS=$'\n' line=${COMP_LINE:0:COMP_POINT} words value kind before _ehperf_operand _ehperf_tool=("$1")
	local -A _ehperf_takes
	COMPREPLY=()
	IFS=$' \t' read -ra words <<<"$line"
	[[ $line != *[[:space:]] ]] || words+=('')
	value=${words[-1]} before=${words[-2]}
	if [ "${1##*/}" = ehperf ]; then
		if [[ ${#words[@]} == 2 || ${#words[@]} == 3 && $before == help ]]; then
			COMPREPLY=($(compgen -W "help"$'\n'"$("$1" 2>/dev/null | sed -nE 's/^    ([^ ]+).*/\1/p')" -- "$value"))
			return
		fi
		_ehperf_tool+=("${words[1]}")
	fi
	# behind -- is a command, and behind that what is the command's
	if [[ $line == *[[:space:]]--[[:space:]]* ]]; then
		if [ "$before" = -- ]; then COMPREPLY=($(compgen -c -- "$value")); else COMPREPLY=($(compgen -f -- "$value")); fi
		return
	fi
	_ehperf_read_help
	if [[ $value == --*=* ]]; then
		kind=${_ehperf_takes[${value%%=*}]-}
		value=${value#*=}
		_ehperf_values "$kind" "$value"
	elif [[ $before == -* && -n ${_ehperf_takes[$before]-} ]]; then
		_ehperf_values "${_ehperf_takes[$before]}" "$value"
	elif [[ $value == -* ]]; then
		COMPREPLY=($(compgen -W "${!_ehperf_takes[*]}" -- "$value"))
		return
	else
		_ehperf_values "$_ehperf_operand" "$value"
	fi
	# readline replaces only what is behind the last of its word breaks
	local kept=${value%"${value##*[:=]}"}
	COMPREPLY=("${COMPREPLY[@]#"$kept"}")
}

complete -F _ehperf @TOOLS@
