"""
Make a function a tool: its name, its description, its settings, and its calls.

Arguments are checked and converted before the call, and an exception becomes an error that
Claude reads.
"""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, overload

from typing_extensions import ParamSpec, TypedDict, TypeVar, Unpack

from ..errors import UsageError
from ..log import logger
from ..schema.json_schema import Mismatch, Schema
from ..schema.values import NoJsonForm
from .arguments import Inputs, documentation, inputs_of, is_unbound, name_of
from .results import ToolContext, ToolError, error_result, result_of

# "Tool" alone means a tool of any function.
P = ParamSpec("P", default=...)
R = TypeVar("R", default=Any)

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

# How MCP spells the hints.
HINTS = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}


REFUSED = "The tool was not called, because of its arguments:"

# The settings that are not True or False.
KINDS: dict[str, tuple[Any, str]] = {
    **dict.fromkeys(("name", "description", "title"), (str, "a text")),
    "max_result_chars": (int, "a positive number"),
}


class ToolSettings(TypedDict, total=False):
    """
    The settings of a tool.

    Attributes:
        name: By which Claude calls it; otherwise that of the function.
        description: What it does; otherwise from the docstring.
        title: A name for people.
        ask: Whether the CLI asks for permission before each call, as for its own tools.
        read_only, destructive, idempotent, open_world: Hints for the CLI. Calls of read-only
            tools may run at the same time.
        max_result_chars: How long a result may be before the CLI cuts it.

    """

    name: str | None
    description: str | None
    title: str | None
    ask: bool | None
    read_only: bool | None
    destructive: bool | None
    idempotent: bool | None
    open_world: bool | None
    max_result_chars: int | None


class Tool(Generic[P, R]):
    """
    A function that Claude can call. Made by :func:`tool`; it can still be called as before.

    Attributes:
        name: By which Claude calls it.
        title: A name for people, or None.
        description: What it does: as given, or from the docstring.
        function: The function.
        ask: Whether permission is asked for each call, as for the CLI's own tools.
        annotations: The hints that were given, as MCP spells them.
        max_result_chars: How long a result may be before the CLI cuts it; None: its own limit.

    """

    def __init__(self, function: Callable[P, R], **settings: Unpack[ToolSettings]) -> None:
        # A static or class method is looked at before its class exists.
        self._source: Any = function
        plain: Any = function
        if isinstance(plain, (staticmethod, classmethod)):
            plain = plain.__func__
        if not callable(plain):
            raise UsageError(f"{plain!r} cannot be called. A tool is a function, or can be called.")
        self.function: Callable[P, R] = plain
        self._settings: ToolSettings = settings
        name = settings.get("name")
        self.name = checked_name(name_of(plain) if name is None else name)
        check_settings(settings, self.name)
        description = settings.get("description")
        self.description = documentation(plain).description if description is None else description
        self.title = settings.get("title")
        self.ask = bool(settings.get("ask"))
        self.annotations: dict[str, Any] = {
            HINTS[hint]: value
            for hint, value in settings.items()
            if hint in HINTS and value is not None
        }
        self.max_result_chars = settings.get("max_result_chars")
        # Help and debuggers look for these.
        self.__name__ = self.__qualname__ = self.name
        functools.update_wrapper(self, plain, updated=())
        self._inputs_made: Inputs | None = None

    @property
    def schema(self) -> Schema:
        """The JSON Schema of the arguments. To be read, not to be changed."""
        return self._inputs.schema

    @property
    def _inputs(self) -> Inputs:
        if self._inputs_made is None:
            self._inputs_made = inputs_of(self.function, self.name)
        return self._inputs_made

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself: nothing is checked and nothing is converted."""
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Tool[..., R]:
        """The tool of a method, bound as the method would be."""
        source = self._source
        is_method = isinstance(source, types.FunctionType) and instance is not None
        if not is_method and not isinstance(source, classmethod):
            return self
        bound: Tool[..., R] = Tool(source.__get__(instance, owner), **self._settings)
        # Names in annotations may have been visible only where the class was made.
        bound._inputs_made = self._inputs_made
        return bound

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"

    def run(
        self, arguments: Mapping[str, Any], context: ToolContext | None = None
    ) -> dict[str, Any]:
        """
        Call the function with arguments that came as JSON, and return the result of MCP.

        That is a dict with ``content``, ``isError`` and perhaps ``structuredContent``. Nothing
        is raised: Claude waits for an answer, on a thread where no program would catch it.
        """
        function: Callable[..., Any] = self.function
        try:
            keywords = self._inputs.keywords(arguments, context or ToolContext())
        except Mismatch as error:
            return error_result("\n".join([REFUSED, *error.problems]))
        except RecursionError:
            return error_result(f"{REFUSED}\nnested too deeply")
        try:
            return result_of(function(**keywords))
        except ToolError as error:
            return error_result(text_of(error) or type(error).__name__)
        except NoJsonForm as error:
            logger.error("the tool %s returned something without a JSON form: %s", self.name, error)
            return error_result(f"The tool ran, but what it returned cannot be shown: {error}")
        except Exception as error:
            # Claude reads the text; the traceback is for the author of the function.
            logger.error("the tool %s failed", self.name, exc_info=error)
            return failed_result(error)


@overload
def tool(function: Callable[P, R]) -> Tool[P, R]: ...


@overload
def tool(**settings: Unpack[ToolSettings]) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(function: Any = None, **settings: Any) -> Any:
    """
    Make a function a tool, as ``@tool`` or ``@tool(name=..., ...)``.

    Args:
        function: The function; left out where settings are given.
        **settings: ``name`` and ``description`` (otherwise the function's own),
            ``title`` (a name for people), ``ask=True`` (ask for permission before each
            call), hints for the CLI (``read_only``, ``destructive``, ``idempotent``,
            ``open_world``; calls of read-only tools may run at the same time), and
            ``max_result_chars`` (how long a result may be before the CLI cuts it).

    """
    for name in settings:
        if name not in ToolSettings.__annotations__:
            known = ", ".join(ToolSettings.__annotations__)
            raise UsageError(f"a tool has no setting {name!r}. There are: {known}.")
    if function is None:
        return lambda function: tool(function, **settings)
    if isinstance(function, str):
        raise UsageError(f"tool() takes a function. Write tool(name={function!r}) above it.")
    before = function if isinstance(function, Tool) else None
    if before is not None:
        given = {name: value for name, value in settings.items() if value is not None}
        function, settings = before._source, {**before._settings, **given}
    made: Tool = Tool(function, **settings)
    made._inputs_made = before._inputs_made if before is not None else None
    # What cannot work should fail where it is written.
    made.schema  # noqa: B018
    return made


def make_tool(source: Any, **settings: Any) -> Tool:
    """
    The tool for *source*: a tool, a function, a method, or anything that can be called.

    Raises:
        UsageError: It cannot be a tool; the text says why.

    """
    if isinstance(source, types.MethodType) and isinstance(source.__func__, Tool):
        source = source.__func__.__get__(source.__self__)
    if source is None:
        raise UsageError("None cannot be called. Pass a function as a tool.")
    made: Tool = tool(source, **settings)
    if is_unbound(made.function):
        raise UsageError(
            f"{made.function.__qualname__} is a method without its object. Pass it from an "
            f"object: tools=[thing.{made.function.__name__}]."
        )
    return made


def make_tools(sources: Iterable[Any]) -> tuple[Tool, ...]:
    """
    The tools for *sources*, in their order.

    Raises:
        UsageError: One of them cannot be a tool, or two have the same name.

    """
    is_single = callable(sources) or isinstance(sources, (str, Mapping))
    made: dict[str, Tool] = {}
    try:
        if is_single or not isinstance(sources, Iterable):
            raise UsageError("tools= takes a list of functions. Write tools=[function, ...].")
        for source in sources:
            each = make_tool(source)
            if each.name in made:
                raise UsageError(
                    f"two tools are named {each.name!r}. Give one of them another name with "
                    "claude_sync.tool(name=...)."
                )
            made[each.name] = each
    except UsageError as error:
        error.option = "tools"
        raise
    return tuple(made.values())


def checked_name(name: Any) -> str:
    """*name*, if a tool can have it."""
    if isinstance(name, str) and NAME.fullmatch(name):
        return name
    raise UsageError(
        f"a tool cannot be named {name!r}. Give it a name of letters, digits, _ and -, at most 64 "
        "of them: claude_sync.tool(name=...)."
    )


def check_settings(settings: Mapping[str, Any], name: str) -> None:
    """Refuse settings of a wrong type."""
    for setting, value in settings.items():
        kind, expected = KINDS.get(setting, (bool, "True or False"))
        fits = type(value) is kind and (setting != "max_result_chars" or value > 0)
        if value is not None and not fits:
            raise UsageError(f"{setting} of the tool {name!r} is {expected}, not {value!r}.")


def failed_result(error: BaseException) -> dict[str, Any]:
    """What Claude reads of *error*: its name and text, not its traceback."""
    text = text_of(error)
    kind = type(error).__name__
    return error_result(f"{kind}: {text}" if text else kind)


def text_of(error: BaseException) -> str:
    """The text of an exception, which may itself fail."""
    try:
        return str(error)
    except Exception:
        return ""
