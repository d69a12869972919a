"""The options of a client: one dataclass, whose fields carry all that is known of an option."""

from .options import (
    CONVERSATION,
    SETTINGS,
    Options,
    SignatureWithOptions,
    names_of,
    options_from,
    settings_of,
    signature_with,
)

__all__ = [
    "CONVERSATION",
    "SETTINGS",
    "Options",
    "SignatureWithOptions",
    "names_of",
    "options_from",
    "settings_of",
    "signature_with",
]
