"""
``claude-sync completion``: what a shell needs to complete commands and options.

The script has all words in it, so nothing is started while somebody types.
"""

from __future__ import annotations

import argparse
import sys

from .common import OK

__all__ = ["DESCRIPTION", "EPILOG", "add_arguments", "run"]

DESCRIPTION = (
    "Print a script that lets your shell complete the commands and options of claude-sync."
)

EPILOG = """\
examples:
  claude-sync completion bash >> ~/.bashrc
  claude-sync completion zsh > "${fpath[1]}/_claude-sync"
  claude-sync completion fish > ~/.config/fish/completions/claude-sync.fish

exit codes:
  0    printed
  2    the command line was wrong
"""

BASH = """\
_claude_sync() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" words
    case "$COMP_CWORD:${{COMP_WORDS[1]}}" in
        1:*) words="{commands}" ;;
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}}
complete -o filenames -F _claude_sync claude-sync
"""

ZSH = """\
#compdef claude-sync
_claude_sync() {{
    local -a options
    if (( CURRENT == 2 )); then
        compadd {commands}
        return
    fi
    case "$words[2]" in
{cases}
    esac
    compadd -- $options
    _files
}}
compdef _claude_sync claude-sync
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said on the command line, --offline excepted."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(arguments: argparse.Namespace) -> int:
    """Do what *arguments* say; the exit code."""
    from . import COMMANDS, command_parser

    known = {name: words_of(command_parser(name)) for name in COMMANDS}
    sys.stdout.write(script(arguments.shell, known))
    return OK


def words_of(parser: argparse.ArgumentParser) -> list[str]:
    """The options of a command, and the commands that it has itself."""
    words: list[str] = []
    for action in parser._actions:
        words += [flag for flag in action.option_strings if flag.startswith("--")]
        if not action.option_strings and action.choices is not None:
            words += map(str, action.choices)
    return words


def script(shell: str, known: dict[str, list[str]]) -> str:
    """The script for a shell; *known* has the words of each command."""
    commands = " ".join(known)
    if shell == "bash":
        cases = (f'        *:{name}) words="{" ".join(words)}" ;;' for name, words in known.items())
        return BASH.format(commands=commands, cases="\n".join(cases))
    if shell == "zsh":
        cases = (f"        {name}) options=({' '.join(words)}) ;;" for name, words in known.items())
        return ZSH.format(commands=commands, cases="\n".join(cases))
    lines = [f"complete -c claude-sync -n __fish_use_subcommand -f -a '{commands}'"]
    for name, words in known.items():
        for word in words:
            what = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
            lines.append(f"complete -c claude-sync -n '__fish_seen_subcommand_from {name}' {what}")
    return "\n".join(lines) + "\n"
