"""
Whose a uuid is: those that we gave to messages, and those that a backend uses instead.

No thread, no file, no clock. A client knows its own result by the uuid of its question.
Three things can happen to that uuid on the way:

* A backend that knows no more than the document never hears of it. What its CLI says has
  other uuids, or none; they are taken out. There is one question at a time, so a result
  belongs to the one that runs.
* A backend that knows more takes it over, for questions.
* For what is steered, or put in as context, it may use a uuid of its own; whose that is,
  is learned from the order in which new ones turn up.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from ..protocol.turns import is_foreign, uuids_of_result

__all__ = ["Uuids"]

Wire = Mapping[str, Any]

# How many are remembered: news of a message may come some time after its result.
REMEMBERED = 100


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
        self._unnamed: List[str] = []
        self._learned: Dict[str, str] = {}

    def sent(self, uuid: str, is_taken_over: bool) -> None:
        """A message was sent; *is_taken_over*: what it is called is certain."""
        if not is_taken_over:
            self._unnamed.append(uuid)
        if self.running is None:
            self.running = uuid

    def over(self, uuid: object) -> None:
        """No result will come for a message any more."""
        if uuid == self.running:
            self.running = None

    def in_lifecycle(self, news: Wire) -> Wire:
        """What the CLI tells of one message, with our uuid."""
        self.are_told = True
        state, theirs = news.get("state"), str(news.get("command_uuid"))
        ours = self._own(theirs, may_be_new=state in ("queued", "started"))
        if state in ("cancelled", "completed"):
            self.over(ours)
        return news if ours == theirs else {**news, "command_uuid": ours}

    def in_result(self, result: Wire) -> Wire:
        """A result, with our uuids."""
        theirs = uuids_of_result(result)
        ours = [self._own(uuid, may_be_new=True) for uuid in theirs]
        self.are_told = self.are_told or bool(theirs)
        if self.running in ours or not (ours or is_foreign(result.get("origin"))):
            self.running = None
        return result if tuple(ours) == theirs else {**result, "user_message_uuids": ours}

    def without(self, result: Wire) -> Wire:
        """A result of a backend that has never heard of our uuids: the running question's."""
        if not uuids_of_result(result):
            if not is_foreign(result.get("origin")):
                self.running = None
            return result
        self.running = None
        dropped = ("user_message_uuid", "user_message_uuids", "origin")
        return {key: value for key, value in result.items() if key not in dropped}

    def _own(self, uuid: str, may_be_new: bool) -> str:
        """What we call the message that the backend calls *uuid*."""
        if uuid in self._unnamed:
            self._unnamed.remove(uuid)  # it was taken over after all
        elif uuid != self.running and uuid not in self._learned and self._unnamed and may_be_new:
            self._learned[uuid] = self._unnamed.pop(0)
            if len(self._learned) > REMEMBERED:
                del self._learned[next(iter(self._learned))]
        return self._learned.get(uuid, uuid)
