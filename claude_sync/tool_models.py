"""
Pydantic models among annotations; Pydantic itself is never imported.

A model is known by what it can do: make its own JSON Schema and validate JSON. Those
of Pydantic 2 do it under other names than those of Pydantic 1.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence

from .tool_annotations import Inexpressible
from .tool_shapes import Definitions, Mismatch, Mismatches, Schema, Shape, shown
from .tool_subschemas import adopted

__all__ = ["Model", "is_model", "mismatch_of"]


class Model(Shape):
    """The values of a Pydantic model class."""

    hashable = False

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.expected = f"a value of the kind {owner.__name__}"
        # Made at once: a model without a schema is to be refused now.
        self._schema = schema_of(owner)

    def schema(self, definitions: Definitions) -> Schema:
        return adopted(self._schema, self.owner.__name__, definitions)

    def convert(self, value: Any, exact: bool = False) -> Any:  # noqa: ARG002
        import json

        try:
            if not is_newer(self.owner):
                return self.owner.parse_obj(value)
            # As JSON, because a strict model takes a date from JSON but not from a str.
            return self.owner.model_validate_json(json.dumps(value))
        except Exception as error:
            raise mismatch_of(error) from error


def is_newer(owner: Any) -> bool:
    """Whether it is a model of Pydantic 2."""
    return hasattr(owner, "model_json_schema") and hasattr(owner, "model_validate_json")


def is_model(hint: Any) -> bool:
    """Whether *hint* is a Pydantic model class."""
    if not isinstance(hint, type):
        return False
    # In this order: models of Pydantic 2 warn when they are asked for the older names.
    return is_newer(hint) or all(
        hasattr(hint, name) for name in ("__fields__", "parse_obj", "schema")
    )


def schema_of(owner: Any) -> Schema:
    """What the model says about itself."""
    make: Callable[..., Schema] = owner.model_json_schema if is_newer(owner) else owner.schema
    try:
        return dict(make())
    except Exception as error:
        reason = " ".join(str(error).split())
        raise Inexpressible(
            f"{owner.__qualname__}, of which Pydantic makes no JSON Schema "
            f"({type(error).__name__}: {reason})",
            "Use types in its fields that have a JSON Schema; "
            "Model.model_json_schema() shows whether they have.",
        ) from error


def mismatch_of(error: Exception) -> Mismatch:
    """What an exception says that was raised while a value was made, item by item."""
    problems = details_of(error)
    if not problems:
        return Mismatch(f"{type(error).__name__}: {error}")
    wrong = Mismatches()
    for problem in problems:
        wrong.add(Mismatch(text_of(problem), path_of(problem.get("loc", ()))))
    try:
        wrong.check()
    except Mismatch as mismatch:
        return mismatch
    raise AssertionError("there were problems")  # pragma: no cover


def details_of(error: Exception) -> Optional[List[Dict[str, Any]]]:
    """The problems that Pydantic tells one by one; None for every other exception."""
    errors = getattr(error, "errors", None)
    if not callable(errors):
        return None
    try:
        found = errors()
    except Exception:
        return None
    is_told = isinstance(found, list) and all(
        isinstance(each, dict) and isinstance(each.get("msg"), str) for each in found
    )
    return found if is_told else None


def text_of(problem: Dict[str, Any]) -> str:
    """One problem: what Pydantic says, and what there was, if it is short enough to help."""
    text = str(problem["msg"])
    if "input" not in problem or problem.get("type") == "missing":
        return text
    if isinstance(problem["input"], (dict, list)):
        return text
    return f"{text}, got {shown(problem['input'])}"


def path_of(location: Any) -> Sequence[Any]:
    """Where the problem is; Pydantic 1 calls the value itself ``__root__``."""
    steps = location if isinstance(location, (tuple, list)) else (location,)
    return [step for step in steps if step != "__root__"]
