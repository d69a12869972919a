"""
A chat with Claude in a window: text as it is written, Stop, permissions, images, old talks.

    python examples/tk_chat.py            asks Claude, in this folder
    python examples/tk_chat.py --offline  asks the built-in stand-in, which echoes
"""

import os
import sys
import tkinter
from tkinter import filedialog, ttk
from tkinter.scrolledtext import ScrolledText

import claude_sync
from claude_sync import sessions
from claude_sync.gui import tk
from claude_sync.testing import StandIn

# What stands in double brackets makes the stand-in ask for a tool.
TRY = 'Hello! [[tool Bash {"command": "make test", "description": "Run the tests"}]]'
NEW = "New conversation"
COLOURS = {"you": "#0550ae", "tool": "#6e7781", "error": "#a40e26", "claude": "#1f2328"}


class Chat(ttk.Frame):
    """A conversation: what was said, what to say next, and what it costs."""

    def __init__(self, root, **options):
        super().__init__(root, padding=10)
        self.options = options  # of the client
        self.client = self.turn = None
        self.model, self.images, self.saved = "no model yet", [], []
        self.build()
        self.start()

    def build(self):
        """Make the widgets, in the plain theme that every system has, and light colours."""
        style = ttk.Style(self)
        style.theme_use("clam")
        style.configure(".", background="#f3f5f8", bordercolor="#c8d0d9", lightcolor="#ffffff")
        style.map("TCombobox", fieldbackground=[("readonly", "#ffffff")])
        self.talks = ttk.Combobox(self, state="readonly", postcommand=self.list_talks)
        self.talks.set(NEW)
        self.talks.bind("<<ComboboxSelected>>", lambda _: self.resume(self.talks.current()))
        plain = {"wrap": "word", "relief": "flat", "font": "TkDefaultFont", "padx": 10, "pady": 8}
        self.view = ScrolledText(self, height=20, state="disabled", spacing3=2, **plain)
        for name, colour in COLOURS.items():
            self.view.tag_configure(name, foreground=colour)
        self.view.tag_configure("you", spacing1=10)
        self.view.tag_configure("tool", lmargin1=16, lmargin2=16, font="TkFixedFont")
        self.entry = tkinter.Text(self, height=3, highlightthickness=1, **plain)
        self.entry.bind("<Return>", self.send)
        self.entry.bind("<Shift-Return>", lambda _: None)  # a new line
        self.entry.bind("<<Paste>>", self.paste)
        self.button = ttk.Button(self, text="Send", command=self.send_or_stop)
        self.attaching = ttk.Button(self, text="Attach...", command=self.attach)
        self.status = ttk.Label(self, foreground="#57606a")
        self.talks.grid(row=0, columnspan=2, sticky="ew", pady=(0, 8))
        self.view.frame.grid(row=1, columnspan=2, sticky="nsew")
        self.entry.grid(row=2, column=0, rowspan=2, sticky="nsew", pady=(8, 0))
        self.button.grid(row=2, column=1, sticky="ew", padx=(8, 0), pady=(8, 2))
        self.attaching.grid(row=3, column=1, sticky="ew", padx=(8, 0))
        self.status.grid(row=4, columnspan=2, sticky="w", pady=(8, 0))
        self.columnconfigure(0, weight=1)
        self.rowconfigure(1, weight=1)
        self.entry.focus_set()

    # The client. Its handlers run on this thread, so they may touch the window.

    def start(self, session=None):
        """Begin a conversation, or go on with one."""
        if self.client is not None:
            self.client.close(wait=False)
        self.turn, self.button["text"] = None, "Send"
        self.client = client = claude_sync.Client(resume=session, **self.options)
        tk.attach(client, self)  # closes the client with the window, too
        client.on_permission(tk.PermissionDialog.handler(self))
        client.on_question(tk.QuestionDialog.handler(self))
        client.on_text(lambda text: self.hear(client, text, "claude"))
        client.on_tool_use(lambda use: self.hear(client, f"\n{self.summary(use)}\n", "tool"))
        client.on_init(lambda init: self.show_status(init.model))
        self.show_status()

    def send(self, _=None):
        """Ask; the entry keeps what is written while an answer is."""
        prompt = self.entry.get("1.0", "end").strip()
        if prompt and self.turn is None:
            try:
                self.turn = self.client.submit(prompt, attach=self.images)
            except (claude_sync.ClaudeError, OSError) as error:
                self.write(f"{error}\n", "error")
                return "break"
            pictures = f"  [{len(self.images)} attached]" if self.images else ""
            self.write(f"{prompt}{pictures}\n", "you")
            self.entry.delete("1.0", "end")
            self.images, self.attaching["text"], self.button["text"] = [], "Attach...", "Stop"
            self.turn.add_done_callback(self.finished)
        return "break"  # the entry need not do anything about the key

    def send_or_stop(self):
        """The button: it stops the answer that is being written."""
        self.send() if self.turn is None else self.turn.cancel()

    def finished(self, turn):
        """The answer is complete, or something went wrong."""
        if turn is self.turn:
            self.turn, self.button["text"] = None, "Send"
            error = "stopped" if turn.cancelled() else turn.exception() or ""
            self.write(f"\n{error}\n", "error")
            self.show_status()

    def hear(self, client, text, tag):
        """Show what is said in this conversation; the one before may have a last word."""
        if client is self.client:
            self.write(text, tag)

    # The window.

    def write(self, text, tag):
        """Add text at the end; follow it, unless somebody has scrolled up."""
        follow = self.view.yview()[1] > 0.99
        self.view.configure(state="normal")
        self.view.insert("end", text, tag)
        self.view.configure(state="disabled")
        if follow:
            self.view.see("end")

    def summary(self, use):
        """A use of a tool on a line; files of the folder are named without it."""
        texts = [value for value in use.input.values() if isinstance(value, str)]
        folder = os.path.join(os.path.abspath(self.options.get("cwd") or "."), "")
        return f"{use.name}  {''.join(texts[:1]).replace(folder, '')}".split("\n")[0][:90]

    def show_status(self, model=None):
        """The model, the tokens and the cost so far."""
        self.model = model or self.model
        written, cost = self.client.usage.output_tokens, self.client.cost_usd
        self.status["text"] = f"{self.model}   ·   {written:,} tokens written   ·   {cost:.4f} USD"

    def attach(self, images=None):
        """Take images along with the next question: these, or files that the person chooses."""
        self.images = [*self.images, *(images or filedialog.askopenfilenames(parent=self))]
        self.attaching["text"] = f"{len(self.images)} attached" if self.images else "Attach..."

    def paste(self, _):
        """An image from the clipboard is attached; text is pasted as ever."""
        try:
            words = self.clipboard_get(type="image/png").split()
        except tkinter.TclError:
            return None
        self.attach([bytes(int(word, 16) for word in words)])
        return "break"

    def list_talks(self):
        """The conversations that were held in this folder, the newest first."""
        self.saved = sessions.list_sessions(self.options.get("cwd") or ".")[:20]
        titles = [f"{each.modified:%d %b}  {each.title}" for each in self.saved]
        self.talks["values"] = [NEW, *titles]

    def resume(self, number):
        """Go on with the conversation that was chosen; the first is a new one."""
        self.view.configure(state="normal")
        self.view.delete("1.0", "end")
        session = self.saved[number - 1].session_id if number else None
        for message in sessions.read_session(session) if session else ():
            if isinstance(message, (claude_sync.User, claude_sync.Assistant)) and message.text:
                is_user = isinstance(message, claude_sync.User)
                self.write(f"{message.text}\n", "you" if is_user else "claude")
        self.start(session)


def main():
    """Open the window."""
    offline = "--offline" in sys.argv
    root = tkinter.Tk()
    root.title("Claude")
    root.geometry("760x620")
    chat = Chat(root, cli=StandIn(pace=0.05).command if offline else None)
    chat.pack(fill="both", expand=True)
    if offline:
        chat.entry.insert("1.0", TRY)
    root.mainloop()


if __name__ == "__main__":
    main()
