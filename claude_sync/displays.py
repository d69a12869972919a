"""
What notebooks show of answers, turns, requests and clients.

Styles are inline and half transparent, so that they suit light and dark pages;
there is no script, and whatever the model, a tool or a file says is escaped.
A display looks at what is there: it takes no lock that a turn holds, asks
nothing of the CLI, and if anything goes wrong shows the plain text instead.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Tuple

from .markup import escape, markdown_to_html

if TYPE_CHECKING:
    from .client import Client
    from .engine.turn import Turn
    from .messages.answer import Answer
    from .permissions.request import PermissionRequest, Questions

__all__ = ["html_of", "markdown_of", "preview_html"]

# Where Markdown takes what follows for HTML, which most pages then run.
TAG = re.compile(r"<(?=[A-Za-z/!?])")
# The last of many; the answer has them all.
MOST_TOOLS = 50
LONGEST_NAME = 120

CARD = (
    "border: 1px solid rgba(128, 128, 128, 0.35); border-radius: 6px; padding: 8px 12px; "
    "margin: 4px 0; max-width: 60em"
)
FAINT = "opacity: 0.7; font-size: 0.85em"
HEAD = "margin-bottom: 4px"
FACT = "display: inline-block; margin-right: 14px"
CODE = (
    "background: rgba(128, 128, 128, 0.1); border-radius: 4px; padding: 6px 8px; margin: 6px 0; "
    "overflow-x: auto; white-space: pre; line-height: 1.35"
)
QUOTE = (
    "border-left: 3px solid rgba(128, 128, 128, 0.4); margin: 6px 0; padding: 0 0 0 12px; "
    "opacity: 0.85"
)
# For the lines of a diff. The text keeps the page's colour: only what is behind it changes.
ADDED = "background: rgba(46, 160, 67, 0.22)"
REMOVED = "background: rgba(229, 83, 75, 0.22)"
HUNK = "opacity: 0.6"
LINES = {"added": ADDED, "removed": REMOVED, "hunk": HUNK, "note": HUNK}
# Behind many blanks, the rest of a line would be where nobody looks.
WRAPPED = "white-space: pre-wrap; overflow-wrap: anywhere"
CHIP = "border-radius: 8px; padding: 0 7px; margin-right: 6px; background: {}"

GREEN, RED = "rgba(46, 160, 67, 0.28)", "rgba(229, 83, 75, 0.28)"
BLUE, GREY, AMBER = (
    "rgba(63, 142, 240, 0.28)",
    "rgba(128, 128, 128, 0.22)",
    "rgba(227, 160, 47, 0.3)",
)
STATES = {
    **dict.fromkeys(("done", "idle", "answered"), GREEN),
    **dict.fromkeys(("failed", "crashed"), RED),
    **dict.fromkeys(("running", "busy", "starting"), BLUE),
    "open": AMBER,
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
                return makers[form](thing)
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
    body = styled(markdown_to_html(answer.text))
    note = answer_note(answer)
    foot = f'<div style="{FAINT}">{escape(note)}</div>' if note else ""
    edge = " border-left: 3px solid rgba(229, 83, 75, 0.7); padding-left: 9px;"
    return f'<div style="max-width: 60em;{edge if answer.is_error else ""}">{body}{foot}</div>'


def answer_note(answer: Answer) -> str:
    """What an answer took, in a few words; nothing of one that was made by hand."""
    parts: List[str] = ["failed"] if answer.is_error else []
    if answer._marks is not None:
        parts.append(answer.timeline().summary())
    return " · ".join(parts)


def answer_markdown(answer: Answer) -> str:
    """The text is Markdown already; HTML in it shows as text."""
    return without_html(answer.text)


def without_html(text: str) -> str:
    """
    Markdown in which nothing is HTML.

    Inside of code, too, where it shows: what is code depends on who renders it, and a text
    could make believe.
    """
    return TAG.sub("&lt;", text)


# Turns.


def turn_html(turn: Turn) -> str:
    """Its state, the text so far, and the tools it used."""
    state, seconds = state_of_turn(turn), seconds_of_turn(turn)
    question = turn.prompt if isinstance(turn.prompt, str) else "a question with blocks"
    head = f"{chip(state)}<b>{escape(cut(question))}</b>"
    took = f' <span style="{FAINT}">{escape(seconds)}</span>' if seconds else ""
    error = error_of_turn(turn)
    problem = f'<div style="{CODE}; white-space: pre-wrap">{escape(error)}</div>' if error else ""
    body = styled(markdown_to_html(turn.text))
    tools = "".join(tool_line(*tool) for tool in tools_of_turn(turn))
    return card(
        f'<div style="{HEAD}">{head}{took}</div>{f"<div>{tools}</div>" if tools else ""}'
        f"{body}{problem}"
    )


def turn_markdown(turn: Turn) -> str:
    """As above, in Markdown."""
    seconds = seconds_of_turn(turn)
    lines = [f"**{state_of_turn(turn)}**{f' · {seconds}' if seconds else ''}", ""]
    for name, state in tools_of_turn(turn):
        lines.append(f"- {code(name)} {state}")
    error = error_of_turn(turn)
    text = without_html(turn.text)
    return "\n".join([*lines, "", text, *(["", fenced(error)] if error else [])])


def state_of_turn(turn: Turn) -> str:
    """In one word. Without the future's lock, which whoever completes it holds."""
    if turn._state == "PENDING":
        return "queued"
    if turn._state == "RUNNING":
        return "running"
    if turn._state != "FINISHED":
        return "withdrawn"
    return "done" if turn._exception is None else "failed"


def error_of_turn(turn: Turn) -> str:
    """Why it failed; nothing if it did not."""
    error = turn._exception if turn._is_over() else None
    return "" if error is None else f"{type(error).__name__}: {error}"


def seconds_of_turn(turn: Turn) -> str:
    """How long it took, or has been running since the call; nothing before it was sent."""
    from .timeline import shown as duration

    if not turn._marks.events:
        return ""
    return duration(turn.timeline().seconds)


def tools_of_turn(turn: Turn) -> List[Tuple[str, str]]:
    """The tools it used, and what became of each."""
    results = turn._tool_results
    found: List[Tuple[str, str]] = []
    for use_id, use in list(turn._tool_uses.items())[-MOST_TOOLS:]:
        result = results.get(use_id)
        state = "running" if not turn._is_over() else "not finished"
        if result is not None:
            state = "failed" if result.is_error else "done"
        found.append((use.name, state))
    return found


def tool_line(name: str, state: str) -> str:
    """One of them."""
    return f"<div>{chip(state)}<code>{escape(cut(name))}</code></div>"


# Requests.


def request_html(request: PermissionRequest) -> str:
    """What Claude wants to do, and with what."""
    title = request.title or f"Claude wants to use {request.tool}"
    head = f'<div style="{HEAD}">{chip(request.state)}<b>{escape(cut(title))}</b></div>'
    notes = [
        f'<div style="{FAINT}">{escape(text)}</div>'
        for text in (request.description, request.reason)
        if text
    ]
    return card(f"{head}{''.join(notes)}{preview_html(request)}")


def preview_html(request: PermissionRequest) -> str:
    """The preview of a request; the lines of a diff are coloured."""
    from .permissions.forms import lines_of
    from .permissions.previews import DIFFS

    preview = request.preview()
    shown = escape(preview)
    if request.tool in DIFFS:
        shown = "".join(diff_line(*line) for line in lines_of(preview, True))
    return f'<pre style="{CODE}; {WRAPPED}">{shown}</pre>'


def diff_line(kind: str, line: str) -> str:
    """A line of a diff; as a block, so that its colour reaches the edge."""
    style = f"; {LINES[kind]}" if kind in LINES else ""
    return f'<span style="display: block; min-height: 1.35em{style}">{escape(line)}</span>'


def request_markdown(request: PermissionRequest) -> str:
    """As above, in Markdown."""
    from .permissions.previews import DIFFS

    title = request.title or f"Claude wants to use {request.tool}"
    language = "diff" if request.tool in DIFFS else ""
    return f"**{request.state}** {code(title)}\n\n{fenced(request.preview(), language)}"


def questions_html(questions: Questions) -> str:
    """The questions, and what may be chosen."""
    parts = [f'<div style="{HEAD}">{chip(questions.request.state)}<b>Claude asks</b></div>']
    for question in questions.questions:
        how = "any of" if question.multi_select else "one of"
        parts.append(f"<div>{escape(question.text)} <span style='{FAINT}'>{how}</span></div>")
        options = "".join(
            f"<li><b>{escape(option.label)}</b> {escape(option.description or '')}</li>"
            for option in question.options
        )
        parts.append(f"<ul>{options}</ul>")
    return card("".join(parts))


def questions_markdown(questions: Questions) -> str:
    """As above, in Markdown."""
    return fenced(questions.preview())


# Clients.


def client_html(client: Client) -> str:
    """What it is doing, and what it has cost."""
    facts = "".join(
        f'<span style="{FACT}"><span style="{FAINT}">{name}</span> '
        f"<code>{escape(value)}</code></span>"
        for name, value in facts_of_client(client)
    )
    return card(f"<div>{chip(client.state)}<b>{escape(cut(client.name))}</b></div>{facts}")


def client_markdown(client: Client) -> str:
    """As above, in Markdown."""
    lines = [f"**{client.state}** {code(client.name)}", ""]
    return "\n".join(
        [*lines, *(f"- {name}: {code(value)}" for name, value in facts_of_client(client))]
    )


def facts_of_client(client: Client) -> Iterable[Tuple[str, str]]:
    """Names and values. Settings are not among them: they may hold what is private."""
    engine = client._engine
    yield "model", cut(str(model_of(engine) or "default"))
    yield "session", client.session_id or "none yet"
    yield "cost", f"${client.cost_usd:.4f}"
    tokens = client.context_tokens
    if tokens is not None:
        yield "context", f"{tokens:,} tokens"
    connection = engine.lifecycle.connection
    if connection is not None and connection.cli_version:
        yield "CLI", connection.cli_version
    if engine.queue:
        yield "queued", str(len(engine.queue))


def model_of(engine: Any) -> Optional[str]:
    """The model that spoke last, else the one that was asked for."""
    spoken = engine.tally._spoken
    message = spoken.get("message") if spoken is not None else None
    model = message.get("model") if isinstance(message, dict) else None
    return model if isinstance(model, str) else engine.options.model


# Parts.


def card(content: str) -> str:
    """A box around it."""
    return f'<div style="{CARD}">{content}</div>'


def styled(html: str) -> str:
    """What Markdown became, with the styles that many pages have not."""
    # No text can look like this: its signs are escaped.
    html = html.replace("<pre><code", f'<pre style="{CODE}"><code')
    return html.replace("<blockquote>", f'<blockquote style="{QUOTE}">')


def chip(state: str) -> str:
    """A word on a colour."""
    colour = STATES.get(state, GREY)
    return f'<span style="{CHIP.format(colour)}">{escape(state)}</span>'


def cut(text: str) -> str:
    """One line of a text that may be long."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def longest_run(text: str) -> int:
    """The length of the longest run of backticks."""
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return longest


def fenced(text: str, language: str = "") -> str:
    """A text as a block of Markdown that it cannot leave."""
    ticks = "`" * max(3, longest_run(text) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def code(text: str) -> str:
    """A text as a code span that it cannot leave."""
    text = cut(text)
    ticks = "`" * (longest_run(text) + 1)
    return f"{ticks} {text} {ticks}" if "`" in text else f"`{text}`"


Maker = Callable[[Any], str]
# By the names of classes, which are not loaded for this.
DISPLAYS: Dict[str, Tuple[Maker, Maker]] = {
    "Answer": (answer_html, answer_markdown),
    "Turn": (turn_html, turn_markdown),
    "PermissionRequest": (request_html, request_markdown),
    "Questions": (questions_html, questions_markdown),
    "Client": (client_html, client_markdown),
}
