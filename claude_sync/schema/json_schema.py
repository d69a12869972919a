"""
JSON Schemas: what one has to be, what CLIs understand of it, and how mistakes are told.

CLIs check schemas by the rules of draft 7, strictly: a schema with a keyword that they do not
know is refused, by some without a word, and then no answer is typed. The service behind
them goes by a later draft. :func:`portable` leaves what both understand, and puts the rest
into descriptions, for Claude to read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from ..errors import UsageError
from ..support.text import short_json

Schema = dict[str, Any]
# Names and indexes, from the outside to the inside.
Path = tuple[Any, ...]
# Where something is wrong, and what.
Problem = tuple[Path, str]

# A long list may be wrong in every place; so many places are enough to read.
MOST_PROBLEMS = 20
# How long a schema may be that a description repeats.
LONGEST_REPEATED = 200

DEFINITIONS = ("$defs", "definitions")
TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
# Keywords with a schema, a list of schemas, or schemas by name.
ONE = ("additionalItems", "additionalProperties", "contains", "items", "not", "propertyNames")
SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
NAMED = (*DEFINITIONS, "patternProperties", "properties")
# What the values of keywords have to be; of others, the CLI says it.
KINDS = (
    (dict, NAMED),
    (list, (*SEVERAL, "enum", "required")),
    (str, ("$ref", "description", "pattern", "title")),
)
# What CLIs and the service know. 2.1.29 refuses every "format", even those of draft 7.
KEPT = """
    $comment $defs $ref additionalProperties allOf anyOf const contains contentEncoding
    contentMediaType default definitions dependencies deprecated description enum examples
    exclusiveMaximum exclusiveMinimum items maxItems maxLength maxProperties maximum minItems
    minLength minProperties minimum multipleOf not oneOf pattern properties propertyNames
    readOnly required title type uniqueItems writeOnly
"""
KNOWN = frozenset(KEPT.split())
# What says something about answers, and is told in the description instead.
TOLD = ("format", "pattern", "patternProperties", "if", "then", "else")
# Regular expressions that surely mean the same in Python and in JavaScript's strict mode.
PORTABLE_PATTERN = re.compile(
    r"(?:[^\\(){}\[\]*+?]|\\[dDwWsS.*+?$^/|()\[\]{}]|\((?:\?:|(?!\?))|\)|\[\^?(?:[^\\\[\]]|\\[dws.])+\]"
    r"|(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??(?![*+?{]))*"
)
# Without one of these, a dict is no schema.
TELLING = {*KNOWN, *TOLD, *ONE, *SEVERAL} - {"title", "description"}
ADVICE = (
    'Write for example {"type": "object", "properties": {"name": {"type": "string"}}, '
    '"required": ["name"]}, or pass a dataclass or a TypedDict.'
)


class Mismatch(Exception):
    """
    JSON does not have the form that was asked for.

    Attributes:
        problems: What is wrong, one text for each place.

    """

    def __init__(self, *found: Problem) -> None:
        super().__init__(*found)
        self.found = found

    @property
    def problems(self) -> list[str]:
        """What is wrong, one text for each place."""
        return [f"{place_of(path)}: {text}" if path else text for path, text in self.found]

    def __str__(self) -> str:
        return "; ".join(self.problems)


def place_of(path: Path) -> str:
    """A path as a program would write it: ``lines[0].price``."""
    place = ""
    for step in path:
        if isinstance(step, str) and (step.isidentifier() or not place):
            place += f".{step}" if place else step
        else:
            place += f"[{short_json(step)}]"
    return place


def free_name(name: str, taken: Schema) -> str:
    """*name*, or with a number if it is taken."""
    count = 1
    while (free := name if count == 1 else f"{name}{count}") in taken:
        count += 1
    return free


def with_subschemas(schema: Schema, change: Callable[..., Any]) -> Schema:
    """
    Copy *schema*, with each schema directly inside replaced by what *change* makes of it.

    It is called with the schema and the steps to it. A property that happens to be called
    "format", or a default with a key "$ref", does not stand in the place of a schema.
    """
    copy: Schema = {}
    for keyword, value in schema.items():
        if keyword in SEVERAL:
            copy[keyword] = [change(each, keyword, index) for index, each in enumerate(value)]
        elif keyword in NAMED and isinstance(value, dict):
            copy[keyword] = {name: change(each, keyword, name) for name, each in value.items()}
        elif keyword in ONE:
            copy[keyword] = change(value, keyword)
        else:
            copy[keyword] = value
    return copy


def portable(schema: Any, *_steps: Any) -> Any:
    """Say *schema* in keywords that every CLI understands; a new dict, the same for the same."""
    if not isinstance(schema, dict):
        return schema
    changed = with_subschemas(schema, portable)
    notes = []
    if "prefixItems" in changed:  # draft 7 does not know it
        places, rest = changed["prefixItems"], changed.get("items", True)
        if rest is False:
            changed.setdefault("maxItems", len(places))
        is_closed = changed.get("maxItems", len(places) + 1) <= len(places)
        changed["items"] = {"anyOf": places if is_closed else [*places, rest]}
        told = ", ".join(short_json(each, LONGEST_REPEATED) for each in places)
        notes.append(f"The items are, in this order: {told}.")
    for keyword in TOLD:
        if keyword not in changed:
            continue
        if keyword == "pattern" and PORTABLE_PATTERN.fullmatch(changed[keyword]):
            continue
        value = changed.pop(keyword)
        said = value if isinstance(value, str) else short_json(value, LONGEST_REPEATED)
        notes.append(f"{keyword.capitalize()}: {said}.")
        if keyword == "patternProperties":
            changed.pop("additionalProperties", None)
    if notes:
        said = str(changed.get("description", "")).strip()
        said += "." if said and said[-1] not in ".!?:" else ""
        changed["description"] = " ".join([said, *notes]).strip()
    kept = {keyword: value for keyword, value in changed.items() if keyword in KNOWN}
    return {"anyOf": [kept, {"type": "null"}]} if changed.get("nullable") is True else kept


def checked_schema(given: Any) -> Schema:
    """
    Copy *given*, a JSON Schema of the program.

    Raises:
        UsageError: It is not a JSON Schema. CLIs would refuse it too, some without a word.

    """

    def checked(schema: Any, *path: Any) -> Any:
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise Mismatch((path, f"expected a schema, got {short_json(schema)}"))
        if isinstance(schema.get("items"), list):  # as drafts before 2020 say prefixItems
            rest = schema.get("additionalItems", True)
            schema = {**schema, "prefixItems": schema["items"], "items": rest}
        for kind, keywords in KINDS:
            for keyword in keywords:
                if not isinstance(schema.get(keyword, kind()), kind):
                    found = short_json(schema[keyword])
                    raise Mismatch(((*path, keyword), f"expected a {kind.__name__}, got {found}"))
        names = schema.get("type", "string")
        for name in names if isinstance(names, list) else [names]:
            if name not in TYPES:
                text = f"expected one of {short_json(TYPES)}, got {short_json(name)}"
                raise Mismatch(((*path, "type"), text))
        reference = schema.get("$ref", "#")
        first, name = [*reference.split("/"), "", ""][1:3]
        name = name.replace("~1", "/").replace("~0", "~")
        is_there = name in whole.get(first, {}) if first in DEFINITIONS else reference[:1] == "#"
        # What is no object is put into one, where "#" would be that object.
        is_object = whole.get("type", "object") == "object"
        moves = "$ref" in schema and first not in DEFINITIONS and not is_object
        if moves or not is_there:
            raise Mismatch(((*path, "$ref"), f"{short_json(reference)} leads nowhere"))
        return with_subschemas(schema, lambda inner, *more: checked(inner, *path, *more))

    try:
        whole: Schema = json.loads(json.dumps(dict(given), allow_nan=False))
        if not TELLING & set(whole):
            keys = ", ".join(map(repr, list(whole)[:5])) or "none"
            text = f'its keys ({keys}) are no keywords; names of fields stand under "properties"'
            raise Mismatch(((), text))
        made: Schema = checked(whole)
        return made
    except (TypeError, ValueError, RecursionError, Mismatch) as error:
        text = f"this is not a JSON Schema: {error}. {ADVICE}"
        raise UsageError(text, option="returns") from None
