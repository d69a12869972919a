"""
From annotations to shapes, which know their JSON Schema.

::

    function -> parameters -> [annotations -> shapes] -> JSON Schema, conversion

Classes that contain themselves become ``$defs``; everything else is written out
where it stands, which is what a reader, Claude included, understands best.
"""

from __future__ import annotations

import collections.abc
import types
import typing
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Union

import typing_extensions

from .tool_annotations import (
    KEY_WRAPPERS,
    Inexpressible,
    alias_types,
    field_arguments,
    is_enum,
    resolved,
    resolved_fields,
    shown_hint,
    type_arguments,
    with_arguments,
    wrappers_of,
)
from .tool_containers import Array, Field, FixedArray, Record, Table
from .tool_docstrings import documentation_of
from .tool_models import Model, is_model
from .tool_results import NoJsonForm, enum_values, plain_value
from .tool_shapes import (
    Alternatives,
    Anything,
    Choice,
    Described,
    Integer,
    Mismatch,
    Number,
    Plain,
    Recursive,
    Shape,
)

__all__ = ["NO_DEFAULT", "UNIONS", "ShapeBuilder", "field_of"]

TEXT = Plain("string", str, "a string")
NOTHING = Plain("null", type(None), "null")
SCALAR = Plain(
    ["string", "number", "boolean", "null"],
    (str, int, float, bool, type(None)),
    "a string, a number, true, false or null",
)
SIMPLE: Dict[Any, Shape] = {
    Any: Anything(),
    object: Anything(),
    str: TEXT,
    int: Integer(),
    float: Number(),
    bool: Plain("boolean", bool, "true or false"),
    None: NOTHING,
    type(None): NOTHING,
}
LISTS = (
    list,
    collections.abc.Sequence,
    collections.abc.MutableSequence,
    collections.abc.Collection,
    collections.abc.Iterable,
)
SETS = (set, frozenset, collections.abc.Set, collections.abc.MutableSet)
DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
UNIONS = (Union, getattr(types, "UnionType", Union))


# In place of a default where there is none.
NO_DEFAULT = object()


class ShapeBuilder:
    """Makes shapes of the annotations of one function; *names* are those it can see."""

    def __init__(self, global_names: Dict[str, Any], local_names: Mapping[str, Any]) -> None:
        self._globals = global_names
        self._locals = dict(local_names)
        # What is being made, to notice when it contains itself; and what was made.
        self._open: Dict[Any, Recursive] = {}
        self._made: Dict[Any, Shape] = {}
        # What type variables stand for, and Self: in the class that is being made and its
        # bases, and in the field.
        self._classes: Dict[Any, Dict[Any, Any]] = {}
        self._arguments: Dict[Any, Any] = {}

    def resolved(self, annotation: Any) -> Any:
        """*annotation* with every name in it looked up."""
        return resolved(annotation, self._globals, self._locals)

    def shape(self, hint: Any) -> Shape:
        """The shape of what *hint*, a resolved annotation, allows."""
        if isinstance(hint, (str, typing.ForwardRef)):
            return self.shape(self.resolved(hint))
        origin = typing_extensions.get_origin(hint)
        arguments = typing_extensions.get_args(hint)
        if origin is typing_extensions.Annotated:
            return described(self.shape(arguments[0]), arguments[1:])
        if origin in KEY_WRAPPERS:
            return self.shape(arguments[0])
        if origin in UNIONS:
            return Alternatives([self.shape(argument) for argument in arguments])
        if origin in (typing.Literal, typing_extensions.Literal):
            return Choice([literal(hint, value) for value in arguments])
        collection = origin or hint
        if collection in LISTS:
            return Array(self._item(arguments), list, unique=False)
        if collection in SETS:
            return self._set(hint, collection, arguments)
        if collection in DICTS:
            return self._table(hint, arguments)
        if collection is tuple:
            return self._tuple(hint, arguments)
        if origin is None:
            return self._of_a_name(hint)
        # A class with type variables: the same class with other arguments is another one.
        hint = with_arguments(hint, self._arguments)
        fields = self._fields_of_class(origin, hint) if isinstance(origin, type) else None
        if fields is not None:
            return self._named(hint, origin.__name__, fields)
        raise Inexpressible(shown_hint(hint))

    def _of_a_name(self, hint: Any) -> Shape:
        """The shape of an annotation without brackets."""
        try:
            simple = SIMPLE.get(hint) or formatted(hint)
        except TypeError:  # unhashable, so no type at all
            raise Inexpressible(shown_hint(hint)) from None
        if simple is not None:
            return simple
        if hint in self._arguments:
            return self.shape(self._arguments[hint])
        if isinstance(hint, typing.TypeVar):
            return self._variable(hint)
        if hasattr(hint, "__supertype__"):
            return self.shape(hint.__supertype__)
        if isinstance(hint, alias_types()):
            return self._named(hint, hint.__name__, lambda: self.shape(hint.__value__))
        if not isinstance(hint, type):
            raise Inexpressible(shown_hint(hint))
        fields = self._fields_of_class(hint, hint)
        if fields is not None:
            return self._named(hint, hint.__name__, fields)
        if is_enum(hint):
            return enumerated(hint)
        if is_model(hint):
            return Model(hint)
        raise Inexpressible(shown_hint(hint))

    def _fields_of_class(self, owner: Any, hint: Any) -> Optional[Callable[[], Shape]]:
        """What makes the shape of the class *owner* with fields; None for other classes."""
        import dataclasses

        def make() -> Shape:
            outer = self._classes
            self._classes = type_arguments(owner, hint)
            try:
                return of_kind(owner)
            finally:
                self._classes = outer

        if dataclasses.is_dataclass(owner):
            of_kind: Callable[[Any], Shape] = self._dataclass
        elif typing_extensions.is_typeddict(owner):
            of_kind = self._typed_dict
        elif issubclass(owner, tuple) and hasattr(owner, "_fields"):
            of_kind = self._named_tuple
        else:
            return None
        return make

    def _named(self, key: Any, name: str, make: Callable[[], Shape]) -> Shape:
        """The shape that *make* makes; if it contains itself, one that is referred to by name."""
        if key in self._open:
            self._open[key].is_used = True
            return self._open[key]
        if key in self._made:
            return self._made[key]
        recursive = self._open[key] = Recursive(name)
        try:
            recursive.inner = make()
        finally:
            del self._open[key]
        self._made[key] = recursive if recursive.is_used else recursive.inner
        return self._made[key]

    def _variable(self, hint: Any) -> Shape:
        """A type variable: its bound, its constraints, or anything."""
        if hint.__bound__ is not None:
            return self.shape(hint.__bound__)
        if hint.__constraints__:
            return Alternatives([self.shape(each) for each in hint.__constraints__])
        return Anything()

    def _item(self, arguments: Tuple[Any, ...]) -> Shape:
        return self.shape(arguments[0]) if arguments else Anything()

    def _set(self, hint: Any, collection: Any, arguments: Tuple[Any, ...]) -> Shape:
        item = self._item(arguments)
        if isinstance(item, Anything):
            item = SCALAR  # only these can be in a set
        if not item.hashable:
            raise Inexpressible(
                f"{shown_hint(hint)}, whose items cannot be in a set",
                "Use a list, or items that are hashable, such as texts, numbers and tuples.",
            )
        build = frozenset if collection in (frozenset, collections.abc.Set) else set
        return Array(item, build, unique=True)

    def _table(self, hint: Any, arguments: Tuple[Any, ...]) -> Shape:
        key, item = (self.shape(each) for each in arguments or (str, Any))
        if key is TEXT or isinstance(key, Anything) or (isinstance(key, Choice) and key.is_textual):
            return Table(key, item)
        raise Inexpressible(
            f"{shown_hint(hint)}, whose keys are no texts", "Keys of JSON objects are str."
        )

    def _tuple(self, hint: Any, arguments: Tuple[Any, ...]) -> Shape:
        if hint in (tuple, typing.Tuple):
            return Array(Anything(), tuple, unique=False)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return Array(self.shape(arguments[0]), tuple, unique=False)
        # Up to Python 3.10, the empty tuple has one argument: itself.
        return FixedArray([self.shape(each) for each in arguments if each != ()])

    def _field(self, owner: Any, name: str, hint: Any, required: bool, default: Any) -> Field:
        outer = self._arguments
        self._arguments = field_arguments(owner, name, self._classes)
        try:
            shape = self.shape(hint)
        except Inexpressible as error:
            where = f"{error.what} (field {name!r} of {owner.__name__})"
            raise Inexpressible(where, error.advice) from error
        finally:
            self._arguments = outer
        return field_of(shape, required, default, about_field(owner, name))

    def _dataclass(self, owner: Any) -> Shape:
        import dataclasses

        hints = resolved_fields(owner, self._locals)
        fields = {}
        for name, field in owner.__dataclass_fields__.items():
            hint = hints[name]
            if isinstance(hint, dataclasses.InitVar):
                hint = hint.type
            elif hint is typing.ClassVar or typing.get_origin(hint) is typing.ClassVar:
                continue
            if not field.init:
                continue
            default = NO_DEFAULT if field.default is dataclasses.MISSING else field.default
            required = default is NO_DEFAULT and field.default_factory is dataclasses.MISSING
            fields[name] = self._field(owner, name, hint, required, default)
        return record(owner, fields, hashable=owner.__hash__ is not None)

    def _typed_dict(self, owner: Any) -> Shape:
        fields = {}
        for name, hint in resolved_fields(owner, self._locals).items():
            # Written as text, the wrappers are not understood by the class itself.
            wrappers = wrappers_of(hint)
            if any(wrapper.endswith("NotRequired") for wrapper in wrappers):
                required = False
            elif any(wrapper.endswith("Required") for wrapper in wrappers):
                required = True
            else:
                required = name in owner.__required_keys__
            fields[name] = self._field(owner, name, hint, required, NO_DEFAULT)
        return record(owner, fields, hashable=False)

    def _named_tuple(self, owner: Any) -> Shape:
        hints = resolved_fields(owner, self._locals)
        fields = {}
        for name in owner._fields:
            default = owner._field_defaults.get(name, NO_DEFAULT)
            hint = hints.get(name, Any)
            fields[name] = self._field(owner, name, hint, default is NO_DEFAULT, default)
        return record(owner, fields, hashable=True)


def field_of(shape: Shape, required: bool, default: Any, about: str) -> Field:
    """A field or parameter; its default goes into the schema if it has a JSON form."""
    if default is None:
        try:
            shape.convert(None)
        except Mismatch:
            # "x: int = None" means that None is meant to be possible.
            shape = Alternatives([shape, NOTHING])
    extra = {}
    if default is not NO_DEFAULT:
        try:
            extra["default"] = plain_value(default, strict=True)
            shape.convert(extra["default"])
        except (NoJsonForm, Mismatch):
            extra = {}
    return Field(shape, required, about, extra)


def record(owner: Any, fields: Dict[str, Field], hashable: bool) -> Record:
    """The shape of a class that is called with its fields as keywords."""
    description = documentation_of(own_docstring(owner)).description
    return Record(fields, lambda values: owner(**values), description, hashable)


def about_field(owner: Any, name: str) -> str:
    """What is said about a field: in its metadata, in the docstring, or in that of a base."""
    field = getattr(owner, "__dataclass_fields__", {}).get(name)
    told = field.metadata.get("description") if field is not None else None
    if isinstance(told, str):
        return told
    for each in owner.__mro__:
        about = documentation_of(own_docstring(each)).parameters.get(name)
        if about:
            return about
    return ""


def own_docstring(owner: Any) -> Optional[str]:
    """The docstring somebody wrote for a class; not one that is inherited or generated."""
    text = vars(owner).get("__doc__")
    if not isinstance(text, str) or text.startswith(f"{owner.__name__}("):
        return None
    return text


def described(shape: Shape, metadata: Tuple[Any, ...]) -> Shape:
    """*shape* with the first text among the *metadata* of Annotated."""
    for each in metadata:
        text = each if isinstance(each, str) else getattr(each, "documentation", None)
        if isinstance(text, str):
            return Described(shape, text)
    return shape


def enumerated(hint: Any) -> Shape:
    """The shape of an Enum."""
    values = enum_values(hint)
    if not values:
        raise Inexpressible(f"{shown_hint(hint)}, which has no members")
    return Choice([(value, hint[name]) for name, value in values.items()])


def literal(hint: Any, value: Any) -> Tuple[Any, Any]:
    """A value of Literal: what stands for it in JSON, and itself."""
    if is_enum(type(value)):
        return enum_values(type(value))[value.name], value
    if isinstance(value, bytes):
        raise Inexpressible(shown_hint(hint), "Texts, numbers, bools and None can be literals.")
    return value, value


def formatted(hint: Any) -> Optional[Shape]:
    """The shape of a type that is written as text; None for other types."""
    from .tool_formats import formatted_shapes

    return formatted_shapes().get(hint)
