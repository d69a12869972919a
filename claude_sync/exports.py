"""A conversation as a document: see :mod:`claude_sync.render.documents`."""

from .render.documents import FORMATS, export

__all__ = ["FORMATS", "export"]
