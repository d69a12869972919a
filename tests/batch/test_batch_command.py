"""claude-sync batch: prompts of a file, answers in another, and going on after a stop."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest
from executables import ROOT, clean_environment
from patience import PATIENCE, wait_until

from claude_sync.batch.checkpoint import Checkpoint
from claude_sync.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with prompts, in which the command runs."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"r{number},word {number}\n" for number in range(6))
    (tmp_path / "rows.csv").write_text("id,text\n" + rows)
    lines = [json.dumps({"prompt": f"word {number}"}) for number in range(6)]
    (tmp_path / "prompts.jsonl").write_text("\n".join(lines))
    return tmp_path


def answers_in(folder, name="out.jsonl"):
    """What the output says."""
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def test_json_lines_in_and_out(folder, capsys):
    """In the same order, with a summary on stderr and nothing on stdout."""
    assert main(["batch", "prompts.jsonl", "-o", "out.jsonl", "--offline", "--workers", "2"]) == 0
    answers = answers_in(folder)
    assert [each["answer"] for each in answers] == [f"echo: word {number}" for number in range(6)]
    said = capsys.readouterr()
    assert said.out == ""
    assert "6 of 6 answered, 0 failed, 0.0000 USD" in said.err
    assert "offline" in said.err
    assert not (folder / "out.jsonl.part").exists()


def test_csv_with_a_template_and_a_form(folder, capsys):
    """Each row makes a prompt; its id comes along; the data has the form."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    (folder / "schema.json").write_text(json.dumps(schema))
    words = ["batch", "rows.csv", "-o", "out.jsonl", "--offline", "--template", "Label: {text}"]
    assert main([*words, "--returns", "schema.json"]) == 0
    first = answers_in(folder)[0]
    assert (first["id"], first["prompt"], first["data"]) == ("r0", "Label: word 0", {"n": 1})


def test_parts_of_an_array_of_jobs_are_merged(folder, capsys):
    """Each has an output of its own; then all rows are in one, and nothing was asked twice."""
    words = ["batch", "rows.csv", "--out", "out.csv", "--offline", "--column", "text", "--id", "id"]
    for number in range(2):
        assert main([*words, "--shard", f"{number}/2"]) == 0
    rows = (folder / "out.csv.1-of-2").read_text().splitlines()
    assert rows[0] == "index,id,prompt,answer,error,cost_usd,attempts,seconds"
    assert [row.split(",")[:4] for row in rows[1:]] == [
        [str(number), f"r{number}", f"word {number}", f"echo: word {number}"]
        for number in (1, 3, 5)
    ]
    assert main([*words, "--merge"]) == 0
    assert "6 of 6 answered (6 of them before)" in capsys.readouterr().err
    assert len((folder / "out.csv").read_text().splitlines()) == 7


def test_what_the_stand_in_made_up_is_no_answer(folder, capsys):
    """A run with a real CLI is refused, with words that can be typed."""
    words = ["batch", "prompts.jsonl", "-o", "out.jsonl"]
    assert main([*words, "--offline"]) == 0
    assert main([*words, "--cli", "/nowhere/claude"]) == 2
    said = capsys.readouterr().err
    assert "was made with the stand-in (offline)" in said
    assert "Pass --on-change='ask_again' to ask again" in said
    assert all(each["answer"] for each in answers_in(folder))


def test_a_second_run_has_nothing_to_do(folder, capsys):
    """Unless it is told to begin anew."""
    words = ["batch", "prompts.jsonl", "-o", "out.jsonl", "--offline"]
    assert main(words) == 0
    (folder / "out.jsonl").unlink()
    assert main(words) == 0
    assert "6 of 6 answered (6 of them before)" in capsys.readouterr().err
    assert len(answers_in(folder)) == 6
    assert main([*words, "--restart"]) == 0
    assert "before" not in capsys.readouterr().err


def test_other_prompts_are_refused(folder, capsys):
    """The output of the first is not lost."""
    assert main(["batch", "rows.csv", "-o", "out.jsonl", "--offline", "--column", "text"]) == 0
    before = (folder / "out.jsonl").read_bytes()
    assert main(["batch", "rows.csv", "-o", "out.jsonl", "--offline", "--column", "id"]) == 2
    assert "another text or attachment of prompt 0" in capsys.readouterr().err
    assert (folder / "out.jsonl").read_bytes() == before
    assert not (folder / "out.jsonl.part").exists()


def test_failures_are_told_and_have_an_exit_code(folder, capsys):
    """The first of them, and how many more."""
    lines = ['"[[sleep 30]] x"'] * 7 + ['"fine"']
    (folder / "slow.jsonl").write_text("\n".join(lines))
    words = ["batch", "slow.jsonl", "-o", "out.jsonl", "--offline", "--workers", "8"]
    assert main([*words, "--timeout", "2"]) == 1
    said = capsys.readouterr().err
    assert "prompt 0 failed: AskTimeout: " in said
    assert "and 2 more; see out.jsonl" in said
    assert "1 of 8 answered, 7 failed" in said
    assert answers_in(folder)[7]["answer"] == "echo: fine"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["none.csv", "-o", "out.jsonl"], "cannot be read"),
        (["rows.csv", "-o", "out.jsonl"], "has no 'prompt'; it has id, text"),
        (["rows.csv", "-o", "rows.csv", "--column", "text"], "the same file"),
        (["in.part", "-o", "in"], "the same file"),
        (["in.checkpoint", "-o", "in", "--restart"], "the same file"),
        (["prompts.jsonl", "-o", "."], "not a regular file"),
        (["prompts.jsonl", "-o", "out.jsonl", "--returns", "none.json"], "cannot be read"),
        (["prompts.jsonl", "-o", "out.jsonl", "--returns", "rows.csv"], "is not JSON"),
        (["prompts.jsonl", "-o", "out.jsonl", "--returns", "list.json"], "is not a JSON Schema"),
    ],
)
def test_what_is_wrong_is_told(folder, capsys, words, told):
    """In one line, with advice; nothing is started."""
    (folder / "list.json").write_text("[]")
    for name in ("in.part", "in.checkpoint"):
        (folder / name).write_text('"a"\n')
    assert main(["batch", *words, "--cli", "/nowhere/claude"]) == 2
    assert told in capsys.readouterr().err
    assert (folder / "in.part").read_text() == (folder / "in.checkpoint").read_text() == '"a"\n'


@pytest.mark.parametrize(
    "words",
    [
        ["--workers", "0"],
        ["--workers", "x"],
        ["--budget", "-1"],
        ["--budget", "x"],
        ["--retries", "x"],
        ["--column", "a", "--template", "{a}"],
        ["--shard", "2/2"],
    ],
)
def test_wrong_words_are_refused(folder, capsys, words):
    """By the parser, or by what they mean."""
    try:
        code = main(["batch", "prompts.jsonl", "-o", "out.jsonl", "--offline", *words])
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert not (folder / "out.jsonl").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_what_is_no_file_is_not_replaced_by_one(folder, capsys):
    """Devices and pipes are not ours."""
    os.mkfifo(folder / "pipe")
    assert main(["batch", "prompts.jsonl", "-o", "pipe", "--offline"]) == 2
    assert "not a regular file" in capsys.readouterr().err
    assert not (folder / "pipe").is_file()


def test_a_full_disk_is_told(folder, capsys, monkeypatch):
    """In one line; what was answered before is not lost."""

    def full(source, target):
        raise OSError(28, "No space left on device")

    words = ["batch", "prompts.jsonl", "-o", "out.jsonl", "--offline"]
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        assert main(words) == 1
    assert "the answers cannot be written: No space left" in capsys.readouterr().err
    assert main(words) == 0
    assert "6 of 6 answered (6 of them before)" in capsys.readouterr().err


def start(folder, *words):
    """The command as a process, with slow prompts; the first is open when 1 and 2 are finished."""
    quick = (1, 2)
    lines = [f"[[sleep {0 if number in quick else 60}]] {number}" for number in range(20)]
    (folder / "slow.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return start_command(folder, "slow.jsonl", "-o", "out.jsonl", *words)


def start_command(folder, *words):
    """The command as a process."""
    return subprocess.Popen(
        [sys.executable, "-m", "claude_sync", "batch", *words],
        stderr=subprocess.PIPE,
        cwd=folder,
        env=clean_environment(folder, PYTHONPATH=str(ROOT)),
    )


def wait_for_finished(folder, count):
    """Until so many are in the checkpoint, which is locked: in the log that it is written into."""
    log = folder / "out.jsonl.checkpoint-wal"
    wait_until(lambda: log.exists() and log.read_bytes().count(b"echo: ") >= count)


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_ctrl_c_once_finishes_what_is_open(folder):
    """No output is made of a part; the same command goes on."""
    process = start(folder, "--offline", "--workers", "2", "--timeout", "3")
    wait_for_finished(folder, 2)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=PATIENCE)[1].decode()
    assert process.returncode == 130, said
    assert "finishing what is being answered" in said
    assert "run the same command again to continue" in said
    assert "2 of 20 answered" in said
    assert "failed: AskTimeout" in said
    assert not (folder / "out.jsonl.part").exists()
    assert not (folder / "out.jsonl").exists()
    process = start_command(
        folder, "slow.jsonl", "-o", "out.jsonl", "--offline", "--timeout", "0.1"
    )
    said = process.communicate(timeout=PATIENCE)[1].decode()
    assert "2 of 20 answered (2 of them before), 18 failed" in said


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_ctrl_c_twice_stops_now(folder):
    """What was finished is in the checkpoint."""
    process = start(folder, "--offline", "--workers", "2")
    wait_for_finished(folder, 2)
    process.send_signal(signal.SIGINT)
    said = b""
    while b"stops now" not in said:
        more = os.read(process.stderr.fileno(), 4096)
        assert more, said
        said += more
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert not (folder / "out.jsonl").exists()
    kept = ("--on-change", "keep")
    assert main(["batch", "slow.jsonl", "-o", "out.jsonl", "--cli", "/nowhere/claude", *kept]) == 1
    assert sum(each["answer"] is not None for each in answers_in(folder)) == 2


def test_only_a_checkpoint_that_nobody_uses_is_forgotten(folder, capsys):
    """Not another file of that name, nor what another batch is writing."""
    words = ["batch", "prompts.jsonl", "-o", "out.jsonl", "--offline", "--restart"]
    checkpoint = folder / "out.jsonl.checkpoint"
    checkpoint.write_text("precious")
    assert main(words) == 2
    assert "is not a batch checkpoint" in capsys.readouterr().err
    assert checkpoint.read_text() == "precious"
    checkpoint.unlink()
    with contextlib.closing(Checkpoint(checkpoint)):
        assert main(words) == 2
    assert checkpoint.exists()
    assert main(words) == 0


def test_a_folder_that_is_missing_is_told(folder, capsys):
    """Space would not help."""
    assert main(["batch", "prompts.jsonl", "-o", "none/out.jsonl", "--offline"]) == 1
    said = capsys.readouterr().err
    assert "No such file or directory. Check the folder of --out" in said
