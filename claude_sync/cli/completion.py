"""
``claude-sync completion``: what a shell needs to complete commands and options.

The script has all words in it, so nothing is started while somebody types.
"""

from __future__ import annotations

import argparse

from .common import OK, write_line

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
complete -o filenames -F _claude_sync claude-sync"""

# zsh reads the script of bash.
ZSH = "autoload -U +X compinit bashcompinit\ncompinit\nbashcompinit\n"


def completion(arguments: argparse.Namespace) -> int:
    """
    Print a script that lets your shell complete the commands and options of claude-sync.

    examples:
      claude-sync completion bash >> ~/.bashrc
      claude-sync completion zsh >> ~/.zshrc
      claude-sync completion fish > ~/.config/fish/completions/claude-sync.fish

    exit codes:
      0    printed
      2    the command line was wrong
    """
    from . import COMMANDS, command_parser

    known = {name: words_of(command_parser(name)) for name in COMMANDS}
    commands = " ".join(known)
    if arguments.shell == "fish":
        write_line(f"complete -c claude-sync -n __fish_use_subcommand -f -a '{commands}'")
        for name, words in known.items():
            for word in words:
                what = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
                write_line(
                    f"complete -c claude-sync -n '__fish_seen_subcommand_from {name}' {what}"
                )
        return OK
    cases = (f'        *:{name}) words="{" ".join(words)}" ;;' for name, words in known.items())
    script = BASH.format(commands=commands, cases="\n".join(cases))
    write_line((ZSH if arguments.shell == "zsh" else "") + script)
    return OK


def completion_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said on the command line, --offline excepted."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def words_of(parser: argparse.ArgumentParser) -> list[str]:
    """The options of a command, and the commands that it has itself."""
    words: list[str] = []
    for action in parser._actions:
        words += [flag for flag in action.option_strings if flag.startswith("--")]
        if not action.option_strings and action.choices is not None:
            words += map(str, action.choices)
    return words
