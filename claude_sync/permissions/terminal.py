"""
Ask the person at the terminal.

What Claude wants to do is shown before the question, and none of it reaches the terminal raw: a
command could hold escape sequences that draw a harmless one over itself. The forms have the words;
:func:`ask_permission` and :func:`ask_questions` need only a way to read a line and a way to write,
so that other places that take lines can use them.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import threading
from typing import Callable, Iterable, Optional

from ..log import logger
from . import forms
from .forms import Line, PermissionForm, QuestionField, QuestionForm, form_of
from .preview import shown
from .request import Decision, PermissionRequest

__all__ = ["CannotAsk", "ask_on_terminal", "ask_permission", "ask_questions", "choose"]

Read = Callable[[str], str]
Say = Callable[[str], object]

# Held from the preview to the reply: one question at a time is on the terminal.
ONE_QUESTION = threading.Lock()

NOBODY = (
    "Permission denied, because {}. Continue without it, and say at the end what you would have "
    "done."
)
# What is typed for a choice, and its words in the prompt.
REPLIES = {
    "allow": ("y", "yes"),
    "accept_edits": ("e", "edits"),
    "allow_always": ("a", "always"),
    "deny": ("n", "no"),
}
REFUSAL = re.compile(r"(?:no|n)(?:[\s,:;.]+(.*))?", re.IGNORECASE | re.DOTALL)
COLOURS = {"added": "32", "removed": "31", "hunk": "2", "note": "2"}


class CannotAsk(Exception):
    """There is nobody to ask; the text says why."""


class NoTerminal(CannotAsk):
    """Nobody knows that somebody was to be asked: there is no terminal, or it is gone."""


@functools.cache
def tell_once() -> None:
    """Tell once in a process that somebody should have been asked."""
    logger.warning(
        "Claude asked for permission and was denied, because there was no terminal to ask on. Run "
        "the program in a terminal, or decide without one: permissions=policies.allow_tools(...)"
    )


def ask_on_terminal(request: PermissionRequest) -> Optional[Decision]:
    """
    Show a preview of the request, and let the person at the terminal decide.

    The replies are ``y``, ``n``, ``n`` with a reason that Claude reads, ``a`` for always and ``e``
    for all edits of this session, where the CLI offers them, and ``?``, which shows everything.
    Works on any thread; several requests are shown one after another. It denies the request at
    the end of input, at Ctrl-C, and if there is no terminal, which it logs once as a warning. It
    returns None if the CLI has withdrawn the request, and for a question from Claude
    (``AskUserQuestion``) that it cannot show.
    """
    try:
        return ask(request)
    except CannotAsk as problem:
        if request.tool == "AskUserQuestion":
            return None
        if isinstance(problem, NoTerminal):
            tell_once()
        return request.deny(NOBODY.format(problem))


def ask(request: PermissionRequest) -> Optional[Decision]:
    """The same, with :class:`CannotAsk` where nobody can be asked."""
    form = form_of(request)
    if isinstance(form, PermissionForm) and request.tool == "AskUserQuestion":
        return None  # of a form that cannot be asked
    with ONE_QUESTION:
        check_terminal()
        if request.cancelled.is_set():
            return None
        verb = (
            ask_questions(form, read, say)
            if isinstance(form, QuestionForm)
            else ask_permission(form, read, say)
        )
    # The verb is called without the lock: what it does is not ours.
    if verb is not None:
        verb()
    return form.decision


def ask_permission(form: PermissionForm, read: Read, say: Say) -> Optional[Callable[[], bool]]:
    """Show what a form asks; the method of it that the person chose, None if it was withdrawn."""
    say(f"\n{form.title}\n")
    for detail in form.details:
        say(f"{detail}\n")
    say(indented(form.lines))
    for choice in form.choices:
        say(f"{choice.meaning}.\n" if choice.meaning else "")
    return choose(form, read, say)


def choose(form: PermissionForm, read: Read, say: Say) -> Optional[Callable[[], bool]]:
    """The same for what is on the screen already."""
    forget_typed()
    offered = {choice.name: choice for choice in form.choices}
    words = " / ".join(f"[{word[0]}]{word[1:]}" for word in (REPLIES[name][1] for name in offered))
    while True:
        reply = read(f"Allow it? {words} / n with a reason / ? ")
        if form.request.cancelled.is_set():
            say("The CLI has withdrawn the request. Nothing was decided.\n")
            return None
        refusal = REFUSAL.fullmatch(reply)
        if refusal:
            reason = (refusal.group(1) or "").strip()
            return lambda: form.deny(reason)
        name = next((name for name, known in REPLIES.items() if reply.lower() in known), "")
        if name in offered:
            verb: Callable[[], bool] = getattr(form, name)
            return verb
        if reply == "?":
            for choice in form.choices:
                say(f"  {REPLIES[choice.name][0]}              {choice.label}\n")
            say(f"  n and a reason {forms.REASON}\n")
            say(indented(form.everything()))
        elif name:
            say("The CLI does not offer this here; y allows it once.\n")
        else:
            say("Not understood. Type ? to see the possible replies.\n")


def ask_questions(form: QuestionForm, read: Read, say: Say) -> Optional[Callable[[], bool]]:
    """The same for questions; the form has the answers then."""
    for field in form.fields:
        answered = ask_question(field, form, read, say)
        if form.request.cancelled.is_set():
            say("The CLI has withdrawn the question.\n")
            return None
        if not answered:
            return form.decline
    return form.answer


def ask_question(field: QuestionField, form: QuestionForm, read: Read, say: Say) -> bool:
    """Ask one question; whether it was answered."""
    say(f"\n{shown(field.question.text)}\n")
    for number, (label, about) in enumerate(field.options, 1):
        say(f"  {number}. {label}{': ' + shown(about) if about else ''}\n")
    wanted = "Numbers, separated by commas" if field.is_multiple else "Number"
    forget_typed()
    while True:
        reply = read(f"{wanted}, or your own words (n to decline): ")
        if form.request.cancelled.is_set() or reply.lower() in ("n", "no"):
            return False
        numbers = [int(each) for each in re.split(r"[\s,]+", reply) if re.fullmatch("[0-9]+", each)]
        is_choice = bool(re.fullmatch(r"[0-9\s,]+", reply))
        if is_choice and numbers and max(numbers) <= len(field.options) and min(numbers) > 0:
            if field.is_multiple or len(numbers) == 1:
                for number in numbers:
                    field.choose(number - 1)
                return True
        elif reply and not is_choice:
            field.write(reply)
            return True
        say(f"Not understood. Type numbers from 1 to {len(field.options)}.\n")


def forget_typed() -> None:
    """
    Throw away what was typed before the question was there to be read.

    A second ``y`` after the first must not allow what nobody has seen.
    """
    with contextlib.suppress(Exception):  # no terminal of this kind: nothing to throw away
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def check_terminal() -> None:
    """Raise unless somebody can read and reply."""
    try:
        there = sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None
    except (OSError, ValueError):  # closed
        there = False
    if not there:
        raise NoTerminal("the program has no terminal on which to ask")


def read(prompt: str) -> str:
    """What the person types, without blanks around it."""
    try:
        reply = input(prompt)
    except EOFError:
        raise CannotAsk("the input ended before a reply came") from None
    except KeyboardInterrupt:
        raise CannotAsk("the user pressed Ctrl-C at the question") from None
    except (OSError, ValueError, RuntimeError):
        raise NoTerminal("the terminal could not be read") from None
    # A terminal of another encoding leaves pieces that the wire could not carry.
    return reply.strip().encode("utf-8", "replace").decode("utf-8")


def say(text: str) -> None:
    """Write to the terminal what it is able to show."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except (OSError, ValueError):
        raise NoTerminal("the terminal could not be written to") from None


def indented(lines: Iterable[Line]) -> str:
    """Lines of others, marked as such one by one, so that they cannot look like ours."""
    return "".join(f"  | {coloured(line)}\n" for line in lines)


def coloured(line: Line) -> str:
    """A line in the colour of its kind, where the terminal has colours."""
    colour = COLOURS.get(line.kind)
    dull = "NO_COLOR" in os.environ or os.environ.get("TERM", "dumb") == "dumb" or os.name == "nt"
    try:
        if colour is None or dull or not sys.stdout.isatty():
            return line.text
    except (AttributeError, OSError, ValueError):  # no terminal, or closed
        return line.text
    return f"\x1b[{colour}m{line.text}\x1b[0m"
