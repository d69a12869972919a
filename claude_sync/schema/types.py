"""
Types: what JSON Schema they have, and how JSON becomes a value of them.

::

    annotation -> [shape] -> JSON Schema -> Claude -> JSON -> [shape] -> value

A conversion checks what it gets, by the rules that its schema tells Claude, and finds what a
schema cannot say: only it looks at the calendar, or calls a class that has rules of its own.

Classes that contain themselves become definitions; everything else is written out where it
stands, which a reader understands best. Types of Pydantic are left to Pydantic, which is
never imported here.
"""

from __future__ import annotations

import base64
import collections.abc as abc
import contextlib
import dataclasses
import datetime
import decimal
import enum
import inspect
import json
import pathlib
import re
import sys
import types
import typing
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING
from typing import Any, ForwardRef, Literal, NamedTuple, Union, get_args

import typing_extensions
from typing_extensions import Annotated, NotRequired, ReadOnly, Required, Self, get_type_hints

from ..support.text import short_json
from .docstrings import documentation_of
from .json_schema import MOST_PROBLEMS, Mismatch, Schema, free_name
from .values import NoJsonForm, enum_values, identity, plain_value

USABLE = (
    "Use str, int, float, bool, None, list, dict, tuple, set, Optional, Union, Literal, an Enum, "
    "a dataclass, a TypedDict, a NamedTuple, a Pydantic model, datetime, date, time, UUID, Path, "
    "Decimal, bytes, or Any for any value."
)

Convert = Callable[[Any], Any]
# Of a class or a function: name, annotation, default, and whether it has to be given.
Field = tuple[str, Any, Any, bool]

LISTS = (list, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Iterable)
SETS = (set, frozenset, abc.Set, abc.MutableSet)
DICTS = (dict, abc.Mapping, abc.MutableMapping)
UNIONS = (Union, types.UnionType)
KEY_WRAPPERS = (NotRequired, Required, ReadOnly)


class NoSchema(Exception):
    """
    An annotation has no JSON Schema.

    Attributes:
        what: The annotation, and where inside it the trouble is.
        advice: What to do instead.

    """

    def __init__(self, what: str, advice: str = USABLE) -> None:
        self.what = what
        self.advice = advice


class Shape(NamedTuple):
    """
    What values of a type are in JSON.

    Attributes:
        schema: The JSON Schema; not to be changed.
        convert: Makes a value of JSON; raises Mismatch if it does not fit.
        about: The description that the annotation gives, which goes before others.
        required: Whether the field or parameter that has this shape must be there.

    """

    schema: Schema
    convert: Convert
    about: str = ""
    required: bool = True


def as_is(value: Any) -> Any:
    """What JSON and Python have in common."""
    return value


def unexpected(_value: Any) -> Any:
    """The conversion of what may not be there."""
    raise Mismatch(((), "unexpected"))


def wrong(expected: str, value: Any) -> Mismatch:
    """What is told about a value that is not what was expected."""
    return Mismatch(((), f"expected {expected}, got {short_json(value)}"))


# Types without others inside.


def making(expected: str, kind: Any, make: Callable[[Any], Any]) -> Convert:
    """A conversion by *make* of values of a *kind*; *expected* says what they are."""

    def convert(value: Any) -> Any:
        # True is an int to Python; to JSON it is no number.
        if isinstance(value, kind) and isinstance(value, bool) == (kind is bool):
            try:
                return make(value)
            except (ValueError, ArithmeticError) as error:
                raise wrong(expected, value) from error
        raise wrong(expected, value)

    return convert


def whole(value: float) -> int:
    """An int, which JavaScript may write as 3.0."""
    if value != int(value):
        raise ValueError
    return int(value)


def written(expected: str, make: Callable[[str], Any], form: str = "", **more: str) -> Shape:
    """The shape of a type that is written as text, by the pattern *form* if there is one."""

    def read(text: str) -> Any:
        # Python's own readers accept more from release to release.
        if not re.search(f"^{form}$" if form else "", text):
            raise ValueError(text)
        return make(text)

    return Shape({"type": "string", **more}, making(expected, str, read))


def iso(make: Callable[[str], Any]) -> Callable[[str], Any]:
    """*make* for a time: Python 3.10 reads no Z, and wants six digits after the point."""

    def read(text: str) -> Any:
        text = re.sub(r"[Zz]$", "+00:00", text)
        return make(re.sub(r"\.(\d+)", lambda digits: f".{digits[1][:6]:0<6}", text))

    return read


DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
TIME = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?"
MOMENT = f"{DATE}[Tt ]{TIME}"
DECIMAL = r"[+-]?[0-9]+(\.[0-9]+)?"
read_moment, read_time = iso(datetime.datetime.fromisoformat), iso(datetime.time.fromisoformat)
read_day = datetime.date.fromisoformat

ANYTHING = Shape({}, as_is)
NOT_THERE = Shape({}, unexpected)
NOTHING = Shape({"type": "null"}, making("null", type(None), as_is))
SIMPLE: dict[Any, Shape] = {
    Any: ANYTHING,
    object: ANYTHING,
    str: Shape({"type": "string"}, making("a string", str, as_is)),
    int: Shape({"type": "integer"}, making("an integer", (int, float), whole)),
    float: Shape({"type": "number"}, making("a number", (int, float), float)),
    bool: Shape({"type": "boolean"}, making("true or false", bool, as_is)),
    None: NOTHING,
    type(None): NOTHING,
    datetime.datetime: written(
        "a time like 2026-03-01T14:30:00Z", read_moment, MOMENT, format="date-time"
    ),
    datetime.date: written("a date like 2026-03-01", read_day, DATE, format="date"),
    datetime.time: written("a time like 14:30:00", read_time, TIME, format="time"),
    uuid.UUID: written("a UUID", uuid.UUID, format="uuid"),
    decimal.Decimal: written(
        "a number like 12.50", decimal.Decimal, DECIMAL, pattern=f"^{DECIMAL}$"
    ),
    bytes: written(
        "bytes in base64",
        lambda text: base64.b64decode(text.encode("ascii"), validate=True),
        contentEncoding="base64",
    ),
    pathlib.Path: written("a path", pathlib.Path, format="path"),
    pathlib.PurePath: written("a path", pathlib.Path, format="path"),
}


# Types with others inside. An error says where; all that is wrong is told at once.


def converted(value: Any, converts: Mapping[Any, Convert]) -> dict[Any, Any]:
    """Convert each ``value[step]``; raise all that is wrong in it."""
    made, problems, cause = {}, [], None
    for step, convert in converts.items():
        if isinstance(value, dict) and step not in value:
            problems.append(((step,), "missing"))
            continue
        try:
            made[step] = convert(value[step])
        except Mismatch as error:
            problems += [((step, *path), text) for path, text in error.found]
            cause = cause or error.__cause__
    if problems:
        raise Mismatch(*problems[:MOST_PROBLEMS]) from cause
    return made


def choice(pairs: Iterable[tuple[Any, Any]]) -> Shape:
    """One of a few plain values, each of which stands for a value of Python."""
    meanings: dict[Any, tuple[Any, Any]] = {}
    for said, meant in pairs:
        meanings.setdefault(identity(said), (said, meant))
    values = [said for said, _ in meanings.values()]
    is_textual = all(isinstance(each, str) for each in values)
    schema: Schema = {"type": "string", "enum": values} if is_textual else {"enum": values}

    def convert(value: Any) -> Any:
        try:
            return meanings[identity(value)][1]
        except KeyError:
            raise wrong("one of " + ", ".join(map(short_json, values)), value) from None

    return Shape(schema, convert)


def array(item: Shape, build: Callable[[Iterable[Any]], Any]) -> Shape:
    """Lists of any length, for lists, tuples and sets."""
    schema: Schema = {"type": "array", "items": item.schema} if item.schema else {"type": "array"}

    def convert(value: Any) -> Any:
        if not isinstance(value, list):
            raise wrong("a list", value)
        made = converted(value, dict.fromkeys(range(len(value)), item.convert)).values()
        try:
            return build(made)
        except TypeError as error:
            raise wrong("items that can be in a set", value) from error

    return Shape(schema, convert)


def fixed_array(items: Sequence[Shape]) -> Shape:
    """Lists with one shape for each place, for tuples."""
    schema: Schema = {"type": "array", "minItems": len(items), "maxItems": len(items)}
    if items:
        schema["prefixItems"] = [each.schema for each in items]

    def convert(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(items):
            raise wrong(f"a list of {len(items)}", value)
        converts = {index: each.convert for index, each in enumerate(items)}
        return tuple(converted(value, converts).values())

    return Shape(schema, convert)


def table(key: Shape, item: Shape) -> Shape:
    """Objects with any keys, for dicts."""
    whole = objects({}, item)
    names = {"propertyNames": key.schema} if "enum" in key.schema else {}

    def convert(value: Any) -> Any:
        return {key.convert(name): each for name, each in whole.convert(value).items()}

    return Shape({**whole.schema, **names}, convert)


def objects(
    fields: Mapping[str, Shape],
    others: Shape | None = None,
    about: str = "",
    make: Callable[[dict[str, Any]], Any] = as_is,
) -> Shape:
    """Objects with *fields*, and with *others* if there may be any; *make* makes the value."""
    required = [name for name, field in fields.items() if field.required]
    schema: Schema = {"type": "object"}
    if about:
        schema["description"] = about
    if fields or others is None:
        schema["properties"] = {name: field.schema for name, field in fields.items()}
    if required:
        schema["required"] = required
    if others is None or others.schema:
        schema["additionalProperties"] = False if others is None else others.schema

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            raise wrong("an object", value)
        known = {name: fields.get(name, others or NOT_THERE) for name in [*required, *value]}
        return make(converted(value, {name: each.convert for name, each in known.items()}))

    return Shape(schema, convert)


def union(shapes: Sequence[Shape]) -> Shape:
    """Values of one of several shapes: of the first that fits."""

    def convert(value: Any) -> Any:
        failures = []
        for shape in shapes:
            try:
                return shape.convert(value)
            except Mismatch as error:
                failures.append(error)
        # If only one is right from the outside, what is wrong inside it says more.
        inner = [each for each in failures if all(path for path, _ in each.found)]
        if len(inner) == 1:
            raise inner[0]
        texts = dict.fromkeys(str(each) for each in failures)
        raise Mismatch(((), "; ".join(texts)))

    return Shape({"anyOf": [each.schema for each in shapes]}, convert)


class Types:
    """
    Makes shapes of annotations; *names* are those that their texts may mention.

    Attributes:
        definitions: The schemas of classes that contain themselves, by name.

    """

    def __init__(
        self, names: Mapping[str, Any], global_names: dict[str, Any] | None = None
    ) -> None:
        self.definitions: Schema = {}
        self._locals = dict(names)
        self._globals = global_names or {}
        self._shapes: dict[Any, Shape] = {}
        # Classes that are being made, and those that are done.
        self._whole: dict[Any, Shape] = {}
        # What Self stands for.
        self._owner: type | None = None

    def resolved(self, hint: Any) -> Any:
        """*hint* with the names in it looked up."""
        if not isinstance(hint, (str, ForwardRef)):
            return hint

        def holder() -> None:
            """Has the annotation."""

        holder.__annotations__ = {"it": hint}
        try:
            return get_type_hints(holder, self._globals, self._locals, include_extras=True)["it"]
        except Exception as error:
            raise unresolved(hint, error) from error

    def shape(self, hint: Any) -> Shape:
        """
        The shape of what an annotation allows.

        Raises:
            NoSchema: It has none.

        """
        hint = self.resolved(hint)
        origin, arguments = typing.get_origin(hint), get_args(hint)
        kind = origin or hint
        if not isinstance(kind, abc.Hashable):
            raise NoSchema(shown_hint(hint))
        if origin is Annotated:
            return self._annotated(hint, arguments)
        if origin in KEY_WRAPPERS:
            return self.shape(arguments[0])
        if origin in UNIONS:
            return union([self.shape(each) for each in arguments])
        if origin is Literal:
            return choice(literal(hint, each) for each in arguments)
        if kind in (*LISTS, *SETS):
            item = self.shape(arguments[0]) if arguments else ANYTHING
            frozen = kind in (frozenset, abc.Set)
            return array(item, list if kind in LISTS else frozenset if frozen else set)
        if kind in DICTS:
            return self._table(hint, arguments)
        if kind is tuple:
            return self._tuple(hint, arguments)
        if kind in SIMPLE:
            return SIMPLE[kind]
        if isinstance(kind, type):
            return self._class(hint, kind)
        if hint is Self and self._owner is not None:
            return self.shape(self._owner)
        # NewType, type Alias = ...
        meant = getattr(hint, "__supertype__", None) or getattr(hint, "__value__", None)
        if meant is not None:
            return self._named(hint, hint.__name__, lambda: self.shape(meant))
        raise NoSchema(shown_hint(hint))

    def _annotated(self, hint: Any, arguments: tuple[Any, ...]) -> Shape:
        """A type with a text about it, or with limits of Pydantic."""
        inner, *metadata = arguments
        is_pydantics = any(is_of_pydantic(type(each)) for each in metadata)
        shape = self._pydantic(hint) if is_pydantics else self.shape(inner)
        for each in metadata:
            text = each if isinstance(each, str) else getattr(each, "documentation", None)
            if isinstance(text, str):
                return Shape({**shape.schema, "description": text}, shape.convert, text)
        return shape

    def _table(self, hint: Any, arguments: tuple[Any, ...]) -> Shape:
        key, item = (self.shape(each) for each in arguments or (str, Any))
        if key is ANYTHING or key.schema.get("type") == "string":
            return table(key, item)
        advice = "Keys of JSON objects are str."
        raise NoSchema(f"{shown_hint(hint)}, whose keys are not texts", advice)

    def _tuple(self, hint: Any, arguments: tuple[Any, ...]) -> Shape:
        if hint in (tuple, typing.Tuple):
            return array(ANYTHING, tuple)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return array(self.shape(arguments[0]), tuple)
        # In Python 3.10, the empty tuple has one argument: itself.
        return fixed_array([self.shape(each) for each in arguments if each != ()])

    def _class(self, hint: Any, kind: type) -> Shape:
        if is_of_pydantic(kind):
            return self._pydantic(hint)
        if isinstance(kind, enum.EnumMeta):
            members = enum_values(kind)
            if not members:
                raise NoSchema(f"{shown_hint(hint)}, which has no members")
            return choice((value, kind[name]) for name, value in members.items())
        if get_args(hint):
            advice = f"Write the class without type variables, or as a Pydantic model. {USABLE}"
            raise NoSchema(shown_hint(hint), advice)
        is_tuple = issubclass(kind, tuple) and hasattr(kind, "_fields")
        if is_tuple or typing_extensions.is_typeddict(kind) or dataclasses.is_dataclass(kind):
            return self._named(kind, kind.__name__, lambda: self._record(kind))
        raise NoSchema(shown_hint(hint), f"Make it a dataclass. {USABLE}")

    def _pydantic(self, hint: Any) -> Shape:
        """A type that Pydantic knows all about: its own validation, its own schema."""
        try:
            adapter = sys.modules["pydantic"].TypeAdapter(hint)
            schema = self._adopted(adapter, "")
        except Exception as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise NoSchema(
                f"{shown_hint(hint)}, of which Pydantic makes no JSON Schema ({reason})",
                "Use types in its fields that have a JSON Schema; "
                "Model.model_json_schema() shows whether they have.",
            ) from error

        def convert(value: Any) -> Any:
            # As JSON: a strict model takes a date from JSON, but not from a str.
            try:
                return adapter.validate_json(json.dumps(value))
            except sys.modules["pydantic"].ValidationError as error:
                found = [(each["loc"], each["msg"]) for each in error.errors()]
                raise Mismatch(*found[:MOST_PROBLEMS]) from error
            except Exception as error:
                raise Mismatch(((), f"{type(error).__name__}: {error}")) from error

        return Shape(schema, convert)

    def _adopted(self, adapter: Any, prefix: str) -> Schema:
        """The schema of a type of Pydantic; its definitions become ours, by names that are free."""
        schema: Schema = adapter.json_schema(ref_template=f"#/$defs/{prefix}{{model}}")
        own = {prefix + name: each for name, each in schema.pop("$defs", {}).items()}
        if any(self.definitions.get(name, each) != each for name, each in own.items()):
            return self._adopted(adapter, f"{prefix}Other")
        self.definitions.update(own)
        return schema

    def _named(self, key: Any, name: str, make: Callable[[], Shape]) -> Shape:
        """The shape that *make* makes; if it contains itself, one that has a definition."""
        if key in self._shapes:
            return self._shapes[key]
        if key in self._whole:  # inside itself
            free = free_name(name, self.definitions)
            self.definitions[free] = {}
            reference = {"$ref": f"#/$defs/{free}"}
            self._shapes[key] = Shape(reference, lambda value: self._whole[key].convert(value))
            return self._shapes[key]
        self._whole[key] = Shape({}, unexpected)  # until it is known, nothing fits
        whole = self._whole[key] = make()
        if key in self._shapes:
            self.definitions[self._shapes[key].schema["$ref"].rpartition("/")[2]] = whole.schema
        return self._shapes.setdefault(key, whole)

    def fields(
        self, declared: Iterable[Field], about: Mapping[str, str], owner: str
    ) -> dict[str, Shape]:
        """The shapes of fields of a class, or of parameters, by name; *owner* is for errors."""
        made = {}
        for name, hint, default, required in declared:
            try:
                shape = self.shape(hint)
            except NoSchema as error:
                raise NoSchema(f"{error.what} ({owner.format(name)})", error.advice) from error
            made[name] = self._field(shape, default, about.get(name, ""), required)
        return made

    def _field(self, shape: Shape, default: Any, about: str, required: bool) -> Shape:
        """A field with its default, which is in the schema if JSON can say it."""
        extra: Schema = {}
        if default is None and not fits(shape, None):
            shape = union([shape, NOTHING])  # "x: int = None" means that None is possible
        if default is not MISSING:
            with contextlib.suppress(NoJsonForm):
                said = plain_value(default)
                extra = {"default": said} if fits(shape, said) else {}
        # What the annotation itself says goes before the docstring, and both before the class.
        told = {"description": about} if about and not shape.about else {}
        return Shape({**shape.schema, **told, **extra}, shape.convert, "", required)

    def _record(self, owner: Any) -> Shape:
        names = {**self._locals, **enclosing_names(owner), owner.__name__: owner}
        try:
            hints = get_type_hints(owner, None, names, include_extras=True)
        except Exception as error:
            raise unresolved(owner.__qualname__, error) from error
        texts = [documentation_of(own_docstring(each)) for each in owner.__mro__]
        about = {name: text for each in reversed(texts) for name, text in each.parameters.items()}
        outer, self._owner = self._owner, owner
        fields = self.fields(fields_of(owner, hints), about, f"field {{!r}} of {owner.__name__}")
        self._owner = outer

        def make(made: dict[str, Any]) -> Any:
            try:
                return owner(**made)
            except Exception as error:
                # The class has rules of its own; what it says about them is what helps.
                raise Mismatch(((), f"{type(error).__name__}: {error}")) from error

        return objects(fields, None, texts[0].description, make)


def fits(shape: Shape, value: Any) -> bool:
    """Whether a value of JSON has a shape."""
    try:
        shape.convert(value)
        return True
    except Mismatch:
        return False


def fields_of(owner: Any, hints: Mapping[str, Any]) -> Iterator[Field]:
    """The fields of a class."""
    if typing_extensions.is_typeddict(owner):
        for name, hint in hints.items():
            yield name, hint, MISSING, is_required(hint, name in owner.__required_keys__)
    elif dataclasses.is_dataclass(owner):
        for field in dataclasses.fields(owner):
            if field.init:
                required = field.default is MISSING and field.default_factory is MISSING
                yield field.name, hints[field.name], field.default, required
    else:
        for name in owner._fields:
            default = owner._field_defaults.get(name, MISSING)
            yield name, hints.get(name, Any), default, default is MISSING


def is_required(hint: Any, by_class: bool) -> bool:
    """Whether a key has to be there; written as text, the wrappers say more than the class."""
    while typing.get_origin(hint) in (*KEY_WRAPPERS, Annotated):
        if typing.get_origin(hint) in (NotRequired, Required):
            return typing.get_origin(hint) is Required
        hint = get_args(hint)[0]
    return by_class


def own_docstring(owner: Any) -> str | None:
    """The docstring that was written for a class; not one that is inherited or generated."""
    text = vars(owner).get("__doc__")
    is_generated = isinstance(text, str) and text.startswith(f"{owner.__name__}(")
    return text if isinstance(text, str) and not is_generated else None


def literal(hint: Any, value: Any) -> tuple[Any, Any]:
    """A value of Literal: what stands for it in JSON, and itself."""
    said = enum_values(type(value))[value.name] if isinstance(value, enum.Enum) else value
    if isinstance(said, bytes):
        raise NoSchema(shown_hint(hint), "Texts, numbers, bools and None can be literals.")
    return said, value


def is_of_pydantic(kind: type) -> bool:
    """Whether Pydantic knows about values of a class: its models, its types, its limits."""
    if "pydantic" not in sys.modules:
        return False
    home = kind.__module__.partition(".")[0]
    return home in ("annotated_types", "pydantic") or any(
        hasattr(kind, name) for name in ("__get_pydantic_core_schema__", "__pydantic_core_schema__")
    )


def enclosing_names(thing: Any) -> dict[str, Any]:
    """
    The names around the place where a function or class was defined, as far as they are known.

    Those of the functions around it can be seen only while they run, which is the case where a
    decorator is used; what the function itself mentions is always known.
    """
    names: dict[str, Any] = {}
    free = getattr(getattr(thing, "__code__", None), "co_freevars", ())
    for name, cell in zip(free, getattr(thing, "__closure__", None) or ()):
        with contextlib.suppress(ValueError):  # not assigned yet
            names[name] = cell.cell_contents
    around = getattr(thing, "__qualname__", "").split(".")[:-1]
    frame = inspect.currentframe() if around else None
    while frame is not None:
        if frame.f_code.co_name in around and frame.f_globals.get("__name__") == thing.__module__:
            names = {**frame.f_locals, **names}
        frame = frame.f_back
    return names


def unresolved(hint: Any, error: Exception) -> NoSchema:
    """The error for an annotation with a name that is not known, or that cannot be evaluated."""
    text = hint.__forward_arg__ if isinstance(hint, ForwardRef) else hint
    return NoSchema(
        f"{text}, which cannot be resolved ({type(error).__name__}: {error})",
        "Names in annotations must exist while the program runs (not only for type checkers), "
        "in the module or in the functions around it.",
    )


def shown_hint(hint: Any) -> str:
    """An annotation, as the program spells it."""
    if isinstance(hint, type) and not get_args(hint):
        return hint.__qualname__
    return str(hint).replace("typing.", "")
