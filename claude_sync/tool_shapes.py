"""
The shapes that arguments of tools can have.

A shape is made from an annotation and has two sides that must agree, which is why
they stand next to each other: ``schema`` tells Claude what to send, ``convert``
takes what was sent. What the schema accepts converts; what it rejects raises
:class:`Mismatch`, whose text is written for Claude. (Formats are the exception:
a schema can say "date", but only the conversion looks at the calendar.)

``convert(value, exact=True)`` refuses what JSON Schema lets through by widening,
an integer for a number and 3.0 for an integer; a choice between several shapes
prefers the one that fits exactly.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Sequence, Tuple, Union

__all__ = [
    "Alternatives",
    "Anything",
    "Choice",
    "Definitions",
    "Described",
    "Formatted",
    "Integer",
    "Mismatch",
    "Mismatches",
    "Number",
    "Plain",
    "Recursive",
    "Schema",
    "Shape",
    "identity",
    "shown",
]

Schema = Dict[str, Any]

# How many characters of a value an error text shows.
SHOWN = 60
# How many wrong places of one list or object are told.
TOLD = 20


class Mismatch(Exception):
    """
    A value does not have its shape.

    Attributes:
        problem: What is wrong with it.
        path: Where it is: names and indexes, from the outside to the inside.
        others: What else is wrong, in other places of the same value.

    """

    def __init__(
        self,
        problem: str,
        path: Sequence[Union[str, int]] = (),
        others: Sequence[Mismatch] = (),
    ) -> None:
        super().__init__(problem, path, others)
        self.problem = problem
        self.path = tuple(path)
        self.others = tuple(others)

    def within(self, step: Union[str, int]) -> Mismatch:
        """The same, seen from one step further outside."""
        others = [other.within(step) for other in self.others]
        return Mismatch(self.problem, (step, *self.path), others)

    def every(self) -> List[Mismatch]:
        """Each thing that is wrong, by itself."""
        found = [Mismatch(self.problem, self.path)]
        for other in self.others:
            found.extend(other.every())
        return found

    def __str__(self) -> str:
        place = ""
        for step in self.path:
            if isinstance(step, str) and (step.isidentifier() or not place):
                place += f".{step}" if place else step
            else:
                place += f"[{shown(step)}]"
        return f"{place}: {self.problem}" if place else self.problem


class Mismatches:
    """Collects what is wrong in several places of a value, to tell it all at once."""

    def __init__(self) -> None:
        self._found: List[Mismatch] = []

    @property
    def is_full(self) -> bool:
        """Whether there is enough to tell; a long list may be wrong in every place."""
        return len(self._found) >= TOLD

    def add(self, mismatch: Mismatch) -> None:
        """One more."""
        self._found.append(mismatch)

    def check(self) -> None:
        """Raise what was found, if anything was."""
        if self._found:
            first = self._found[0]
            others = [*first.others, *self._found[1:]]
            raise Mismatch(first.problem, first.path, others) from first.__cause__


class Definitions:
    """The schemas that others refer to by name, because they contain themselves."""

    def __init__(self) -> None:
        self.schemas: Dict[str, Schema] = {}
        self._meanings: Dict[str, Any] = {}

    def name_for(self, wanted: str, meaning: Any) -> str:
        """The name of what *meaning* stands for: *wanted*, if nothing else is called that."""
        name, count = wanted, 1
        while name in self.schemas and self._meanings[name] != meaning:
            count += 1
            name = f"{wanted}{count}"
        self._meanings[name] = meaning
        self.schemas.setdefault(name, {})  # holds the name while the schema is made
        return name

    def reference(self, shape: Recursive) -> Schema:
        """A reference to the schema of *shape*, which is added the first time."""
        name = self.name_for(shape.name, shape)
        if not self.schemas[name]:
            self.schemas[name] = {"$ref": f"#/$defs/{name}"}  # while it is met inside itself
            self.schemas[name] = shape.inner.schema(self)
        return {"$ref": f"#/$defs/{name}"}


class Shape:
    """Any value at all; the base of the others."""

    #: What would be right, as a text like "an integer".
    expected = "any value"
    #: Whether values can be in a set.
    hashable = True

    def schema(self, definitions: Definitions) -> Schema:  # noqa: ARG002
        """The JSON Schema of this shape; new dicts each time."""
        return {}

    def convert(self, value: Any, exact: bool = False) -> Any:  # noqa: ARG002
        """*value*, which came as JSON, as the function wants it; or Mismatch."""
        return value

    def mismatch(self, value: Any) -> Mismatch:
        """The error for *value*."""
        return Mismatch(f"expected {self.expected}, got {shown(value)}")


class Anything(Shape):
    """Any value at all."""

    hashable = False


class Plain(Shape):
    """Values that JSON and Python have in common: texts, bools, null; *names* are JSON's types."""

    def __init__(
        self, names: Union[str, List[str]], kinds: Union[type, Tuple[type, ...]], expected: str
    ) -> None:
        self.names = names
        self.kinds = kinds
        self.expected = expected

    def schema(self, definitions: Definitions) -> Schema:  # noqa: ARG002
        return {"type": self.names}

    def convert(self, value: Any, exact: bool = False) -> Any:  # noqa: ARG002
        if not isinstance(value, self.kinds):
            raise self.mismatch(value)
        return value


class Integer(Shape):
    """Integers, also those that came as 3.0."""

    expected = "an integer"

    def schema(self, definitions: Definitions) -> Schema:  # noqa: ARG002
        return {"type": "integer"}

    def convert(self, value: Any, exact: bool = False) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, float) and value.is_integer() and not exact:
            return int(value)
        raise self.mismatch(value)


class Number(Shape):
    """Floats, also those that came as 3."""

    expected = "a number"

    def schema(self, definitions: Definitions) -> Schema:  # noqa: ARG002
        return {"type": "number"}

    def convert(self, value: Any, exact: bool = False) -> Any:
        if isinstance(value, float):
            return value
        if isinstance(value, int) and not isinstance(value, bool) and not exact:
            try:
                return float(value)
            except OverflowError:
                raise Mismatch(f"{shown(value)} is too large for a number") from None
        raise self.mismatch(value)


class Choice(Shape):
    """One of a few plain values: each JSON value stands for a Python value."""

    def __init__(self, choices: Iterable[Tuple[Any, Any]]) -> None:
        self.values: List[Any] = []
        self._meanings: Dict[Any, Tuple[Any, Any]] = {}
        for value, meaning in choices:
            if identity(value) not in self._meanings:
                self.values.append(value)
                self._meanings[identity(value)] = (value, meaning)
        said = [shown(value) for value in self.values]
        self.expected = said[0] if len(said) == 1 else "one of " + ", ".join(said)

    @property
    def is_textual(self) -> bool:
        """Whether only texts are in it, so that they can be keys."""
        return all(isinstance(value, str) for value in self.values)

    def schema(self, definitions: Definitions) -> Schema:  # noqa: ARG002
        schema: Schema = {"type": "string"} if self.is_textual else {}
        schema["enum"] = list(self.values)
        return schema

    def convert(self, value: Any, exact: bool = False) -> Any:
        try:
            meant, meaning = self._meanings[identity(value)]
        except KeyError:
            raise self.mismatch(value) from None
        if exact and type(meant) is not type(value):
            raise self.mismatch(value)
        return meaning


class Formatted(Shape):
    """Texts that are read as something else; *read* raises ValueError for a wrong one."""

    def __init__(self, keywords: Schema, expected: str, read: Callable[[str], Any]) -> None:
        self.keywords = keywords
        self.expected = expected
        self._read = read

    def schema(self, definitions: Definitions) -> Schema:  # noqa: ARG002
        return {"type": "string", **self.keywords}

    def convert(self, value: Any, exact: bool = False) -> Any:  # noqa: ARG002
        if not isinstance(value, str):
            raise self.mismatch(value)
        try:
            return self._read(value)
        except (ValueError, ArithmeticError):
            raise self.mismatch(value) from None


class Alternatives(Shape):
    """Values of one of several shapes: the first that fits exactly, or else that fits."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        self.shapes = shapes
        self.hashable = all(shape.hashable for shape in shapes)
        self.expected = " or ".join(dict.fromkeys(shape.expected for shape in shapes))

    def schema(self, definitions: Definitions) -> Schema:
        return {"anyOf": [shape.schema(definitions) for shape in self.shapes]}

    def convert(self, value: Any, exact: bool = False) -> Any:
        mismatches: List[Mismatch] = []
        for strictly in (True,) if exact else (True, False):
            mismatches = []
            for shape in self.shapes:
                try:
                    return shape.convert(value, strictly)
                except Mismatch as mismatch:
                    mismatches.append(mismatch)
        # Where only one was right from the outside, what is wrong inside says more.
        inside = [mismatch for mismatch in mismatches if mismatch.path]
        raise inside[0] if len(inside) == 1 else self.mismatch(value)


class Described(Shape):
    """A shape with a description of its own."""

    def __init__(self, inner: Shape, description: str) -> None:
        self.inner = inner
        self.description = description
        self.hashable = inner.hashable
        self.expected = inner.expected

    def schema(self, definitions: Definitions) -> Schema:
        return {**self.inner.schema(definitions), "description": self.description}

    def convert(self, value: Any, exact: bool = False) -> Any:
        return self.inner.convert(value, exact)


class Recursive(Shape):
    """A shape that contains itself, so that its schema needs a name; ``inner`` is set later."""

    hashable = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.expected = f"a value of the kind {name}"
        self.inner: Shape = Shape()
        #: Whether it was met inside itself.
        self.is_used = False

    def schema(self, definitions: Definitions) -> Schema:
        return definitions.reference(self)

    def convert(self, value: Any, exact: bool = False) -> Any:
        return self.inner.convert(value, exact)


def identity(value: Any) -> Any:
    """Something hashable that two JSON values share if JSON Schema holds them for equal."""
    if isinstance(value, list):
        return ("list", tuple(map(identity, value)))
    if isinstance(value, dict):
        return ("dict", frozenset((key, identity(item)) for key, item in value.items()))
    # In Python True equals 1, in JSON it does not.
    return (isinstance(value, bool), value)


def shown(value: Any) -> str:
    """A value as JSON, short enough for an error text."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
