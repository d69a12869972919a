"""
How the fields of a message are read from its JSON object.

A field is read from the key of its own name, as the type it is declared with; where the
wire has another name, or another place, :func:`at` says so::

    @dataclass(frozen=True)
    class AuthStatus(Message, type="auth_status"):
        is_authenticating: bool = at("isAuthenticating", default=False)
        output: tuple[str, ...] = ()

and :func:`build` fills it. A converter takes whatever the CLI sent, nothing at all
included, and returns the documented type: it never raises. What was really sent stays
in ``raw``.

Names ending in ``_of`` have a value for "nothing" (empty text, zero, False);
those with ``optional_`` return None for it.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Type, TypeVar

__all__ = [
    "Raw",
    "anything_of",
    "at",
    "build",
    "flag_of",
    "integer_of",
    "mapping_of",
    "mappings_of",
    "number_of",
    "objects",
    "optional_flag_of",
    "optional_integer_of",
    "optional_mapping_of",
    "optional_number_of",
    "optional_text_of",
    "optional_texts_of",
    "problem_of",
    "raw_field",
    "text_of",
    "texts_of",
]

#: A JSON object of the CLI: to be read, not to be changed.
Raw = Mapping[str, Any]
M = TypeVar("M")

# Where objects that stand in place of a text keep it: errors, agents, servers.
TEXT_KEYS = ("message", "text", "name")


# Converters.


def anything_of(value: Any) -> Any:
    """The value as it came."""
    return value


def optional_text_of(value: Any) -> Optional[str]:
    """A text; numbers become one; everything else is None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return str(value)
        except ValueError:  # more digits than Python converts
            return None
    return None


def text_of(value: Any) -> str:
    """A text, or the empty one."""
    return value if isinstance(value, str) else optional_text_of(value) or ""


def problem_of(value: Any) -> Optional[str]:
    """The text of an error, given as text or as an object with a message."""
    if isinstance(value, dict):
        for key in TEXT_KEYS:
            text = optional_text_of(value.get(key))
            if text is not None:
                return text
        return None
    return optional_text_of(value)


def optional_number_of(value: Any) -> Optional[float]:
    """A float, also from a text; None if there is none in it."""
    if value is None or isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def number_of(value: Any) -> float:
    """A float, or zero."""
    return optional_number_of(value) or 0.0


def optional_integer_of(value: Any) -> Optional[int]:
    """An int, also from a text or a float; None if there is none in it."""
    if value is None or type(value) is int:
        return value
    number = optional_number_of(value)
    try:
        return None if number is None else int(number)
    except (ValueError, OverflowError):  # nan and the infinities
        return None


def integer_of(value: Any) -> int:
    """An int, or zero."""
    return optional_integer_of(value) or 0


def optional_flag_of(value: Any) -> Optional[bool]:
    """A bool; None for what is neither that nor a number nor one of the words true and false."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return bool(value)
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return None


def flag_of(value: Any) -> bool:
    """A bool, or False."""
    return optional_flag_of(value) or False


def optional_mapping_of(value: Any) -> Optional[Raw]:
    """A JSON object, or None."""
    return value if isinstance(value, dict) else None


def mapping_of(value: Any) -> Raw:
    """A JSON object, or an empty one."""
    return value if isinstance(value, dict) else {}


def mappings_of(value: Any) -> Tuple[Raw, ...]:
    """The JSON objects in a list."""
    if not isinstance(value, list):
        return ()
    return tuple(item for item in value if isinstance(item, dict))


def texts_of(value: Any) -> Tuple[str, ...]:
    """The texts in a list; of an object its message or name; a single text counts as a list."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        return ()
    if set(map(type, value)) == {str}:  # the rule; the lists of tools and commands are long
        return tuple(value)
    return tuple(text for text in map(problem_of, value) if text is not None)


def optional_texts_of(value: Any) -> Optional[Tuple[str, ...]]:
    """The texts in a list, or None where there is no list."""
    return texts_of(value) if isinstance(value, list) else None


# What a field is declared as, and how it is read.
CONVERTERS: Dict[str, Callable[[Any], Any]] = {
    "Any": anything_of,
    "Raw": mapping_of,
    "Raw | None": optional_mapping_of,
    "bool": flag_of,
    "bool | None": optional_flag_of,
    "float": number_of,
    "float | None": optional_number_of,
    "int": integer_of,
    "int | None": optional_integer_of,
    "str": text_of,
    "str | None": optional_text_of,
    "tuple[Raw, ...]": mappings_of,
    "tuple[str, ...]": texts_of,
    "tuple[str, ...] | None": optional_texts_of,
}


# Fields.


def raw_field() -> Any:
    """The complete JSON object; kept out of repr() and ==, which stay readable."""
    return dataclasses.field(default_factory=dict, repr=False, compare=False)


def objects(key: str = "") -> Any:
    """A field that is a JSON object, by default an empty one, read from *key*."""
    return dataclasses.field(default_factory=dict, metadata={"at": (None, key, "")})


def at(
    key: str = "",
    within: str = "",
    default: Any = None,
    convert: Optional[Callable[[Any], Any]] = None,
) -> Any:
    """A field read from *key* (its own name by default) of the object *within*."""
    return dataclasses.field(default=default, metadata={"at": (convert, key, within)})


Sources = List[Tuple[str, Callable[[Any], Any], str, str]]
Plan = Tuple[Sources, Dict[str, Any], List[str]]
PLANS: Dict[type, Plan] = {}


def plan_of(message_class: Type[Any]) -> Plan:
    """Which field comes from where, the plain defaults, and the fields that hold a new dict."""
    sources: Sources = []
    defaults: Dict[str, Any] = {}
    dicts: List[str] = []
    for field in dataclasses.fields(message_class):
        if field.name == "raw":
            continue
        convert, key, within = field.metadata.get("at", (None, "", ""))
        convert = convert or CONVERTERS.get(str(field.type))
        if convert is not None:
            sources.append((field.name, convert, key or field.name, within))
        if field.default is not dataclasses.MISSING:
            defaults[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            dicts.append(field.name)
        elif convert is not None:
            defaults[field.name] = convert(None)
    plan = PLANS[message_class] = (sources, defaults, dicts)
    return plan


def build(message_class: Type[M], raw: Raw, **fields: Any) -> M:
    """A *message_class* with the fields its declaration finds in *raw*; *fields* go before."""
    sources, defaults, dicts = PLANS.get(message_class) or plan_of(message_class)
    # Filled as a whole: a frozen class sets its attributes one by one, which takes longer
    # than all the rest, and this runs for every message.
    message = object.__new__(message_class)
    values = message.__dict__
    values.update(defaults)
    for name in dicts:
        values[name] = {}
    values["raw"] = raw
    for name, convert, key, within in sources:
        source: Mapping[str, Any] = mapping_of(raw.get(within)) if within else raw
        value = source.get(key)
        if value is not None:  # for None the declaration has the same value as its default
            values[name] = convert(value)
    values.update(fields)
    return message
