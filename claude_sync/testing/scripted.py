"""
A CLI in memory: the client uses it as its transport, the test plays the CLI.

::

    test's thread -> [ScriptedCli] -> reader -> lines -> messages -> handlers -> turn

Nothing here is timed: every step waits for the other side, for a bounded time, and
an error says what was waited for and what came instead::

    cli = ScriptedCli()
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        cli.accept()
        cli.answer("Hello", prompt="hi")
        assert turn.result(10) == "Hello"
    cli.assert_done()

A test that would rather block in ``ask()`` gives a script, the same function that
:class:`~claude_sync.testing.StandIn` takes; it is played on a thread of its own::

    with Client(transport=ScriptedCli(script)) as client:
        assert client.ask("hi") == "Hello"

One that is open already is given its script with :meth:`ScriptedCli.play`.
"""

from __future__ import annotations

import collections
import json
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from ..engine.launch.transport import Transport
from .cli_side import CliSide, EndOfInput, ExpectedInVain

if TYPE_CHECKING:
    from ..engine.launch.command import Launch

__all__ = ["ScriptedCli"]

Wire = dict[str, Any]
Script = Callable[["ScriptedCli"], object]

KILLED = -9
# The client's errors know these words, and say what to do.
ENDED = "the script has ended"
NO_SCRIPT = "fake_cli has no script"
# Where the words of a script are defined: not where it is wrong.
HERE = os.path.dirname(os.path.abspath(__file__))


class ScriptedCli(CliSide, Transport):
    """
    Both ends of a conversation with the CLI.

    The client's side is that of every :class:`Transport`, the test's side that of
    :class:`CliSide`. It lives once: a client whose CLI is started again needs a
    function that makes a new one.

    Args:
        script: What it does, if no test drives it; played once it is started.
        settings: See :class:`CliSide`; ``style="old"``, ``patience=2``, ...

    Attributes:
        launch: How the client would have started a process.
        is_fixture: End after *patience* seconds in which nobody plays the CLI.

    """

    def __init__(self, script: Script | None = None, **settings: Any) -> None:
        super().__init__(settings)
        self.launch: Launch | None = None
        # Guards all below; told of every change. Each read and each expect waits on it.
        self._changed = threading.Condition()
        self._output: collections.deque[bytes] = collections.deque()
        self._errors: collections.deque[bytes] = collections.deque()
        self._input: collections.deque[bytes] = collections.deque()
        self._unfinished = b""
        # The client has ended its side / the CLI has ended.
        self._client_left = False
        self._gone = False
        self._exit_code: int | None = None
        self._script = None if script is None else checked(script)
        self._player: threading.Thread | None = None
        self._script_error: BaseException | None = None
        # Of a fixture: the client is not left waiting where nobody plays the CLI.
        self.is_fixture = False
        self._is_played = script is not None
        self._was_asked = False

    # The client's side.

    def start(self, launch: Launch) -> None:
        """Remember how a process would have been started; begin to play the script."""
        if self.launch is not None:
            raise AssertionError(
                "a ScriptedCli can be used only once. Give the client a function that makes a new "
                "one: transport=lambda: ScriptedCli(script)"
            )
        self.launch = launch
        argv = getattr(launch, "argv", None)
        self.cwd = getattr(launch, "cwd", None) or self.cwd
        if argv is not None:
            self.read_command_line(argv[1:], getattr(launch, "environment", {}))
        if self._script is not None:
            self._begin(self._script)
        elif self.is_fixture:
            threading.Thread(target=self._watch, name="scripted-cli-watch", daemon=True).start()

    def write(self, data: bytes) -> None:
        """Take in what the client sends."""
        with self._changed:
            if self._gone or self._client_left:
                raise BrokenPipeError("the scripted CLI reads no more")
            *lines, self._unfinished = (self._unfinished + data).split(b"\n")
            self._input.extend(lines)
            self._changed.notify_all()

    def read(self) -> bytes:
        """Wait for what the test prints; the portions are the test's."""
        return self._take(self._output)

    def read_error(self) -> bytes:
        """Wait for what the test prints on stderr."""
        return self._take(self._errors)

    def close(self, timeout: float) -> None:
        """End it: whoever reads or expects wakes up."""
        self._end(0, client_left=True)
        if self._player is not None and self._player is not threading.current_thread():
            self._player.join(timeout)

    def kill(self) -> None:
        """End it as a signal would."""
        self._end(KILLED, client_left=True)

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it lives."""
        with self._changed:
            return self._exit_code

    # The test's side.

    @property
    def closed(self) -> bool:
        """Whether the client has ended its side."""
        with self._changed:
            return self._client_left

    def play(self, script: Script) -> Script:
        """
        Play *script* on a thread of its own, so that the test can block in ``ask()``.

        Works as a decorator: ``@cli.play`` above the function. Once.
        """
        if self._script is not None:
            raise AssertionError(
                "this ScriptedCli plays a script already. Put all that it does into one function."
            )
        self._script = checked(script)
        self._note_played()
        if self.launch is not None:
            self._begin(script)
        return script

    def receive(self, patience: float | None = None) -> Wire | None:
        """See :meth:`CliSide.receive`."""
        self._note_played()
        with self._changed:
            self._changed.wait_for(lambda: self._input or self._client_left, patience)
            if not self._input:
                if self._client_left:
                    raise EndOfInput("the client has ended its side")
                return None
            line = self._input.popleft()
        message = parsed(line)
        self._was_asked = self._was_asked or message.get("type") == "user"
        return message

    def pause(self, seconds: float) -> None:
        """See :meth:`CliSide.pause`; cut short when the client leaves."""
        with self._changed:
            if self._changed.wait_for(lambda: self._client_left, seconds):
                raise EndOfInput("the client has ended its side")

    def print_raw(self, data: bytes) -> None:
        """See :meth:`CliSide.print_raw`; after the end nobody hears it."""
        self._note_played()
        self._put(self._output, data)

    def print_error(self, line: str) -> None:
        """See :meth:`CliSide.print_error`."""
        self._put(self._errors, line.encode("utf-8", "surrogateescape") + b"\n")

    def hang_up(self, exit_code: int = 0) -> None:
        """End as an exiting process does: what was printed can still be read."""
        self._end(exit_code, client_left=False)

    def exit(self, code: int = 0) -> NoReturn:
        """Hang up and end the script."""
        self.hang_up(code)
        raise SystemExit(code)

    def kill_itself(self) -> NoReturn:
        """Hang up as if killed, and end the script."""
        self.hang_up(KILLED)
        raise SystemExit(KILLED)

    def assert_done(self) -> None:
        """The client has said all that was expected and nothing else; the script did not fail."""
        with self._changed:
            unread = [*self._input, *([self._unfinished] if self._unfinished else [])]
            error = self._script_error
            # A client that leaves interrupts what still runs: that is not the program's word.
            while self._client_left and unread and is_interrupt(unread[-1]):
                unread.pop()
        if error is not None:
            raise error
        if self._script is not None and self.launch is None:
            raise AssertionError("no client was opened: the script never got its first request.")
        if unread:
            raise AssertionError(
                "\n  ".join(
                    ["not expected:", *(line.decode("utf-8", "replace") for line in unread)]
                )
                + "\nTake it with expect() or answer(), or see that it is not said."
            )

    # Inside.

    def _begin(self, script: Script) -> None:
        self._player = threading.Thread(
            target=self._play, args=(script,), name="scripted-cli", daemon=True
        )
        self._player.start()

    def _note_played(self) -> None:
        """The test plays the CLI, itself or with a script."""
        if not self._is_played:
            with self._changed:
                self._is_played = True
                self._changed.notify_all()

    def _watch(self) -> None:
        """Thread: end it if nobody plays it; the client would wait for ever."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_played or self._gone, self.patience)
            if self._is_played or self._gone:
                return
        self._script_error = AssertionError(f"{NO_SCRIPT}. Decorate a function with @fake_cli.play")
        self.print_error(NO_SCRIPT)
        self.hang_up(1)

    def _play(self, script: Script) -> None:
        code = 0
        try:
            script(self)
            if not self.closed:
                self.print_error(ENDED)
        except ExpectedInVain as error:
            # As a CLI does, it ends with its input; but the test has not seen all of it.
            hint = "" if self._was_asked else "the client asked nothing: "
            self._script_error = AssertionError(
                f"{hint}the script {error}. One that answers as long as there are questions loops "
                "over cli.questions()."
            )
        except (EndOfInput, SystemExit):
            pass
        except BaseException as error:  # told to assert_done(); the client must not wait for ever
            self._script_error, code = error, 1
            self.print_error(told(error))
        finally:
            self.hang_up(code)

    def _take(self, source: collections.deque[bytes]) -> bytes:
        with self._changed:
            self._changed.wait_for(lambda: source or self._gone)
            return source.popleft() if source else b""

    def _put(self, target: collections.deque[bytes], data: bytes) -> None:
        with self._changed:
            if data and not self._gone:  # an empty portion would mean the end
                target.append(data)
                self._changed.notify_all()

    def _end(self, exit_code: int, client_left: bool) -> None:
        with self._changed:
            self._client_left = self._client_left or client_left
            if not self._gone:
                self._gone, self._exit_code = True, exit_code
            self._changed.notify_all()


def checked(script: Script) -> Script:
    """*script*, if it can be one."""
    if not callable(script):
        raise TypeError(f"a script is a function of one argument, the CLI; not {script!r}")
    return script


def told(error: BaseException) -> str:
    """What was wrong with a script, and where in it."""
    import traceback

    places = [
        f"  {place.filename}, line {place.lineno}, in {place.name}\n    {place.line}\n"
        for place in traceback.extract_tb(error.__traceback__)
        if os.path.dirname(os.path.abspath(place.filename)) != HERE
    ]
    reason = "".join(traceback.format_exception_only(type(error), error)).rstrip()
    return "the script failed:\n" + "".join(places[-3:]) + reason


def is_interrupt(line: bytes) -> bool:
    """Whether the client interrupts a turn with this line."""
    try:
        request = json.loads(line)["request"]["subtype"]
    except (ValueError, KeyError, TypeError):
        return False
    return bool(request == "interrupt")


def parsed(line: bytes) -> Wire:
    """The message in *line*; a client that sends anything else would have killed a real CLI."""
    try:
        message = json.loads(line)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise AssertionError(f"the client sent a line that is not a JSON object: {line!r}")
    return message
