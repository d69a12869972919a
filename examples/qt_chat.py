"""
A chat with Claude in a window of Qt.

    python examples/qt_chat.py            asks Claude, in this folder
    python examples/qt_chat.py --offline  asks the built-in stand-in, which echoes
"""

import sys

from PySide6.QtWidgets import QApplication

from claude_sync.gui.qt import ChatWidget
from claude_sync.testing import StandIn


def main():
    """Open the window."""
    application = QApplication(sys.argv)
    offline = "--offline" in sys.argv
    chat = ChatWidget(cli=StandIn(pace=0.05).command if offline else None)
    chat.setWindowTitle("Claude")
    chat.resize(860, 760)
    chat.show()
    sys.exit(application.exec())


if __name__ == "__main__":
    main()
