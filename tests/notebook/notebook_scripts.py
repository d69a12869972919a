"""Scripts of stand-in CLIs for notebooks. The process runs this file, so it imports nothing."""


def costs(cli):
    """Answer everything; each answer costs half a dollar."""
    total = 0.0
    while True:
        message = cli.receive()
        if message["type"] == "control_request":
            cli.reply(message)
        elif message["type"] == "user":
            total += 0.5
            cli.answer("paid", to=message, total_cost_usd=total)
