"""
Make a user message from a prompt and its attachments, checked before it is sent.

Every question comes through here, and few have attachments, so what these need is
loaded when the first one comes.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Tuple, Union

from .errors import UsageError

__all__ = ["Prompt", "may_be_command", "read_once", "user_message"]

Prompt = Union[str, Iterable[Dict[str, Any]]]

# Of a dict that is no block, this many keys are told.
SHOWN_KEYS = 4


def user_message(prompt: Prompt, attach: Any = ()) -> Dict[str, Any]:
    """The wire message that asks *prompt*; without a uuid, which is given when it is queued."""
    return {
        "type": "user",
        "message": {"role": "user", "content": content_of(prompt, attach)},
        "parent_tool_use_id": None,
        "session_id": "",
    }


def content_of(prompt: Prompt, attach: Any) -> Union[str, List[Dict[str, Any]]]:
    """The prompt as the wire takes it: a text, or a list of content blocks."""
    if isinstance(prompt, str):
        if not prompt.strip():
            raise UsageError("the prompt is blank. Pass what Claude should answer.")
        prompt = str(prompt)
        if type(attach) is tuple and not attach:
            return prompt
        block = {"type": "text", "text": prompt}
        attachments = attached(attach, [block])
        return [*attachments, block] if attachments else prompt
    if isinstance(prompt, (bytes, dict)) or not isinstance(prompt, Iterable):
        raise UsageError(
            f"a prompt is a text or a list of content blocks, not {type(prompt).__name__}. "
            "Pass a str; files go into attach=[...]."
        )
    blocks = list(prompt)
    for number, block in enumerate(blocks, 1):
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            raise UsageError(
                f"block {number} of the prompt is {kind_of(block)} and no content block. Each is "
                "a dict with a 'type', for example {'type': 'text', 'text': '...'}."
            )
    if not blocks:
        raise UsageError("the prompt is an empty list. Pass at least one content block.")
    return [*attached(attach, blocks), *blocks]


def kind_of(value: Any) -> str:
    """What something is that is no block; not what it holds, which may be long or secret."""
    if not isinstance(value, dict):
        return f"a {type(value).__name__}"
    if not value:
        return "an empty dict"
    import reprlib

    keys = ", ".join(map(reprlib.repr, list(value)[:SHOWN_KEYS]))
    return f"a dict with the keys {keys}{', ...' if len(value) > SHOWN_KEYS else ''}"


def attached(attach: Any, blocks: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """The content blocks of what is attached, mostly none; *blocks* are sent with them."""
    if type(attach) is tuple and not attach and all(each["type"] == "text" for each in blocks):
        return []
    from .attachments import attached_blocks

    return attached_blocks(attach, blocks)


def read_once(prompt: Any, attach: Any) -> Tuple[Any, Any]:
    """
    A prompt and its attachments that mean the same and can be sent any number of times.

    An open file, or a generator, gives its content only once.
    """
    content = content_of(prompt, attach)
    if isinstance(prompt, str):
        return prompt, content[:-1] if isinstance(content, list) else ()
    return content, ()


def may_be_command(prompt: Any) -> bool:
    """
    Whether the CLI may take a prompt for one of its commands, such as ``/model``.

    Of several blocks it looks at one, and which one differs; so here each of them counts.
    """
    if isinstance(prompt, str):
        return prompt.lstrip().startswith("/")
    return any(may_be_command(str(block.get("text", ""))) for block in prompt)
