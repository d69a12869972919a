"""
``%claude`` and ``%%claude``: ask from a cell, and see the answer being written.

::

    cell -> [magics] -> conversation -> turn -> showing

The answer is the value of the cell. It has been shown when the cell ends, so that
value is not shown once more. What goes wrong is raised as it is everywhere, but
shown in one line: a traceback would be about this library, not about the cell.
"""

from __future__ import annotations

import builtins
import typing
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional

from ..errors import ClaudeError, UsageError
from ..messages.answer import Answer
from ..permissions.policies import ask_on_terminal
from ..render.turns import outcome_of
from ..schema import form_of
from ..support.text import visible
from ..tools import Tool
from .arguments import USAGE, Arguments, parse, type_named
from .conversations import Conversation
from .interpolation import interpolate, variables_of
from .lines import QuestionLine
from .prompting import Prompter
from .rendering import Shown, cost_line, error_line, repr_of
from .shells import is_kernel, write_out
from .showing import Display, watch

if TYPE_CHECKING:
    from ..client import Client

__all__ = ["ANSWER", "CLIENT", "Magics", "OneLine"]

# The variables that cells leave behind.
ANSWER = "claude_answer"
CLIENT = "claude_client"

INTERRUPTED = "KeyboardInterrupt: the turn was stopped; the conversation can go on."
NO_QUESTION = "there is no question. Write %claude question; %claude? shows help."


class OneLine:
    """What IPython shows of an error instead of its traceback."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __call__(self) -> List[str]:
        """The lines."""
        return [self.text]


class Magics:
    """
    The extension in one shell.

    Args:
        shell: The IPython shell.

    """

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.conversation = Conversation(self._handlers)
        # The value of the cell that runs, which its reader has seen.
        self._shown: Optional[Answer] = None
        # Shows the turn that runs as it is now.
        self._show_now: Callable[[], None] = nothing
        self._decisions: Dict[str, str] = {}

    # Coming and going.

    def load(self) -> None:
        """Add the magics to the shell."""

        def claude(line: str, cell: Optional[str] = None) -> Optional[Answer]:
            return self.run(line, cell)

        claude.__doc__ = f"Ask Claude.\n\n{USAGE}"
        # Otherwise IPython would evaluate {expressions} and $names in the question.
        claude._ipython_magic_no_var_expand = True  # type: ignore[attr-defined]
        self.shell.register_magic_function(claude, "line_cell", "claude")
        self.shell.input_transformer_manager.token_transformers.append(QuestionLine)
        self._formatter().for_type(Answer, self._display_once)
        self.shell.events.register("post_run_cell", self._forget_shown)

    def unload(self) -> None:
        """Take the magics away, and end the conversation."""
        for kind in ("line", "cell"):
            self.shell.magics_manager.magics[kind].pop("claude", None)
        self.shell.input_transformer_manager.token_transformers.remove(QuestionLine)
        self._formatter().pop(Answer, None)
        self.shell.events.unregister("post_run_cell", self._forget_shown)
        self.conversation.close()

    def _formatter(self) -> Any:
        return self.shell.display_formatter.ipython_display_formatter

    def _display_once(self, answer: Answer) -> None:
        """The value of a cell was shown while it was written; later it is shown as it is."""
        if answer is not self._shown:
            raise NotImplementedError  # which sends IPython on to the answer's own methods

    def _forget_shown(self, *_: object) -> None:
        self._shown = None

    # A cell.

    def run(self, line: str, cell: Optional[str] = None) -> Optional[Answer]:
        """Do what a line or a cell says; the answer, if something was asked."""
        try:
            arguments = parse(line, cell)
            if arguments.question:
                return self._ask(arguments)
            if not arguments.has_settings:
                raise UsageError(NO_QUESTION)
            self._set(arguments)
            return None
        except ClaudeError as error:
            partial = getattr(error, "answer", None)
            if partial is not None:
                self.shell.user_ns[ANSWER] = partial
            show_in_one_line(error, error_line(error))
            raise
        except KeyboardInterrupt as interrupt:
            show_in_one_line(interrupt, INTERRUPTED)
            raise

    def _ask(self, arguments: Arguments) -> Answer:
        # Everything that can be wrong is looked at before anything is changed.
        question = interpolate(arguments.question, variables_of(self.shell))
        if not question.text.strip():
            raise UsageError(NO_QUESTION)
        returns = None
        if arguments.returns is not None:
            returns = type_named(arguments.returns, self._type)
            form_of(returns)
        self._set(arguments)
        client = self.conversation.client
        names = self.shell.user_ns
        names[CLIENT] = client
        for note in question.notes:
            write_out(f"{visible(note)}\n")
        attach = [*arguments.attach, *question.attach]
        if not is_kernel(self.shell):
            return self._echo(client, question.text, returns=returns, attach=attach)
        turn = client.submit(question.text, returns=returns, attach=attach)
        # What goes wrong is raised, and shown by the notebook: once is enough.
        shown = Shown(self.conversation.spent_before, self._decisions, with_error=False)
        display = Display(self.shell.display_pub.publish, shown)

        def show_now(_: object = None) -> None:
            display.update(turn, now=True)

        # A tool or a prompt keeps this thread, which otherwise would show what was said before.
        self._show_now = show_now
        client.on_tool_use(show_now)
        try:
            watch(turn, display)
        finally:
            client.off(show_now)
            self._show_now = nothing
            partial = outcome_of(turn)[0]
            if partial is not None:
                names[ANSWER] = partial
        self._shown = turn.result()
        return self._shown

    def _echo(self, client: Client, question: str, **settings: Any) -> Answer:
        """Ask at a terminal, where the answer is written as it comes."""
        answer = client.ask(question, echo=True, **settings)
        line = cost_line(answer, self.conversation.spent_before)
        write_out(f"{'' if answer.data is None else repr_of(answer.data)}\n[{line}]\n".lstrip("\n"))
        self.shell.user_ns[ANSWER] = self._shown = answer
        return answer

    def _set(self, arguments: Arguments) -> None:
        functions = {name: self._function(name) for name in arguments.tools}
        # Before anything is closed for them.
        self.conversation.check_tools(functions, anew=arguments.new)
        if arguments.new:
            self.conversation.begin()
        if arguments.model is not None:
            self.conversation.use_model(arguments.model)
        if functions:
            self.conversation.use_tools(functions)

    def _variable(self, setting: str, name: str) -> Any:
        try:
            return self.shell.user_ns[name]
        except KeyError:
            raise UsageError(
                f"{setting} {name}: the notebook has no {name}. Run the cell that defines it first."
            ) from None

    def _type(self, name: str) -> Any:
        """A type by its name: of the notebook, of Python, or of typing."""
        for names in (self.shell.user_ns, vars(builtins), vars(typing)):
            if name in names:
                return names[name]
        return self._variable("--returns", name)

    def _function(self, name: str) -> Any:
        function = self._variable("--tools", name)
        if not callable(function) and not isinstance(function, Tool):
            raise UsageError(
                f"--tools {name}: {name} is a {type(function).__name__} and not a function. Name "
                "functions of the notebook, separated by commas."
            )
        return function

    def _handlers(self) -> Mapping[str, Any]:
        """Who is asked for permission: the person at the notebook, or at the terminal."""
        if not is_kernel(self.shell):
            return {"on_permission": ask_on_terminal}
        publish = self.shell.display_pub.publish
        prompter = Prompter(publish, lambda: self._show_now(), self._decisions)
        return {"on_permission": prompter.on_permission, "on_question": prompter.on_question}


def nothing() -> None:
    """Do nothing: no turn runs."""


def show_in_one_line(error: BaseException, text: str) -> None:
    """Have IPython show one line of *text* when this error reaches it."""
    error._render_traceback_ = OneLine(text)  # type: ignore[attr-defined]
