"""
What annotations consist of, and where the names in them come from.

Annotations may be texts, as they all are after ``from __future__ import annotations``;
the names in them are looked up in the module of the function and, as far as they
can be seen, in the functions around it.
"""

from __future__ import annotations

import re
import sys
import typing
from typing import Any, Dict, List, Mapping, Tuple

import typing_extensions

__all__ = [
    "KEY_WRAPPERS",
    "Inexpressible",
    "alias_types",
    "enclosing_names",
    "field_arguments",
    "is_enum",
    "resolved",
    "resolved_fields",
    "shown_hint",
    "type_arguments",
    "with_arguments",
    "wrappers_of",
]

USABLE = (
    "Use str, int, float, bool, None, list, dict, tuple, set, Optional, Union, Literal, an Enum, "
    "a dataclass, a TypedDict, a NamedTuple, a Pydantic model, datetime, date, time, UUID, Path, "
    "Decimal or bytes"
)
POSSIBLE = f"{USABLE}; or leave the annotation out, then any value is accepted."
INIT_VAR = re.compile(r"^\s*(?:\w+\.)*InitVar\[(.*)\]\s*$", re.DOTALL)
# Wrappers that say something about a key, not about its value.
KEY_WRAPPERS = tuple(
    getattr(module, name)
    for module in (typing, typing_extensions)
    for name in ("Required", "NotRequired", "ReadOnly")
    if hasattr(module, name)
)


class Inexpressible(Exception):
    """
    An annotation has no JSON Schema.

    Attributes:
        what: The annotation, and where inside it the trouble is.
        advice: What to do instead.

    """

    def __init__(self, what: str, advice: str = POSSIBLE) -> None:
        super().__init__(what, advice)
        self.what = what
        self.advice = advice


def resolved(annotation: Any, global_names: Dict[str, Any], local_names: Mapping[str, Any]) -> Any:
    """*annotation* with every name in it looked up."""

    def holder() -> None:
        """Has the annotation."""

    # One at a time: an annotation that cannot be resolved should be known by its name.
    holder.__annotations__ = {"it": annotation}
    try:
        hints = typing_extensions.get_type_hints(
            holder, global_names, dict(local_names), include_extras=True
        )
    except Exception as error:
        raise unresolved(annotation, error) from error
    return hints["it"]


def resolved_fields(owner: Any, local_names: Mapping[str, Any]) -> Dict[str, Any]:
    """The resolved annotations of a class, its own name and the names around it known."""
    names = {**local_names, **enclosing_names(owner), owner.__name__: owner}
    try:
        try:
            return typing_extensions.get_type_hints(owner, None, names, include_extras=True)
        except KeyError:  # its module is none that can be imported; Python minds before 3.11
            return fields_one_by_one(owner, names)
        except TypeError as error:
            if "InitVar" not in str(error):
                raise
            return fields_one_by_one(owner, names)
    except Exception as error:
        raise unresolved(owner.__qualname__, error) from error


def fields_one_by_one(owner: Any, names: Dict[str, Any]) -> Dict[str, Any]:
    """
    The same, base by base, for what Python can do by itself only from 3.11 on: ``InitVar`` in
    texts, and classes of code that was run by ``exec()``.
    """
    hints: Dict[str, Any] = {}
    for base in reversed(owner.__mro__):
        annotations = {
            name: INIT_VAR.sub(r"\1", each) if isinstance(each, str) else each
            for name, each in vars(base).get("__annotations__", {}).items()
        }
        module = base.__module__ if base.__module__ in sys.modules else __name__
        around = {"__annotations__": annotations, "__module__": module}
        copy = type(base.__name__, (), around)
        hints.update(typing_extensions.get_type_hints(copy, None, names, include_extras=True))
    return hints


def is_enum(hint: Any) -> bool:
    """Whether *hint* is a class of enumerated values."""
    import enum

    return isinstance(hint, enum.EnumMeta)


def alias_types() -> Tuple[Any, ...]:
    """What ``type X = ...`` makes."""
    found = (getattr(typing, "TypeAliasType", None), typing_extensions.TypeAliasType)
    return tuple(each for each in found if each is not None)


def wrappers_of(hint: Any) -> List[str]:
    """What is around the type of a key, such as NotRequired, by name."""
    wrappers = []
    origin = typing_extensions.get_origin(hint)
    while origin in KEY_WRAPPERS or origin is typing_extensions.Annotated:
        wrappers.append(str(origin))
        hint = typing_extensions.get_args(hint)[0]
        origin = typing_extensions.get_origin(hint)
    return wrappers


def type_arguments(owner: Any, hint: Any, itself: Any = None) -> Dict[Any, Dict[Any, Any]]:
    """
    What type variables stand for, in the annotations of *owner* and of each of its bases.

    *hint* is *owner* itself, or *owner* with arguments; *itself* is what Self means. One
    variable may stand for different things in a class and in its base.
    """
    itself = hint if itself is None else itself
    arguments = {typing_extensions.Self: itself}
    parameters = getattr(owner, "__parameters__", ())
    arguments.update(zip(parameters, typing_extensions.get_args(hint)))
    found = {owner: arguments}
    for base in vars(owner).get("__orig_bases__", owner.__bases__):
        origin = typing_extensions.get_origin(base) or base
        if isinstance(origin, type) and origin is not typing.Generic:
            inherited = type_arguments(origin, with_arguments(base, arguments), itself)
            found = {**inherited, **found}
    return found


def field_arguments(owner: Any, name: str, found: Mapping[Any, Dict[Any, Any]]) -> Dict[Any, Any]:
    """What type variables stand for in the annotation of one field, which a base may have."""
    if not typing_extensions.is_typeddict(owner):
        for each in owner.__mro__:
            if name in vars(each).get("__annotations__", {}):
                return found.get(each, {})
    # The annotations of all bases have become its own.
    return {key: value for each in found.values() for key, value in each.items()}


def with_arguments(hint: Any, arguments: Mapping[Any, Any]) -> Any:
    """*hint* with the type variables in it replaced by what they stand for."""
    if isinstance(hint, typing.TypeVar):
        return arguments.get(hint, hint)
    open_ones = getattr(hint, "__parameters__", ())
    if isinstance(hint, type) or not any(each in arguments for each in open_ones):
        return hint
    return hint[tuple(arguments.get(each, each) for each in open_ones)]


def enclosing_names(thing: Any) -> Dict[str, Any]:
    """
    The names around the place where a function or class was defined, as far as they are known.

    Those of the functions around it can only be seen while they run, which is the
    case where a decorator is used; what the function itself mentions is always known.
    """
    import sys

    names: Dict[str, Any] = {}
    free = getattr(getattr(thing, "__code__", None), "co_freevars", ())
    for name, cell in zip(free, getattr(thing, "__closure__", None) or ()):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    around = getattr(thing, "__qualname__", "").split(".")[:-1]
    frame = sys._getframe(1)
    while around and frame is not None:
        if frame.f_code.co_name in around and frame.f_globals.get("__name__") == thing.__module__:
            names = {**frame.f_locals, **names}
        frame = frame.f_back  # type: ignore[assignment]
    return names


def unresolved(annotation: Any, error: Exception) -> Inexpressible:
    """The error for an annotation with a name that is not known, or that cannot be evaluated."""
    reason = f"{type(error).__name__}: {error}"
    if "for |" in str(error):
        advice = "Write Optional[X] or Union[X, Y]: X | Y works from Python 3.10 on."
    else:
        advice = (
            "Names in annotations must exist while the program runs (not only for type checkers), "
            "in the module or in the functions around it."
        )
    return Inexpressible(f"{annotation!s}, which cannot be resolved ({reason})", advice)


def shown_hint(hint: Any) -> str:
    """An annotation, as the program spells it."""
    if isinstance(hint, type) and not typing_extensions.get_args(hint):
        return hint.__qualname__
    return str(hint).replace("typing.", "")
