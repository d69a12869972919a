"""
A conversation as HTML: one page of its own, or a part of a page such as a notebook's.

Nothing in it runs and nothing is loaded: there is no script, pictures are inside, and the
page forbids itself both, should a text get round what is done here (a content security
policy). Texts are escaped, or go through ``markdown_to_html``, which lets no element of
theirs through. Styles are in ``chat.css`` and ``page.css``; colours follow the page, or the
reader's scheme, light or dark.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from importlib import resources

from .chats import Chat, Picture, Round, Step
from .markdown import escape, markdown_to_html, safe_link

__all__ = ["boxed", "page_of", "steps_html"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
MARKS = {"done": ("✓", "good"), "failed": ("✗", "bad"), "unfinished": ("…", "wait")}
LABELS = {"thinking": "Thinking", "summary": "Summary of what was before"}
# What is longer is in the JSON; a page of this would not be read.
LONGEST_TEXT = 100_000
# So many prompts make a table of contents worth its place.
MANY_ROUNDS = 5


@functools.cache
def style(name: str) -> str:
    """A style sheet of this package."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def boxed(content: str) -> str:
    """A part of a page, with its styles."""
    return f'<div class="claude-sync"><style>{style("chat.css")}</style>{content}</div>'


def page_of(chat: Chat, facts: Iterable[str]) -> str:
    """The whole document."""
    title = escape(" ".join(chat.title.split()))
    told = "".join(f"<span>{escape(fact)}</span>" for fact in facts)
    rounds = chat.rounds
    body = [contents_of(rounds)]
    body += [round_html(each, number) for number, each in enumerate(rounds, 1)]
    if chat.timeline is not None and chat.timeline.turns:
        body.append(
            '<section class="timeline"><div class="who">Where the time went</div>'
            f"{chat.timeline._repr_html_()}</section>"
        )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>\n{style('chat.css')}{style('page.css')}</style>\n"
        '</head>\n<body>\n<main class="claude-sync">\n'
        f'<h1>{title}</h1>\n<div class="facts">{told}</div>\n'
        + "\n".join(filter(None, body))
        + "\n</main>\n</body>\n</html>\n"
    )


def contents_of(rounds: list[Round]) -> str:
    """The prompts of a long conversation, as links to their places."""
    titles = [each.title for each in rounds if each.prompt is not None]
    if len(titles) < MANY_ROUNDS:
        return ""
    links = [
        f'<li><a href="#turn-{number}">{escape(each.title or "a picture")}</a></li>'
        for number, each in enumerate(rounds, 1)
        if each.prompt is not None
    ]
    return f"<nav><ol>{''.join(links)}</ol></nav>"


def round_html(each: Round, number: int) -> str:
    """A prompt and what came of it: one heading for each of the two."""
    parts = []
    if each.prompt is not None:
        parts.append(f'<div class="who" id="turn-{number}">You</div>{steps_html([each.prompt])}')
    answer = steps_html(each.steps)
    if answer:
        parts.append(f'<div class="who">Claude</div>{answer}')
    facts = round_facts(each)
    if facts:
        parts.append(f'<div class="end">{escape(" · ".join(facts))}</div>')
    return "\n".join(parts)


def round_facts(each: Round) -> list[str]:
    """How long a round took, and what it cost."""
    from .timeline import shown

    facts = [shown(each.seconds)] if each.seconds else []
    return [*facts, f"${each.cost_usd:.4f}"] if each.cost_usd else facts


def steps_html(
    steps: Iterable[Step], *, maths: bool = False, folder: str = "", most: int = LONGEST_TEXT
) -> str:
    """
    Steps as HTML, one below the other.

    Args:
        steps: They.
        maths: Whether the page typesets what stands between dollars.
        folder: Files below it are named without it.
        most: So many characters of each text are shown.

    """
    return "".join(step_html(step, maths, folder, most) for step in steps)


def step_html(step: Step, maths: bool, folder: str, most: int) -> str:
    """One step; nothing where there is nothing to say about it."""
    text = shortened(step.text, most)
    if step.kind == "claude":
        return f'<div class="said">{markdown_to_html(text, maths=maths)}</div>'
    if step.kind == "tool":
        return tool_html(step, maths, folder, most)
    if step.kind in LABELS:
        body = f'<div class="inside said">{markdown_to_html(text, maths=maths)}</div>'
        return f"<details><summary>{LABELS[step.kind]}</summary>{body}</details>"
    kind = {"user": "user", "error": "error"}.get(step.kind, "note")
    if step.kind == "end" and step.state == "failed":
        kind = "error"
    # As it was typed: a person's line ends are meant, and their stars may be no Markdown.
    said = f'<div class="{kind}">{escape(text)}</div>' if text else ""
    return said + "".join(map(picture_html, step.pictures))


def tool_html(step: Step, maths: bool, folder: str, most: int) -> str:
    """A tool, folded: what it was called with, the change it made, and what it returned."""
    name, about = step.summary(folder)
    sign, mark = MARKS.get(step.state, ("", ""))
    told = f" <code>{escape(about)}</code>" if about else ""
    asked = f" ({escape(step.decision)})" if step.decision else ""
    inside: list[str] = []
    if step.diff:
        inside.append(diff_html(shortened("\n".join(step.diff), most).split("\n")))
    elif step.input:
        inside.append(f"<pre>{escape(shortened(step.input_text(), most))}</pre>")
    inside.append(steps_html(step.steps, maths=maths, folder=folder, most=most))
    if step.text:
        words = "failed" if step.state == "failed" else "returned"
        text = escape(shortened(step.text, most))
        inside.append(f'<div class="label">{words}</div><pre>{text}</pre>')
    inside += map(picture_html, step.pictures)
    # A change to a file is what people look for, and pictures are there to be seen.
    shown = " open" if (step.diff and step.decision != "asked") or step.pictures else ""
    return (
        f'<details{shown}><summary><span class="{mark}">{sign}</span> '
        f"<b>{escape(name)}</b>{told}{asked}</summary>"
        f'<div class="inside">{"".join(inside)}</div></details>'
    )


def diff_html(lines: Iterable[str], kinds: Iterable[str] | None = None) -> str:
    """The lines of a diff; *kinds* says what each is, otherwise its first sign does."""
    signs = {"+": "added", "-": "removed", "@": "hunk", "\\": "hunk"}
    lines = list(lines)
    known = [signs.get(line[:1], "") for line in lines] if kinds is None else kinds
    spans = (f'<span class="{kind}">{escape(line)}</span>' for kind, line in zip(known, lines))
    return f'<pre class="diff">{"".join(spans)}</pre>'


def picture_html(picture: Picture) -> str:
    """An image inside of the page; of one that is elsewhere, the address, which is not loaded."""
    if picture.is_shown:
        data = "".join(picture.data.split())
        return f'<p><img alt="image" src="data:{picture.media_type};base64,{data}"></p>'
    address = safe_link(picture.url) if picture.url else None
    if address is not None:
        return f'<p><a href="{address}" rel="noopener noreferrer">an image</a></p>'
    return '<p class="note">an image that cannot be shown</p>'


def shortened(text: str, most: int = LONGEST_TEXT) -> str:
    """The beginning of a text, and how much is left out."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n… {len(text) - most:,} more characters"
