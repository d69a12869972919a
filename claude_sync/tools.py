"""
Functions of the program that Claude can call.

::

    def weather(city: str, days: int = 1) -> str:
        \"\"\"Tell the weather.

        Args:
            city: Name of the town.
            days: How many days ahead.
        \"\"\"

    client = claude_sync.Client(tools=[weather])

A plain function is enough; :func:`tool` is for those that need a name, a hint or
a question before they run. Arguments are checked and converted before the call,
and an exception becomes an error that Claude reads.
"""

from __future__ import annotations

import re
import types
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Generic,
    Iterable,
    Mapping,
    Optional,
    Tuple,
    overload,
)

from typing_extensions import ParamSpec, TypeVar

from .errors import UsageError
from .log import logger
from .tool_context import ToolContext, ToolError
from .tool_results import Image, NoJsonForm, error_result, result_of

if TYPE_CHECKING:
    from .tool_signatures import Inputs

__all__ = ["Image", "Tool", "ToolContext", "ToolError", "make_tool", "make_tools", "tool"]

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

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: Optional[str] = None,
        description: Optional[str] = None,
        title: Optional[str] = None,
        ask: Optional[bool] = None,
        read_only: Optional[bool] = None,
        destructive: Optional[bool] = None,
        idempotent: Optional[bool] = None,
        open_world: Optional[bool] = None,
        max_result_chars: Optional[int] = None,
    ) -> None:
        from .tool_signatures import documentation, name_of

        # A static or class method is looked at before its class exists.
        self._source = function
        plain: Any = function
        if isinstance(plain, (staticmethod, classmethod)):
            plain = plain.__func__
        if not callable(plain):
            raise UsageError(f"{plain!r} is no function. A tool is a function, or can be called.")
        self.function: Callable[P, R] = plain
        hints = {
            "read_only": read_only,
            "destructive": destructive,
            "idempotent": idempotent,
            "open_world": open_world,
        }
        self._settings: Dict[str, Any] = {
            "name": name,
            "description": description,
            "title": title,
            "ask": ask,
            "max_result_chars": max_result_chars,
            **hints,
        }
        self.name = checked_name(name_of(plain) if name is None else name)
        check_settings(self._settings, self.name)
        about = documentation(plain)
        self.description = about.description if description is None else description
        self.title = title
        self.ask = bool(ask)
        self.annotations: Dict[str, Any] = {
            HINTS[hint]: value for hint, value in hints.items() if value is not None
        }
        self.max_result_chars = max_result_chars
        # Help and debuggers look for these.
        self.__name__ = getattr(plain, "__name__", self.name)
        self.__qualname__ = getattr(plain, "__qualname__", self.name)
        self.__module__ = getattr(plain, "__module__", None) or __name__
        self.__doc__ = getattr(plain, "__doc__", None)
        self.__wrapped__ = plain
        self._inputs_made: Optional[Inputs] = None
        # Of a method, the tool that was made in the class: names that its annotations
        # mention may have been visible only there.
        self._unbound: Optional[Tool] = None

    @property
    def schema(self) -> Dict[str, Any]:
        """The JSON Schema of the arguments. To be read, not to be changed."""
        return self._inputs.schema

    @property
    def _inputs(self) -> Inputs:
        if self._inputs_made is None:
            from .tool_signatures import bound_inputs, inputs_of

            if self._unbound is not None:
                self._inputs_made = bound_inputs(self._unbound._inputs)
            else:
                self._inputs_made = inputs_of(self.function, self.name)
        return self._inputs_made

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself: nothing is checked and nothing is converted."""
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Tool[..., R]:
        """The tool of a method, bound as the method would be."""
        source: Any = self._source
        is_method = isinstance(source, types.FunctionType) and instance is not None
        if is_method or isinstance(source, classmethod):
            bound: Tool[..., R] = Tool(source.__get__(instance, owner), **self._settings)
            bound._unbound = self
            return bound
        return self

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"

    def changed(self, **settings: Any) -> Tool[P, R]:
        """The same tool with other settings, those of :func:`tool`."""
        given = {name: value for name, value in settings.items() if value is not None}
        changed = Tool(self._source, **{**self._settings, **given})
        changed._unbound = self._unbound
        changed._inputs_made = self._inputs_made
        return changed

    def run(
        self, arguments: Mapping[str, Any], context: Optional[ToolContext] = None
    ) -> Dict[str, Any]:
        """
        Call the function with arguments that came as JSON, and return the result of MCP.

        That is a dict with ``content``, ``isError`` and perhaps ``structuredContent``.
        Nothing is ever raised: it runs on a thread of the library, where nobody would
        catch it, and Claude waits for an answer.
        """
        from .tool_arguments import ArgumentsRefused, bind

        try:
            keywords = bind(self._inputs, arguments)
            for name in self._inputs.contexts:
                keywords[name] = context or ToolContext()
            return result_of(self.function(**keywords))  # type: ignore[call-arg]
        except (ArgumentsRefused, ToolError) as error:
            return error_result(text_of_error(error, named=False))
        except NoJsonForm as error:
            text = f"The tool ran, but what it returned cannot be shown: {error}"
            logger.error(
                "! the tool %s returned something without a JSON form: %s", self.name, error
            )
            return error_result(text)
        except Exception as error:
            # Claude reads the text; the traceback is for whoever wrote the function.
            logger.error("! the tool %s failed", self.name, exc_info=error)
            return failed_result(error)


@overload
def tool(function: Callable[P, R]) -> Tool[P, R]: ...


@overload
def tool(
    *,
    name: Optional[str] = None,
    description: Optional[str] = None,
    title: Optional[str] = None,
    ask: Optional[bool] = None,
    read_only: Optional[bool] = None,
    destructive: Optional[bool] = None,
    idempotent: Optional[bool] = None,
    open_world: Optional[bool] = None,
    max_result_chars: Optional[int] = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


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
    check_names(settings)
    if function is None:
        return lambda function: tool(function, **settings)
    if isinstance(function, str):
        raise UsageError(f"tool() takes a function. Write tool(name={function!r}) above it.")
    made = (
        function.changed(**settings) if isinstance(function, Tool) else Tool(function, **settings)
    )
    # What cannot work should fail where it is written.
    made.schema  # noqa: B018
    return made


def make_tool(source: Any, **settings: Any) -> Tool:
    """
    The tool for *source*: a tool, a function, a method, or anything that can be called.

    Raises:
        UsageError: It cannot be a tool; the text says why.

    """
    from .tool_signatures import is_unbound

    if isinstance(source, types.MethodType) and isinstance(source.__func__, Tool):
        source = source.__func__.__get__(source.__self__)
    if source is None:
        raise UsageError("None is no function. Pass a function as a tool.")
    made: Tool = tool(source, **settings)
    if is_unbound(made.function):
        raise UsageError(
            f"{made.function.__qualname__} is a method without its object. Pass it from an "
            f"object: tools=[thing.{made.function.__name__}]."
        )
    return made


def make_tools(sources: Iterable[Any]) -> Tuple[Tool, ...]:
    """
    The tools for *sources*, in their order.

    Raises:
        UsageError: One of them cannot be a tool, or two have the same name.

    """
    if (
        callable(sources)
        or isinstance(sources, (str, Mapping))
        or not isinstance(sources, Iterable)
    ):
        raise UsageError("tools= takes a list of functions. Write tools=[function, ...].")
    made: Dict[str, Tool] = {}
    for source in sources:
        each = make_tool(source)
        if each.name in made:
            raise UsageError(
                f"two tools are named {each.name!r}. Give one of them another name with "
                "claude_sync.tool(name=...)."
            )
        made[each.name] = each
    return tuple(made.values())


def checked_name(name: Any) -> str:
    """*name*, if a tool can have it."""
    if isinstance(name, str) and NAME.fullmatch(name):
        return name
    raise UsageError(
        f"a tool cannot be named {name!r}. Give it a name of letters, digits, _ and -, at most 64 "
        "of them: claude_sync.tool(name=...)."
    )


def check_names(settings: Mapping[str, Any]) -> None:
    """Refuse settings that do not exist."""
    known = ("name", "description", "title", "ask", *HINTS, "max_result_chars")
    for name in settings:
        if name not in known:
            raise UsageError(f"a tool has no setting {name!r}. There are: {', '.join(known)}.")


def check_settings(settings: Mapping[str, Any], name: str) -> None:
    """Refuse settings of a wrong type."""
    kinds: Dict[str, Tuple[type, str]] = {
        **dict.fromkeys(("description", "title"), (str, "a text")),
        **dict.fromkeys(("ask", *HINTS), (bool, "True or False")),
    }
    for setting, (kind, expected) in kinds.items():
        value = settings[setting]
        if value is not None and not isinstance(value, kind):
            raise UsageError(f"{setting} of the tool {name!r} is {expected}, not {value!r}.")
    limit = settings["max_result_chars"]
    if limit is not None and (type(limit) is not int or limit < 1):
        raise UsageError(
            f"max_result_chars of the tool {name!r} is a positive number, not {limit!r}."
        )


def failed_result(error: BaseException) -> Dict[str, Any]:
    """What Claude reads of *error*: its name and text, not its traceback."""
    return error_result(text_of_error(error, named=True))


def text_of_error(error: BaseException, named: bool) -> str:
    """What Claude reads about an exception; its own text may fail, too."""
    try:
        text = str(error)
    except Exception:
        text = ""
    kind = type(error).__name__
    if not named:
        return text or kind
    return f"{kind}: {text}" if text else kind
