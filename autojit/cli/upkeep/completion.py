"""``autojit completion``: scripts for shells, which ask the command itself for candidates."""

from __future__ import annotations

from autojit.cli.common.failures import Failure
from autojit.spelling import closest

#: The subcommand that the scripts call with the words typed so far.
COMPLETE = "__complete"

_BASH = """\
# Completion of autojit for bash.  In ~/.bashrc:  eval "$(autojit completion bash)"
_autojit() {
    local IFS=$'\\n'
    COMPREPLY=($("${COMP_WORDS[0]}" @COMPLETE@ bash "$COMP_WORDBREAKS" \\
        "${COMP_LINE:0:$COMP_POINT}" 2>/dev/null))
    case "${COMPREPLY[0]}" in *[/:=]) compopt -o nospace ;; esac
}
complete -F _autojit autojit
"""

_ZSH = """\
#compdef autojit
# Completion of autojit for zsh.  In ~/.zshrc, after compinit:  eval "$(autojit completion zsh)"
_autojit() {
    local line
    local -a found shown open open_shown
    for line in "${(@f)$("$words[1]" @COMPLETE@ zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        local word="${line%%$'\\t'*}" text="${line//$'\\t'/  }"
        [[ -z "$word" ]] && continue
        if [[ "$word" == *[/:=] ]]; then
            open+=("$word") open_shown+=("$text")
        else
            found+=("$word") shown+=("$text")
        fi
    done
    (( $#found )) && compadd -l -d shown -a found
    (( $#open )) && compadd -S '' -d open_shown -a open
}
compdef _autojit autojit
"""

_FISH = """\
# Completion of autojit for fish.  In ~/.config/fish/config.fish:  autojit completion fish | source
function __autojit_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    $words[1] @COMPLETE@ fish $words[2..-1] "$current" 2>/dev/null
end
complete -c autojit -f -a '(__autojit_complete)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def script(shell: str) -> str:
    """The script for a shell."""
    if shell not in SCRIPTS:
        raise Failure(
            f"there is completion for {', '.join(SCRIPTS)}; got {shell!r}.{closest(shell, SCRIPTS)}"
        )
    return SCRIPTS[shell].replace("@COMPLETE@", COMPLETE)
