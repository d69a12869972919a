"""Scripts of stand-in CLIs for batches. The process runs this file, so it imports little."""

import os


def play(cli, fails):
    """Answer everything with "ok", after /clear in a new conversation; *fails* may interfere."""
    cli.accept()
    while True:
        user = cli.expect("user")
        prompt = user["message"]["content"]
        if prompt == "/clear":
            cli.session_id = os.urandom(8).hex()
            cli.answer("", to=user)
            continue
        if not fails(user, prompt):
            cli.answer(f"ok {prompt}", to=user)


def first_time(cli, name):
    """Whether nobody has done this before, in any process."""
    try:
        os.close(os.open(os.path.join(cli.settings["folder"], name), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def dies_at_first(cli):
    """The first question of all kills the process that it reaches."""

    def fails(user, prompt):
        if first_time(cli, "died"):
            cli.begin_turn(user)
            cli.kill_itself()
        return False

    play(cli, fails)


def notes_each(cli):
    """Note each question that was answered in a file of its own, numbered."""

    def fails(user, prompt):
        number = 1
        while not first_time(cli, f"{prompt}.{number}"):
            number += 1
        return False

    play(cli, fails)


def dies_now_and_then(cli):
    """Every prompt whose number ends in 5 kills the process that it reaches first."""

    def fails(user, prompt):
        if prompt.endswith("5") and first_time(cli, prompt):
            cli.begin_turn(user)
            cli.kill_itself()
        return False

    play(cli, fails)
