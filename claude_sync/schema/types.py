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
import collections.abc
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
from dataclasses import MISSING, InitVar
from typing import Any, ClassVar, ForwardRef, Literal, NamedTuple, TypeVar, Union, get_args

import typing_extensions
from typing_extensions import Annotated, NotRequired, ReadOnly, Required, Self, get_type_hints

from ..support.text import short_json
from .docstrings import documentation_of
from .json_schema import MOST_PROBLEMS, Mismatch, Problem, Schema, free_name
from .values import NoJsonForm, enum_values, identity, plain_value

__all__ = ["UNIONS", "Convert", "Field", "NoSchema", "Shape", "Types", "as_is", "converted"]
__all__ += ["enclosing_names", "object_of", "object_schema", "shown_hint"]

USABLE = (
    "Use str, int, float, bool, None, list, dict, tuple, set, Optional, Union, Literal, an Enum, "
    "a dataclass, a TypedDict, a NamedTuple, a Pydantic model, datetime, date, time, UUID, Path, "
    "Decimal, bytes, or Any for any value."
)

Convert = Callable[[Any], Any]

abc = collections.abc
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

    """

    schema: Schema
    convert: Convert
    about: str = ""


class Field(NamedTuple):
    """A field of a class, or a parameter of a function."""

    shape: Shape
    required: bool
    schema: Schema


def as_is(value: Any) -> Any:
    """What JSON and Python have in common."""
    return value


def wrong(expected: str, value: Any) -> Mismatch:
    """What is told about a value that is not what was expected."""
    return Mismatch(((), f"expected {expected}, got {short_json(value)}"))


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


def scalar(value: Any) -> Any:
    """What neither a list nor an object is."""
    if isinstance(value, (list, dict)):
        raise wrong("a string, a number, true, false or null", value)
    return value


def whole(value: float) -> int:
    """An int, which JavaScript may write as 3.0."""
    if value != int(value):
        raise ValueError
    return int(value)


def by_pattern(pattern: str, make: Callable[[str], Any]) -> Callable[[str], Any]:
    """*make* for texts by *pattern*; Python's own readers accept more from release to release."""

    def read(text: str) -> Any:
        if not re.search(pattern, text):
            raise ValueError(text)
        text = re.sub(r"[Zz]$", "+00:00", text)  # Python 3.10 reads no Z,
        # and wants exactly six digits after the point of a time.
        return make(
            re.sub(r":(\d\d)\.(\d+)", lambda found: f":{found[1]}.{found[2][:6]:0<6}", text)
        )

    return read


def from_base64(text: str) -> bytes:
    """The bytes that a text stands for."""
    return base64.b64decode(text.encode("ascii"), validate=True)


DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
TIME = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?"
DECIMAL = r"^[+-]?[0-9]+(\.[0-9]+)?$"
read_moment = by_pattern(f"^{DATE}[Tt ]{TIME}$", datetime.datetime.fromisoformat)
read_day = by_pattern(f"^{DATE}$", datetime.date.fromisoformat)
read_time = by_pattern(f"^{TIME}$", datetime.time.fromisoformat)
read_decimal = by_pattern(DECIMAL, decimal.Decimal)


def written(expected: str, make: Callable[[str], Any], **keywords: str) -> Shape:
    """The shape of a type that is written as text."""
    return Shape({"type": "string", **keywords}, making(expected, str, make))


def unexpected(_value: Any) -> Any:
    """The conversion of what may not be there."""
    raise Mismatch(((), "unexpected"))


ANYTHING = Shape({}, as_is)
SCALAR = Shape({"type": ["string", "number", "boolean", "null"]}, scalar)
NUMBER = (int, float)
NOTHING = Shape({"type": "null"}, making("null", type(None), as_is))
SIMPLE: dict[Any, Shape] = {
    Any: ANYTHING,
    object: ANYTHING,
    str: Shape({"type": "string"}, making("a string", str, as_is)),
    int: Shape({"type": "integer"}, making("an integer", NUMBER, whole)),
    float: Shape({"type": "number"}, making("a number", NUMBER, float)),
    bool: Shape({"type": "boolean"}, making("true or false", bool, as_is)),
    None: NOTHING,
    type(None): NOTHING,
    datetime.datetime: written("a time like 2026-03-01T14:30:00Z", read_moment, format="date-time"),
    datetime.date: written("a date like 2026-03-01", read_day, format="date"),
    datetime.time: written("a time like 14:30:00", read_time, format="time"),
    uuid.UUID: written("a UUID", uuid.UUID, format="uuid"),
    decimal.Decimal: written("a number like 12.50", read_decimal, pattern=DECIMAL),
    bytes: written("bytes in base64", from_base64, contentEncoding="base64"),
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
    schema: Schema = {"type": "array"}
    if item.schema:
        schema["items"] = item.schema
    if build in (set, frozenset):
        schema["uniqueItems"] = True

    def convert(value: Any) -> Any:
        if not isinstance(value, list):
            raise wrong("a list", value)
        if build in (set, frozenset) and len(set(map(identity, value))) < len(value):
            raise wrong("a list without duplicates", value)
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
    converts = {index: each.convert for index, each in enumerate(items)}

    def convert(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(items):
            raise wrong(f"a list of {len(items)}", value)
        return tuple(converted(value, converts).values())

    return Shape(schema, convert)


def table(key: Shape, item: Shape) -> Shape:
    """Objects with any keys, for dicts."""
    schema: Schema = {"type": "object"}
    if "enum" in key.schema:
        schema["propertyNames"] = key.schema
    if item.schema:
        schema["additionalProperties"] = item.schema

    def convert(value: Any) -> Any:
        made = object_of({}, item.convert)(value)
        return {key.convert(name): each for name, each in made.items()}

    return Shape(schema, convert)


def object_of(fields: Mapping[str, Field], others: Convert = unexpected) -> Convert:
    """The conversion of objects with *fields*; *others* is that of further ones."""

    converts = {name: field.shape.convert for name, field in fields.items()}
    required = [name for name, field in fields.items() if field.required]

    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise wrong("an object", value)
        names = [*required, *value]
        return converted(value, {name: converts.get(name, others) for name in names})

    return convert


def record(owner: Any, fields: Mapping[str, Field], description: str) -> Shape:
    """Objects with known keys, for classes that are called with their fields as keywords."""
    schema = object_schema(fields)
    if description:
        schema["description"] = description
    arguments = object_of(fields)

    def convert(value: Any) -> Any:
        made = arguments(value)
        try:
            return owner(**made)
        except Exception as error:
            # The class has rules of its own; what it says about them is what helps.
            raise Mismatch(((), f"{type(error).__name__}: {error}")) from error

    return Shape(schema, convert)


def object_schema(fields: Mapping[str, Field], others: Schema | bool = False) -> Schema:
    """The schema of an object with *fields*; *others* is the schema of further ones."""
    schema: Schema = {
        "type": "object",
        "properties": {name: field.schema for name, field in fields.items()},
    }
    required = [name for name, field in fields.items() if field.required]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = others
    return schema


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
        # What type variables and Self stand for in the field that is being made.
        self._variables: Mapping[Any, Any] = {}

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
        hint = with_arguments(self.resolved(hint), self._variables)
        origin, arguments = typing.get_origin(hint), get_args(hint)
        kind = origin or hint
        if not isinstance(kind, collections.abc.Hashable):
            raise NoSchema(shown_hint(hint))
        if origin is Annotated:
            return self._annotated(hint, arguments)
        if origin in KEY_WRAPPERS:
            return self.shape(arguments[0])
        if origin in UNIONS:
            return self._union([self.shape(each) for each in arguments])
        if origin is Literal:
            return choice(literal(hint, each) for each in arguments)
        if kind in LISTS:
            return array(self._item(arguments), list)
        if kind in SETS:
            return self._set(kind, arguments)
        if kind in DICTS:
            return self._table(hint, arguments)
        if kind is tuple:
            return self._tuple(hint, arguments)
        if kind in SIMPLE:
            return SIMPLE[kind]
        if isinstance(kind, type):
            return self._class(hint, kind)
        if isinstance(hint, TypeVar):
            return self._variable(hint)
        if hasattr(hint, "__supertype__"):
            return self.shape(hint.__supertype__)
        if hasattr(hint, "__value__"):  # type Alias = ...
            return self._named(hint, hint.__name__, lambda: self.shape(hint.__value__))
        raise NoSchema(shown_hint(hint))

    def _annotated(self, hint: Any, arguments: tuple[Any, ...]) -> Shape:
        """A type with a text about it, or with limits of Pydantic."""
        inner, *metadata = arguments
        is_pydantics = any(is_of_pydantic(type(each)) for each in metadata)
        shape = self._pydantic(hint) if is_pydantics else self.shape(inner)
        for each in metadata:
            text = each if isinstance(each, str) else getattr(each, "documentation", None)
            if isinstance(text, str):
                schema = {**shape.schema, "description": text}
                return Shape(schema, shape.convert, text)
        return shape

    def _item(self, arguments: tuple[Any, ...]) -> Shape:
        return self.shape(arguments[0]) if arguments else ANYTHING

    def _set(self, kind: Any, arguments: tuple[Any, ...]) -> Shape:
        item = self._item(arguments)
        item = SCALAR if item is ANYTHING else item  # only these can be in a set
        frozen = kind in (frozenset, collections.abc.Set)
        return array(item, frozenset if frozen else set)

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

    def _variable(self, hint: TypeVar) -> Shape:
        """A type variable without a meaning here: its bound, its constraints, or anything."""
        if hint.__bound__ is not None:
            return self.shape(hint.__bound__)
        constraints = [self.shape(each) for each in hint.__constraints__]
        return self._union(constraints) if constraints else ANYTHING

    def _class(self, hint: Any, kind: type) -> Shape:
        if is_of_pydantic(kind):
            return self._pydantic(hint)
        if isinstance(kind, enum.EnumMeta):
            members = enum_values(kind)
            if not members:
                raise NoSchema(f"{shown_hint(hint)}, which has no members")
            return choice((value, kind[name]) for name, value in members.items())
        is_tuple = issubclass(kind, tuple) and hasattr(kind, "_fields")
        if is_tuple or typing_extensions.is_typeddict(kind) or dataclasses.is_dataclass(kind):
            return self._named(hint, kind.__name__, lambda: self._record(kind, hint))
        raise NoSchema(shown_hint(hint), f"Make it a dataclass. {USABLE}")

    def _pydantic(self, hint: Any) -> Shape:
        """A type that Pydantic knows all about: its own validation, its own schema."""
        name = shown_hint(hint)
        try:
            adapter = sys.modules["pydantic"].TypeAdapter(hint)
            schema = self._adopted(adapter, "")
        except Exception as error:
            reason = " ".join(str(error).split())
            raise NoSchema(
                f"{name}, of which Pydantic makes no JSON Schema "
                f"({type(error).__name__}: {reason})",
                "Use types in its fields that have a JSON Schema; "
                "Model.model_json_schema() shows whether they have.",
            ) from error

        def convert(value: Any) -> Any:
            # As JSON: a strict model takes a date from JSON, but not from a str.
            try:
                return adapter.validate_json(json.dumps(value))
            except Exception as error:
                raise Mismatch(*problems_of_pydantic(error)) from error

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

    def _union(self, shapes: Sequence[Shape]) -> Shape:
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
            if len(inner) == 1 or len(failures) == 1:
                raise [*inner, *failures][0]
            texts = dict.fromkeys(str(each) for each in failures)
            raise Mismatch(((), f"fits none of {len(shapes)} forms: {'; '.join(texts)}"))

        return Shape({"anyOf": [each.schema for each in shapes]}, convert)

    def field(self, shape: Shape, default: Any, about: str, required: bool) -> Field:
        """A field with its default, which is in the schema if JSON can say it."""
        extra: Schema = {}
        if default is None and not fits(shape, None):
            shape = self._union([shape, NOTHING])  # "x: int = None" means that None is possible
        if default is not MISSING:
            try:
                said = plain_value(default, strict=True)
                extra = {"default": said} if fits(shape, said) else {}
            except NoJsonForm:
                pass
        # What the annotation itself says goes before the docstring, and both before the class.
        told = {"description": about} if about and not shape.about else {}
        return Field(shape, required, {**shape.schema, **told, **extra})

    def _record(self, owner: Any, hint: Any) -> Shape:
        names = {**self._locals, **enclosing_names(owner), owner.__name__: owner}
        try:
            hints = get_type_hints(owner, None, names, include_extras=True)
            meanings = meanings_of(owner, hint, hint)
        except Exception as error:
            raise unresolved(owner.__qualname__, error) from error
        fields = {}
        outer = self._variables
        for name, each, default, required in fields_of(owner, hints):
            self._variables = meanings.get(name, {})
            try:
                shape = self.shape(each)
            except NoSchema as error:
                where = f"{error.what} (field {name!r} of {owner.__name__})"
                raise NoSchema(where, error.advice) from error
            self._variables = outer
            fields[name] = self.field(shape, default, about_field(owner, name), required)
        return record(owner, fields, documentation_of(own_docstring(owner)).description)


def fits(shape: Shape, value: Any) -> bool:
    """Whether a value of JSON has a shape."""
    try:
        shape.convert(value)
        return True
    except Mismatch:
        return False


def fields_of(owner: Any, hints: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any, bool]]:
    """The fields of a class: name, annotation, default, and whether it has to be given."""
    if typing_extensions.is_typeddict(owner):
        for name, hint in hints.items():
            yield name, hint, MISSING, is_required(hint, name in owner.__required_keys__)
    elif dataclasses.is_dataclass(owner):
        for name, field in owner.__dataclass_fields__.items():
            hint = hints[name].type if isinstance(hints[name], InitVar) else hints[name]
            if field.init and hint is not ClassVar and typing.get_origin(hint) is not ClassVar:
                required = field.default is MISSING and field.default_factory is MISSING
                yield name, hint, field.default, required
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


def meanings_of(owner: Any, hint: Any, itself: Any) -> dict[str, dict[Any, Any]]:
    """
    What type variables stand for in the annotation of each field of *owner*.

    *hint* is *owner* itself or *owner* with arguments; *itself* is what Self means. One
    variable may stand for different things in a class and in its base.
    """
    arguments = dict(zip(getattr(owner, "__parameters__", ()), get_args(hint)))
    arguments[Self] = itself
    found: dict[str, dict[Any, Any]] = {}
    for base in reversed(vars(owner).get("__orig_bases__", owner.__bases__)):
        origin = typing.get_origin(base) or base
        if isinstance(origin, type) and origin not in (object, typing.Generic):
            found.update(meanings_of(origin, with_arguments(base, arguments), itself))
    own = dict.fromkeys(inspect.get_annotations(owner), arguments)
    # The annotations of all bases of a TypedDict have become its own.
    return {**own, **found} if typing_extensions.is_typeddict(owner) else {**found, **own}


def with_arguments(hint: Any, arguments: Mapping[Any, Any]) -> Any:
    """*hint* with the type variables in it replaced by what they stand for."""
    if isinstance(hint, TypeVar) or hint is Self:
        return arguments.get(hint, hint)
    variables = getattr(hint, "__parameters__", ())
    if isinstance(hint, type) or not any(each in arguments for each in variables):
        return hint
    return hint[tuple(arguments.get(each, each) for each in variables)]


def about_field(owner: Any, name: str) -> str:
    """What is said about a field: in its metadata, in the docstring, or in that of a base."""
    field = getattr(owner, "__dataclass_fields__", {}).get(name)
    told = field.metadata.get("description") if field is not None else None
    if isinstance(told, str):
        return told
    texts = (documentation_of(own_docstring(each)).parameters.get(name) for each in owner.__mro__)
    return next(filter(None, texts), "")


def own_docstring(owner: Any) -> str | None:
    """The docstring that was written for a class; not one that is inherited or generated."""
    text = vars(owner).get("__doc__")
    is_generated = isinstance(text, str) and text.startswith(f"{owner.__name__}(")
    return text if isinstance(text, str) and not is_generated else None


def literal(hint: Any, value: Any) -> tuple[Any, Any]:
    """A value of Literal: what stands for it in JSON, and itself."""
    if isinstance(value, enum.Enum):
        return enum_values(type(value))[value.name], value
    if isinstance(value, bytes):
        raise NoSchema(shown_hint(hint), "Texts, numbers, bools and None can be literals.")
    return value, value


def is_of_pydantic(kind: type) -> bool:
    """Whether Pydantic knows about values of a class: its models, its types, its limits."""
    if "pydantic" not in sys.modules:
        return False
    home = kind.__module__.partition(".")[0]
    return home in ("annotated_types", "pydantic") or any(
        hasattr(kind, name) for name in ("__get_pydantic_core_schema__", "__pydantic_core_schema__")
    )


def problems_of_pydantic(error: Exception) -> list[Problem]:
    """What an exception of Pydantic says, place by place."""
    if type(error).__name__ != "ValidationError":
        return [((), f"{type(error).__name__}: {error}")]
    errors = error.errors()  # type: ignore[attr-defined]
    return [(each["loc"], each["msg"]) for each in errors[:MOST_PROBLEMS]]


def enclosing_names(thing: Any) -> dict[str, Any]:
    """
    The names around the place where a function or class was defined, as far as they are known.

    Those of the functions around it can be seen only while they run, which is the case where a
    decorator is used; what the function itself mentions is always known.
    """
    names: dict[str, Any] = {}
    free = getattr(getattr(thing, "__code__", None), "co_freevars", ())
    for name, cell in zip(free, getattr(thing, "__closure__", None) or ()):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
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
