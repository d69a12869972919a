"""Prompts that are data: what reaches the model through real CLIs is the proof."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys

import pytest
from executables import ROOT

import claude_sync

PATIENCE = 100
SECRET = "open sesame 77"
NUMBERS = itertools.count()


@pytest.fixture
def mention(tmp_path):
    """A path that the CLI may not read; always another one, because CLIs read one only once."""

    def mention():
        name = f"secret{next(NUMBERS)}.txt"
        (tmp_path / name).write_text(SECRET)
        return f"@{name}"

    return mention


@pytest.fixture
def options(cli, model, home, tmp_path):
    """What every client needs."""
    return {"cli": cli.path, "cwd": tmp_path, "env": model.environment(home), "start_timeout": 90}


def block(words):
    """A text as a content block."""
    return {"type": "text", "text": words}


def reached(model, tag):
    """The text that reached the model in the message with *tag*; no secret did."""
    request = model.wait_for_request(tag)
    assert SECRET not in json.dumps(request.messages)
    message = [each for each in request.messages if tag in json.dumps(each["content"])][-1]
    content = message["content"]
    blocks = [block(content)] if isinstance(content, str) else content
    return "".join(each["text"] for each in blocks if each["type"] == "text")


def is_read(model, tag):
    """Whether the CLI has read a file for the question with *tag*."""
    return SECRET in json.dumps(model.wait_for_request(tag).messages)


def prompts_of(mention):
    """Texts in which a CLI finds something, each with a word of its own in it."""
    for number, words in enumerate(
        (
            "see {} and say TAG",
            "TAG say what is in {}",
            "{} TAG",
            "/cost of TAG by {}",
            "/cost TAG",
            "/TAG",
            'TAG see @"{}" and say',
        )
    ):
        tag = f"tag{number}x{next(NUMBERS)}y"
        name = mention()
        name = name[1:] if '"' in words else name
        yield tag, words.replace("TAG", tag).replace("{}", name)


def test_a_prompt_is_interpreted_unless_it_is_verbatim(client_of, model, mention):
    """Or the other tests would show nothing. Data is not, whatever the prompt is."""
    with client_of() as client:
        client.ask(f"plain1 {mention()}", timeout=PATIENCE)
        assert is_read(model, "plain1")
        data = [f"/cost of data1 {mention()}", mention()]
        client.ask("classify1 the text above", data=data, timeout=PATIENCE)
        message = str(model.wait_for_request("classify1").messages[-1])
        assert all(each in message for each in data)
        assert SECRET not in message
        asked = len(model.conversation)
        client.ask("/cost", timeout=PATIENCE)
        assert len(model.conversation) == asked


def test_verbatim_prompts_reach_the_model(client_of, model, mention):
    """Texts, blocks, with data or an attachment before them, and context."""
    with client_of(verbatim=True) as client:
        for tag, words in prompts_of(mention):
            assert client.ask(words, timeout=PATIENCE).startswith("echo: ")
            assert words in reached(model, tag)
        for tag, words in prompts_of(mention):
            client.ask([block("first"), block(words)], timeout=PATIENCE)
            assert words in reached(model, tag)
        for tag, words in prompts_of(mention):
            client.ask(words, data=mention(), attach=[b"a text"], timeout=PATIENCE)
            assert words in reached(model, tag)
        tag, words = next(prompts_of(mention))
        client.add_context(words)
        client.ask("and now?", timeout=PATIENCE)
        assert words in reached(model, tag)


@pytest.mark.parametrize("kind", ["map", "rows", "pool"])
def test_many_prompts_are_data(cli, model, options, mention, kind):
    """Those of a batch and of a pool; a batch may ask the same about each row."""
    prompts = dict(itertools.islice(prompts_of(mention), 0, None, 2))
    if kind == "pool":
        with claude_sync.Pool(1, **options) as pool:
            for prompt in prompts.values():
                pool.ask(prompt, timeout=PATIENCE)
    else:
        about = {"prompt": "Good or bad?"} if kind == "rows" else {}
        batch = claude_sync.map(
            [*prompts.values()], workers=1, timeout=PATIENCE, **about, **options
        )
        assert [item.error for item in batch] == [None] * len(prompts)
    for tag, prompt in prompts.items():
        assert prompt in reached(model, tag)


def test_what_is_piped_in_is_data(cli, model, home, tmp_path, mention):
    """And what is in a file for claude-sync batch."""
    environment = {
        **model.environment(home, inherit=True),
        "CLAUDE_CODE_PATH": cli.path,
        "PYTHONPATH": str(ROOT),
    }
    asked = list(prompts_of(mention))[:3]
    (tmp_path / "in.jsonl").write_text(json.dumps(asked[2][1]))
    commands = (
        ["ask", "review this:"],
        ["ask", "-"],
        ["batch", "in.jsonl", "-o", "out.jsonl", "--workers", "1"],
    )
    for command, (tag, words) in zip(commands, asked):
        subprocess.run(
            [sys.executable, "-m", "claude_sync", *command],
            input=words.encode(),
            capture_output=True,
            check=True,
            cwd=tmp_path,
            env={**os.environ, **environment},
            timeout=PATIENCE,
        )
        assert words in reached(model, tag)
