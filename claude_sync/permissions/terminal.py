"""
Ask the person at the terminal.

What Claude wants to do is shown before the question, and none of it reaches the
terminal raw: a command could hold escape sequences that draw a harmless one over
itself.
"""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Union

from ..log import logger
from ..support.text import visible

if TYPE_CHECKING:
    from .request import Decision, PermissionRequest

__all__ = ["ask_on_terminal"]

# Held from the preview to the reply: one question at a time is on the terminal.
ONE_QUESTION = threading.Lock()

NOBODY = (
    "Nobody could be asked whether this is allowed: {}. So the answer is no. Go on without it, "
    "and say at the end what you would have done."
)
REFUSED = (
    "The user said no to this. Do not try to do the same in another way; go on without it, or "
    "ask what to do instead."
)
NO_RULE = "The CLI suggests no rule for this, so there is no always; y allows it once.\n"
HELP = "  y                allow it this once\n"
HELP_ALWAYS = "  a                allow it, and do not ask about the like again in this session\n"
HELP_REST = (
    "  n                refuse it\n"
    "  n some reason    refuse it, and tell Claude why\n"
    "  ?                show this, and what is known about the request\n"
)
# What is longer fills the screen, and hides what was said before.
LONGEST_LINE = 1000
MOST_RULES = 20
# Their previews are diffs.
CHANGES = ("Edit", "MultiEdit", "Write", "NotebookEdit")
REFUSAL = re.compile(r"(?:no|n)(?:[\s,:;.]+(.*))?", re.IGNORECASE | re.DOTALL)


class CannotAsk(Exception):
    """There is nobody to ask; the text says why."""


class NoTerminal(CannotAsk):
    """Nobody knows that somebody was to be asked: there is no terminal, or it is gone."""


class Unasked:
    """Tells once in a process that somebody should have been asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told = False

    def tell(self, request: PermissionRequest) -> None:
        """*request* is denied because there is no terminal."""
        with self._lock:
            told, self._told = self._told, True
        if not told:
            logger.warning(
                "Claude asked to use %s and was denied, because there was no terminal to ask "
                "on. Run the program in a terminal, or decide without one: "
                "permissions=policies.allow_tools(...)",
                on_one_line(request.tool),
            )


UNASKED = Unasked()


def ask_on_terminal(request: PermissionRequest) -> Optional[Decision]:
    """
    Show what is wanted and let the person at the terminal decide.

    The replies are ``y``, ``n``, ``a`` for always where the CLI suggests a rule for it,
    ``n`` with a reason that Claude is told, and ``?``. Works on any thread; several
    requests are asked one after another. Without a terminal, at the end of input and at
    Ctrl-C the answer is no; that there is no terminal is logged as a warning, once.
    None is returned where the request was withdrawn meanwhile, and for a question
    of Claude's (``AskUserQuestion``) that cannot be asked here.
    """
    if request.tool == "AskUserQuestion":
        return ask_questions(request)
    try:
        with ONE_QUESTION:
            reply = reply_to(request)
    except CannotAsk as problem:
        if isinstance(problem, NoTerminal):
            UNASKED.tell(request)
        return request.deny(NOBODY.format(problem))
    # The verbs are called without the lock: what they do is not ours.
    if reply is None:
        return None
    if reply == "y":
        return request.allow()
    if reply == "a":
        return request.allow_always()
    return request.deny(reply[2:] or REFUSED)


def reply_to(request: PermissionRequest) -> Optional[str]:
    """``y``, ``a``, or ``n`` and a blank and the reason; None where it was withdrawn."""
    check_terminal()
    if request.cancelled.is_set():
        return None
    say("\n" + on_one_line(request.title or f"Claude wants to use {request.tool}") + "\n")
    say(indented(request.preview(), request.tool in CHANGES))
    say(always_means(request))
    forget_typed()
    while True:
        reply = read(prompt_for(request))
        if request.cancelled.is_set():
            say("The request was withdrawn meanwhile; nothing was decided.\n")
            return None
        decided = decision_in(reply, request, say)
        if decided is not None:
            return decided


def prompt_for(request: PermissionRequest) -> str:
    """What is asked; always is offered only where a rule would follow from it."""
    always = "[a]lways / " if always_means(request) else ""
    return f"Allow it? [y]es / [n]o / {always}n with a reason / ? "


def decision_in(
    reply: str, request: PermissionRequest, say: Callable[[str], object]
) -> Optional[str]:
    """``y``, ``a``, or ``n`` and a blank and the reason; None, with what helps, if none."""
    refusal = REFUSAL.fullmatch(reply)
    if refusal:
        return "n " + (refusal.group(1) or "").strip()
    if reply.lower() in ("y", "yes"):
        return "y"
    has_rule = bool(always_means(request))
    if reply.lower() in ("a", "always"):
        if has_rule:
            return "a"
        say(NO_RULE)
    elif reply == "?":
        say(HELP + (HELP_ALWAYS if has_rule else "") + HELP_REST)
        for name, text in (("Reason", request.reason), ("About", request.description)):
            if text:
                say(f"{name}:\n{indented(str(text))}")
    else:
        say("That was not understood; ? shows the replies.\n")
    return None


def always_means(request: PermissionRequest) -> str:
    """A line that tells what the reply ``a`` would allow from now on; empty: nothing would."""
    rules: List[str] = []
    for suggestion in request.suggestions:
        if suggestion.get("type") != "addRules" or suggestion.get("behavior") != "allow":
            continue
        given = suggestion.get("rules")
        for rule in given if isinstance(given, list) else []:
            if isinstance(rule, dict):
                content = rule.get("ruleContent")
                tool = str(rule.get("toolName"))
                rules.append(on_one_line(f"{tool}({content})" if content else tool))
    if not rules:
        return ""
    more = f" and {len(rules) - MOST_RULES} more" if len(rules) > MOST_RULES else ""
    return f"Always would mean: {', '.join(rules[:MOST_RULES])}{more}\n"


def ask_questions(request: PermissionRequest) -> Optional[Decision]:
    """Let the person choose among the options of Claude's questions; None if nobody can."""
    try:
        return put_questions(request)
    except CannotAsk:
        return None


def put_questions(request: PermissionRequest) -> Optional[Decision]:
    """Let the person choose among the options of Claude's questions."""
    questions = well_formed(request.raw_input)
    if questions is None:
        return None
    answers: Dict[str, Union[str, List[str]]] = {}
    with ONE_QUESTION:
        check_terminal()
        for question in questions:
            chosen = None if request.cancelled.is_set() else choice(question)
            if request.cancelled.is_set():
                say("The question was withdrawn meanwhile.\n")
                return None
            if chosen is None:
                break
            answers[question["question"]] = chosen
    if len(answers) < len(questions):
        return request.deny("The user does not want to answer this. Decide yourself, and go on.")
    return request.answer(answers)


def well_formed(given: Any) -> Optional[List[Dict[str, Any]]]:
    """The questions of an input, or None where they are not such as can be asked."""
    questions = given.get("questions") if isinstance(given, dict) else None
    if not isinstance(questions, list) or not questions:
        return None
    for question in questions:
        if not isinstance(question, dict) or not isinstance(question.get("question"), str):
            return None
        options = question.get("options")
        if not isinstance(options, list) or not options:
            return None
        for option in options:
            if not isinstance(option, dict) or not isinstance(option.get("label"), str):
                return None
    return questions


def choice(question: Dict[str, Any]) -> Optional[Union[str, List[str]]]:
    """The label that was chosen, or several; None: the person does not want to choose."""
    labels = [option["label"] for option in question["options"]]
    several = bool(question.get("multiSelect"))
    say("\n" + on_one_line(question["question"]) + "\n")
    for number, option in enumerate(question["options"], 1):
        about = option.get("description")
        say(
            f"  {number}. {on_one_line(option['label'])}"
            + (f": {on_one_line(str(about))}" if about else "")
        )
        say("\n")
    wanted = "Numbers, with commas between" if several else "Number"
    forget_typed()
    while True:
        reply = read(f"{wanted} (n for no answer): ")
        if reply.lower() in ("n", "no"):
            return None
        numbers = [each for each in re.split(r"[\s,]+", reply) if each]
        known = {str(number): label for number, label in enumerate(labels, 1)}
        if numbers and all(each in known for each in numbers) and (several or len(numbers) == 1):
            chosen = list(dict.fromkeys(known[each] for each in numbers))
            return chosen if several else chosen[0]
        say(f"That was not understood; the numbers go from 1 to {len(labels)}.\n")


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
        raise NoTerminal("the program has no terminal")


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


def on_one_line(text: str) -> str:
    """A text of others that can neither begin a line of its own nor push itself to one."""
    spelled = visible(text.strip()).replace("\n", "\\n").replace("\t", "\\t")
    short = re.sub(r"\s{2,}", " ", spelled)
    return short if len(short) <= LONGEST_LINE else short[:LONGEST_LINE] + " ..."


def indented(text: str, is_diff: bool = False) -> str:
    """A text of others, marked as such line by line, so that it cannot look like ours."""
    lines = visible(text).split("\n")
    if is_diff:
        lines = coloured(lines)
    return "".join(f"  | {line}\n" for line in lines)


def coloured(lines: List[str]) -> List[str]:
    """The lines of a diff, in colours where the terminal has them."""
    from ..commands.painting import palette

    styles = palette()
    kinds = {"+": "added", "-": "removed", "@": "faint"}
    return [styles.paint(kinds.get(line[:1], ""), line) for line in lines]
