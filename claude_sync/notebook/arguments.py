"""
What stands behind ``%claude``: settings first, then the question.

::

    %claude --model sonnet what is in this folder?

    %%claude --new --tools population,area --returns City
    Which city is the largest?

Settings are read from the beginning of the line, up to the first word that is
none; whatever follows is the question, as it was typed. Pure: nothing is looked
up here.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
from typing import Any, Callable, Dict, List, Optional, Tuple

from ..errors import UsageError

__all__ = ["USAGE", "Arguments", "parse", "type_named"]

USAGE = """\
%claude [settings] question

%%claude [settings]
question of many lines

--model NAME         ask this model from here on
--new                begin a new conversation
--tools NAME,NAME    functions of this notebook that Claude may call from here on
--returns TYPE       a class of this notebook, or List[City]; the answer's .data is of that type
--attach FILE,FILE   images, PDFs or texts that go with the question
--                   the question begins here, even if it begins with --

{name} in the question becomes the text of that variable of the notebook: of a table its rows,
and a picture or figure is attached. Braces around anything else stay as they are, and {{name}}
is {name}.
"""

FLAGS = ("--new",)
# Each with an example of its value.
VALUES = {
    "--attach": "plot.png",
    "--model": "sonnet",
    "--returns": "City",
    "--tools": "population,area",
}


@dataclasses.dataclass(frozen=True)
class Arguments:
    """
    What was typed.

    Attributes:
        question: The text, not yet interpolated; empty if there is none.
        new: Whether a new conversation begins.
        model, returns: As given, or None.
        tools: The names of functions.
        attach: The paths of files.

    """

    question: str = ""
    new: bool = False
    model: Optional[str] = None
    tools: Tuple[str, ...] = ()
    returns: Optional[str] = None
    attach: Tuple[str, ...] = ()

    @property
    def has_settings(self) -> bool:
        """Whether there is something to do even without a question."""
        return self.new or self.model is not None or bool(self.tools)


def parse(line: str, cell: Optional[str] = None) -> Arguments:
    """Read the line behind the magic, and the lines below it; UsageError says what is wrong."""
    flags: List[str] = []
    values: Dict[str, str] = {}
    rest = line.strip()
    while rest.startswith("--"):
        word, rest = first_word(rest)
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if name in FLAGS and not equals:
            flags.append(name)
        elif name in VALUES:
            if not equals:
                value, rest = first_word(rest)
            if not value or (not equals and value.startswith("--")):
                raise UsageError(f"{name} needs a value. Write {name} {VALUES[name]}.")
            values[name] = value
        else:
            raise UsageError(unknown(name, bool(equals)))
    question = rest if cell is None else f"{rest}\n{cell}"
    return Arguments(
        question=question.strip("\n") if question.strip() else "",
        new="--new" in flags,
        model=values.get("--model"),
        tools=names_in(values.get("--tools", "")),
        returns=values.get("--returns"),
        attach=tuple(filter(None, values.get("--attach", "").split(","))),
    )


def first_word(text: str) -> Tuple[str, str]:
    """The first word of a text, and what follows it."""
    parts = text.split(None, 1)
    return (parts[0], parts[1]) if len(parts) > 1 else (text.strip(), "")


def names_in(given: str) -> Tuple[str, ...]:
    """The names in a list with commas, each once."""
    # An empty name, too, is none: "--tools a, b" must not ask Claude "b".
    names = tuple(dict.fromkeys(given.split(","))) if given else ()
    for name in names:
        if not name.isidentifier():
            raise UsageError(
                f"--tools takes names of functions, separated by commas without spaces, and "
                f"{name!r} is not a name. Write --tools {VALUES['--tools']}."
            )
    return names


def unknown(name: str, has_value: bool) -> str:
    """What to say about a setting that there is not."""
    if name in FLAGS and has_value:
        return f"{name} takes no value. Write {name} alone."
    known = [*VALUES, *FLAGS]
    near = difflib.get_close_matches(name, known, 1)
    meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}."
    return (
        f"there is no setting {name}: {meant} Write ' -- ' before a question that begins with --."
    )


def type_named(text: str, lookup: Callable[[str], Any]) -> Any:
    """
    The type that is written as ``City``, ``List[City]``, ``dict[str, int]`` or ``City | None``.

    Only names are looked up, by *lookup*; nothing is called.
    """

    def made(node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return lookup(node.id)
        if isinstance(node, ast.Constant) and node.value is None:
            return None
        if isinstance(node, ast.Subscript):
            return made(node.value)[made(node.slice)]
        if isinstance(node, ast.Tuple):
            return tuple(map(made, node.elts))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return made(node.left) | made(node.right)
        raise ValueError

    try:
        return made(ast.parse(text, mode="eval").body)
    except (SyntaxError, TypeError, ValueError):
        raise UsageError(
            f"--returns {text}: that is not a type. Write City or List[City], without spaces."
        ) from None
