"""
Whose a uuid is: those that we gave to messages, and those that a backend uses instead.

No thread, no file, no clock. A client knows its own result by the uuid of its question.
Two things can happen to that uuid on the way:

* A backend that knows no more than the document never hears of it. What its CLI says has
  other uuids, or none; they are taken out. There is one question at a time, so a result
  belongs to the one that runs.
* A backend that knows more takes it over.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

from ..protocol.exchange import is_foreign, uuids_of_result

__all__ = ["Uuids"]

Wire = Mapping[str, Any]


class Uuids:
    """
    The uuids of one session.

    Attributes:
        running: That of the question that is being answered, or None.
        are_told: Whether the CLI says which message its results are for.

    """

    def __init__(self) -> None:
        self.running: Optional[str] = None
        self.are_told = False

    def sent(self, uuid: str) -> None:
        """A message was sent. What is sent while another one runs joins that."""
        if self.running is None:
            self.running = uuid

    def over(self, uuid: object) -> None:
        """No result will come for a message any more."""
        if uuid == self.running:
            self.running = None

    def in_lifecycle(self, news: Wire) -> None:
        """What the CLI tells of one message."""
        self.are_told = True
        if news.get("state") in ("cancelled", "completed"):
            self.over(news.get("command_uuid"))

    def in_result(self, result: Wire) -> Wire:
        """A result of a backend that uses our uuids: it is as it is."""
        uuids = uuids_of_result(result)
        self.are_told = self.are_told or bool(uuids)
        if self.running in uuids or not (uuids or is_foreign(result.get("origin"))):
            self.running = None
        return result

    def without(self, result: Wire) -> Wire:
        """A result of a backend that has never heard of our uuids: the running question's."""
        if not uuids_of_result(result):
            if not is_foreign(result.get("origin")):
                self.running = None
            return result
        self.running = None
        dropped = ("user_message_uuid", "user_message_uuids", "origin")
        return {key: value for key, value in result.items() if key not in dropped}
