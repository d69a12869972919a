"""
What notebooks show of answers, turns, requests and clients.

There is no script, and whatever the model, a tool or a file says is escaped. A display
looks at what is there: it takes no lock that a turn holds, asks nothing of the CLI, and if
anything goes wrong shows the plain text instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..permissions.forms import PermissionForm, QuestionForm, form_of
from ..permissions.preview import DIFFS, preview_lines
from .chats import Step, one_line
from .html import boxed, diff_html, steps_html
from .markdown import MATHS, escape, markdown_to_html
from .prose import code, fenced
from .turns import chat_of_turn

if TYPE_CHECKING:
    from ..client import Client
    from ..engine.turn import Turn
    from ..messages.answer import Answer
    from ..permissions.request import PermissionRequest, Questions

__all__ = ["form_html", "form_words", "html_of", "markdown_of"]

# Where Markdown takes what follows for HTML, which most pages then run.
TAG = re.compile(r"<(?=[A-Za-z/!?])")
# The last of many; the answer has them all.
MOST_STEPS = 50
CHIPS = {
    **dict.fromkeys(("done", "idle", "answered"), "good"),
    **dict.fromkeys(("failed", "crashed"), "bad"),
    "open": "wait",
}


def html_of(thing: Any) -> str:
    """The HTML that a notebook shows. Never raises."""
    return shown(thing, 0)


def markdown_of(thing: Any) -> str:
    """The Markdown that a notebook shows where it shows no HTML. Never raises."""
    return shown(thing, 1)


def shown(thing: Any, form: int) -> str:
    """The display of a thing: HTML or Markdown."""
    try:
        for kind in type(thing).__mro__:
            makers = DISPLAYS.get(kind.__name__)
            if makers is not None:
                return boxed(makers[0](thing)) if form == 0 else makers[1](thing)
        text = repr(thing)
    except Exception:
        text = plain(thing)
    return f"<pre>{escape(text)}</pre>" if form == 0 else fenced(text)


def plain(thing: Any) -> str:
    """What can be said of anything."""
    try:
        return str.__str__(thing) if isinstance(thing, str) else repr(thing)
    except Exception:
        return f"<{type(thing).__name__}>"


# Answers.


def answer_html(answer: Answer) -> str:
    """The text as it is meant, and a line about what it took."""
    note = answer_note(answer)
    # Mathematics would be made of two amounts of money.
    foot = f'<div class="end mathjax_ignore">{escape(note)}</div>' if note else ""
    edge = "said bad" if answer.is_error else "said"
    return f'<div class="{edge}">{markdown_to_html(answer.text, maths=True)}</div>{foot}'


def answer_note(answer: Answer) -> str:
    """What an answer took, in a few words; nothing of one that was made by hand."""
    parts: list[str] = ["failed"] if answer.is_error else []
    timeline = answer.timeline()
    return " · ".join([*parts, timeline.summary()] if timeline.turns else parts)


def answer_markdown(answer: Answer) -> str:
    """The text is Markdown already; HTML in it shows as text, and prices stay prices."""
    return without_html(answer.text)


def without_html(text: str) -> str:
    """
    Markdown in which nothing is HTML, and no dollar begins a formula that is none.

    HTML shows inside of code, too: what is code depends on who renders it, and a text
    could make believe. Dollars are kept as they are on lines that may be code.
    """
    text = TAG.sub("&lt;", text)
    is_code = False
    lines = []
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        elif not is_code and "$" in line and "`" not in line and not line.startswith("    "):
            line = with_prices(line)
        lines.append(line)
    return "\n".join(lines)


def with_prices(line: str) -> str:
    """A line whose dollars are formulas or, each in an element of its own, dollars."""
    pieces, place = [], 0
    for found in MATHS.finditer(line):
        pieces += [line[place : found.start()].replace("$", DOLLAR), found.group()]
        place = found.end()
    return "".join([*pieces, line[place:].replace("$", DOLLAR)])


# Escaped for readers of Markdown that look for formulas, and alone for those of HTML.
DOLLAR = "<span>\\$</span>"


# Turns.


def turn_html(turn: Turn) -> str:
    """Its state, and what was said and done so far."""
    seconds = seconds_of_turn(turn)
    took = f' <span class="facts">{escape(seconds)}</span>' if seconds else ""
    head = f"{chip(state_of_turn(turn))}<b>{escape(one_line(question_of(turn)))}</b>{took}"
    steps = chat_of_turn(turn).steps[-MOST_STEPS:]
    error = error_of_turn(turn)
    steps += [Step("error", error)] if error else []
    return card(f'<div class="mathjax_ignore">{head}</div>{steps_html(steps, maths=True)}')


def turn_markdown(turn: Turn) -> str:
    """As above, in Markdown."""
    seconds = seconds_of_turn(turn)
    lines = [f"**{state_of_turn(turn)}**{f' · {seconds}' if seconds else ''}", ""]
    for step in chat_of_turn(turn).steps[-MOST_STEPS:]:
        told = f"{code(step.tool)} {step.state}" if step.tool else without_html(step.text)
        lines += [told, ""] if step.kind in ("tool", "claude") else []
    error = error_of_turn(turn)
    return "\n".join([*lines, fenced(error)] if error else lines)


def question_of(turn: Turn) -> str:
    """What was asked."""
    return turn.prompt if isinstance(turn.prompt, str) else "a question with blocks"


def state_of_turn(turn: Turn) -> str:
    """In one word. Without the future's lock, which the thread that completes it holds."""
    if turn._state == "PENDING":
        return "queued"
    if turn._state == "RUNNING":
        return "running"
    if turn._state != "FINISHED":
        return "withdrawn"
    return "done" if turn._exception is None else "failed"


def error_of_turn(turn: Turn) -> str:
    """Why it failed; nothing if it did not."""
    error = turn._exception if turn.is_over() else None
    return "" if error is None else f"{type(error).__name__}: {error}"


def seconds_of_turn(turn: Turn) -> str:
    """How long it took, or has been running since the call; nothing before it was sent."""
    from .timeline import shown as duration

    timeline = turn.timeline()
    return duration(timeline.seconds) if timeline.was_sent else ""


# Requests.


def request_html(subject: PermissionRequest | Questions) -> str:
    """What Claude wants to do, and with what; or what it asks."""
    form = form_of(subject)
    return card(
        f"<div>{chip(form.request.state)}<b>{escape(form.title)}</b></div>{form_html(form)}"
    )


def form_html(form: PermissionForm | QuestionForm) -> str:
    """What a form is about, below its title."""
    if isinstance(form, PermissionForm):
        return preview_html(form.request) + "".join(
            f'<div class="facts">{escape(words)}</div>' for words in form_words(form)
        )
    parts = []
    for field in form.fields:
        how = "any of" if field.is_multiple else "one of"
        parts.append(f'<div>{escape(field.text)} <span class="facts">{how}</span></div>')
        options = (
            f"<li><b>{escape(name)}</b> {escape(about)}</li>" for name, about in field.options
        )
        parts.append(f"<ul>{''.join(options)}</ul>")
    return "".join(parts)


def form_words(form: PermissionForm) -> list[str]:
    """What there is to know about a request besides its preview."""
    meanings = [f"{choice.meaning}." for choice in form.choices if choice.meaning]
    return [*form.details, *meanings]


def preview_html(request: PermissionRequest) -> str:
    """The preview of a request; the lines of a diff are coloured."""
    lines = preview_lines(request.tool, request.raw_input, request.cwd)
    if request.tool not in DIFFS:
        text = "\n".join(line.text for line in lines)
        return f"<pre>{escape(text)}</pre>"
    kinds = ("hunk" if line.kind == "note" else line.kind for line in lines)
    return diff_html((line.text for line in lines), kinds)


def request_markdown(subject: PermissionRequest | Questions) -> str:
    """As above, in Markdown."""
    form = form_of(subject)
    language = "diff" if form.request.tool in DIFFS else ""
    title = f"**{form.request.state}** {code(form.title)}"
    return f"{title}\n\n{fenced(subject.preview(), language)}"


# Clients.


def client_html(client: Client) -> str:
    """What it is doing, and what it has cost."""
    facts = "".join(
        f"<span>{name} <code>{escape(value)}</code></span>"
        for name, value in facts_of_client(client)
    )
    head = f"<div>{chip(client.state)}<b>{escape(one_line(client.name))}</b></div>"
    return card(f'<div class="mathjax_ignore">{head}<div class="facts">{facts}</div></div>')


def client_markdown(client: Client) -> str:
    """As above, in Markdown."""
    facts = (f"- {name}: {code(value)}" for name, value in facts_of_client(client))
    return "\n".join([f"**{client.state}** {code(client.name)}", "", *facts])


def facts_of_client(client: Client) -> Iterable[tuple[str, str]]:
    """Names and values. Settings are not among them: they may hold what is private."""
    session = client._session
    yield "model", one_line(str(model_of(session) or "default"))
    yield "session", client.session_id or "none yet"
    yield "cost", f"${client.cost_usd:.4f}"
    tokens = client.context_tokens
    if tokens is not None:
        yield "context", f"{tokens:,} tokens"
    connection = session.connection
    if connection is not None and connection.cli_version:
        yield "CLI", connection.cli_version
    if session.queue:
        yield "queued", str(len(session.queue))


def model_of(session: Any) -> str | None:
    """The model that spoke last, else the one that was asked for."""
    spoken = session.tally._spoken
    message = spoken.get("message") if spoken is not None else None
    model = message.get("model") if isinstance(message, dict) else None
    return model if isinstance(model, str) else session.options.model


# Parts.


def card(content: str) -> str:
    """A box around it."""
    return f'<div class="card">{content}</div>'


def chip(state: str) -> str:
    """A word in a frame."""
    return f'<span class="chip {CHIPS.get(state, "")}">{escape(state)}</span>'


Maker = Callable[[Any], str]
# By the names of classes, which are not loaded for this.
DISPLAYS: dict[str, tuple[Maker, Maker]] = {
    "Answer": (answer_html, answer_markdown),
    "Turn": (turn_html, turn_markdown),
    "PermissionRequest": (request_html, request_markdown),
    "Questions": (request_html, request_markdown),
    "Client": (client_html, client_markdown),
}
