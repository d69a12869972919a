"""Options as real CLIs take them: what the model is told, and which conversation it is."""

from __future__ import annotations

import base64
import json
import re
import struct
import uuid
import zlib

import pytest

import claude_sync
from claude_sync.testing.model import text, tool_use


def png():
    """A picture of one red pixel."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0\xff\0\0")
    parts = chunk(b"IHDR", header), chunk(b"IDAT", pixels), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


PDF = b"%PDF-1.1\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"


def test_the_model_is_told(client_of, model, cli):
    """system_prompt, model and a session id of our own reach the service."""
    session = str(uuid.uuid4())
    client = client_of(
        system_prompt="You are a lighthouse.", model="claude-test-1", session_id=session
    )
    assert client.session_id == session
    answer = client.ask("who are you?", timeout=90)
    request = model.wait_for_request("who are you?")
    assert "You are a lighthouse." in request.system
    assert request.model == "claude-test-1"
    assert answer.session_id == client.session_id == session


def test_a_prompt_is_added_and_tools_are_limited(client_of, model, tmp_path):
    """append_system_prompt adds; allowed_tools allows one command and no other."""
    client = client_of(
        append_system_prompt="Always rhyme.",
        allowed_tools=["Bash(echo:*)"],
        disallowed_tools=["WebSearch"],
        record=tmp_path / "wire.jsonl",
    )
    model.when("two commands").reply(
        [tool_use("Bash", {"command": "echo fine"}), tool_use("Bash", {"command": "touch made"})]
    ).then_reply("tried")
    answer = client.ask("two commands", timeout=90)
    request = model.wait_for_request("two commands")
    assert "Always rhyme." in request.system
    assert len(request.system) > len("Always rhyme.") + 100
    assert "WebSearch" not in request.tools and "Bash" in request.tools
    results = [result for _, result in answer.tool_uses]
    assert [result.is_error for result in results] == [False, True]
    assert results[0].text == "fine"
    assert not (tmp_path / "made").exists()
    client.close()
    # The recording has both directions, and nothing secret.
    recorded = (tmp_path / "wire.jsonl").read_text()
    lines = [json.loads(line) for line in recorded.splitlines()]
    sent = [line["msg"] for line in lines if line["dir"] == "in"]
    received = [line["msg"] for line in lines if line["dir"] == "out"]
    assert sent[0]["request"]["subtype"] == "initialize"
    assert "two commands" in str(sent)
    assert [message["result"] for message in received if message["type"] == "result"] == ["tried"]
    assert "sk-ant-loopback" not in recorded


def test_a_conversation_goes_on_elsewhere(client_of, new_cli, model):
    """resume=, continue_conversation= and fork_session= know what was said before."""
    usage = {"input_tokens": 50_000, "output_tokens": 50}
    model.when(re.compile("the word is walnut|which word")).reply("a word", usage=usage)
    first = client_of()
    spent = first.ask("the word is walnut", timeout=90).cost_usd
    session = first.session_id
    first.close()
    assert spent > 0

    resumed = client_of(resume=session)
    answer = resumed.ask("which word?", timeout=90)
    assert answer == "a word"
    assert answer.session_id == resumed.session_id == session
    assert "the word is walnut" in str(model.wait_for_request("which word?").messages)
    # New CLIs count on from what the conversation had cost; each client counts its own.
    assert answer.cost_usd == pytest.approx(spent, rel=0.01)
    assert resumed.cost_usd == pytest.approx(spent, rel=0.01)
    resumed.close()

    continued = client_of(continue_conversation=True)
    assert continued.ask("still the same?", timeout=90) == "echo: still the same?"
    assert continued.session_id == session
    seen = str(model.wait_for_request("still the same?").messages)
    assert "the word is walnut" in seen and "which word?" in seen
    continued.close()

    forked = client_of(resume=session, fork_session=True)
    assert forked.ask("and in the fork?", timeout=90) == "echo: and in the fork?"
    assert forked.session_id not in (None, session)
    assert "the word is walnut" in str(model.wait_for_request("and in the fork?").messages)


def test_files_reach_the_model(chat, model, tmp_path):
    """A picture, a PDF and a text arrive as what they are, found by content."""
    picture, document = tmp_path / "picture.dat", tmp_path / "paper.dat"
    picture.write_bytes(png())
    document.write_bytes(PDF)
    notes = tmp_path / "notes.txt"
    notes.write_text("nota bene: 42")
    answer = chat.ask("look at these", attach=[picture, document, notes, png()], timeout=60)
    # New CLIs add where they have put the pictures.
    assert answer.startswith("echo: look at these")
    content = str(model.wait_for_request("look at these").messages)
    for data in (png(), PDF):
        assert base64.b64encode(data).decode() in content
    assert "nota bene: 42" in content
    images = model.wait_for_request("look at these").images
    assert [image["media_type"] for image in images] == ["image/png"] * 2
    assert chat.ask("and without", timeout=60) == "echo: and without"


def test_blocks_are_a_prompt_too(chat, model):
    """A list of content blocks is sent as it is."""
    chat.ask([{"type": "text", "text": "block one"}, {"type": "text", "text": "two"}], timeout=60)
    texts = model.wait_for_request("block one").texts
    assert texts[-2:] == ("block one", "two")


def test_what_cannot_be_sent_is_refused_first(chat, tmp_path):
    """A missing file, an unknown kind of file and a blank prompt raise before anything is sent."""
    (tmp_path / "binary").write_bytes(b"\0\1\2\xff")
    for attach in ([tmp_path / "missing.png"], [tmp_path / "binary"]):
        with pytest.raises(claude_sync.UsageError):
            chat.ask("look", attach=attach)
    with pytest.raises(claude_sync.UsageError):
        chat.ask("  ")
    assert chat.state == "idle"
    assert chat.ask("fine", timeout=60) == "echo: fine"


def test_what_the_cli_tells_about_itself(chat, cli):
    """info has what this version tells, and None for what it does not."""
    chat.ask("hello", timeout=60)
    info = chat.info
    assert info.commands and all("name" in command for command in info.commands)
    assert info.models
    if cli.is_new:
        assert info.cli_version.count(".") == 2
        assert "msg_lifecycle_v1" in info.capabilities
    else:
        assert info.cli_version == cli.version
        assert info.capabilities is None


def test_a_very_long_prompt_and_answer(chat, model, forgotten):
    """Megabytes in, megabytes out: nothing is cut, in whichever pieces it comes."""
    words = "0123456789abcdef" * 20_000
    model.when("very long").reply(text(words, pieces=50))
    answer = chat.ask("very long\n" + words, timeout=60)
    assert answer == words
    assert words in model.wait_for_request("very long").text
