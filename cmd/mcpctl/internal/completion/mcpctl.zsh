#compdef mcpctl
# zsh completion for mcpctl. It evaluates nothing: neither what was typed nor what a server calls
# its tools.

_mcpctl() {
	emulate -L zsh
	local -a lines names shown options
	local line directive
	lines=("${(@f)$(command "${(Q)words[1]}" __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
	directive=${lines[-1]#:}
	[[ $directive == <-> ]] || return 1
	for line in "${(@)lines[1,-2]}"; do
		names+=("${line%%$'\t'*}")
		shown+=("${line/$'\t'/  -- }")
	done
	((directive & 2)) && options+=(-S '')
	((directive & 32)) && options+=(-V mcpctl)
	if ((${#names})); then
		compadd "${(@)options}" -l -d shown -a names
	elif ((directive & 4)); then
		return 1
	else
		_files
	fi
}

if [[ $funcstack[1] == _mcpctl ]]; then
	_mcpctl "$@"
else
	compdef _mcpctl mcpctl
fi
