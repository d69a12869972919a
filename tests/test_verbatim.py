"""Prompts that are data: what is sent of them, by clients, pools, batches and the bridge."""

from __future__ import annotations

import json
import os

import pytest
from patience import PATIENCE
from tables import each

import claude_sync
from claude_sync import Client, Options, Pool, UsageError
from claude_sync.testing import ScriptedCli

PROMPT = "/cost of @a.txt now"


def text(words):
    """A text as a content block."""
    return {"type": "text", "text": words}


OLDER = [text("/cost of @a.txt"), text(" now")]


def repeats(cli):
    """Answer with what was sent; begin another conversation at /clear."""
    cli.accept()
    while True:
        user = cli.expect("user")
        content, field = user["message"]["content"], user.get("client_composed")
        if content == "/clear":
            cli.session_id = os.urandom(4).hex()
        cli.answer(json.dumps([content, field]), to=user)


def repeating(style="new"):
    """A CLI that repeats; as options."""
    return {"transport": lambda: ScriptedCli(repeats, style=style)}


def read(answer):
    """What was sent, and the field that goes with it."""
    content, field = json.loads(answer)
    return content, field


@each(
    ("style", "verbatim", "sent"),
    [
        ("new", True, (PROMPT, True)),
        ("old", True, (OLDER, True)),
        ("new", False, (PROMPT, None)),
        ("old", None, (PROMPT, None)),
    ],
)
def test_a_prompt_has_the_form_that_its_cli_needs(style, verbatim, sent):
    """The field is enough for a new CLI; for an old one the text changes, where it must."""
    with Client(**repeating(style)) as client:
        assert read(client.ask(PROMPT, timeout=PATIENCE, verbatim=verbatim)) == sent
        turns = [client.submit(PROMPT, verbatim=verbatim), client.stream(PROMPT, verbatim=verbatim)]
        assert [read(turn.result(PATIENCE)) for turn in turns] == [sent, sent]
        plain = read(client.ask("hi", timeout=PATIENCE, verbatim=verbatim))
        assert plain == ("hi", sent[1])


def test_steered_messages_and_context_may_be_verbatim(ready):
    """In the form that the CLI needs, too."""
    for style, content in (("new", PROMPT), ("old", OLDER)):
        cli = ScriptedCli(style=style, patience=PATIENCE)
        with ready(cli, verbatim=True) as client:
            turn = client.submit("hi")
            user = cli.expect("user")
            cli.begin_turn(user)
            client.steer(PROMPT)
            steered = cli.expect("user")
            assert (steered["message"]["content"], steered["client_composed"]) == (content, True)
            cli.answer("ok", to=user)
            assert turn.result(PATIENCE) == "ok"
            if style == "new":
                client.add_context(PROMPT)
                context = cli.expect("user", shouldQuery=False)
                assert context["client_composed"] is True
                cli.end_turn(context, "")


def test_a_verbatim_prompt_is_asked_again_in_its_form():
    """After a failure that is worth another try."""
    lives = []

    def make():
        lives.append(ScriptedCli(repeats if lives else dies, style="old"))
        return lives[-1]

    def dies(cli):
        cli.accept()
        cli.expect("user")
        cli.exit(1)

    answer = claude_sync.ask(PROMPT, verbatim=True, transport=make, retries=1)
    assert read(answer) == (OLDER, True)
    assert len(lives) == 2


def test_a_verbatim_slash_is_no_command():
    """It has an answer of the client's form, and a pool uses its CLI again."""
    schema = {"type": "object", "properties": {}}

    def answers(cli):
        cli.accept()
        user = cli.expect("user")
        cli.answer("ok", to=user, structured_output={})

    cli = ScriptedCli(answers)
    answer = claude_sync.ask("/x", transport=cli, returns=schema, verbatim=True, timeout=PATIENCE)
    assert answer.data == {}


# Many.


@each(
    ("settings", "asking", "sent"),
    [
        ({}, {}, (PROMPT, True)),
        ({"options": Options(max_turns=3)}, {}, (PROMPT, True)),
        ({}, {"verbatim": False}, (PROMPT, None)),
        ({"verbatim": False}, {}, (PROMPT, None)),
        ({"verbatim": False}, {"verbatim": True}, (PROMPT, True)),
    ],
)
def test_pools_are_verbatim(settings, asking, sent):
    """Unless told otherwise; clients that are lent are as all others."""
    lives = []

    def make():
        lives.append(ScriptedCli(repeats))
        return lives[-1]

    with Pool(1, transport=make, **settings) as pool:
        assert read(pool.ask(PROMPT, timeout=PATIENCE, **asking)) == sent
        assert read(pool.submit(PROMPT, **asking).result(PATIENCE)) == sent
        assert (len(lives) == 1) is (sent[1] is True)  # a command spoils a CLI
        answer = read(pool.ask("b", data="a", timeout=PATIENCE, **asking))
        assert answer == ([text("a"), text("b")], sent[1])
        with pool.client(PATIENCE) as client:
            assert read(client.ask(PROMPT, timeout=PATIENCE)) == (PROMPT, None)


def test_batches_are_verbatim():
    """Unless told otherwise."""
    for settings, field in (({}, True), ({"verbatim": False}, None)):
        (item,) = claude_sync.map([PROMPT], **repeating(), **settings)
        assert read(item.answer) == (PROMPT, field)


def test_a_batch_may_ask_one_prompt_about_each_row(tmp_path):
    """The rows are data, and what their items say was asked; another prompt is another batch."""
    path = tmp_path / "run.jsonl"
    rows = [PROMPT, {"prompt": "b", "id": 7, "attach": [b"c"]}, " ", 3]
    items = list(claude_sync.map(rows, prompt="Good?", checkpoint=path, **repeating()))
    assert [item.ok for item in items] == [True, True, False, False]
    assert read(items[0].answer) == ([text(PROMPT), text("Good?")], True)
    kinds = [(each["type"], each.get("text")) for each in read(items[1].answer)[0]]
    assert kinds == [("document", None), ("text", "b"), ("text", "Good?")]
    assert [(item.prompt, item.id) for item in items[:2]] == [(PROMPT, None), ("b", 7)]
    again = list(claude_sync.map(rows, prompt="Good?", checkpoint=path, **repeating()))
    assert [item.restored for item in again] == [True, True, False, False]
    with pytest.raises(UsageError, match="checkpoint"):
        list(claude_sync.map(rows, prompt="Bad?", checkpoint=path, **repeating()))
    with pytest.raises(UsageError, match="blank"):
        claude_sync.map(rows, prompt=" ", **repeating())
