"""
What a new release of the CLI says in another way: ``python -m claude_sync.testing.drift``.

::

    scene -> messages -> [shape] -> [compare] <- baseline.json
                            |
                         [merge] -> baseline.json      (--update)

A shape tells, for each kind of message in a scene, which fields there were, of which JSON
types, and, where a field has a closed vocabulary, which words. Texts, numbers and ids are not
compared. Decisions taken here and nowhere else:

* Lists are folded (``content[].text``), and so are objects whose keys are data
  (``modelUsage.*``).
* What was in every run of a scene is expected; what was in some runs is optional, and is missed
  by nobody.
* A field that is new or gone stands for the fields inside it.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Difference", "Field", "choose", "compare", "load", "merge", "shape_of", "store"]

# The message itself, as if it were one of its fields.
MESSAGE = "(message)"
# In the baseline: in place of a scene, what most of them have; in place of a field, none.
USUAL, NONE = "(usual)", "-"

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


class Field(NamedTuple):
    """
    What was seen of a field.

    Attributes:
        always: Whether it was there in every run.
        forms: JSON types, and words as ``=success``; each with whether every run had it.

    """

    always: bool
    forms: Mapping[str, bool]

    def __str__(self) -> str:
        forms = [form if always else f"?{form}" for form, always in sorted(self.forms.items())]
        return ("" if self.always else "? ") + "|".join(forms)

    @classmethod
    def parse(cls, line: str) -> Field:
        """A field as the baseline has it: ``string``, ``? null|string``, ``=success|?=error``."""
        forms = line[2:] if line.startswith("? ") else line
        found = {form.lstrip("?"): not form.startswith("?") for form in forms.split("|")}
        return cls(not line.startswith("? "), found)

    @property
    def types(self) -> str:
        """The JSON types alone."""
        return "|".join(sorted({type_of(form) for form in self.forms}))

    def merged(self, other: Field | None) -> Field:
        """What is known after *other* runs, in which it may have been missing."""
        if other is None:
            return Field(False, self.forms)
        forms = {
            form: self.forms.get(form, False) and other.forms.get(form, False)
            for form in (*self.forms, *other.forms)
        }
        return Field(self.always and other.always, forms)


# By path, by kind of message, by scene.
Fields = dict[str, Field]
Shape = dict[str, Fields]
Shapes = dict[str, Shape]


def type_of(form: str) -> str:
    """The JSON type of a form: of a word, that of its value."""
    if form.startswith("="):
        return "boolean" if form in ("=true", "=false") else "string"
    return form


# From messages to shapes.


def shape_of(messages: Iterable[tuple[str, Mapping[str, Any]]]) -> Shape:
    """The shape of one run of a scene."""
    found: dict[str, dict[str, dict[str, bool]]] = {}
    asked: dict[str, str] = {}
    for direction, message in messages:
        kind = found.setdefault(f"{direction} {kind_of(message, asked)}", {})
        for path, form in forms_in(message, MESSAGE, ""):
            kind.setdefault(path, {})[form] = True
    return {
        kind: {path: Field(True, forms) for path, forms in fields.items()}
        for kind, fields in found.items()
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
    """Every path in a JSON value, with the form that is there; *name* is that of the field."""
    if isinstance(value, dict):
        yield path, "object"
        for key, part in value.items():
            is_data = name in KEYED_BY_DATA or not FIELD_NAME.fullmatch(key)
            shown = "*" if is_data else key
            yield from forms_in(part, shown if path == MESSAGE else f"{path}.{shown}", key)
    elif isinstance(value, list):
        yield path, "array"
        for part in value:
            yield from forms_in(part, f"{path}[]", name)
    elif name in VOCABULARIES and isinstance(value, bool):
        yield path, f"={value}".lower()
    elif name in VOCABULARIES and isinstance(value, str) and WORD.fullmatch(value):
        yield path, f"={value}"
    else:
        kinds = {bool: "boolean", int: "number", float: "number", str: "string"}
        yield path, kinds.get(type(value), "null")


def merge(known: Shape | None, seen: Shape) -> Shape:
    """What is known after one more run; *known* is None before the first."""
    if known is None:
        return seen
    merged: Shape = {}
    for kind in {**known, **seen}:
        old, new = known.get(kind, {}), seen.get(kind, {})
        merged[kind] = {
            path: old[path].merged(new.get(path)) if path in old else new[path].merged(None)
            for path in {**old, **new}
        }
    return merged


# The comparison.


@dataclasses.dataclass(frozen=True)
class Difference:
    """
    One thing that is not as it was.

    Attributes:
        kind: The kind of message, as ``out result``.
        what: ``new``, ``gone``, ``changed``, ``new value`` or ``gone value``.
        where: The field, and what it was and is; ``(message)`` is all of it.

    """

    kind: str
    what: str
    where: str


def compare(known: Shape, seen: Shape) -> list[Difference]:
    """How one run differs from what is known, in the order of kinds and paths."""
    found: list[Difference] = []
    for kind in sorted({**known, **seen}):
        found += compare_fields(kind, known.get(kind, {}), seen.get(kind, {}))
    return found


def compare_fields(kind: str, known: Fields, seen: Fields) -> Iterator[Difference]:
    """How the messages of one kind differ."""
    told: tuple[str, ...] = ()
    # A message that is new or gone is told first, and then nothing of its fields.
    for path in sorted({**known, **seen}, key=lambda path: (path != MESSAGE, path)):
        old, new = known.get(path), seen.get(path)
        if path.startswith(told):
            continue
        if old is not None and new is not None:
            yield from compare_forms(kind, path, old, new)
        elif old is None or old.always:
            told = (*told, *([""] if path == MESSAGE else [f"{path}.", f"{path}["]))
            yield Difference(kind, "new" if old is None else "gone", path)


def compare_forms(kind: str, path: str, old: Field, new: Field) -> Iterator[Difference]:
    """How the types and words of one field differ."""
    expected = {type_of(form) for form, always in old.forms.items() if always}
    types = set(new.types.split("|"))
    if types - set(old.types.split("|")) or expected - types:
        yield Difference(kind, "changed", f"{path} ({old.types} -> {new.types})")
        return
    words = {form for form in (*old.forms, *new.forms) if form.startswith("=")}
    for word in sorted(words):
        if word not in old.forms:
            yield Difference(kind, "new value", f"{path} {word[1:]}")
        elif old.forms[word] and word not in new.forms:
            yield Difference(kind, "gone value", f"{path} {word[1:]}")


# The baseline.


def numbers_of(version: str) -> tuple[int, ...]:
    """The numbers of a version, for comparing: 2.1.29 is before 2.1.300."""
    return tuple(int(digits) for digits in re.findall(r"\d+", version)[:3])


def choose(versions: Iterable[str], version: str) -> str | None:
    """With which version to compare: the same, or the newest before it; None if all are newer."""
    earlier = [each for each in versions if numbers_of(each) <= numbers_of(version)]
    return max(earlier, key=numbers_of, default=None)


def load(path: Path) -> dict[str, Shapes]:
    """The shapes by version; none where there is no file."""
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    baseline: dict[str, Shapes] = {}
    for version, scenes in stored.items():
        usual = scenes.pop(USUAL)
        baseline[version] = {
            scene: {kind: fields_of({**usual[kind], **lines}) for kind, lines in kinds.items()}
            for scene, kinds in scenes.items()
        }
    return baseline


def fields_of(lines: Mapping[str, str]) -> Fields:
    """The fields that stand in these lines."""
    return {path: Field.parse(line) for path, line in lines.items() if line != NONE}


def store(path: Path, baseline: Mapping[str, Shapes]) -> None:
    """Write the shapes, sorted, a field a line; of each scene only what is special about it."""
    stored: dict[str, dict[str, dict[str, dict[str, str]]]] = {}
    for version, scenes in baseline.items():
        lines: dict[str, dict[str, dict[str, str]]] = {}
        for scene, shape in sorted(scenes.items()):
            for kind, fields in shape.items():
                found = {path: str(field) for path, field in fields.items()}
                lines.setdefault(kind, {})[scene] = found
        stored[version] = {USUAL: {}, **{scene: {} for scene in scenes}}
        for kind, by_scene in lines.items():
            paths = {path for found in by_scene.values() for path in found}
            told = {path: [found.get(path, NONE) for found in by_scene.values()] for path in paths}
            usual = {path: Counter(each).most_common(1)[0][0] for path, each in told.items()}
            for scene, found in by_scene.items():
                special = {path: found.get(path, NONE) for path in paths}
                stored[version][scene][kind] = dict(special.items() - usual.items())
            stored[version][USUAL][kind] = {
                path: line for path, line in usual.items() if line != NONE
            }
    # A run that is stopped here leaves the old file as it was.
    whole = path.with_suffix(".new")
    whole.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    whole.replace(path)
