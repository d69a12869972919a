"""
A chat with Claude in a window of Tk.

    python examples/tk_chat.py            asks Claude, in this folder
    python examples/tk_chat.py --offline  asks the built-in stand-in, which echoes
"""

import sys
import tkinter

from claude_sync.gui.tk import ChatFrame
from claude_sync.testing import StandIn


def main():
    """Open the window."""
    root = tkinter.Tk()
    root.title("Claude")
    root.geometry("860x760")
    offline = "--offline" in sys.argv
    chat = ChatFrame(root, cli=StandIn(pace=0.05).command if offline else None)
    chat.pack(fill="both", expand=True)
    chat.focus_set()
    root.mainloop()


if __name__ == "__main__":
    main()
