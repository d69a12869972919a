"""
An exported conversation as Markdown.

What people and models wrote is Markdown already and stays so, within its bounds (see
``export_prose``); what tools said is code that it cannot leave.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import List, Optional

from .displays import code, fenced
from .export_chats import Chat, Step
from .export_prose import tamed, tamed_words
from .notebook.rendering import COUNTED

__all__ = ["facts_of", "input_text", "markdown_of", "shortened"]

# What is longer is in the JSON; a page of this would not be read.
LONGEST_TEXT = 100_000
MARKS = {"done": "✓", "failed": "✗", "unfinished": "…"}


def markdown_of(chat: Chat) -> str:
    """The whole document."""
    lines = [f"# {tamed_words(chat.title)}", ""]
    facts = [tamed_words(fact) for fact in facts_of(chat)]
    if facts:
        lines += [" · ".join(facts), ""]
    for step in chat.steps:
        lines += lines_of(step)
    if chat.timeline is not None and chat.timeline.turns:
        lines += ["## Where the time went", "", chat.timeline.summary(), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def lines_of(step: Step) -> List[str]:
    """One step, with an empty line at its end."""
    if step.kind in ("user", "claude"):
        head = "## You" if step.kind == "user" else "## Claude"
        body = tamed(shortened(step.text))
        return [head, "", *([body, ""] if body else []), *pictures_of(step)]
    if step.kind == "tool":
        return tool_lines(step)
    if step.kind in ("thinking", "summary"):
        words = "thought" if step.kind == "thinking" else "summary of what was before"
        return [f"*{words}:*", "", quoted(tamed(shortened(step.text))), ""]
    if step.kind == "note":
        return [quoted(tamed(shortened(step.text))), ""]
    return end_lines(step)


def tool_lines(step: Step) -> List[str]:
    """A tool: what it was called with, the change it made, and what it returned."""
    asked = f", {step.decision}" if step.decision else ""
    state = f"{step.state}{asked}"
    lines = [f"**{MARKS.get(step.state, '')} {code(step.tool)}** {state}", ""]
    if step.diff:
        path = step.input.get("file_path") or step.input.get("notebook_path")
        lines += [code(str(path)), ""] if path else []
        lines += [fenced(shortened("\n".join(step.diff)), "diff"), ""]
    elif step.input:
        lines += [fenced(shortened(input_text(step))), ""]
    for inner in step.steps:
        lines += [quoted("\n".join(lines_of(inner)).rstrip("\n")), ""]
    if step.text:
        lines += [fenced(shortened(step.text)), ""]
    return lines + pictures_of(step)


def end_lines(step: Step) -> List[str]:
    """The end of a turn; nothing where there is nothing to say about it."""
    lines: List[str] = []
    if step.text:
        lines += [quoted(tamed(shortened(step.text))), ""]
    facts = ["failed"] if step.state == "failed" else []
    if step.cost_usd:
        facts.append(f"${step.cost_usd:.4f}")
    return lines + ([f"*{' · '.join(facts)}*", ""] if facts else [])


def pictures_of(step: Step) -> List[str]:
    """The images of a step, inside of the document."""
    lines: List[str] = []
    for picture in step.pictures:
        if picture.is_shown:
            data = "".join(picture.data.split())
            lines += [f"![image](data:{picture.media_type};base64,{data})", ""]
        else:
            lines += [f"*an image{f': {code(picture.url)}' if picture.url else ''}*", ""]
    return lines


def input_text(step: Step) -> str:
    """What a tool was called with, readable."""
    from .notebook.rendering import input_text as readable

    command = step.input.get("command")
    if step.tool == "Bash" and isinstance(command, str):
        return f"$ {command}"
    return readable(step.input)


def facts_of(chat: Chat) -> List[str]:
    """What is told about the whole, in a few words each."""
    facts = [chat.model] if chat.model else []
    if chat.session_id:
        facts.append(f"session {chat.session_id}")
    if chat.began is not None:
        facts.append(day(chat.began))
    if chat.cwd:
        facts.append(chat.cwd)
    if chat.cost_usd is not None:
        facts.append(f"${chat.cost_usd:.4f}")
    tokens = sum(count for name in COUNTED if type(count := chat.usage.get(name)) is int)
    if tokens:
        facts.append(f"{tokens:,} tokens")
    return [" ".join(fact.split()) for fact in facts]


def day(seconds: float) -> str:
    """A time as a date; nothing of a time that is none."""
    try:
        when: Optional[datetime] = datetime.fromtimestamp(seconds, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return ""
    return f"{when:%Y-%m-%d %H:%M} UTC"


def quoted(text: str) -> str:
    """A text as a quote."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def shortened(text: str) -> str:
    """The beginning of a text, and how much is left out."""
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}\n… {len(text) - LONGEST_TEXT:,} more characters"
