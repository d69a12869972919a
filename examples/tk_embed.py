"""
A small editor with a panel for Claude, who sees what is selected in it.

    python examples/tk_embed.py            asks Claude, in this folder
    python examples/tk_embed.py --offline  asks the built-in stand-in, which echoes
"""

import sys
import tkinter
from tkinter import ttk

from claude_sync.gui.tk import ChatFrame
from claude_sync.testing import StandIn

TEXT = "Select some of these words, and ask Claude to make them shorter.\n"
# What stands in double brackets makes the stand-in use the tool.
TRY = "What is selected? [[tool mcp__claude_sync__selection {}]]"


class Editor(ttk.PanedWindow):
    """A text, and beside it a chat about it."""

    def __init__(self, root, **options):
        super().__init__(root, orient="horizontal")
        self.selected = ""
        self.text = tkinter.Text(self, width=50, undo=True, wrap="word", padx=12, pady=12)
        self.text.insert("1.0", TEXT)
        self.text.bind("<<Selection>>", self.remember)
        self.chat = ChatFrame(self, tools=[self.selection], **options)
        self.add(self.text, weight=1)
        self.add(self.chat, weight=1)

    def remember(self, _):
        """Tools run on threads of their own, which must not touch the text: keep it for them."""
        place = self.text.tag_ranges("sel")
        self.selected = self.text.get(*place) if place else ""

    def selection(self) -> str:
        """What the person has selected in the editor; empty if nothing is."""
        return self.selected


def main():
    """Open the window."""
    root = tkinter.Tk()
    root.title("Editor")
    root.geometry("1100x700")
    offline = "--offline" in sys.argv
    editor = Editor(root, cli=StandIn(pace=0.05).command if offline else None)
    editor.pack(fill="both", expand=True)
    if offline:
        editor.chat.ask(TRY)
    root.mainloop()


if __name__ == "__main__":
    main()
