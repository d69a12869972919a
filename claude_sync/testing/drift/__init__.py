"""
What a new release of the CLI says in another way: ``python -m claude_sync.testing.drift``.

::

    scene -> messages -> [facts] -> [compare] <- baseline.json
                            |
                         [merge] -> baseline.json      (--update)

A fact is that a kind of message has a field, that the field is of a JSON type, or, where a field
has a closed vocabulary, which word it is. Texts, numbers and ids are not compared. Decisions
taken here and nowhere else:

* Lists are folded (``content[].text``), and so are objects whose keys are data
  (``modelUsage.*``).
* What was in every run of a scene is expected; what was in some runs is optional, and is missed
  by nobody.
* A field that is new or gone stands for all that is known about it, and for the fields inside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Difference", "Fact", "choose", "compare", "facts_of", "load", "merge", "store"]

# In the baseline: the names of the scenes. Each fact has a sign for each of them.
SCENES = "(scenes)"
ALWAYS, SOMETIMES, NEVER = "+?-"

# Fields whose words mean something to a program.
VOCABULARIES = frozenset(
    [
        *("type", "subtype", "role", "kind", "method", "hook_event_name", "task_type", "trigger"),
        *("stop_reason", "terminal_reason", "status", "state", "session_state", "is_error"),
        *("error", "error_code", "api_error_type", "non_execution_kind", "reason_type"),
        *("mode", "permissionMode", "permission_mode", "current_permission_mode", "behavior"),
        *("decision", "destination", "local_command", "compact_result", "capabilities"),
    ]
)
WORD = re.compile(r"[A-Za-z][\w./-]{0,39}", re.ASCII)
# Keys of their objects are data, whatever they look like.
KEYED_BY_DATA = frozenset(["modelUsage", "model_usage", "answers", "mcpServers", "servers"])
FIELD_NAME = re.compile(r"(?!.*\d{4})[A-Za-z_$][\w$]{0,59}", re.ASCII)
TYPES = {dict: "object", list: "array", bool: "boolean", int: "number", float: "number"}


class Fact(NamedTuple):
    """
    Something that was seen.

    Attributes:
        kind: The kind of message, with its direction: ``out result``.
        path: The field; "" for the message itself.
        form: Its JSON type, a word of it as ``=success``, or "": that it is there.

    """

    kind: str
    path: str
    form: str


# What is known about a scene, and whether every run had it.
Facts = dict[Fact, bool]


class Difference(NamedTuple):
    """One thing that is ``new`` or ``gone``, and *where*: the field, and what of it."""

    kind: str
    what: str
    where: str


# From messages to facts.


def facts_of(messages: Iterable[tuple[str, Mapping[str, Any]]]) -> set[Fact]:
    """What there is to know about one run of a scene."""
    asked: dict[str, str] = {}
    return {
        Fact(kind, path, form)
        for direction, message in messages
        for kind in [f"{direction} {kind_of(message, asked)}"]
        for path, form in forms_in(message, "", "")
    }


def kind_of(message: Mapping[str, Any], asked: dict[str, str]) -> str:
    """What kind of message this is; *asked* remembers which request is about what."""
    kind = str(message.get("type"))
    if kind == "stream_event":
        about = inside(message, "event", "type")
    elif kind == "control_request":
        request = inside(message, "request")
        more = inside(request, "input", "hook_event_name") or inside(request, "message", "method")
        about = " ".join(filter(None, [inside(request, "subtype"), more]))
        asked[str(message.get("request_id"))] = about
    elif kind == "control_response":
        about = asked.get(str(inside(message, "response", "request_id")), "(nobody asked)")
    else:
        about = message.get("subtype") if kind != "result" else None
    return f"{kind} {about}" if about else kind


def inside(value: Any, *names: str) -> Any:
    """A field of a field; None if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def forms_in(value: Any, path: str, name: str) -> Iterator[tuple[str, str]]:
    """Every path in a JSON value, with the forms that are there; *name* is that of the field."""
    yield path, ""
    yield path, "null" if value is None else TYPES.get(type(value), "string")
    if isinstance(value, dict):
        for key, part in value.items():
            is_data = name in KEYED_BY_DATA or not FIELD_NAME.fullmatch(key)
            shown = "*" if is_data else key
            yield from forms_in(part, f"{path}.{shown}" if path else shown, key)
    elif isinstance(value, list):
        for part in value:
            yield from forms_in(part, f"{path}[]", name)
    elif name in VOCABULARIES and isinstance(value, bool):
        yield path, f"={value}".lower()
    elif name in VOCABULARIES and isinstance(value, str) and WORD.fullmatch(value):
        yield path, f"={value}"


def merge(known: Facts | None, seen: set[Fact]) -> Facts:
    """What is known after one more run; *known* is None before the first."""
    if known is None:
        return dict.fromkeys(seen, True)
    return {fact: known.get(fact, False) and fact in seen for fact in {*known, *seen}}


def compare(known: Facts, seen: set[Fact]) -> list[Difference]:
    """How one run differs from what is known, in the order of kinds and paths."""
    gone = {fact for fact, always in known.items() if always} - seen
    return sorted({*differences("new", seen - known.keys()), *differences("gone", gone)})


def differences(what: str, facts: set[Fact]) -> Iterator[Difference]:
    """What is to be reported of *facts*: nothing about what is inside a field that is."""
    whole: list[tuple[str, tuple[str, ...]]] = []
    for fact in sorted(facts):
        if any(fact.kind == kind and fact.path.startswith(paths) for kind, paths in whole[-1:]):
            continue
        if not fact.form:  # the field itself: it is sorted before all that is known about it
            inner = (f"{fact.path}.", f"{fact.path}[") if fact.path else ("",)
            whole.append((fact.kind, inner))
        elif Fact(fact.kind, fact.path, "") in facts:
            continue
        where = f"{fact.path or '(message)'} {fact.form.lstrip('=')}"
        yield Difference(fact.kind, what, where.strip())


# The baseline.


def numbers_of(version: str) -> tuple[int, ...]:
    """The numbers of a version, for comparing: 2.1.29 is before 2.1.300."""
    return tuple(int(digits) for digits in re.findall(r"\d+", version)[:3])


def choose(versions: Iterable[str], version: str) -> str | None:
    """With which version to compare: the same, or the newest before it; None if all are newer."""
    earlier = [each for each in versions if numbers_of(each) <= numbers_of(version)]
    return max(earlier, key=numbers_of, default=None)


def load(path: Path) -> dict[str, dict[str, Facts]]:
    """What is known, by version and scene; nothing where there is no file."""
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    baseline: dict[str, dict[str, Facts]] = {}
    for version, kinds in stored.items():
        baseline[version] = {scene: {} for scene in kinds.pop(SCENES).split()}
        for kind, lines in kinds.items():
            for line, signs in lines.items():
                fact = Fact(kind, *line.split(" "))
                for facts, sign in zip(baseline[version].values(), signs):
                    if sign != NEVER:
                        facts[fact] = sign == ALWAYS
    return baseline


def store(path: Path, baseline: Mapping[str, Mapping[str, Facts]]) -> None:
    """Write what is known, sorted, a fact a line: the field, its form, a sign for each scene."""
    sign = {True: ALWAYS, False: SOMETIMES, None: NEVER}
    stored: dict[str, dict[str, Any]] = {}
    for version, scenes in baseline.items():
        names = sorted(scenes)
        kinds = stored[version] = {SCENES: " ".join(names)}
        for fact in {fact for facts in scenes.values() for fact in facts}:
            signs = "".join(sign[scenes[name].get(fact)] for name in names)
            kinds.setdefault(fact.kind, {})[f"{fact.path} {fact.form}"] = signs
    # A run that is stopped here leaves the old file as it was.
    whole = path.with_suffix(".new")
    whole.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    whole.replace(path)
