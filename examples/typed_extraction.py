"""
Reads invoices out of the text files of a folder, each into a dataclass.

    python examples/typed_extraction.py invoices/
    python examples/typed_extraction.py --offline       with the built-in stand-in
"""

import dataclasses
import sys
import tempfile
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Optional

import claude_sync
from claude_sync.testing import StandIn


@dataclasses.dataclass
class Invoice:
    """
    An invoice.

    Attributes:
        sender: Who wants the money.
        due: Until when, if it is said.
    """

    sender: str
    total: Decimal
    due: Optional[date] = None


OFFLINE = "--offline" in sys.argv
words = [word for word in sys.argv[1:] if word != "--offline"]
with tempfile.TemporaryDirectory() as example:
    folder = Path(words[0] if words else example)
    if not words:
        Path(example, "letter.txt").write_text("You owe Acme 12.50, due on 1 March 2026.")
    try:
        with claude_sync.Client(
            returns=Invoice, cli=StandIn().command if OFFLINE else None
        ) as client:
            for path in sorted(folder.glob("*.txt")):
                # Offline, what is filled in is made up.
                prompt = f"Read this invoice:\n\n{path.read_text(encoding='utf-8')}"
                invoice = client.ask(prompt, timeout=120).data
                print(f"{path.name}: {invoice.total} to {invoice.sender}, due {invoice.due}")
    except claude_sync.ReturnsError as error:
        sys.exit(f"no invoice: {error}")
    except claude_sync.ClaudeError as error:
        sys.exit(f"{type(error).__name__}: {error}")
