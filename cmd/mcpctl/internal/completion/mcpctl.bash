# bash completion for mcpctl. It needs no other package, and evaluates nothing: neither what was
# typed nor what a server calls its tools.

# _mcpctl_words splits the line before the cursor into words, without their quotes. kept is how much
# of the last one bash keeps in place: up to the last of COMP_WORDBREAKS in it, and without an @.
# open is the quote that is not closed.
_mcpctl_words() {
	local line=${COMP_LINE:0:COMP_POINT} quote='' word='' begun='' i c
	words=() kept=0
	for ((i = 0; i < ${#line}; i++)); do
		c=${line:i:1}
		if [[ $quote == "'" ]]; then
			if [[ $c == "'" ]]; then quote=''; else word+=$c; fi
		elif [[ $c == "\\" ]]; then
			((i++))
			word+=${line:i:1} begun=1
		elif [[ $c == '"' ]]; then
			if [[ $quote ]]; then quote=''; else quote='"' begun=1 kept=${#word}; fi
		elif [[ $quote ]]; then
			word+=$c
		elif [[ $c == "'" ]]; then
			quote=$c begun=1 kept=${#word}
		elif [[ $c == [[:space:]] ]]; then
			[[ $begun ]] && words+=("$word")
			word='' begun='' kept=0
		else
			word+=$c begun=1
			if [[ $COMP_WORDBREAKS == *"$c"* ]]; then
				kept=${#word}
				[[ $c == @ ]] && ((kept--))
			fi
		fi
	done
	words+=("$word")
	open=$quote
}

_mcpctl() {
	local -a words=() found=() shown=()
	local kept open line word directive=0 longest=0 i
	_mcpctl_words
	while ((${#words[@]} > 1)) && [[ ${words[0]} != "$1" ]]; do # variables of this command
		words=("${words[@]:1}")
	done
	while IFS= read -r line; do
		[[ $line ]] && found+=("$line")
	done < <(command "${words[0]/#\~/$HOME}" __complete "${words[@]:1}" 2>/dev/null)
	COMPREPLY=()
	((${#found[@]})) || return
	directive=${found[${#found[@]} - 1]#:}
	unset "found[${#found[@]}-1]"
	[[ $directive == *[!0-9]* ]] && return
	for line in "${found[@]}"; do
		[[ $line == *$'\t'* ]] || line+=$'\t'
		word=${line%%$'\t'*}
		word=${word:kept}
		[[ $open ]] || printf -v word %q "$word"
		[[ $open && $word == *[\"\'\\\$\`!]* ]] && continue
		COMPREPLY+=("$word")
		shown+=("${line#*$'\t'}")
		((${#word} > longest)) && longest=${#word}
	done
	# Only a list that is shown has room for what the words mean: bash inserts what it does not show.
	# A long list would take too long.
	if [[ $COMP_TYPE == 63 ]] && ((${#COMPREPLY[@]} > 1 && ${#COMPREPLY[@]} <= 200)); then
		for ((i = 0; i < ${#COMPREPLY[@]}; i++)); do
			[[ ${shown[i]} ]] || continue
			printf -v line "%-${longest}s  %s" "${COMPREPLY[i]}" "${shown[i]}"
			COMPREPLY[i]=${line:0:${COLUMNS:-80}-1}
		done
	fi
	((directive & 2)) && compopt -o nospace 2>/dev/null
	((directive & 4)) && compopt +o default 2>/dev/null
	((directive & 32)) && compopt -o nosort 2>/dev/null
	return 0
}

complete -o default -F _mcpctl mcpctl
