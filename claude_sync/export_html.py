"""
An exported conversation as one HTML file.

Nothing in it runs and nothing is loaded: there is no script, pictures are inside, and the
page forbids itself both, should a text get round what is done here (a content security
policy). Texts are escaped, or go through ``claude_sync.markup``, which lets no element of
theirs through. Colours follow the reader's scheme, light or dark.
"""

from __future__ import annotations

from typing import List

from .export_chats import Chat, Picture, Step
from .export_markdown import facts_of, input_text, shortened
from .markup import escape, markdown_to_html, safe_link
from .notebook.rendering import summary_of

__all__ = ["html_of"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
MARKS = {"done": "✓", "failed": "✗", "unfinished": "…"}

STYLE = """
:root { color-scheme: light dark; --text: #1f2328; --back: #ffffff; --box: #f3f4f6;
  --edge: #d5d9df; --faint: #626a73; --user: #e7f0fd; --link: #0b57d0;
  --added: #d3f0d9; --removed: #fbdcda; --bad: #b3261e; --good: #1a7f37; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --back: #16181c; --box: #22262c;
  --edge: #3a4048; --faint: #9aa2ac; --user: #1d2c42; --link: #8ab4f8;
  --added: #1d3b27; --removed: #4a2324; --bad: #ff8a80; --good: #7ee2a8; } }
* { box-sizing: border-box }
body { margin: 0; color: var(--text); background: var(--back);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 56rem; margin: 0 auto; padding: 1.5rem 1rem 4rem }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .4rem; overflow-wrap: anywhere }
.facts { color: var(--faint); font-size: .875rem; margin: 0 0 1.5rem; overflow-wrap: anywhere }
.facts span { margin-right: 1rem; display: inline-block }
section { margin: 1rem 0; overflow-wrap: anywhere }
.who { color: var(--faint); font-size: .8rem; font-weight: 600; margin-bottom: .15rem }
.user { background: var(--user); border-radius: .6rem; padding: .6rem .9rem }
.user p { white-space: pre-wrap; margin: 0 }
.claude > p:first-of-type { margin-top: .2rem } section > :last-child { margin-bottom: 0 }
.claude h1, .claude h2 { font-size: 1.25rem } .claude h3, .claude h4 { font-size: 1.05rem }
.note, .end { color: var(--faint); font-size: .875rem; white-space: pre-wrap }
.end { border-bottom: 1px solid var(--edge); padding-bottom: .6rem; text-align: right }
.bad { color: var(--bad) } .good { color: var(--good) }
details { border: 1px solid var(--edge); border-radius: .5rem; margin: .5rem 0;
  background: var(--box); font-size: .9rem }
summary { cursor: pointer; padding: .35rem .7rem; overflow-wrap: anywhere }
summary code { background: none; padding: 0 }
.inside { padding: 0 .7rem .6rem }
.label { color: var(--faint); font-size: .75rem; margin: .4rem 0 .1rem }
pre { margin: .3rem 0; padding: .5rem .7rem; background: var(--back); border-radius: .4rem;
  border: 1px solid var(--edge); white-space: pre-wrap; overflow-wrap: anywhere;
  max-height: 32rem; overflow: auto; font-size: .82rem; line-height: 1.4 }
code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .9em;
  background: var(--box); padding: .1em .3em; border-radius: .3em }
pre code { background: none; padding: 0; font-size: inherit }
.diff span { display: block; min-height: 1.4em }
.added { background: var(--added) } .removed { background: var(--removed) }
.hunk { color: var(--faint) }
img { max-width: 100%; height: auto; border-radius: .4rem; border: 1px solid var(--edge) }
table { border-collapse: collapse; margin: .6rem 0; display: block; overflow-x: auto;
  max-width: 100% }
th, td { border: 1px solid var(--edge); padding: .25rem .6rem; text-align: left }
blockquote { margin: .5rem 0; padding: 0 0 0 .9rem; border-left: 3px solid var(--edge);
  color: var(--faint) }
a { color: var(--link) }
.timeline { overflow-x: auto; margin-top: 2rem }
.timeline svg { max-width: 100%; min-width: 40rem; height: auto }
@media print { pre { max-height: none } details { break-inside: avoid } }
"""


def html_of(chat: Chat) -> str:
    """The whole document."""
    title = escape(" ".join(chat.title.split()))
    facts = "".join(f"<span>{escape(fact)}</span>" for fact in facts_of(chat))
    body = [section for step in chat.steps for section in section_of(step)]
    if chat.timeline is not None and chat.timeline.turns:
        body.append(
            f'<section class="timeline"><div class="who">Where the time went</div>'
            f"{chat.timeline._repr_html_()}</section>"
        )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{title}</h1>\n<div class="facts">{facts}</div>\n'
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def section_of(step: Step) -> List[str]:
    """One step; none where there is nothing to say about it."""
    if step.kind == "user":
        # As it was typed: a person's line ends are meant, and their stars may be no Markdown.
        text = f"<p>{escape(shortened(step.text))}</p>" if step.text else ""
        words = f'<div class="who">You</div>{text}{pictures_html(step)}'
        return [f'<section class="user">{words}</section>']
    if step.kind == "claude":
        body = markdown_to_html(shortened(step.text))
        return [f'<section class="claude"><div class="who">Claude</div>{body}</section>']
    if step.kind == "tool":
        return [tool_html(step)]
    if step.kind in ("thinking", "summary"):
        words = "Thinking" if step.kind == "thinking" else "Summary of what was before"
        body = f'<div class="inside">{markdown_to_html(shortened(step.text))}</div>'
        return [f"<details><summary>{words}</summary>{body}</details>"]
    if step.kind == "note":
        return [f'<section class="note">{escape(shortened(step.text))}</section>']
    return end_html(step)


def tool_html(step: Step) -> str:
    """A tool, folded: what it was called with, the change it made, and what it returned."""
    name, about = summary_of(step.tool, step.input)
    mark = {"failed": "bad", "done": "good"}.get(step.state, "")
    told = f" <code>{escape(about)}</code>" if about else ""
    asked = f" ({escape(step.decision)})" if step.decision else ""
    sign = f'<span class="{mark}">{MARKS.get(step.state, "")}</span>'
    summary = f"{sign} <b>{escape(name)}</b>{told}{asked}"
    inside: List[str] = []
    if step.diff:
        lines = shortened("\n".join(step.diff)).split("\n")
        inside.append(f'<pre class="diff">{"".join(map(diff_html, lines))}</pre>')
    elif step.input:
        inside.append(f"<pre>{escape(shortened(input_text(step)))}</pre>")
    for inner in step.steps:
        inside += section_of(inner)
    if step.text:
        words = "failed" if step.state == "failed" else "returned"
        inside.append(f'<div class="label">{words}</div><pre>{escape(shortened(step.text))}</pre>')
    inside.append(pictures_html(step))
    # A change to a file is what people look for, and pictures are there to be seen.
    shown = " open" if step.diff or step.pictures else ""
    return (
        f"<details{shown}><summary>{summary}</summary>"
        f'<div class="inside">{"".join(inside)}</div></details>'
    )


def diff_html(line: str) -> str:
    """A line of a diff."""
    kind = {"+": "added", "-": "removed", "@": "hunk", "\\": "hunk"}.get(line[:1], "")
    return f'<span class="{kind}">{escape(line)}</span>' if kind else f"<span>{escape(line)}</span>"


def end_html(step: Step) -> List[str]:
    """The end of a turn."""
    sections = []
    if step.text:
        kind = "note bad" if step.state == "failed" else "note"
        sections.append(f'<section class="{kind}">{escape(shortened(step.text))}</section>')
    if step.cost_usd:
        sections.append(f'<section class="end">${step.cost_usd:.4f}</section>')
    return sections


def pictures_html(step: Step) -> str:
    """The images of a step."""
    return "".join(map(picture_html, step.pictures))


def picture_html(picture: Picture) -> str:
    """An image inside of the page; of one that is elsewhere, the address, which is not loaded."""
    if picture.is_shown:
        data = "".join(picture.data.split())
        return f'<p><img alt="image" src="data:{picture.media_type};base64,{data}"></p>'
    address = safe_link(picture.url) if picture.url else None
    if address is not None:
        return f'<p><a href="{address}" rel="noopener noreferrer">an image</a></p>'
    return '<p class="note">an image that cannot be shown</p>'
