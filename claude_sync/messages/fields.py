"""
How the JSON objects of the CLI become values: declared fields, read from their keys.

A class declares its fields; by that alone it is a frozen dataclass::

    class AuthStatus(Message, type="auth_status"):
        is_authenticating: bool = False
        output: tuple[str, ...] = ()

A field is read from the key of its own name, or of that name in camelCase, as the type it is
declared with; where the wire has another name, or another place, :func:`at` says so. Nothing
the CLI sends makes reading fail: a field that is missing, or of a wrong type, keeps its default.
What was really sent stays in ``raw``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..support.text import camel_case

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_):
        """For type checkers: the classes below are dataclasses."""
        return lambda base: base


#: A JSON object of the CLI: to be read, not to be changed.
Raw = Mapping[str, Any]
Convert = Callable[[Any], Any]
T = TypeVar("T")

# Where objects that stand in place of a text keep it: errors, agents, servers.
TEXT_KEYS = ("message", "text", "name")
# No number that a CLI means is larger, and Python converts no integer of thousands of digits.
LARGEST = 1e300


# Converters take whatever the CLI sent, and return the documented type, or "nothing" of it.


def is_number(value: Any) -> bool:
    """Whether a value is a number that can be counted with; true and false are none."""
    return type(value) in (int, float) and -LARGEST < value < LARGEST


def optional_text_of(value: Any) -> str | None:
    """A text; numbers become one; everything else is None."""
    if value is None or isinstance(value, str):
        return value
    return str(value) if is_number(value) else None


def text_of(value: Any) -> str:
    """A text, or the empty one."""
    return optional_text_of(value) or ""


def problem_of(value: Any) -> str | None:
    """A text, also of an object that has one: an error with a message, an agent with a name."""
    if isinstance(value, str):  # the rule, and this runs for every field
        return value
    if not isinstance(value, dict):
        return optional_text_of(value)
    texts = (optional_text_of(value.get(key)) for key in TEXT_KEYS)
    return next((text for text in texts if text is not None), None)


def optional_number_of(value: Any) -> float | None:
    """A float, or None."""
    return float(value) if is_number(value) else None


def optional_flag_of(value: Any) -> bool | None:
    """A bool, or None."""
    return value if isinstance(value, bool) else None


def flag_of(value: Any) -> bool:
    """A bool, or False."""
    return value is True


def mapping_of(value: Any) -> Raw:
    """A JSON object, or an empty one."""
    return value if isinstance(value, dict) else {}


def mappings_of(value: Any) -> tuple[Raw, ...]:
    """The JSON objects in a list."""
    return tuple(each for each in value if isinstance(each, dict)) if type(value) is list else ()


def texts_of(value: Any) -> tuple[str, ...]:
    """The texts in a list; a single one counts as a list."""
    values = value if isinstance(value, list) else [value]
    if set(map(type, values)) == {str}:  # the rule; the lists of tools and commands are long
        return tuple(values)
    return tuple(text for text in map(problem_of, values) if text is not None)


# What a field is declared as, or that or None, and how it is read.
CONVERTERS: dict[str, Convert] = {
    "Raw": lambda value: value if isinstance(value, dict) else None,
    "bool": optional_flag_of,
    "float": optional_number_of,
    "int": lambda value: int(value) if is_number(value) else None,
    "str": problem_of,
    "tuple[Raw, ...]": lambda value: mappings_of(value) if isinstance(value, list) else None,
    "tuple[str, ...]": lambda value: texts_of(value) if isinstance(value, list) else None,
    "Any": lambda value: value,
}


# Fields.


def raw_field() -> Any:
    """The complete JSON object; kept out of repr() and ==, which stay readable."""
    return dataclasses.field(default_factory=dict, repr=False, compare=False)


def passed(default: Any = None) -> Any:
    """A field that is not read, but passed to :func:`build`."""
    return dataclasses.field(default=default, metadata={"at": None})


def objects() -> Any:
    """A field that is a JSON object, by default an empty one."""
    return at(default=dict)


def at(
    *keys: str, within: str = "", default: Any = None, convert: Callable[[Any], Any] | None = None
) -> Any:
    """A field read from one of two *keys* of *within*: by default its name, also in camelCase."""
    kind = "default_factory" if default is dict else "default"
    return dataclasses.field(**{kind: default}, metadata={"at": (keys, within, convert)})


class Plan(NamedTuple):
    """
    How a class is read.

    Attributes:
        defaults: The defaults by field.
        dicts: The fields whose default is a new dict.
        places: For the object itself (""), and each object within it that is looked at: the
            fields with their converters, the key of each, and another key or "".

    """

    defaults: dict[str, Any]
    dicts: list[str]
    places: list[tuple[str, list[tuple[str, Convert, str, str]]]]


PLANS: dict[type, Plan] = {}


def plan_of(kind: type) -> Plan:
    """How a *kind* is read."""
    defaults: dict[str, Any] = {}
    dicts: list[str] = []
    places: dict[str, list[tuple[str, Convert, str, str]]] = {}
    for field in dataclasses.fields(kind):
        if field.default is dataclasses.MISSING:
            dicts.append(field.name)
        else:
            defaults[field.name] = field.default
        place = field.metadata.get("at", ((), "", None))
        if place is None or field.name == "raw":
            continue
        keys, within, convert = place
        convert = convert or CONVERTERS.get(str(field.type).removesuffix(" | None"))
        if convert is not None:
            key, *others = keys or dict.fromkeys((field.name, camel_case(field.name)))
            source = field.name, convert, key, "".join(others)
            places.setdefault(within, []).append(source)
    return PLANS.setdefault(kind, Plan(defaults, dicts, list(places.items())))


def build(kind: type[T], raw: Raw, /, **fields: Any) -> T:
    """A *kind* with the fields that *raw* has; *fields* go before."""
    defaults, dicts, places = PLANS.get(kind) or plan_of(kind)
    value = object.__new__(kind)
    # As a whole: a frozen class sets its attributes one by one, which takes longer than all
    # the rest, and this runs for every message.
    values = value.__dict__
    values.update(defaults)
    for name in dicts:
        values[name] = {}
    values["raw"] = raw
    for within, sources in places:
        place = mapping_of(raw.get(within)) if within else raw
        for name, convert, key, other in sources:
            found = place.get(key)
            if found is None and other:
                found = place.get(other)
            if found is not None:
                converted = convert(found)
                if converted is not None:
                    values[name] = converted
    if fields:
        values.update(fields)
    return value


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
@dataclasses.dataclass(frozen=True)
class Wire:
    """The base of what is read from the wire: subclasses are frozen dataclasses."""

    raw: Raw = dataclasses.field(default_factory=dict, repr=False, compare=False, kw_only=True)

    def __init_subclass__(cls) -> None:
        if cls.__annotations__:  # without, it is what its base is
            dataclasses.dataclass(frozen=True)(cls)

    @property
    def type(self) -> str:
        """What it is, as the wire names it."""
        return text_of(self.raw.get("type"))
