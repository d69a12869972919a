"""
What happened in a conversation, and how it is shown: Markdown, HTML, documents, timelines.

::

    messages -> [chats] -> html, documents (Markdown, HTML, JSON), repr (what notebooks show)

:class:`Chat` is what happened, as data; ``Chat().follow(client)`` keeps up with a client.
"""

from .chats import Chat, Picture, Round, Step
from .markdown import escape, markdown_to_html, safe_link

__all__ = ["Chat", "Picture", "Round", "Step", "escape", "markdown_to_html", "safe_link"]
