"""
Make a user message from a prompt, its data and its attachments, checked before it is sent.

::

    attach=[...]  data=[...]  prompt   ->   [file blocks, text blocks, the prompt]

A CLI reads ``@path`` in the last text block, and takes a ``/`` at its beginning for a command.
It does neither in earlier blocks, so data is safe there from every CLI. A verbatim prompt is
safe as well: ``verbatim`` has the forms that CLIs of different versions need.

Every question comes through here, and few have attachments, so what these need is loaded when
the first one comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Union

from ..errors import UsageError

Prompt = Union[str, Iterable[dict[str, Any]]]
Content = Union[str, list[dict[str, Any]]]

# A user message with this field reaches the model as it is, from this version of the CLI on.
VERBATIM = "client_composed"
FIRST_VERBATIM = (2, 1, 248)


def user_message(
    prompt: Prompt, attach: Any = (), data: Any = (), verbatim: bool = False
) -> dict[str, Any]:
    """
    The wire message that asks *prompt*; without a uuid, which is given when it is queued.

    Args:
        prompt: A text, or a list of content blocks.
        attach: Files, as ``attach=`` takes them.
        data: A text, or several, for the model alone: the CLI interprets nothing in them.
        verbatim: Whether that holds for the prompt as well.

    Raises:
        UsageError: It cannot be sent, or CLIs or the service would refuse it.

    """
    message = {
        "type": "user",
        "message": {"role": "user", "content": content_of(prompt, attach, data)},
        "parent_tool_use_id": None,
        "session_id": "",
    }
    return {**message, VERBATIM: True} if verbatim else message


def is_verbatim(message: Mapping[str, Any]) -> bool:
    """Whether a message of :func:`user_message` reaches the model as it is."""
    return message.get(VERBATIM) is True


def content_of(prompt: Prompt, attach: Any = (), data: Any = ()) -> Content:
    """The prompt as the wire takes it: a text, or a list of content blocks."""
    option = "prompt"
    try:
        if isinstance(prompt, str):
            if not prompt.strip():
                raise UsageError("the prompt is blank. Pass what Claude should answer.")
            prompt = str(prompt)  # a subclass, such as an Answer, has attributes
            blocks = [text_block(prompt)]
        else:
            blocks = given_blocks(prompt)
        option = "attach"
        before = attached(attach, blocks)
        option = "data"
        before = [*before, *data_blocks(data)]
    except UsageError as error:
        error.option = option
        raise
    if not before and isinstance(prompt, str):
        return prompt
    return [*before, *blocks]


def text_block(text: str) -> dict[str, Any]:
    """A text as a content block."""
    return {"type": "text", "text": text}


def data_blocks(data: Any) -> list[dict[str, Any]]:
    """The content blocks of ``data=``."""
    if data is None:
        return []
    texts = [data] if isinstance(data, str) else data
    # Many objects can be iterated, and few give all that they hold: a data frame gives the names
    # of its columns only.
    if not isinstance(texts, (list, tuple, Iterator)) or hasattr(texts, "read"):
        raise UsageError(table_refused("data", data) or f"{DATA}, not {a_type(data)}. {TO_TEXT}")
    blocks = []
    for place, text in enumerate(texts, 1):
        label = "data" if text is data else f"data {place}"
        if not isinstance(text, str):
            refused = table_refused(label, text)
            raise UsageError(refused or f"{label} is {a_type(text)}, not a text. {TO_TEXT}")
        if not text.strip():
            raise UsageError(f"{label} is blank. Leave it out; the service refuses it.")
        blocks.append(text_block(str(text)))
    return blocks


DATA = "data is a text, or a list of texts"
TO_TEXT = "Pass str; for anything else json.dumps(...), or attach=[...] for files."


def table_refused(label: str, value: Any) -> str | None:
    """Why a data frame, or a column of one, is refused; None for anything else."""
    from ..support.files import is_table

    if not is_table(value):
        return None
    return (
        f"{label} is a whole table. Pass data=table.to_csv(), or one column: "
        "data=list(table['text'])."
    )


# Blocks that a program wrote itself.


def given_blocks(prompt: Any) -> list[dict[str, Any]]:
    """The content blocks of a prompt that is no text."""
    is_list = isinstance(prompt, Iterable) and not isinstance(prompt, (bytes, Mapping))
    blocks = list(prompt) if is_list else []
    if not blocks:
        found = "an empty list" if is_list else a_type(prompt)
        raise UsageError(
            f"a prompt is a text or a list of content blocks, not {found}. "
            "Pass a str; files go into attach=[...]."
        )
    for place, block in enumerate(blocks, 1):
        check_block(block, f"block {place} of the prompt")
    return blocks


# What the source of an image or a document needs, by its type.
FILE = ("media_type", "data")
IN_A_SOURCE = {"url": ("url",), "base64": FILE, "text": FILE}


def check_block(block: Any, place: str) -> None:
    """
    Refuse what is no content block, or is one that no CLI can use.

    CLI 2.1.327 never answers a text block without a text. What the service refuses stays in
    the conversation, and every later question fails with it.
    """
    if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
        raise UsageError(
            f"{place} is {a_type(block)}, not a content block. A content block is a dict with a "
            "'type', for example {'type': 'text', 'text': '...'}."
        )
    kind = block["type"]
    if kind == "text":
        check_text(block, "text", place)
    elif kind in ("image", "document"):
        check_source(block.get("source"), f"the source of {place}")
    elif kind == "tool_result" and isinstance(block.get("content"), (list, tuple)):
        for number, inner in enumerate(block["content"], 1):
            check_block(inner, f"{place}, content {number}")


def check_text(holder: Mapping[str, Any], key: str, place: str) -> None:
    """Refuse a text that is missing, is none, or is blank."""
    text = holder.get(key)
    if not isinstance(text, str) or not text.strip():
        found = "blank" if isinstance(text, str) else a_type(text) if key in holder else "missing"
        raise UsageError(f"the {key!r} of {place} is {found}. It must be a text.")


def check_source(source: Any, place: str) -> None:
    """Refuse the source of an image or a document that nothing can be read from."""
    if not isinstance(source, Mapping) or not isinstance(source.get("type"), str):
        raise UsageError(
            f"{place} is {a_type(source)}. Write for example {{'type': 'base64', 'media_type': "
            "'image/png', 'data': '...'}, or attach the file: attach=[path]."
        )
    for key in IN_A_SOURCE.get(source["type"], ()):
        check_text(source, key, place)
    if source["type"] == "base64":
        from ..support.images import decoded

        if decoded(source["data"]) is None:
            raise UsageError(
                f"the 'data' of {place} is not base64. Make it with "
                "base64.b64encode(...).decode(), or attach the bytes or the path of the file."
            )


def a_type(value: Any) -> str:
    """What a wrong value is; not what it holds, which may be long or secret."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


# Attachments.


def attached(attach: Any, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The content blocks of what is attached, mostly none; *blocks* are sent with them."""
    if type(attach) is tuple and not attach and all(each["type"] == "text" for each in blocks):
        return []
    from .attachments import attached_blocks

    return attached_blocks(attach, blocks)


def read_once(prompt: Any, attach: Any = (), data: Any = ()) -> tuple[Any, Any]:
    """
    A prompt and its attachments that mean the same and can be sent any number of times.

    An open file, or a generator, gives its content only once. Data counts as attached.
    """
    content = content_of(prompt, attach, data)
    if isinstance(prompt, str):
        return prompt, content[:-1] if isinstance(content, list) else ()
    return content, ()


def may_be_command(prompt: Any) -> bool:
    """
    Whether the CLI may take a prompt for one of its commands, such as ``/model``.

    Only the last block counts, but a client that is used again must be clean in any case; so
    here each block counts.
    """
    if isinstance(prompt, str):
        return prompt.lstrip().startswith("/")
    return any(may_be_command(str(block.get("text", ""))) for block in prompt)
