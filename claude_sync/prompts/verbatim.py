"""
Verbatim prompts: the forms in which they reach the model as they are, from every CLI.

Measured, by what reached the model:

* From CLI 2.1.248 on the field ``client_composed`` switches off all interpretation.
* Older CLIs ignore that field. They look at the last block only, and only if it is a text:
  ``@path`` at its beginning or after a blank is read and sent, a ``/`` at its beginning is a
  command. Neither is done in earlier blocks. One newline before the ``/`` makes it a text.

So for older CLIs the text is cut in two behind its last ``@path``, best where a blank is. Their
variable ``CLAUDE_CODE_DISABLE_ATTACHMENTS`` is not used: it also takes from the conversation
the list of skills, the reminder of the plan mode and, on 2.1.29, every steered message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from . import is_verbatim, text_block

# Wider than what was measured: not in an address of mail, and at most once too often elsewhere.
MENTION = re.compile(r"(?<!\w)@(?=\S)")


def for_older_cli(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """
    A verbatim message for a CLI that does not know the field, or tells no version.

    None if the message needs no other form: it is not verbatim, or nothing in it would be
    interpreted.
    """
    if not is_verbatim(message):
        return None
    inner = message["message"]
    content = inner["content"]
    blocks = [text_block(content)] if isinstance(content, str) else content
    last = blocks[-1]
    if last["type"] != "text":
        return None
    text = last["text"]
    pieces = harmless(text)
    if pieces == [text]:
        return None
    # Other fields of a block, such as cache_control, belong to its end.
    tail = {**last, "text": pieces[-1]}
    blocks = [*blocks[:-1], *map(text_block, pieces[:-1]), tail]
    new = pieces[0] if isinstance(content, str) and len(pieces) == 1 else blocks
    return {**message, "message": {**inner, "content": new}}


def harmless(text: str) -> list[str]:
    """The text as one or two pieces, the last of which holds nothing to interpret."""
    pieces = [text]
    mentions = list(MENTION.finditer(text))
    if mentions:
        end = mentions[-1].end()
        blank = re.search(r"\s+\S", text[end:])
        cut = end + (blank.start() if blank else 0)
        pieces = [text[:cut], text[cut:]]
    if pieces[-1].startswith("/"):
        pieces[-1] = "\n" + pieces[-1]
    return pieces
