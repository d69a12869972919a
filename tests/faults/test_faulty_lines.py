"""Noise, broken encodings and huge lines: none of it stops the session."""

import json
import logging
import resource
import sys
import time
import tracemalloc

import pytest
import scripts
from patience import PATIENCE

from claude_sync.testing import builders

BANNER = b"[nvm] Now using node v20\n"

NOISE = {
    "a banner": BANNER,
    "blank lines": b"\n\n   \n\t\n",
    "blank lines with carriage returns": b"\r\n\r\n \r\n",
    "a byte-order mark": b"\xef\xbb\xbf\n",
    "half a message": b'{"type": "result", "subtype": \n',
    "invalid UTF-8": b"\xff\xfe\x80 oops\n",
    "nul bytes": b"\x00\x00\x00\n",
    "a list": b"[1, 2, 3]\n",
    "a string": b'"result"\n',
    "a number": b"42\n",
    "null": b"null\n",
    "an object without a type": b"{}\n",
    "an object with a null type": b'{"type": null}\n',
    "an object with a list as type": b'{"type": ["result"]}\n',
    "an object with an object as type": b'{"type": {"type": "result"}}\n',
    "deep nesting": b"[" * 100_000 + b"\n",
    "a deep object": b'{"type":' * 50_000 + b"\n",
    "not a number": b'{"type": NaN}\n',
    "a huge number": b'{"type": ' + b"9" * 10_000 + b"}\n",
    "two messages on one line": b'{"type":"keep_alive"}{"type":"keep_alive"}\n',
    "U+2028 between messages": "\u2028\u2029\x85\n".encode(),
}


@pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE.keys())
def test_noise_everywhere(noise, cli, greet):
    """A turn survives noise before the greeting, in its middle, and after it."""
    from claude_sync import Client

    with Client(transport=cli) as client:
        cli.print_raw(noise)
        greet(client, cli)
        for _ in range(2):
            turn = client.submit("hi")
            user = cli.expect("user")
            cli.print_raw(noise)
            cli.begin_turn(user)
            cli.print_raw(noise)
            cli.speak("Hello you")
            cli.print_raw(noise)
            cli.end_turn(user, "Hello you")
            assert turn.result(PATIENCE) == "Hello you"
            assert turn.text == "Hello you"


def test_noise_is_logged(cli, client, caplog):
    """What is not a message goes to the log."""
    caplog.set_level(logging.DEBUG, "claude_sync")
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.print_raw(BANNER)
    cli.answer("Hello", to=user)
    turn.result(PATIENCE)
    assert "Now using node v20" in caplog.text


def test_carriage_returns_and_a_mark(cli):
    """A CLI that writes CRLF lines behind a byte-order mark is understood."""
    from claude_sync import Client

    def windows(data):
        return data.replace(b"\n", b"\r\n")

    with Client(transport=cli) as client:
        turn = client.submit("hi")
        request = cli.expect("control_request")
        cli.print_raw(b"\xef\xbb\xbf" + windows(lines(cli.initialized(request))))
        user = cli.expect("user")
        cli.print_raw(windows(lines(*cli.beginning(user), *cli.spoken("a b"))))
        cli.print_raw(windows(lines(*cli.ending([user], "a b"))))
        assert turn.result(PATIENCE) == "a b"


def lines(*messages):
    """Messages as the CLI prints them."""
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def test_any_portions(cli, client):
    """It does not matter how the pipe cuts the stream, down to single bytes."""
    turn = client.submit("hi")
    user = cli.expect("user")
    text = "grün \U0001f600 text"
    messages = [*cli.beginning(user), *cli.spoken(text), *cli.ending([user], text)]
    data = b"".join(json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in messages)
    for place in range(len(data)):
        cli.print_raw(data[place : place + 1])
    assert turn.result(PATIENCE) == text
    assert turn.text == text


def test_lone_surrogates(cli, client):
    """Half of a surrogate pair arrives as it is, and can be sent."""
    heard = []
    client.on_text(heard.append)
    turn = client.submit("what is \udc80?")
    user = cli.expect("user", text="what is \udc80?")
    cli.begin_turn(user)
    cli.speak("half \ud83d, done")
    cli.end_turn(user, "half \ud83d, done")
    assert turn.result(PATIENCE) == "half \ud83d, done"
    assert "".join(heard) == "half \ud83d, done"


def test_invalid_utf8_inside_a_message(cli, client):
    """A message with broken bytes in a string is delivered with replacements."""
    turn = client.submit("hi")
    user = cli.expect("user")
    data = lines(*cli.ending([user], "caf@!"))
    cli.begin_turn(user)
    cli.print_raw(data.replace(b"@", b"\xe9"))
    assert turn.result(PATIENCE) == "caf\ufffd!"


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_other_line_ends_inside_strings(cli, client, separator):
    """Characters that other languages take for line ends do not cut a message."""
    text = f"one{separator}two"
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    result = cli.ending([user], text)[0]
    cli.print_raw(json.dumps(result, ensure_ascii=False).encode() + b"\n")
    assert turn.result(PATIENCE) == text


def test_unterminated_result_in_memory(cli, client):
    """A result that the end of the output cuts off after its last brace counts."""
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.print_raw(lines(cli.ending([user], "the end")[0]).rstrip(b"\n"))
    cli.hang_up(0)
    assert turn.result(PATIENCE) == "the end"


@pytest.mark.parametrize("mebibytes", [8, pytest.param(64, marks=pytest.mark.everything)])
def test_a_huge_line(stand_in, mebibytes):
    """It arrives complete, quickly, and is not kept many times over."""
    size = mebibytes * 1024 * 1024
    heard = []
    client = stand_in(scripts.says_a_huge_line, settings={"size": size}, on_text=heard.append)
    client.start()
    began = time.monotonic()
    before = peak()
    answer = client.ask("go on")
    assert answer == "that was long"
    assert [len(text) for text in heard] == [size]
    assert heard[0].count("x") == size
    assert time.monotonic() - began < 20
    assert peak() - before < 8 * size


def peak():
    """The most memory this process ever had, in bytes."""
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


def test_stderr_flood(stand_in):
    """Megabytes on stderr neither block the CLI nor grow the memory."""
    client = stand_in(scripts.floods_stderr, settings={"lines": 100_000})
    client.start()
    tracemalloc.start()
    try:
        assert client.ask("go on", timeout=PATIENCE) == "dry again"
        assert tracemalloc.get_traced_memory()[1] < 8 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_stderr_flood_is_heard(stand_in):
    """on_stderr sees every line of a flood, in order."""
    heard = []
    client = stand_in(scripts.floods_stderr, settings={"lines": 30_000}, on_stderr=heard.append)
    client.ask("go on", timeout=PATIENCE)
    client.close()
    assert [line.partition(":")[0] for line in heard] == [str(n) for n in range(30_000)]


def test_stderr_that_is_no_text(cli, client):
    """Bytes on stderr that are no UTF-8, and lines without end, do no harm."""
    heard = []
    client.on_stderr(heard.append)
    cli._put(cli._errors, b"caf\xe9\r\n" + b"x" * 100_000)
    turn = client.submit("hi")
    cli.answer("Hello")
    assert turn.result(PATIENCE) == "Hello"
    client.close()
    assert heard == ["caf\ufffd", "x" * 100_000]


def test_session_goes_on_after_unknown_messages(cli, client):
    """Types nobody knows are delivered as Unknown and change nothing."""
    seen = []
    client.on_message(lambda message: seen.append(type(message).__name__))
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.say({"type": "brand_new", "payload": [1, {"a": None}]})
    cli.say(builders.system("never_heard_of", x=1))
    cli.answer("Hello", to=user)
    assert turn.result(PATIENCE) == "Hello"
    assert "Unknown" in seen
