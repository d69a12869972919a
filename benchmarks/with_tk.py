"""How smoothly a Tk window runs while text streams into it. Started by ``run.py``."""

from __future__ import annotations

import time
import tkinter

import tasks

import claude_sync
from claude_sync.gui import tk

# Seconds between two calls of the window's own timer.
TICK = 0.010


def lateness(cli, count):
    """Seconds by which each call of a timer is late while *count* deltas are drawn."""
    late, received = [], []
    root = tkinter.Tk()
    root.geometry("800x600")
    view = tkinter.Text(root)
    view.pack(fill="both", expand=True)
    root.update()
    client = claude_sync.Client(cli=cli)
    tk.attach(client, root)

    def show(text):
        received.append(len(text))
        # As a model writes: a text of lines, not one line of megabytes.
        view.insert("end", text.replace(". ", ".\n"))
        view.see("end")

    def tick(due):
        now = time.perf_counter()
        late.append(now - due)
        root.after(int(TICK * 1000), tick, now + TICK)

    client.on_text(show)
    turn = client.submit(f"stream {count}")
    turn.add_done_callback(lambda _: root.quit())
    root.after(int(TICK * 1000), tick, time.perf_counter() + TICK)
    root.mainloop()
    root.destroy()
    turn.result()
    client.close()
    tasks.check_received(sum(received), count)
    return late


if __name__ == "__main__":
    tasks.main({"lateness": lateness})
