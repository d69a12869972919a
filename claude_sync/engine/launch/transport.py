"""
The small interface between the library and whatever speaks for the CLI.

::

    [process] -> lines -> messages -> dispatch -> handlers -> turn

A transport carries bytes both ways and knows how its own life ended. The child
process is one; a script in memory, a recording and a bridge to another machine
are others. ``Client(transport=...)`` takes an instance, or a function that
makes one: a client whose CLI may be started again after a crash needs the
latter, because a transport lives once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Optional, Sequence

if TYPE_CHECKING:
    from .command import Launch

__all__ = ["Transport"]


class Transport:
    """
    Subclass it and override the methods you need; they are called in this order.

    ``start`` once, then ``write`` from any thread (never two at a time) while one
    library thread loops over ``read`` and another over ``read_error``; then ``close``.
    """

    def start(self, launch: Launch) -> None:
        """
        Begin. *launch* says how the CLI would be run; transports that run none ignore it.

        Raise an error (CliNotFound, OSError, ...) on failure: the call that starts the client
        raises it.
        """

    def write(self, data: bytes) -> None:
        """Send *data*, one or more whole lines. Raise OSError if the other side no longer reads."""
        raise NotImplementedError

    def write_now(self, data: bytes) -> int:
        """
        Send as much of *data* as can be sent without waiting; how many bytes that was.

        The rest is passed to :meth:`write`, on another thread. A transport whose write()
        never waits can leave this as it is.
        """
        self.write(data)
        return len(data)

    def read(self) -> bytes:
        """Wait for more output and return it, in any portions; b"" once, at the end."""
        raise NotImplementedError

    def read_error(self) -> bytes:
        """As :meth:`read`, for the lines meant for people (stderr)."""
        return b""

    def listen_to_errors(self, take: Callable[[bytes], None]) -> None:
        """
        Take stderr while :meth:`read` waits: *take* gets its portions, and b"" at the end.

        Called before :meth:`start`. A transport that does not do this is asked by
        :meth:`read_error`, on a thread of its own.
        """

    @property
    def has_errors_of_its_own(self) -> bool:
        """Whether stderr must be read by :meth:`read_error`."""
        return type(self).read_error is not Transport.read_error

    def close(self, timeout: float) -> None:
        """
        End it within *timeout* seconds: politely first, then by force.

        Afterwards :meth:`read` returns b"" as soon as what had arrived is read. Called
        at most once by the library, possibly while other threads are inside the
        other methods.
        """

    def free(self) -> None:
        """Release what is left (descriptors). Called after :meth:`close`, when nobody reads."""

    def kill(self) -> None:
        """End it at once, from any thread; :meth:`close` still follows."""

    def abandon(self) -> None:
        """
        Let go of it in a forked child: close our copies of descriptors, touch nothing else.

        Must take no lock: a thread that no longer exists may have held it.
        """

    def end_input(self) -> None:
        """Tell the other side that nothing more will be written."""

    def wait(self, timeout: float) -> Optional[int]:  # noqa: ARG002
        """Wait up to *timeout* seconds for the end; the exit code, or None."""
        return self.exit_code

    def check_carries(self, method: str) -> None:
        """
        Raise UsageError if the client's *method* cannot work over this transport.

        Asked about ``steer`` and ``add_context``, before anything is sent; what other
        requests a transport does not carry, it answers with an error.
        """

    @property
    def pid(self) -> Optional[int]:
        """The process id, where there is a process."""
        return None

    @property
    def exit_code(self) -> Optional[int]:
        """How it ended; None while it lives, or where there is no such thing."""
        return None

    @property
    def argv(self) -> Sequence[str]:
        """The command, secrets removed, for error texts."""
        return ()
