"""Kernels of notebooks, for tests: started, fed with cells, interrupted and restarted."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys

import pytest
from patience import PATIENCE

# A kernel warns that it talks without encryption; on 127.0.0.1 that is nobody's business.
QUIET = ["--IPKernelApp.log_level=ERROR"]


def needed(*modules):
    """Skip the test where one of these is not installed."""
    for name in modules:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs {name}")


def kernel_environment(folder):
    """Where Jupyter and IPython keep their files: in *folder*, all of them."""
    return {
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "lab-settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "lab-workspaces"),
        # Debuggers tell on stderr about frozen modules.
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


class Outputs:
    """
    What a cell left behind.

    Attributes:
        displays: The last bundle of each display, in order.
        values: The bundles of values (``Out[n]``).
        text: What was printed, on either stream.
        error: ``(name, text, traceback)``, or None.
        prompts: What ``input()`` asked.

    """

    def __init__(self):
        self.displays = []
        self.values = []
        self.text = ""
        self.error = None
        self.prompts = []
        self._places = {}

    def take(self, message):
        """A message of the kernel's."""
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            self.text += content["text"]
        elif kind == "display_data":
            identity = content.get("transient", {}).get("display_id")
            if identity is not None:
                self._places[identity] = len(self.displays)
            self.displays.append(content["data"])
        elif kind == "update_display_data":
            place = self._places.get(content["transient"]["display_id"])
            if place is not None:
                self.displays[place] = content["data"]
        elif kind == "execute_result":
            self.values.append(content["data"])
        elif kind == "error":
            self.error = (content["ename"], content["evalue"], content["traceback"])

    @property
    def html(self):
        """All that is displayed, as HTML."""
        return "\n".join(bundle.get("text/html", "") for bundle in self.displays)


class Kernel:
    """A kernel of this Python; ``with`` starts and ends it."""

    def __init__(self, folder, environment):
        self.folder = folder
        self._environment = {**environment, **kernel_environment(folder)}

    def __enter__(self):
        # Older releases warn, which fails a test, until they are told which folders to use.
        os.environ.setdefault("JUPYTER_PLATFORM_DIRS", "1")
        from jupyter_client import KernelManager

        self._manager = KernelManager(kernel_name="python3")
        for name in ("ipython", "runtime"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self._manager.connection_file = str(self.folder / "runtime" / "kernel.json")
        self._manager.start_kernel(
            env=self._environment, cwd=str(self.folder), extra_arguments=QUIET
        )
        self._connect()
        return self

    def _connect(self):
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(PATIENCE)

    def _disconnect(self):
        self._client.stop_channels()
        # Its own, if it has one: the garbage collector would find it unclosed, in another test.
        if self._client.context is not self._manager.context:
            self._client.context.destroy(linger=0)

    def __exit__(self, *exc_info):
        self._disconnect()
        self._manager.shutdown_kernel(now=False)
        self._manager.cleanup_resources()

    @property
    def pid(self):
        """The process of the kernel."""
        return self._manager.provisioner.pid

    def interrupt(self):
        """What the button of a notebook does."""
        os.kill(self.pid, signal.SIGINT)

    def restart(self, now=False):
        """What the button of a notebook does; with *now* the kernel is killed."""
        self._disconnect()
        self._manager.restart_kernel(now=now)
        self._connect()

    def begin(self, code):
        """Begin to run a cell, and wait for nothing."""
        self._client.execute(code)

    def wait_for(self, text):
        """Wait until the cell that was begun has displayed or printed a text."""
        outputs = Outputs()
        while text not in outputs.html + outputs.text:
            outputs.take(self._client.get_iopub_msg(timeout=PATIENCE))

    def run(self, code, *replies, at=None, call=None, allow_stdin=True):
        """
        Run a cell to its end.

        *replies* are typed at its prompts, one after the other; a function among them is
        called, and nothing is typed. *call* is called once *at* is displayed or printed.
        """
        outputs, left = Outputs(), list(replies)
        called = []

        def take(message):
            outputs.take(message)
            if at is not None and not called and at in outputs.html + outputs.text:
                called.append(True)
                call()

        def reply(message):
            outputs.prompts.append(message["content"]["prompt"])
            following = left.pop(0)
            if callable(following):
                following()
            else:
                self._client.input(following)

        self._client.execute_interactive(
            code, allow_stdin=allow_stdin, output_hook=take, stdin_hook=reply, timeout=PATIENCE
        )
        assert not left, f"never asked for: {left}"
        assert at is None or called, f"never shown: {at}"
        return outputs

    def value(self, expression):
        """The value of an expression in the kernel, by its repr."""
        import ast

        outputs = self.run(f"print(repr({expression}))")
        assert outputs.error is None, outputs.error
        return ast.literal_eval(outputs.text)


RUN_NOTEBOOK = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], 4)
nbformat.validate(notebook)
nbclient.NotebookClient(notebook, timeout=60).execute()
nbformat.write(notebook, sys.argv[2])
"""


def run_notebook(path, folder, environment):
    """Run a notebook from top to bottom, as a program does; the outputs of its code cells."""
    done = subprocess.run(
        [sys.executable, "-c", RUN_NOTEBOOK, str(path), str(folder / "done.ipynb")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**environment, **kernel_environment(folder)},
        cwd=folder,
        timeout=2 * PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    cells = json.loads((folder / "done.ipynb").read_text(encoding="utf-8"))["cells"]
    return [cell["outputs"] for cell in cells if cell["cell_type"] == "code"]


def shown(outputs):
    """What a cell of a notebook file shows, as plain text."""
    texts = []
    for output in outputs:
        data = output.get("data", {})
        text = data.get("text/plain", output.get("text", ""))
        texts.append(text if isinstance(text, str) else "".join(text))
    return "\n".join(texts)
