"""
Make the pictures of the documentation.

::

    python docs/pictures/make.py                  all of them
    python docs/pictures/make.py speed threads    some

``threads`` and ``speed`` are drawings. ``terminal``, ``timeline`` and ``export`` are real: the CLI
that is found, with a model on 127.0.0.1, so they need no account. ``terminal`` needs tmux and rich,
``export`` needs chromium and Pillow. Pictures of windows and notebooks come from
``examples/screenshots/make.py``. Look at each before you commit it.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

import claude_sync  # noqa: E402
from claude_sync.testing import LoopbackModel  # noqa: E402
from claude_sync.testing.model import text, tool_use  # noqa: E402

# Light, and dark for readers whose system is. Each picture has its own background, because a page
# may be dark where the system is light.
STYLE = """
  .page { fill: #ffffff; stroke: #d0d7de; }
  .ink { fill: #1f2328; } .faint { fill: #59636e; } .box { fill: #f6f8fa; stroke: #8c959f; }
  .ours { fill: #c15f3c; } .theirs { fill: #8c959f; } .line { stroke: #59636e; fill: none; }
  .head { fill: #59636e; } .user { fill: #fdf0ea; stroke: #c15f3c; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #30363d; }
    .ink { fill: #e6edf3; } .faint { fill: #9198a1; } .box { fill: #161b22; stroke: #6e7681; }
    .ours { fill: #e08a67; } .theirs { fill: #6e7681; } .line { stroke: #9198a1; }
    .head { fill: #9198a1; } .user { fill: #2b1a13; stroke: #e08a67; }
  }
  text { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
  .small { font-size: 12.5px; } .bold { font-weight: 600; }
  .mono { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
"""


def svg(width, height, content, title):
    """A whole picture."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">\n<title>{escape(title)}</title>\n'
        f"<style>{STYLE}</style>\n"
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
        'markerHeight="7" orient="auto"><path class="head" d="M0 0 10 5 0 10z"/></marker></defs>\n'
        f'<rect class="page" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"/>\n'
        f"{content}\n</svg>\n"
    )


def words(x, y, said, style="ink", anchor="start"):
    """A line of text."""
    return f'<text class="{style}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(said)}</text>'


# The threads.


def box(x, y, width, height, title, *lines, style="box"):
    """A box with a title and lines in it."""
    parts = [f'<rect class="{style}" x="{x}" y="{y}" width="{width}" height="{height}" rx="7"/>']
    middle = x + width / 2
    top = y + height / 2 - 9 * len(lines) + 5
    parts.append(words(middle, top, title, "ink bold", "middle"))
    for number, line in enumerate(lines):
        parts.append(words(middle, top + 18 * (number + 1), line, "faint small", "middle"))
    return "".join(parts)


def arrow(*points):
    """A line through points, with a tip."""
    path = " ".join(f"{x} {y}" for x, y in points)
    return f'<polyline class="line" stroke-width="1.5" points="{path}" marker-end="url(#tip)"/>'


def threads():
    """Who waits for what, and where code of the program runs."""
    parts = [
        box(30, 70, 150, 330, "your thread", style="user"),
        words(105, 100, "client.ask(...)", "ink mono", "middle"),
        words(105, 255, "waits", "faint small", "middle"),
        words(105, 382, "answer", "ink mono", "middle"),
        box(800, 70, 130, 330, "Claude Code", "CLI process"),
        words(865, 101, "stdin", "faint small", "middle"),
        words(865, 172, "stdout", "faint small", "middle"),
        words(865, 372, "stdin", "faint small", "middle"),
        box(560, 140, 150, 54, "reader thread", "never runs your code"),
        box(330, 140, 130, 54, "queue", "in order"),
        box(300, 240, 190, 54, "dispatcher thread", "calls your handlers"),
        box(300, 340, 190, 54, "responder threads", "may wait for a person"),
        box(560, 240, 180, 54, "on_text, on_result ...", "quick handlers", style="user"),
        box(560, 340, 180, 54, "on_permission ...", "questions, hooks, tools", style="user"),
        # The prompt.
        arrow((180, 96), (798, 96)),
        words(490, 88, "prompt", "faint small", "middle"),
        # What the CLI says.
        arrow((800, 167), (712, 167)),
        arrow((560, 167), (462, 167)),
        words(511, 159, "messages", "faint small", "middle"),
        words(248, 348, "is over", "faint small"),
        arrow((395, 194), (395, 238)),
        arrow((490, 267), (558, 267)),
        arrow((395, 294), (395, 338)),
        arrow((490, 367), (558, 367)),
        arrow((740, 367), (798, 367)),
        words(769, 359, "answers", "faint small", "middle"),
        # The reply to a request of ours, and the end of the turn.
        arrow((635, 140), (635, 122), (182, 122)),
        words(400, 115, "replies to control requests, at once", "faint small", "middle"),
        arrow((300, 267), (240, 267), (240, 378), (182, 378)),
        words(248, 330, "turn", "faint small"),
        words(
            30, 38, "One client: a CLI process, two threads, and more while something must", "ink"
        ),
        words(30, 57, "be answered. Your code runs in the colored boxes.", "ink"),
    ]
    return svg(960, 425, "\n".join(parts), "The threads of a client")


# The speed.


def speed():
    """Bars, two for each measurement; the longer one fills the width."""
    rows = [row for row in figures()["rows"] if row.get("chart")]
    left, width, step = 310, 420, 44
    parts = [
        '<rect class="ours" x="24" y="24" width="26" height="14" rx="2"/>',
        words(58, 36, "claude_sync", "ink bold"),
        '<rect class="theirs" x="180" y="24" width="26" height="14" rx="2"/>',
        words(214, 36, "claude-agent-sdk", "ink bold"),
    ]
    for number, row in enumerate(rows):
        top = 62 + number * step
        better = "more is better" if "(1/s)" in row["measured"] else "less is better"
        parts.append(words(24, top + 13, row["measured"], "ink"))
        parts.append(words(24, top + 29, better, "faint small"))
        values = [float(row[side].replace(",", "")) for side in ("ours", "sdk")]
        for place, (side, value) in enumerate(zip(("ours", "theirs"), values)):
            length = max(2, width * value / max(values))
            y = top + 17 * place
            parts.append(
                f'<rect class="{side}" x="{left}" y="{y}" width="{length:.0f}" height="14" rx="2"/>'
            )
            shown = row["ours" if side == "ours" else "sdk"]
            parts.append(words(left + length + 8, y + 12, shown, "ink small"))
    return svg(820, 72 + step * len(rows), "\n".join(parts), "Speed beside the official SDK")


def figures():
    """What was measured."""
    return json.loads((HERE / "speed.json").read_text("utf-8"))


# What is real: a CLI, and a model that says what it is told to say.


def files_in(folder):
    """A small project to talk about."""
    (folder / "project").mkdir()
    code = 'def greet(name):\n    """Say hello."""\n    return "Hello " + name\n'
    (folder / "project" / "greet.py").write_text(code)
    return folder / "project"


def slowly(said):
    """Text as it is written by a model."""
    return text(said, pieces=max(2, len(said) // 12), delay=0.05)


EXPLAINED = (
    "`greet.py` has **one function**, `greet(name)`, which returns a greeting:\n\n"
    "```python\ngreet(\"Ada\")   # 'Hello Ada'\n```\n\n"
    "It has no tests. Shall I write one?"
)
TEST = 'from greet import greet\n\n\ndef test_greet():\n    assert greet("Ada") == "Hello Ada"\n'


def teach(model, project):
    """What the model says in the pictures."""
    read = tool_use("Read", {"file_path": str(project / "greet.py")})
    model.when("What does greet.py do").reply([read]).then_reply([slowly(EXPLAINED)])
    write = tool_use("Write", {"file_path": str(project / "test_greet.py"), "content": TEST})
    done = "Done. `test_greet.py` checks the greeting; run it with `pytest`."
    model.when("Yes, please").reply([write]).then_reply([slowly(done)])


def environment(model, folder):
    """A home without settings, and the model in place of the service."""
    return {**os.environ, **model.environment(folder, inherit=True), "TERM": "xterm-256color"}


# The terminal.

COLUMNS, LINES = 88, 27
CELL, HIGH = 8.43, 18


def terminal():
    """A chat in tmux, frame by frame."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, LoopbackModel() as model:
        folder = Path(name)
        project = files_in(folder)
        teach(model, project)
        frames = recorded(environment(model, folder), project)
    return cast(frames)


def recorded(variables, project):
    """What the terminal showed, with the seconds for which it did."""
    socket = f"claude-sync-{os.getpid()}"
    tmux = ["tmux", "-L", socket, "-f", os.devnull]
    # The prompt's cursor is drawn by tmux, which a capture does not have.
    chat = [sys.executable, "-m", "claude_sync", "chat", "--cwd", str(project)]
    package = str(HERE.parent.parent)
    settings = [f"{each}={value}" for each, value in variables.items()]
    command = ["env", "-i", *settings, f"PYTHONPATH={package}", *chat]
    size = ["-x", str(COLUMNS), "-y", str(LINES)]
    subprocess.run([*tmux, "new-session", "-d", *size, shlex.join(command)], check=True)
    frames = []

    def look(seconds):
        """Watch for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            shown = subprocess.run(
                [*tmux, "capture-pane", "-e", "-p"], capture_output=True, text=True, check=True
            ).stdout
            now = time.monotonic()
            if shown.strip() and (not frames or frames[-1][1] != shown):
                frames.append((now, shown))
            time.sleep(0.08)

    def wait_for(said, longest=60):
        """Watch until something is shown."""
        end = time.monotonic() + longest
        while said not in (frames[-1][1] if frames else ""):
            if time.monotonic() > end:
                raise TimeoutError(f"{said!r} never came:\n{frames[-1][1] if frames else ''}")
            look(0.1)

    def type_in(said):
        """As a person types."""
        for letter in said:
            subprocess.run([*tmux, "send-keys", "-l", letter], check=True)
            look(0.06)
        look(0.4)
        subprocess.run([*tmux, "send-keys", "Enter"], check=True)

    try:
        look(0.5)
        wait_for(">", 30)
        look(1)
        type_in("What does greet.py do?")
        wait_for("write one?")
        look(1.5)
        type_in("Yes, please.")
        wait_for("Allow it?")
        look(2.5)
        type_in("y")
        wait_for("pytest")
        look(3)
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
    ends = [when for when, _ in frames[1:]] + [frames[-1][0] + 4]
    return [(min(end - when, 2.5), shown) for (when, shown), end in zip(frames, ends)]


BACKGROUND, FOREGROUND = "#161b22", "#e6edf3"


def cast(frames):
    """A strip of frames, of which one shows at a time; without animation, the last."""
    total = sum(seconds for seconds, _ in frames)
    high, wide = LINES * HIGH + 16, round(COLUMNS * CELL) + 24
    steps, parts, at = [], [], 0.0
    for number, (seconds, shown) in enumerate(frames):
        steps.append(f"{100 * at / total:.2f}%{{transform:translateY({-number * high}px)}}")
        parts.append(f'<g transform="translate(0 {number * high})">{screen(shown)}</g>')
        at += seconds
    last = (len(frames) - 1) * high
    style = (
        f"text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:{FOREGROUND};"
        f"white-space:pre}}.s{{transform:translateY({-last}px);animation:f {total:.1f}s step-end "
        f"infinite}}@keyframes f{{{''.join(steps)}}}"
        f"@media (prefers-reduced-motion:reduce){{.s{{animation:none}}}}"
    )
    dots = "".join(
        f'<circle cx="{20 + 18 * n}" cy="18" r="6" fill="{colour}"/>'
        for n, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high + 36}" '
        f'viewBox="0 0 {wide} {high + 36}" role="img"><title>claude-sync chat in a terminal</title>'
        f'<style>{style}</style><rect width="{wide}" height="{high + 36}" rx="9" '
        f'fill="{BACKGROUND}"/>{dots}<svg y="36" width="{wide}" height="{high}">'
        f'<g class="s">{"".join(parts)}</g></svg></svg>\n'
    )


def screen(shown):
    """One frame: its lines, with their colours."""
    from rich.console import Console
    from rich.style import Style
    from rich.terminal_theme import DIMMED_MONOKAI
    from rich.text import Text

    console = Console(width=COLUMNS, color_system="truecolor", force_terminal=True)
    parts = []
    for row, line in enumerate(shown.rstrip("\n").split("\n")):
        column, spans = 0, []
        for segment in Text.from_ansi(line).render(console):
            content = segment.text.rstrip("\n")
            if content.strip():
                style = segment.style or Style.null()
                spans.append(span(style, content, column, DIMMED_MONOKAI))
            column += len(content)
        if spans:
            y = row * HIGH + 18
            parts.append(f'<text y="{y}">{"".join(spans)}</text>')
    return "".join(parts)


def span(style, content, column, theme):
    """Text of one style."""
    lead = len(content) - len(content.lstrip())
    x = f"{12 + (column + lead) * CELL:.1f}"
    looks = ""
    if style.color is not None and not style.color.is_default:
        looks += f' fill="{style.color.get_truecolor(theme).hex}"'
    elif style.dim:
        looks += ' fill="#9198a1"'
    if style.bold:
        looks += ' font-weight="700"'
    if style.italic:
        looks += ' font-style="italic"'
    return f'<tspan x="{x}"{looks}>{escape(content.strip(), quote=False)}</tspan>'


# A turn, and a conversation.


def talk(model, folder, project):
    """A client that has had the conversation of the pictures."""
    client = claude_sync.Client(
        cwd=project, env={**model.environment(folder)}, builtin_tools=["Bash", "Read", "Write"]
    )

    @client.on_permission
    def allow(request):
        time.sleep(0.9)  # a person reads
        return request.allow()

    return client


def timeline():
    """The timeline of a turn with tools."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, LoopbackModel() as model:
        folder = Path(name)
        project = files_in(folder)
        read = tool_use("Read", {"file_path": str(project / "greet.py")})
        wait = tool_use("Bash", {"command": "sleep 1.2; wc -l greet.py > lines.txt"})
        model.when("Count").reply([slowly("I'll look at the file." * 2), read]).then_reply(
            [slowly("Now the lines. " * 4), wait]
        ).then_reply([slowly("`greet.py` has three lines. " * 5)])
        with talk(model, folder, project) as client:
            return client.ask("Count the lines of greet.py.", timeout=60).timeline().svg


def export():
    """The page that export() writes, in a browser."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, LoopbackModel() as model:
        folder = Path(name)
        project = files_in(folder)
        teach(model, project)
        with talk(model, folder, project) as client:
            client.ask("What does greet.py do?", timeout=60)
            client.ask("Yes, please.", timeout=60)
            page = claude_sync.export(client, folder / "chat.html", title="A test for greet.py")
            # Unfolded, as a reader would have it.
            shown = page.read_text("utf-8").replace("<details", "<details open")
            page.write_text(shown, "utf-8")
        picture = folder / "export.png"
        # The beginning of the page; the rest is the timeline, which has a picture of its own.
        subprocess.run(
            [
                *(shutil.which("chromium") or "chromium", "--headless", "--no-sandbox"),
                *("--hide-scrollbars", "--window-size=900,1000", f"--screenshot={picture}"),
                page.as_uri(),
            ],
            check=True,
            capture_output=True,
        )
        from PIL import Image

        with Image.open(picture) as image:
            image.convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(
                HERE / "export.png", optimize=True
            )


DRAWN = {"threads": threads, "speed": speed, "terminal": terminal, "timeline": timeline}


def main(names):
    """Make the pictures of these names, or all."""
    for name in names or [*DRAWN, "export"]:
        if name == "export":
            export()
            print(f"{HERE.name}/export.png")
        else:
            path = HERE / f"{name}.svg"
            path.write_text(DRAWN[name](), encoding="utf-8")
            print(f"{HERE.name}/{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
