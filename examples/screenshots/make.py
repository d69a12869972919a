"""
Make the pictures of the examples: real CLI, real windows, a model that says the same each time.

    python examples/screenshots/make.py             all of them
    python examples/screenshots/make.py tk_chat     one of them

Needs Pillow, a CLI (CLAUDE_CODE_PATH, or that of claude-agent-sdk) and, without a display,
Xvfb; the notebook needs what notebook_picture.py says. There is a function for each picture;
it returns an image and the windows in it, whose frames are drawn here, because a virtual
display has no window manager.
"""

import contextlib
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter, ImageFont

from claude_sync.permissions import forms
from claude_sync.testing import LoopbackModel
from claude_sync.testing.model import text, tool_use

# A dialog that has just appeared has grey buttons; in the pictures it has been there for a while.
forms.SETTLING = 0

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent
PATIENCE = 60

BEFORE = '''\
"""Say hello."""


def greet(name):
    print("Hello " + name)


if __name__ == "__main__":
    greet("world")
'''
FIRST = "What does greet.py do, and what would you improve?"
SECOND = "Good idea. Please do that."


# What is said.


def script(model, folder):
    """Play a conversation about a file: it is read, then changed."""
    file = folder / "greet.py"
    file.write_text(BEFORE, encoding="utf-8")
    model.when("improve").reply(
        [
            text("Let me look at it.\n"),
            tool_use("Read", {"file_path": str(file)}),
        ]
    ).then_reply(
        "It prints a greeting for one name. Two things would make it nicer:\n\n"
        "  1. return the text, so that other code can use it, and print it at the end;\n"
        "  2. say what a name is, with a type.\n\n"
        "Shall I change that?"
    )
    edit = {
        "file_path": str(file),
        "old_string": 'def greet(name):\n    print("Hello " + name)\n',
        "new_string": 'def greet(name: str) -> str:\n    return f"Hello, {name}!"\n',
    }
    model.when("do that").reply(
        [text("I would change it like this:\n"), tool_use("Edit", edit)]
    ).then_reply("Done.")


@contextlib.contextmanager
def conversation():
    """The settings of a client whose CLI is real, and whose model plays the script."""
    cli = os.environ.get("CLAUDE_CODE_PATH")
    if cli is None:
        found = importlib.util.find_spec("claude_agent_sdk")
        assert found is not None and found.origin is not None, "install claude-agent-sdk"
        cli = Path(found.origin).parent / "_bundled" / "claude"
    usage = {"input_tokens": 2310, "output_tokens": 184}
    with tempfile.TemporaryDirectory() as home, LoopbackModel(usage=usage) as model:
        folder = Path(home, "hello")
        folder.mkdir()
        script(model, folder)
        yield {"cli": str(cli), "cwd": str(folder), "env": model.environment(home)}


# The pictures.


def play(ask, is_working, is_asking, wait):
    """Ask both questions; Claude then asks whether the file may be changed."""
    ask(FIRST)
    wait(lambda: not is_working())
    ask(SECOND)
    wait(is_asking)


def tk_chat(dark=False):
    """A chat of Tk, while it asks whether a file may be changed."""
    import tkinter
    from tkinter import ttk

    from PIL import ImageGrab

    from claude_sync.gui.tk import ChatFrame

    with conversation() as options:
        root = tkinter.Tk()
        root.title("Claude")
        root.geometry("860x800+40+60")
        if dark:
            ttk.Style(root).configure(".", background="#202124", foreground="#e8eaed")
        chat = ChatFrame(root, **options)
        chat.pack(fill="both", expand=True)
        client = chat.client

        def wait(condition):
            end = time.monotonic() + PATIENCE
            while not condition():
                assert time.monotonic() < end, "waited in vain"
                root.update()
                time.sleep(0.005)

        presenter = chat.presenter
        play(chat.ask, lambda: presenter.is_working, lambda: has_asked(presenter), wait)
        pause = time.monotonic() + 1
        wait(lambda: time.monotonic() > pause)
        image = ImageGrab.grab(xdisplay=os.environ.get("DISPLAY", ""))
        place = (root.winfo_rootx(), root.winfo_rooty(), root.winfo_width(), root.winfo_height())
        root.destroy()
        client.close()
    return image, [(*place, "Claude")]


def has_asked(presenter):
    """Whether Claude has asked for permission."""
    return any(row.kind == "asking" for row in presenter.rows())


def qt_chat(dark=False):
    """A chat of Qt, while it asks whether a file may be changed."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtCore import QBuffer, QIODevice
    from PySide6.QtGui import QColor, QPalette
    from PySide6.QtWidgets import QApplication

    from claude_sync.gui.qt import ChatWidget

    application = QApplication.instance() or QApplication(["qt_chat"])
    application.setStyle("Fusion")
    font = application.font()
    font.setPointSizeF(10.5)
    application.setFont(font)
    palette = application.style().standardPalette()
    for name, colour in DARK.items() if dark else ():
        palette.setColor(getattr(QPalette.ColorRole, name), QColor(colour))
    application.setPalette(palette)

    def wait(condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "waited in vain"
            application.processEvents()
            time.sleep(0.005)

    with conversation() as options:
        chat = ChatWidget(**options)
        chat.resize(860, 800)
        chat.show()
        presenter, client = chat.presenter, chat.client
        play(chat.ask, lambda: presenter.is_working, lambda: has_asked(presenter), wait)
        pause = time.monotonic() + 1
        wait(lambda: time.monotonic() > pause)
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        chat.grab().save(buffer, "PNG")
        picture = Image.open(io.BytesIO(bytes(buffer.data().data())))
        chat.deleteLater()
        wait(lambda: client.state == "closed" or application.sendPostedEvents(None, 52))
    image = Image.new("RGB", (1280, 1024))
    image.paste(picture, (40, 60))
    return image, [(40, 60, *picture.size, "Claude")]


# The colours of a dark application, by the names of Qt's palette.
DARK = {
    "Window": "#202124",
    "WindowText": "#e8eaed",
    "Base": "#1b1c1f",
    "Text": "#e8eaed",
    "Button": "#2b2c2f",
    "ButtonText": "#e8eaed",
    "Highlight": "#6ea8fe",
    "HighlightedText": "#10141a",
    "PlaceholderText": "#8b9098",
}


def notebook():
    """The example of notebooks; the browser saves the picture, which needs no frame."""
    sys.path.insert(0, str(HERE))
    import notebook_picture

    notebook_picture.notebook()


PICTURES = {
    "tk_chat": tk_chat,
    "tk_chat_dark": partial(tk_chat, dark=True),
    "qt_chat": qt_chat,
    "qt_chat_dark": partial(qt_chat, dark=True),
    "notebook": notebook,
}


# Frames.

BAR = 30
AROUND = 28


def framed(image, windows):
    """Cut the windows out of an image of the screen, each with a frame and a shadow."""
    boxes = [(x, y, x + width, y + height) for x, y, width, height, _ in windows]
    left = min(box[0] for box in boxes) - AROUND
    top = min(box[1] for box in boxes) - AROUND - BAR
    right = max(box[2] for box in boxes) + AROUND
    bottom = max(box[3] for box in boxes) + AROUND
    canvas = Image.new("RGB", (right - left, bottom - top), "#f0f3f6")
    for box, (*_, title) in zip(boxes, windows):
        inner = (box[0] - left, box[1] - top, box[2] - left, box[3] - top)
        outer = (inner[0] - 1, inner[1] - BAR, inner[2], inner[3])
        shadow = Image.new("L", canvas.size, 0)
        ImageDraw.Draw(shadow).rectangle(outer, fill=110)
        shadow = shadow.filter(ImageFilter.GaussianBlur(9))
        canvas.paste("#57606a", (0, 4), shadow)
        canvas.paste(image.crop(box), inner[:2])
        draw = ImageDraw.Draw(canvas)
        draw.rectangle((outer[0], outer[1], outer[2], inner[1] - 1), fill="#dfe3e8")
        draw.rectangle(outer, outline="#afb8c1")
        font = ImageFont.load_default(13)
        draw.text((inner[0] + 12, outer[1] + 7), title, fill="#24292f", font=font)
        for number, colour in enumerate(("#d1242f", "#bf8700", "#1a7f37")):
            x, y = outer[2] - 22 - 20 * number, outer[1] + BAR // 2
            draw.ellipse((x - 5, y - 5, x + 5, y + 5), fill=colour)
    return canvas


@contextlib.contextmanager
def display():
    """A display: the one that is there, or a virtual one."""
    if os.environ.get("DISPLAY"):
        yield
        return
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x1024x24", "-nolisten", "tcp"],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    try:
        with open(reading) as file:
            os.environ["DISPLAY"] = f":{file.readline().strip()}"
        yield
    finally:
        server.terminate()
        server.wait()


def main(names):
    """Make the pictures that are named, or all."""
    with display():
        for name in names or PICTURES:
            made = PICTURES[name]()
            if made is not None:
                framed(*made).save(HERE / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
