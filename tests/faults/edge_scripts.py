"""
Scripts of CLIs at their worst moment: each function is one that a stand-in process plays.

The process runs this file, so it imports only what starts quickly.
"""

import json


def floods_before_it_reads(cli):
    """Pour out raw events, and read nothing until all of them are printed."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    messages = cli.spoken("?", ["x" * 64])
    delta = next(each for each in messages if "delta" in each.get("event", {}))
    line = json.dumps(delta).encode() + b"\n"
    for _ in range(cli.settings["count"] // 100):
        cli.print_raw(line * 100)
    cli.end_turn(user, "poured out")
    cli.swallow_input()


def closes_its_output_and_lingers(cli):
    """Say no more in mid-turn, and let neither end of input nor a polite signal end it."""
    cli.ignore_termination()
    cli.accept()
    cli.begin_turn(cli.expect("user"))
    cli.close_output()
    cli.print_error("stdout is closed")
    cli.wait_forever()


def reads_late(cli):
    """Read nothing until a file appears; then answer everything."""
    import os

    while not os.path.exists(cli.settings["signal"]):
        cli.pause(0.01)
    cli.accept()
    while True:
        message = cli.receive()
        if message["type"] == "control_request":
            cli.reply(message)
        elif message["type"] == "user":
            cli.answer("echo: " + message["message"]["content"], to=message)
