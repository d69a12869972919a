"""
A JSON Schema in the words that every CLI understands.

CLIs check schemas by the rules of draft 7, strictly: a schema with a keyword they do not
know is refused, by some without a word, and then no answer has a form. The service behind
them goes by a later draft. What is left here is understood by both; what had to go is
told in the description, and is checked when the answer is read.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Optional

from .tool_shapes import Schema, identity
from .tool_subschemas import with_subschemas

__all__ = ["portable", "python_pattern"]

KEPT = frozenset(
    {
        *("$comment", "$defs", "$ref", "additionalProperties", "allOf", "anyOf", "const"),
        *("contains", "contentEncoding", "contentMediaType", "default", "definitions"),
        *("dependencies", "deprecated", "description", "else", "enum", "examples"),
        *("exclusiveMaximum", "exclusiveMinimum", "if", "items", "maxItems", "maxLength"),
        *("maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum"),
        *("multipleOf", "not", "oneOf", "pattern", "patternProperties", "properties"),
        *("propertyNames", "readOnly", "required", "then", "title", "type", "uniqueItems"),
        "writeOnly",
    }
)
FORMATS = {
    "date": "A date in ISO 8601, such as 2026-03-01.",
    "date-time": "A date and time in ISO 8601, such as 2026-03-01T14:30:00Z.",
    "duration": "A duration in ISO 8601, such as PT1H30M.",
    "time": "A time in ISO 8601, such as 14:30:00.",
}
# How long a schema may be that is repeated in a description.
REPEATED = 200

# What a regular expression may consist of to mean the same in Python and in JavaScript's
# strict mode, in which CLIs read it.
ESCAPED = r"\\(?:[dDwWsStnrfv]|[\^$\\.*+?()\[\]{}|/]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})"
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


def portable(schema: Schema) -> Schema:
    """*schema* in words that every CLI understands; a new dict, the same for the same."""
    changed = with_subschemas(schema, portable)
    notes = [*without_places(changed), *without_patterns(changed)]
    if isinstance(changed.get("format"), str):
        notes.append(FORMATS.get(changed["format"], f"Format: {changed['format']}."))
    if changed.get("nullable") is True and "type" in changed:
        changed = with_null(changed)
    for keyword in ("enum", "required", "type"):
        if isinstance(changed.get(keyword), list):
            changed[keyword] = without_duplicates(changed[keyword])
    if "if" not in changed or not {"then", "else"} & set(changed):
        for keyword in ("if", "then", "else"):
            changed.pop(keyword, None)
    if notes:
        changed["description"] = " ".join([*described(changed), *notes])
    return {keyword: value for keyword, value in changed.items() if keyword in KEPT}


def without_places(schema: Schema) -> List[str]:
    """Say in other words what each place of a list has; returns what to tell about it."""
    if isinstance(schema.get("items"), list):
        places, rest = schema.pop("items"), schema.pop("additionalItems", True)
    else:
        places, rest = schema.pop("prefixItems", None), schema.get("items", True)
    if not places:
        return []
    if rest is False:
        schema.setdefault("maxItems", len(places))
    if schema.get("maxItems", len(places) + 1) <= len(places):
        rest = False
    schema["items"] = any_of([*places, rest])
    return [in_this_order(places)]


def without_patterns(schema: Schema) -> List[str]:
    """Take out patterns that a CLI would not understand; returns what to tell about them."""
    notes = []
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and not is_for_clis(pattern):
        del schema["pattern"]
        notes.append(f"Must match the regular expression {pattern}")
    patterns = schema.get("patternProperties", {})
    names = schema.get("properties", {})
    # CLIs refuse a property with a schema of its own that matches a pattern, too.
    if not all(map(is_for_clis, patterns)) or any(
        re.search(python_pattern(each) or r"(?!)", name) for each in patterns for name in names
    ):
        del schema["patternProperties"]
        schema.pop("additionalProperties", None)
        notes.append("The names of properties matter: " + ", ".join([*names, *patterns]))
    return notes


def described(schema: Schema) -> List[str]:
    """The description of a schema, as the beginning of a longer one."""
    description = str(schema.get("description", "")).strip()
    if description and description[-1] not in ".!?:":
        description += "."
    return [description] if description else []


def in_this_order(places: List[Any]) -> str:
    """What a list consists of, in words: its places cannot be told in keywords."""
    shown = ", ".join(short_json(place) for place in places)
    return f"The items are, in this order: {shown}."


def short_json(schema: Any) -> str:
    """A schema as text, without what would be too long to repeat."""
    text = json.dumps(schema, ensure_ascii=False)
    if len(text) > REPEATED and isinstance(schema, dict):
        kept = {key: schema[key] for key in ("type", "title", "$ref") if key in schema}
        text = json.dumps(kept, ensure_ascii=False)
    return text


def any_of(schemas: List[Any]) -> Any:
    """One schema for several; False, which nothing fits, is none of them."""
    if True in schemas:
        return True
    found = without_duplicates([each for each in schemas if each is not False])
    if len(found) > 1:
        return {"anyOf": found}
    return found[0] if found else False


def without_duplicates(values: List[Any]) -> List[Any]:
    """*values* without those that JSON holds for equal to an earlier one."""
    different: Dict[Any, Any] = {}
    for value in values:
        different.setdefault(identity(value), value)
    return list(different.values())


def with_null(schema: Schema) -> Schema:
    """A schema that says ``nullable``, which the service does not know, in other words."""
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    changed = {**schema, "type": [*types, *([] if "null" in types else ["null"])]}
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        changed["enum"] = [*schema["enum"], None]
    return changed


def is_for_clis(pattern: str) -> bool:
    """
    Whether a CLI understands a regular expression.

    One that Python does not understand was written for JavaScript.
    """
    return is_portable_pattern(pattern) or not compiles(pattern)


def is_portable_pattern(pattern: str) -> bool:
    """Whether a regular expression surely means the same in Python and in JavaScript."""
    return PORTABLE_PATTERN.fullmatch(pattern) is not None


def python_pattern(pattern: str) -> Optional[str]:
    """A regular expression of JSON Schema as Python spells it; None if it cannot."""
    named = re.sub(r"\(\?<(?![=!])", "(?P<", pattern)
    return next((each for each in (pattern, named) if compiles(each)), None)


def compiles(pattern: str) -> bool:
    """Whether Python understands a regular expression."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True
