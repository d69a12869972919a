"""As much of an IPython shell as the extension uses, and turns to show."""

from __future__ import annotations

import contextlib

from claude_sync import Client
from claude_sync.testing import ScriptedCli, builders

# Longer than anything takes on a loaded machine; only failures ever wait for it.
PATIENCE = 60.0


class Formatter:
    """Where displays are registered by type."""

    def __init__(self):
        self.types = {}

    def for_type(self, kind, function):
        """Register."""
        self.types[kind] = function

    def pop(self, kind, default):
        """Forget."""
        return self.types.pop(kind, default)


class Events:
    """The shell's callbacks."""

    def __init__(self):
        self.registered = []

    def register(self, event, function):
        """Call it at that event."""
        self.registered.append((event, function))

    def unregister(self, event, function):
        """Call it no longer."""
        self.registered.remove((event, function))

    def trigger(self, event):
        """It happens."""
        for name, function in list(self.registered):
            if name == event:
                function(None)


class Displays:
    """What was displayed, by display."""

    def __init__(self):
        self.calls = []

    def publish(self, *, data, metadata, transient=None, update=False):
        """Remember it."""
        assert metadata == {}
        identity = (transient or {}).get("display_id")
        known = identity is not None and identity in dict(self.calls)
        assert update == known, "a display is opened once, and then updated"
        self.calls.append((identity, data))

    @property
    def last(self):
        """The last bundle of each display, in the order in which they were opened."""
        return list(dict(self.calls).values())


class Shell:
    """A shell of a kernel, or of a terminal."""

    def __init__(self, kernel=True, **names):
        if kernel:
            self.kernel = object()
        self.user_ns = dict(names)
        self.user_ns_hidden = {}
        self.magics = {}
        self.events = Events()
        self.display_pub = Displays()
        self.display_formatter = type("DisplayFormatter", (), {})()
        self.display_formatter.ipython_display_formatter = Formatter()
        self.magics_manager = type("MagicsManager", (), {})()
        self.magics_manager.magics = {"line": {}, "cell": {}}
        self.input_transformer_manager = type("Transformers", (), {})()
        self.input_transformer_manager.token_transformers = []

    def register_magic_function(self, function, kind, name):
        """As IPython does."""
        assert kind == "line_cell"
        for each in ("line", "cell"):
            self.magics_manager.magics[each][name] = function


@contextlib.contextmanager
def running(prompt="hi", **options):
    """A turn that has begun, and the CLI that plays it: ``turn, cli, user``."""
    cli = ScriptedCli()
    with Client(transport=cli, post="manual", **options) as client:
        turn = client.submit(prompt)
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        yield Scene(client, cli, user, turn)


class Scene:
    """A turn in the making."""

    def __init__(self, client, cli, user, turn):
        self.client = client
        self.cli = cli
        self.user = user
        self.turn = turn

    def until(self, condition):
        """Deliver until something holds."""
        for _ in range(300):
            if condition(self.turn):
                return
            self.client.process_events(0.1)
        raise AssertionError("it never held")

    def speak(self, text):
        """Claude says a whole text, and the client has heard it."""
        self.cli.speak(text)
        self.until(
            lambda turn: (
                text in [getattr(each, "text", "") for each in turn.asked.collected.messages]
            )
        )

    def begin_to_speak(self, *pieces):
        """Claude says the beginning of a text, in pieces, and the client has heard it."""
        self.cli.say(
            builders.message_start("m9"),
            builders.block_start(),
            *(builders.text_delta(piece) for piece in pieces),
        )
        self.until(lambda turn: turn.text.endswith(pieces[-1]))

    def finish_speaking(self, text):
        """Claude ends the text that was begun."""
        self.cli.say(
            builders.text_delta(text[len(self.turn.text) :]),
            builders.assistant(text, "m9"),
            builders.block_stop(),
            builders.message_stop(),
        )
        self.until(
            lambda turn: (
                text in [getattr(each, "text", "") for each in turn.asked.collected.messages]
            )
        )

    def use_tool(self, name="Bash", given=None, use_id="t1", **fields):
        """Claude uses a tool, and the client has heard it."""
        use = builders.tool_use(name, given or {}, use_id)
        self.cli.say(builders.assistant([use], f"m-{use_id}", **fields))
        self.until(lambda turn: use_id in turn.asked.collected.tool_uses)

    def return_result(self, text, use_id="t1", is_error=False):
        """The tool returns."""
        self.cli.say(builders.user([builders.tool_result(use_id, text, is_error)]))
        self.until(lambda turn: use_id in turn.asked.collected.tool_results)

    def end(self, text="done", **fields):
        """The turn ends well."""
        self.cli.end_turn(self.user, text, **fields)
        self.until(lambda turn: turn.done())
