"""
What a tool call would do, as a text for the person who is asked to allow it.

A diff for what changes files, a command line for the shell, and readable text
for the rest. Whatever the call contains, a preview

* is made: nothing in it raises, and no file in it makes the reader wait;
* is short: at most :data:`MAX_LINES` lines and :data:`MAX_CHARACTERS` characters,
  and what is left out is counted;
* is harmless: characters that could move a cursor, change a colour or turn the
  direction of text are shown as escapes, so that what one reads is what is there.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ..messages.fields import flag_of, mappings_of, optional_number_of, text_of, texts_of
from ..support.text import visible
from .questions import questions_of

__all__ = ["MAX_CHARACTERS", "MAX_LINES", "preview"]

MAX_LINES = 400
MAX_CHARACTERS = 20_000

# A line of a minified file would take the place of everything else.
LONGEST_LINE = 2_000
# What fits on a line of its own together with its name.
SHORT = 100
# Room for the line that tells what is left out.
CUT_ROOM = 60

NOT_EMPTY = re.compile(r"[^\n]+")

Input = Mapping[str, Any]


def preview(tool: str, input: Mapping[str, Any], cwd: Optional[str] = None) -> str:
    """
    What *tool* would do with *input*. Never raises.

    Args:
        tool: The name of the tool, as the CLI gives it.
        input: What it is called with.
        cwd: The folder of the session, against which relative paths are read.

    """
    name = tool if isinstance(tool, str) else text_of(tool)
    try:
        lines = lines_of_call(name, input, cwd)
    except Exception:  # A person still has to decide about it.
        lines = [f"{name}: its input cannot be shown."]
    return bounded(lines)


def lines_of_call(tool: str, input: Any, cwd: Optional[str]) -> List[str]:
    """The lines of a preview, however many and however long."""
    if not isinstance(input, Mapping):
        return [tool, *indented(json_text(input))]
    if tool in DIFFS and isinstance(input.get(DIFFS[tool]), str):
        return diff_of(tool, input, cwd if isinstance(cwd, str) else None)
    if tool in TEXTS:
        lines = TEXTS[tool](input)
        if lines is not None:
            return lines
    if tool.startswith("mcp__"):
        return of_server(tool, input)
    return [tool, *pairs(input)]


# The tools that change files, and the field without which there is nothing to compare.
DIFFS = {
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "Write": "file_path",
    "NotebookEdit": "notebook_path",
}


def diff_of(tool: str, input: Input, cwd: Optional[str]) -> List[str]:
    """The preview of a tool that changes a file."""
    # Loaded here because few programs ever show one.
    from .preview_diffs import edit_diff, notebook_diff, write_diff

    if tool == "Write":
        return write_diff(input, cwd)
    if tool == "NotebookEdit":
        return notebook_diff(input, cwd)
    # Only the field that the tool looks at: another one could show something else.
    edits = mappings_of(input.get("edits")) if tool == "MultiEdit" else (input,)
    return edit_diff(text_of(input.get("file_path")), edits, cwd)


# Other tools. Each returns None for an input that lacks what the tool is about.


def command(input: Input) -> Optional[List[str]]:
    """A command of the shell."""
    text = input.get("command")
    if not isinstance(text, str):
        return None
    about = islice(NOT_EMPTY.finditer(text_of(input.get("description"))), MAX_LINES)
    lines = [f"# {line.group()}" for line in about]
    timeout = optional_number_of(input.get("timeout"))
    if timeout is not None:
        lines.append(f"# stopped after {timeout / 1000:g} s")
    if flag_of(input.get("run_in_background")):
        lines.append("# in the background")
    if flag_of(input.get("dangerouslyDisableSandbox")):
        lines.append("# outside the sandbox")
    known = ("command", "description", "timeout", "run_in_background", "dangerouslyDisableSandbox")
    lines += [f"# {line.lstrip()}" for line in pairs(without(input, *known))]
    first, *others = lines_in(text)
    return [*lines, f"$ {first}", *(f"  {line}" for line in others)]


def questions(input: Input) -> Optional[List[str]]:
    """Questions to the person, with their options."""
    lines: List[str] = []
    for number, question in enumerate(questions_of(input), 1):
        head = f"[{question.header}] " if question.header else ""
        several = " (several answers are possible)" if question.multi_select else ""
        lines += hanging(f"{number}. ", f"{head}{question.text}{several}")
        for option in question.options:
            about = f": {option.description}" if option.description else ""
            lines += hanging("   - ", option.label + about)
    return lines or None


def plan(input: Input) -> Optional[List[str]]:
    """A plan that is to be approved."""
    text = input.get("plan")
    if not isinstance(text, str):
        return None
    return ["Plan:", "", *lines_in(text), *pairs(without(input, "plan"))]


def fetch(input: Input) -> Optional[List[str]]:
    """A page of the web."""
    url = input.get("url")
    if not isinstance(url, str):
        return None
    return [f"Fetch {one_line(url)}", *pairs(without(input, "url"))]


def web_search(input: Input) -> Optional[List[str]]:
    """A search of the web."""
    query = input.get("query")
    if not isinstance(query, str):
        return None
    lines = [f"Search the web for: {one_line(query)}"]
    for key, words in (("allowed_domains", "only on"), ("blocked_domains", "not on")):
        domains = texts_of(input.get(key))
        if domains:
            lines.append(f"  {words} {', '.join(map(one_line, domains))}")
    return lines + pairs(without(input, "query", "allowed_domains", "blocked_domains"))


def agent(input: Input) -> Optional[List[str]]:
    """A subagent and what it is to do."""
    prompt = input.get("prompt")
    if not isinstance(prompt, str):
        return None
    kind = one_line(text_of(input.get("subagent_type")))
    about = one_line(text_of(input.get("description")))
    head = f"Agent{f' ({kind})' if kind else ''}{f': {about}' if about else ''}"
    rest = without(input, "prompt", "subagent_type", "description")
    return [head, *pairs(rest), "", *lines_in(prompt)]


TEXTS: Dict[str, Callable[[Input], Optional[List[str]]]] = {
    "Bash": command,
    "AskUserQuestion": questions,
    "ExitPlanMode": plan,
    "WebFetch": fetch,
    "WebSearch": web_search,
    "Task": agent,
    "Agent": agent,
}


def of_server(tool: str, input: Input) -> List[str]:
    """A tool of an MCP server: as a call where that fits on a line."""
    _, server, name = (*tool.split("__", 2), "", "")[:3]
    head = f"{server}: {name or '?'}"
    call = ", ".join(f"{one_line(str(key))}={json_text(value)}" for key, value in input.items())
    if len(call) <= SHORT and "\n" not in call:
        return [f"{head}({call})"]
    return [head, *pairs(input)]


# Values.


def pairs(input: Input) -> List[str]:
    """Every field on a line, or on several lines below its name; indented."""
    lines: List[str] = []
    for key, value in input.items():
        text = value if isinstance(value, str) else json_text(value)
        name = one_line(str(key))
        if "\n" in text:
            lines += [f"  {name}:", *indented(text, "    ")]
        else:
            lines.append(f"  {name}: {text}")
    return lines


def json_text(value: Any) -> str:
    """*value* as JSON, on several lines where it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False)
        return text if len(text) <= SHORT else json.dumps(value, ensure_ascii=False, indent=2)
    except (TypeError, ValueError, RecursionError):
        return "(cannot be shown)"


def without(input: Input, *keys: str) -> Input:
    """The fields that are not among *keys*."""
    return {key: value for key, value in input.items() if key not in keys}


def indented(text: str, by: str = "  ") -> List[str]:
    """The lines of *text*, further to the right."""
    return [by + line for line in lines_in(text)]


def hanging(first: str, text: str) -> List[str]:
    """The lines of *text* after a mark, the others below the first."""
    head, *others = lines_in(text)
    return [first + head, *(" " * len(first) + line for line in others)]


def lines_in(text: str) -> List[str]:
    """
    The lines of *text*, as many as a preview can have; the last may hold all the others.

    A text of nothing but newlines would become many times its size. What is not
    taken apart here is never shown, and ``bounded`` counts it.
    """
    return text.split("\n", MAX_LINES)


def one_line(text: str) -> str:
    """*text* without newlines."""
    return text.replace("\n", "\\n")


# The size and the characters of a preview.


def bounded(lines: Sequence[str]) -> str:
    """As many of the lines as there is room for, harmless; and how many are left out."""
    kept: List[str] = []
    used = 0
    total = sum(1 + line.count("\n") for line in lines)
    shown = (each for line in lines for each in lines_in(line))
    for number, each in enumerate(shown):
        text = harmless(each)
        is_last = number == total - 1
        fits = used + len(text) + (0 if is_last else CUT_ROOM) <= MAX_CHARACTERS
        if not fits or (len(kept) == MAX_LINES - 1 and not is_last):
            left = total - number
            kept.append(f"... {left:,} more line{'' if left == 1 else 's'}")
            break
        kept.append(text)
        used += len(text) + 1
    return "\n".join(kept)


def harmless(line: str) -> str:
    """A line without anything that a terminal would obey, and not too long."""
    left = len(line) - LONGEST_LINE
    if left > 0:
        return harmless(line[:LONGEST_LINE]) + f" ... {left:,} more characters"
    return visible(line, keep="\t")
