# fish completion for mcpctl. It evaluates nothing: neither what was typed nor what a server calls
# its tools.

function __mcpctl_complete
    set -l words (commandline -opc)
    set -l start (commandline -ct | string unescape)
    set -l lines (command $words[1] __complete $words[2..-1] "$start" 2>/dev/null)
    set -l directive (string replace -r '^:' '' -- "$lines[-1]")
    set -e lines[-1]
    if set -q lines[1]
        printf '%s\n' $lines
    else if test "$directive" = 0
        __fish_complete_path "$start"
    end
end

complete -c mcpctl -e
complete -c mcpctl -f -k -a '(__mcpctl_complete)'
