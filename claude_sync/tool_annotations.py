"""
What annotations consist of, and where the names in them come from.

Annotations may be texts, as they all are after ``from __future__ import annotations``;
the names in them are looked up in the module of the function and, as far as they
can be seen, in the functions around it.
"""

from __future__ import annotations

import typing
from typing import Any, Dict, List, Mapping, Tuple

import typing_extensions

__all__ = [
    "KEY_WRAPPERS",
    "Inexpressible",
    "alias_types",
    "enclosing_names",
    "is_enum",
    "resolved",
    "resolved_fields",
    "shown_hint",
    "wrappers_of",
]

POSSIBLE = (
    "Use str, int, float, bool, None, list, dict, tuple, set, Optional, Union, Literal, an Enum, "
    "a dataclass, a TypedDict, a NamedTuple, datetime, date, time, UUID, Path, Decimal or bytes; "
    "or leave the annotation out, then any value is accepted."
)
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
        return typing_extensions.get_type_hints(owner, None, names, include_extras=True)
    except Exception as error:
        raise unresolved(owner.__qualname__, error) from error


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
            "in the module or around the function."
        )
    return Inexpressible(f"{annotation!s}, which cannot be resolved ({reason})", advice)


def shown_hint(hint: Any) -> str:
    """An annotation, as the program spells it."""
    if isinstance(hint, type) and not typing_extensions.get_args(hint):
        return hint.__qualname__
    return str(hint).replace("typing.", "")
