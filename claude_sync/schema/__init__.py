"""
JSON Schemas: of types, for typed answers and for the arguments of tools.

::

    type -> JSON Schema -> CLI -> Claude -> JSON -> a value of the type
"""

from .json_schema import Mismatch
from .returns import Form, form_of

__all__ = ["Form", "Mismatch", "form_of"]
