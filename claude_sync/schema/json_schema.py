"""
JSON Schemas: where schemas stand inside them, what CLIs understand of them, and what fits.

CLIs check schemas by the rules of draft 7, strictly: a schema with a keyword that they do not
know is refused, by some without a word, and then no answer is typed. The service behind
them goes by a later draft. :func:`portable` leaves what both understand, and puts the rest
into descriptions, for Claude to read.
"""

from __future__ import annotations

import itertools
import json
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import UsageError
from ..support.text import short_json
from .values import NoJsonForm, identity, plain_value

__all__ = [
    "MOST_PROBLEMS",
    "Mismatch",
    "Path",
    "Problem",
    "Schema",
    "adopted",
    "check",
    "checked_schema",
    "portable",
    "retargeted",
    "target",
]

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
# Keywords with a schema, a list of schemas, or schemas by name.
ONE = frozenset({"additionalItems", "additionalProperties", "contains", "else", "if", "items"})
ONE |= {"not", "propertyNames", "then"}
SEVERAL = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
NAMED = frozenset({*DEFINITIONS, "dependencies", "patternProperties", "properties"})
# What CLIs and the service know. 2.1.29 refuses every "format", even those of draft 7.
KNOWN = """
    $comment $defs $ref additionalProperties allOf anyOf const contains contentEncoding
    contentMediaType default definitions dependencies deprecated description else enum examples
    exclusiveMaximum exclusiveMinimum if items maxItems maxLength maxProperties maximum minItems
    minLength minProperties minimum multipleOf not oneOf pattern patternProperties properties
    propertyNames readOnly required then title type uniqueItems writeOnly
"""
KEPT = frozenset(KNOWN.split())

# Regular expressions that mean the same in Python and in JavaScript's strict mode, in which
# CLIs read them.
ESCAPED = r"\\(?:[dDwWsStnrfv^$\\.*+?()\[\]{}|/]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})"
IN_BRACKETS = rf"(?:{ESCAPED}|\\-|[^\\\]\[-])"
PORTABLE_PATTERN = re.compile(
    rf"""(?:
        {ESCAPED} | \\[bB]
      | \((?:\?(?::|=|!|<=|<!)|(?!\?)) | \)
      | \[\^?(?!\])-?(?:{IN_BRACKETS}(?:-{IN_BRACKETS})?)*-?\]
      | (?:[*+?]|\{{[0-9]+(?:,[0-9]*)?\}})\??(?![*+?{{])
      | [^\\()\[\]{{}}*+?]
    )*""",
    re.VERBOSE,
)

NUMBERS = (int, float)
TYPES: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "array": ("a list", list),
    "boolean": ("true or false", bool),
    "integer": ("an integer", int),
    "null": ("null", type(None)),
    "number": ("a number", NUMBERS),
    "object": ("an object", dict),
    "string": ("a string", str),
}
# For which values, what of them is compared, how, and in which words.
LIMITS: dict[str, tuple[Any, Callable[[Any], Any], Callable[[Any, Any], bool], str]] = {
    "minimum": (NUMBERS, operator.pos, operator.ge, "a number of at least {}"),
    "maximum": (NUMBERS, operator.pos, operator.le, "a number of at most {}"),
    "exclusiveMinimum": (NUMBERS, operator.pos, operator.gt, "a number above {}"),
    "exclusiveMaximum": (NUMBERS, operator.pos, operator.lt, "a number below {}"),
    "minLength": (str, len, operator.ge, "at least {} characters"),
    "maxLength": (str, len, operator.le, "at most {} characters"),
    "minItems": (list, len, operator.ge, "at least {} items"),
    "maxItems": (list, len, operator.le, "at most {} items"),
}

SELF: Schema = {"$ref": "#"}
NAMES: Schema = {"type": "array", "items": {"type": "string"}}
TYPE: Schema = {"enum": list(TYPES)}
SCHEMAS: Schema = {"type": "array", "minItems": 1, "items": SELF}
# What keywords have to be. What is not in here is not looked at.
RULES: tuple[tuple[str, Schema], ...] = (
    ("$ref description pattern title", {"type": "string"}),
    ("additionalItems additionalProperties contains else if not propertyNames then", SELF),
    (
        "$defs definitions patternProperties properties",
        {"type": "object", "additionalProperties": SELF},
    ),
    ("allOf anyOf oneOf prefixItems", SCHEMAS),
    ("items", {"anyOf": [SELF, SCHEMAS]}),
    ("minimum maximum exclusiveMinimum exclusiveMaximum", {"type": "number"}),
    ("multipleOf", {"type": "number", "exclusiveMinimum": 0}),
    (
        "minLength maxLength minItems maxItems minProperties maxProperties",
        {"type": "integer", "minimum": 0},
    ),
    ("required", NAMES),
    ("enum", {"type": "array", "minItems": 1}),
    ("type", {"anyOf": [TYPE, {**NAMES, "minItems": 1, "items": TYPE}]}),
    ("uniqueItems nullable", {"type": "boolean"}),
)
META: Schema = {
    "type": ["object", "boolean"],
    "properties": {keyword: rule for keywords, rule in RULES for keyword in keywords.split()},
}
TELLING = frozenset(META["properties"]) - {"title", "description"}
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


# Schemas inside schemas. A property that happens to be called "format", or a default with a
# key "$ref", does not stand in the place of a schema and is left alone.


def with_subschemas(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """Copy *schema*, with each schema directly inside replaced by what *change* makes of it."""

    def changed(inner: Any) -> Any:
        return change(inner) if isinstance(inner, dict) else inner

    copy: Schema = {}
    for keyword, value in schema.items():
        if keyword in SEVERAL and isinstance(value, list):
            copy[keyword] = [changed(each) for each in value]
        elif keyword in NAMED and isinstance(value, dict):
            copy[keyword] = {name: changed(each) for name, each in value.items()}
        elif keyword in ONE:
            copy[keyword] = changed(value)
        else:
            copy[keyword] = value
    return copy


def retargeted(schema: Schema, change: Callable[[str], str]) -> Schema:
    """Copy *schema*, with each reference at any depth replaced by what *change* makes of it."""
    copy = with_subschemas(schema, lambda inner: retargeted(inner, change))
    if isinstance(copy.get("$ref"), str):
        copy["$ref"] = change(copy["$ref"])
    return copy


def target(root: Schema, reference: str) -> Any:
    """
    Find what *reference*, such as ``#/$defs/Item``, means in *root*.

    Raises:
        LookupError: There is nothing, or it is not inside *root*.

    """
    from urllib.parse import unquote

    start, *steps = unquote(reference).split("/")
    if start != "#":
        raise LookupError(reference)
    found: Any = root
    for each in steps:
        step = each.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and step.isdigit():
            found = found[int(step)]
        elif isinstance(found, dict):
            found = found[step]
        else:
            raise LookupError(reference)
    return found


def adopted(schema: Schema, definitions: Schema) -> Schema:
    """Move the definitions of *schema* to *definitions*, under names that are free there."""
    own = schema.get("$defs", {})
    names = {name: name for name in own}
    if any(name in definitions and definitions[name] != own[name] for name in own):
        # All that are there already: equal texts may refer to different definitions.
        names = {name: free_name(name, definitions) for name in own}

    def moved(reference: str) -> str:
        name = reference.rpartition("/")[2]
        return f"#/$defs/{names[name]}" if name in names else reference

    for name, inner in own.items():
        definitions[names[name]] = retargeted(inner, moved)
    return retargeted({key: each for key, each in schema.items() if key != "$defs"}, moved)


def free_name(name: str, taken: Schema) -> str:
    """*name*, or with a number if it is taken."""
    count = 1
    while (free := name if count == 1 else f"{name}{count}") in taken:
        count += 1
    return free


# What CLIs understand.


def portable(schema: Schema) -> Schema:
    """Say *schema* in keywords that every CLI understands; a new dict, the same for the same."""
    changed = with_subschemas(schema, portable)
    notes = [*without_places(changed), *without_patterns(changed)]
    if isinstance(changed.get("format"), str):
        notes.append(f"Format: {changed['format']}.")
    if "if" not in changed or not {"then", "else"} & set(changed):
        for keyword in ("if", "then", "else"):  # strict checkers refuse a part without the others
            changed.pop(keyword, None)
    if notes:
        said = str(changed.get("description", "")).strip()
        said += "." if said and said[-1] not in ".!?:" else ""
        changed["description"] = " ".join([said, *notes]).strip()
    return {keyword: value for keyword, value in changed.items() if keyword in KEPT}


def without_places(schema: Schema) -> Iterator[str]:
    """Replace ``prefixItems``, which draft 7 does not know; yield what to tell about it."""
    places = schema.pop("prefixItems", [])
    if not places:
        return
    rest = schema.get("items", True)
    if rest is False:
        schema.setdefault("maxItems", len(places))
    is_closed = schema.get("maxItems", len(places) + 1) <= len(places)
    schema["items"] = {"anyOf": places if is_closed else [*places, rest]}
    yield f"The items are, in this order: {', '.join(map(repeated, places))}."


def without_patterns(schema: Schema) -> Iterator[str]:
    """Take out patterns that a CLI may read otherwise; yield what to tell about them."""
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and not is_portable(pattern):
        del schema["pattern"]
        yield f"Must match the regular expression {pattern}"
    patterns, names = schema.get("patternProperties", {}), schema.get("properties", {})
    # CLIs also refuse a property with a schema that matches a pattern.
    if not all(map(is_portable, patterns)) or any(
        matches(each, name) for each in patterns for name in names
    ):
        del schema["patternProperties"]
        schema.pop("additionalProperties", None)
        yield f"The names of properties matter: {', '.join([*names, *patterns])}"


def is_portable(pattern: str) -> bool:
    """Whether a regular expression surely means the same in Python and in JavaScript."""
    return PORTABLE_PATTERN.fullmatch(pattern) is not None


def repeated(schema: Any) -> str:
    """A schema as text, without what would be too long to repeat."""
    text = json.dumps(schema, ensure_ascii=False)
    if len(text) > LONGEST_REPEATED and isinstance(schema, dict):
        kept = {key: schema[key] for key in ("type", "title", "$ref") if key in schema}
        text = json.dumps(kept, ensure_ascii=False)
    return text


# What fits.


def problems_of(root: Schema, schema: Any, value: Any) -> Iterator[Problem]:
    """
    Find what is wrong with *value* by *schema*, a part of *root*.

    All keywords that types have are looked at, and the most important ones of other schemas.
    Answers have been checked by the CLI, by every keyword that :func:`portable` leaves.
    """
    if isinstance(schema, bool):
        if not schema:
            yield (), f"unexpected: {short_json(value)}"
        return
    names = schema.get("type", [])
    names = names if isinstance(names, list) else [names]
    if names and not any(has_type(name, value) for name in names):
        expected = " or ".join(TYPES[name][0] for name in names)
        yield (), f"expected {expected}, got {short_json(value)}"
        return  # the other keywords would say the same in other words
    if "$ref" in schema:
        yield from problems_of(root, target(root, schema["$ref"]), value)
    yield from limits_passed(schema, value)
    if isinstance(value, dict):
        yield from wrong_properties(root, schema, value)
    if isinstance(value, list):
        yield from wrong_items(root, schema, value)
    for each in schema.get("allOf", ()):
        yield from problems_of(root, each, value)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            yield from nearest([list(problems_of(root, each, value)) for each in schema[keyword]])


def check(root: Schema, schema: Any, value: Any) -> None:
    """
    Check *value* by *schema*, a part of *root*.

    Raises:
        Mismatch: It does not fit.

    """
    found = list(itertools.islice(problems_of(root, schema, value), MOST_PROBLEMS))
    if found:
        raise Mismatch(*found)


def has_type(name: str, value: Any) -> bool:
    """Whether *value* has a type of JSON."""
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[name][1])


def limits_passed(schema: Schema, value: Any) -> Iterator[Problem]:
    """Look at what limits a value itself: choices, sizes, lengths, patterns."""
    for keyword in ("enum", "const"):
        if keyword in schema:
            choices = schema[keyword] if keyword == "enum" else [schema[keyword]]
            if identity(value) not in set(map(identity, choices)):
                one_of = "one of " if len(choices) > 1 else ""
                said = ", ".join(map(short_json, choices))
                yield (), f"expected {one_of}{said}, got {short_json(value)}"
    for keyword, (kinds, measure, fits, text) in LIMITS.items():
        is_meant = keyword in schema and isinstance(value, kinds) and not isinstance(value, bool)
        if is_meant and not fits(measure(value), schema[keyword]):
            yield (
                (),
                f"expected {text.format(short_json(schema[keyword]))}, got {short_json(value)}",
            )
    if isinstance(value, str) and not matches(schema.get("pattern", ""), value):
        yield (), f"expected a text that matches {schema['pattern']}, got {short_json(value)}"


def matches(pattern: str, text: str) -> bool:
    """Whether *pattern* is in *text*; a pattern that Python cannot read is the CLI's affair."""
    try:
        return re.search(pattern, text) is not None
    except (re.error, OverflowError, RecursionError):
        return True


def wrong_properties(root: Schema, schema: Schema, value: dict[str, Any]) -> Iterator[Problem]:
    """Look at the properties of an object."""
    named = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield (name,), "missing"
    for name, each in value.items():
        known = [named[name]] if name in named else []
        patterns = schema.get("patternProperties", {})
        known += [inner for pattern, inner in patterns.items() if matches(pattern, name)]
        others = schema.get("additionalProperties", True)
        if not known and others is False:
            yield (name,), f"unexpected, the properties are: {', '.join(named) or 'none'}"
            continue
        for _, text in problems_of(root, schema.get("propertyNames", True), name):
            yield (), f"a key is wrong: {text}"
        for inner in known or [others]:
            for path, text in problems_of(root, inner, each):
                yield (name, *path), text


def wrong_items(root: Schema, schema: Schema, value: list[Any]) -> Iterator[Problem]:
    """Look at the items of a list."""
    places, rest = schema.get("prefixItems", []), schema.get("items", True)
    for index, each in enumerate(value):
        inner = places[index] if index < len(places) else rest
        for path, text in problems_of(root, inner, each):
            yield (index, *path), text
    if schema.get("uniqueItems") is True and len(set(map(identity, value))) < len(value):
        yield (), f"expected a list without duplicates, got {short_json(value)}"


def nearest(tried: list[list[Problem]]) -> list[Problem]:
    """What to tell of several forms: if only one is right from the outside, what is inside it."""
    if not all(tried):
        return []
    inner = [problems for problems in tried if all(path for path, _ in problems)]
    if len(inner) == 1:
        return inner[0]
    texts = dict.fromkeys(problems[0][1] for problems in tried)
    return [((), f"fits none of {len(tried)} forms: {'; '.join(texts)}")]


# Schemas of the program.


def checked_schema(given: Any) -> Schema:
    """
    Copy *given*, a JSON Schema of the program, in the words of the newest draft.

    Raises:
        UsageError: It is not a JSON Schema. CLIs would refuse it too, some without a word.

    """
    try:
        schema: Schema = plain_value(given, strict=True)
        found = list(problems_of(META, META, schema))
        if not TELLING & set(schema):
            names = ", ".join(map(repr, list(schema)[:5])) or "none"
            text = f'its keys ({names}) are no keywords; names of fields stand under "properties"'
            found = [((), text)]
        schema = modern(schema)
        if not found:
            retargeted(schema, lambda reference: checked_reference(schema, reference))
    except (NoJsonForm, Mismatch) as error:
        found = [((), str(error))]
    if found:
        text = f"this is not a JSON Schema: {Mismatch(found[0])}. {ADVICE}"
        raise UsageError(text, option="returns")
    return schema


def checked_reference(root: Schema, reference: str) -> str:
    """*reference*, if it leads to a schema in *root*."""
    try:
        if isinstance(target(root, reference), (dict, bool)):
            return reference
    except (LookupError, ValueError):
        pass
    raise Mismatch(((), f"the reference {reference!r} leads nowhere"))


def modern(schema: Schema) -> Schema:
    """Say *schema* in the words of the newest draft: lists of items, ``nullable``, duplicates."""
    changed = with_subschemas(schema, modern)
    for keyword in ("enum", "required", "type"):  # CLIs refuse duplicates
        if isinstance(changed.get(keyword), list):
            changed[keyword] = list({identity(each): each for each in changed[keyword]}.values())
    if isinstance(changed.get("items"), list):
        changed["prefixItems"] = changed.pop("items")
        changed["items"] = changed.pop("additionalItems", True)
    if changed.pop("nullable", False) is True and "type" in changed:
        changed = {"anyOf": [changed, {"type": "null"}]}
    return changed
