"""
Ask the person at the notebook, by ``input()``, while the cell runs.

Kernels take input on the thread that runs the cell and on no other, which is why
the client of the magics has ``post="caller"``. What Claude wants is shown above the
prompt. Decisions taken here and nowhere else:

* A kernel's interrupt at the prompt stops the turn, as it does everywhere else.
* A front end that has no input (a notebook that is run by a program) says no.
* When the CLI no longer waits for the answer, neither does the prompt.
"""

from __future__ import annotations

import _thread
import builtins
import threading
import uuid
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

from ..permissions.forms import PermissionForm, QuestionForm
from ..permissions.terminal import NOBODY, CannotAsk, ask_questions, choose
from ..render.chats import summary_of
from ..render.html import boxed
from ..render.markdown import escape
from .forms import form_text, shown_form
from .shells import write_out

if TYPE_CHECKING:
    from ..permissions.request import Decision, PermissionRequest, Questions

__all__ = ["Prompter"]

NO_INPUT = (
    "this notebook takes no input. Decide beforehand, with "
    "claude_sync.notebook.configure(permissions=...)"
)
QUESTION_TOOL = "AskUserQuestion"


class Withdrawn(Exception):
    """The CLI no longer waits for the answer."""


class Prompter:
    """
    The handlers of a client whose turns are waited for by cells.

    Args:
        publish: ``shell.display_pub.publish``.
        before: Called before somebody is asked: what was said before must be seen.
        decisions: Where to note what was decided, by the ids of uses of tools. The display of
            the turn tells it then, in its place; otherwise it is a line of its own.

    """

    def __init__(
        self,
        publish: Any,
        before: Callable[[], object] = lambda: None,
        decisions: Optional[Dict[str, str]] = None,
    ) -> None:
        self._publish = publish
        self._before = before
        self._decisions = decisions

    def on_permission(self, request: PermissionRequest) -> Optional[Decision]:
        """Show what is wanted, and let the person decide."""
        if request.tool == QUESTION_TOOL:
            return None  # of a form that cannot be asked, or it would be on_question's
        if self._decisions is not None and request.tool_use_id:
            self._decisions[request.tool_use_id] = "asked"
        self._before()
        form = PermissionForm(request)
        display = RequestDisplay(self._publish, form, self._decisions)
        try:
            verb = choose(form, Reader(request).read, write_out)
        except CannotAsk as problem:
            display.close("denied")
            return request.deny(NOBODY.format(problem))
        except Withdrawn:
            display.close("withdrawn")
            return None
        except KeyboardInterrupt:
            display.close("interrupted")
            raise
        if verb is None:
            display.close("withdrawn")
            return None
        verb()
        allowing = (form.allow, form.allow_always, form.accept_edits)
        display.close("allowed" if verb in allowing else "denied")
        return form.decision

    def on_question(self, questions: Questions) -> Optional[Decision]:
        """Let the person choose, or answer in his own words."""
        self._before()
        form = QuestionForm(questions)
        try:
            verb = ask_questions(form, Reader(questions.request).read, write_out)
        except CannotAsk as problem:
            return questions.decline(NOBODY.format(problem))
        except Withdrawn:
            return None
        if verb is not None:
            verb()
        return form.decision


class RequestDisplay:
    """What is asked for, above its prompt; gone, or one line, once it is decided."""

    def __init__(
        self, publish: Any, form: PermissionForm, decisions: Optional[Dict[str, str]]
    ) -> None:
        self._publish, self._decisions = publish, decisions
        self._request = form.request
        self._id = f"claude-sync-{uuid.uuid4().hex}"
        self._show(shown_form(form), form_text(form), False)

    def close(self, outcome: str) -> None:
        """It was decided; the display of the turn tells it, if it knows the tool."""
        request = self._request
        if self._decisions is not None and request.tool_use_id:
            self._decisions[request.tool_use_id] = outcome
            self._show("", "", True)
        else:
            about = " ".join(summary_of(request.tool, request.raw_input, request.cwd)).strip()
            line = f"{outcome}: {about}"
            self._show(boxed(f'<div class="end">{escape(line)}</div>'), line, True)

    def _show(self, html: str, text: str, update: bool) -> None:
        self._publish(
            data={"text/html": html, "text/plain": text},
            metadata={},
            transient={"display_id": self._id},
            update=update,
        )


class Reader:
    """
    Reads lines for one request, until it is withdrawn.

    A kernel that waits for input looks for signals all the time, and for nothing else. So
    the withdrawal of the request is told to it as an interrupt, which is caught here.
    """

    def __init__(self, request: PermissionRequest) -> None:
        self._request = request
        # Guards the two below: an interrupt is sent only while somebody reads.
        self._lock = threading.Lock()
        self._reading = False
        self._woken = False
        if threading.current_thread() is threading.main_thread():
            request.on_cancel(self._wake)

    def read(self, prompt: str) -> str:
        """A line, without blanks around it."""
        try:
            try:
                self._begin()
                reply = builtins.input(prompt)
            finally:
                self._end()
            self._end()  # an interrupt that was sent by now is raised here at the latest
        except KeyboardInterrupt:
            self._reading = False
            if self._woken:
                raise Withdrawn from None
            raise
        except EOFError:
            raise CannotAsk("the input ended before a reply came") from None
        except (OSError, ValueError, RuntimeError):  # NotImplementedError is one
            raise CannotAsk(NO_INPUT) from None
        if self._request.cancelled.is_set():
            raise Withdrawn
        # What the wire could not carry is replaced.
        return reply.strip().encode("utf-8", "replace").decode("utf-8")

    def _begin(self) -> None:
        with self._lock:
            self._reading = True
        if self._request.cancelled.is_set():
            raise Withdrawn

    def _end(self) -> None:
        with self._lock:
            self._reading = False

    def _wake(self) -> None:
        with self._lock:
            if self._reading and not self._woken:
                self._woken = True
                _thread.interrupt_main()
