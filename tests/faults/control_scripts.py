"""
CLIs that are old, silent or broken when it comes to control requests.

The process runs this file, so it imports only what starts quickly.
"""


def ignores_what_it_does_not_know(cli):
    """As CLIs before 2.1.40 do."""
    cli.accept()
    while True:
        message = cli.receive()
        if message["type"] == "user":
            cli.answer("still here", to=message)
        elif message["request"]["subtype"] in ("set_model", "mcp_status", "interrupt"):
            cli.reply(message)
        elif message["request"]["subtype"] == "set_permission_mode":
            cli.reply(message, mode=message["request"]["mode"])


def tells_its_command_line(cli):
    """Answer every request; questions with the settings it was started with, and told since."""
    cli.accept()
    told = []
    while True:
        message = cli.receive()
        if message["type"] == "user":
            if message["message"]["content"] == "die":
                cli.exit(9)
            settings = [cli.option("--model"), cli.option("--permission-mode"), *told]
            cli.answer(" ".join(map(str, settings)), to=message)
            continue
        request = message["request"]
        subtype = request.pop("subtype")
        if subtype == "get_usage":
            cli.reply(message)
        elif subtype in cli.settings.get("refuses", ()) and cli.option("--resume"):
            cli.refuse(message, "not this time")
        elif subtype not in cli.settings.get("ignores", ()) or not cli.option("--resume"):
            told.append(f"{subtype}={sorted(request.items())}")
            cli.reply(message)
