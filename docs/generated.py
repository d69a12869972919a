"""Pages of the reference that are made of the library's own tables."""

import importlib
import inspect
import json
import re
import textwrap
from pathlib import Path

from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

import claude_sync
from claude_sync import cli, errors
from claude_sync.client.control_methods import ControlMethods
from claude_sync.engine.control import Rows
from claude_sync.messages import base, blocks, system, tasks
from claude_sync.options.options import SETTINGS, Options

PICTURES = Path(__file__).resolve().parent / "pictures"
PACKAGE = Path(claude_sync.__file__).parent
# Signatures with all options as arguments: nobody could read them.
WITH_OPTIONS = {"ask": "(prompt, **options)", "Options": "(**options)"}
WITH_OPTIONS |= {"Client": "(options=None, **overrides)", "map": "(prompts, **settings)"}
WITH_OPTIONS |= {"Pool": "(size=4, options=None, *, max_turns_per_client=100, **overrides)"}
# In the docstring of Options, groups begin with such a line.
GROUP = re.compile(r"^(\w[\w ]+):\n\n((?:\* ``.*\n(?:  .*\n)*)+)", re.MULTILINE)
# The first CLI that has been seen to answer, where it may not be the first that does.
UNCERTAIN = ((2, 1, 200), (2, 1, 326))


class Generated(SphinxDirective):
    """Parses what ``text()`` returns, as if it stood on the page."""

    def run(self):
        return self.parse_text_to_nodes(self.text(), allow_section_headings=True)

    def section(self, title, content, sign="-"):
        return f"{title}\n{sign * len(title)}\n\n{content}\n\n"


def table(head, rows, widths):
    """A list-table."""
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", ""]
    for row in [head, *rows]:
        lines += [f"   {'*' if not n else ' '} - {cell}" for n, cell in enumerate(row)]
    return "\n".join(lines) + "\n\n"


class OptionsReference(Generated):
    """Each option: type, default, what it does, what the CLI must know."""

    def text(self):
        doc = inspect.cleandoc(Options.__doc__) + "\n\n"
        parts = []
        for title, items in GROUP.findall(doc):
            names = re.findall(r"^\* ``(\w+)``", items, re.MULTILINE)
            parts.append(self.section(title, "\n\n".join(map(self.entry, names))))
        assert "".join(parts).count(".. attribute::") == len(SETTINGS)
        return "".join(parts)

    def entry(self, name):
        setting = SETTINGS[name]
        kind = str(Options.__annotations__[name]).replace("check.", "")
        lines = [f".. attribute:: {name}", f"   :type: {kind}"]
        if setting.default not in (None, ()):
            lines.append(f"   :value: {setting.default!r}")
        about = setting.doc[:1].upper() + setting.doc[1:] + "."
        lines += ["", *textwrap.wrap(about, 90, initial_indent="   ", subsequent_indent="   ")]
        facts = []
        if setting.flag:
            facts.append(f"CLI: ``{setting.flag}``")
        if setting.typed:
            facts.append(f"``claude-sync``: ``{setting.typed}``")
        if facts:
            lines += ["", "   " + " · ".join(facts)]
        return "\n".join(lines)


class ControlTable(Generated):
    """Each method that sends a control request."""

    def text(self):
        rows = []
        for name, method in vars(ControlMethods).items():
            row = vars(Rows).get(name)
            if name.startswith("_") or not inspect.isfunction(method):
                continue
            since = "2.1"
            if row is not None and row.since > (2, 1):
                since = ".".join(map(str, row.since)) + (" (*)" if row.since in UNCERTAIN else "")
            returns = str(inspect.signature(method).return_annotation).replace("replies.", "")
            rows.append([f"``{name}()``", f"``{returns}``", since])
        note = "(*) perhaps an earlier version, too\n\n"
        return table(["method", "returns", "since"], rows, "40 40 20") + note


class ClientMethods(Generated):
    """The methods of a client that stand in a file of their own."""

    required_arguments = 1

    def text(self):
        module = importlib.import_module(f"claude_sync.client.{self.arguments[0]}")
        (methods,) = [vars(getattr(module, name)) for name in module.__all__]
        names = [name for name, found in methods.items() if inspect.isfunction(found)]
        items = [f".. automethod:: claude_sync.Client.{name}" for name in names if name[0] != "_"]
        return "\n\n".join(items)


class MessagesReference(Generated):
    """Every class of messages and blocks."""

    def text(self):
        parts = ".. currentmodule:: claude_sync\n\n"
        for title, module in (
            ("The conversation, and the CLI about itself", base),
            ("System messages", system),
            ("Background tasks", tasks),
            ("Content blocks", blocks),
        ):
            found = {name: getattr(claude_sync, name) for name in claude_sync.messages.__all__}
            names = [name for name in found if found[name].__module__ == module.__name__]
            items = "\n\n".join(f".. autoclass:: {name}" for name in names)
            parts += self.section(title, items)
        return parts


class ErrorsReference(Generated):
    """Every class of errors."""

    def text(self):
        items = "\n\n".join(
            f".. autoexception:: {name}\n   :no-members:" for name in errors.__all__
        )
        return self.section("Classes", f".. currentmodule:: claude_sync\n\n{items}")


class CommandLineReference(Generated):
    """What ``--help`` prints, for each command."""

    def text(self):
        parts = ""
        for name in cli.COMMANDS:
            parser = cli.command_parser(name)
            parser.formatter_class = lambda **settings: cli.argparse.RawDescriptionHelpFormatter(
                **{**settings, "width": 88}
            )
            shown = textwrap.indent(parser.format_help(), "    ")
            parts += self.section(f"claude-sync {name}", f".. code-block:: text\n\n{shown}")
        return parts


class BridgeReference(Generated):
    """The messages of the bridge, from its JSON Schema."""

    def text(self):
        schema = json.loads((PACKAGE / "bridge" / "schema.json").read_text("utf-8"))["$defs"]
        parts = ""
        sides = {"from_front_end": "From the front end", "from_backend": "From the backend"}
        for side, title in sides.items():
            rows = []
            for each in schema[side]["oneOf"]:
                name = each["$ref"].rpartition("/")[2]
                found = schema[name]["properties"]
                payloads = found.get("payload", {})
                fields = {
                    key: None
                    for payload in payloads.get("oneOf", [payloads])
                    for key in payload.get("properties", {})
                }
                beside = [key for key in found if key not in ("type", "payload")]
                shown = ["", ""]
                for number, names in enumerate((beside, fields)):
                    shown[number] = ", ".join(f"``{each}``" for each in names) or "\\-"
                rows.append([f"``{name}``", *shown])
            head = ["type", "beside the payload", "payload"]
            parts += self.section(title, table(head, rows, "22 22 56"), "~")
        return parts


def speed():
    """The figures of the benchmark, which the chart is drawn of as well."""
    return json.loads((PICTURES / "speed.json").read_text("utf-8"))


class SpeedTable(Generated):
    """The table of the benchmark."""

    def text(self):
        rows = [
            [row["measured"], *(row.get(key) or "\\-" for key in ("ours", "sdk", "ratio", "floor"))]
            for row in speed()["rows"]
        ]
        head = ["measured", "claude_sync", "official SDK", "better by", "floor"]
        return table(head, rows, "40 15 15 15 15")


class SpeedNotes(Generated):
    """What was measured, when and how."""

    def text(self):
        return "\n\n".join(speed()["notes"])


def short_signature(*event):
    """No signature with sixty arguments."""
    _, _, name, _, _, signature, returns = event
    own = WITH_OPTIONS.get(name.removeprefix("claude_sync."))
    return (own, None) if own else (signature, returns)


def without_overloads(analyze):
    """Overloads are for type checkers; a reader wants one signature."""

    def analyze_only(analyzer):
        analyze(analyzer)
        analyzer.overloads = {}

    return analyze_only


def setup(app):
    """Called by Sphinx."""
    ModuleAnalyzer.analyze = without_overloads(ModuleAnalyzer.analyze)
    app.add_directive("options-reference", OptionsReference)
    app.add_directive("control-table", ControlTable)
    app.add_directive("client-methods", ClientMethods)
    app.add_directive("messages-reference", MessagesReference)
    app.add_directive("errors-reference", ErrorsReference)
    app.add_directive("command-line-reference", CommandLineReference)
    app.add_directive("bridge-reference", BridgeReference)
    app.add_directive("speed-table", SpeedTable)
    app.add_directive("speed-notes", SpeedNotes)
    app.connect("autodoc-process-signature", short_signature)
    return {"parallel_read_safe": True}
