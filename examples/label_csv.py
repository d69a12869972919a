"""
Labels every row of a CSV file, four at a time. Stop it with Ctrl-C, run it again: it goes on.

    python examples/label_csv.py reviews.csv text    the file, and the column with the text
    python examples/label_csv.py --offline           with the built-in stand-in
"""

import csv
import dataclasses
import sys
import tempfile
from pathlib import Path
from typing import Literal

import claude_sync
from claude_sync.testing import StandIn


@dataclasses.dataclass
class Label:
    """What somebody thinks of a product."""

    mood: Literal["good", "bad", "mixed"]
    product: str


OFFLINE = "--offline" in sys.argv
words = [word for word in sys.argv[1:] if word != "--offline"]
folder = tempfile.TemporaryDirectory()
path, column = words or [Path(folder.name, "reviews.csv"), "text"]
if not words:
    Path(path).write_text("id,text\n1,I love this kettle\n2,The lamp broke after a day\n")

with open(path, newline="", encoding="utf-8-sig") as file:
    rows = list(csv.DictReader(file))
batch = claude_sync.map(
    [f"Label this review: {row[column]}" for row in rows],
    returns=Label,
    budget_usd=5.0,
    checkpoint=f"{path}.checkpoint",
    progress=True,
    cli=StandIn().command if OFFLINE else None,
)
with folder, batch:
    for item in batch:
        # Offline, what is filled in is made up.
        shown = item.error or f"{item.data.mood}, {item.data.product}"
        print(f"{rows[item.index][column]}: {shown}")
    print(f"{batch.done} labelled, {batch.failed} failed, {batch.cost_usd:.4f} USD")
