"""
JupyterLab and a browser, for tests: private folders, no network, no window.

The server listens on a free port of 127.0.0.1; everything that JupyterLab would ask
the network (news, updates, a list of extensions) is switched off.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time

from kernels import kernel_environment
from patience import PATIENCE

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
QUIET = {
    "LabApp": {
        "news_url": None,
        "check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "extension_manager": "readonly",
    },
    # Files are saved when a test says so, and kernels end when it does.
    "ServerApp": {"terminals_enabled": False},
}
SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "docmanager-extension/plugin": {"autosave": False},
    # Otherwise every cell that is not to be seen is taken out of the page.
    "notebook-extension/tracker": {"windowingMode": "none"},
    "completer-extension/manager": {"autoCompletion": False},
    "codemirror-extension/plugin": {"defaultConfig": {"autoClosingBrackets": False}},
}


def until(condition, what, patience=PATIENCE):
    """Wait for something that nothing announces; what it gave."""
    end = time.monotonic() + patience
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, f"waited {patience} s in vain for {what}"
        threading.Event().wait(0.05)


class Lab:
    """A JupyterLab server; ``with`` starts and ends it."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.root = folder / "notebooks"
        self.token = secrets.token_hex(16)
        self._environment = {**environment, **kernel_environment(folder)}
        self._process = None
        self.port = None

    def __enter__(self):
        self.root.mkdir(parents=True)
        config = self.folder / "config"
        config.mkdir()
        (config / "jupyter_server_config.json").write_text(json.dumps(QUIET))
        for name, values in SETTINGS.items():
            path = self.folder / "lab-settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values))
        self._log = open(self.folder / "server.log", "wb")
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
                *("--ServerApp.ip=127.0.0.1", "--ServerApp.port=0"),
                f"--IdentityProvider.token={self.token}",
                f"--ServerApp.root_dir={self.root}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=self._environment,
            cwd=self.root,
            start_new_session=True,
        )
        try:
            self.port = until(self._find_port, "the server's port")
        except BaseException:
            self.__exit__()
            raise
        return self

    def _find_port(self):
        assert self._process.poll() is None, (self.folder / "server.log").read_text()
        for file in (self.folder / "runtime").glob("jpserver-*.json"):
            with contextlib.suppress(ValueError, OSError):
                return json.loads(file.read_text())["port"]
        return None

    def __exit__(self, *exc_info):
        # The server ends its kernels, and they their CLIs.
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._log.close()

    def notebook(self, name, *sources):
        """Write a notebook with these cells; its address."""
        cells = [
            {
                "cell_type": "code",
                "id": f"cell{number}",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": source,
            }
            for number, source in enumerate(sources)
        ]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = {
            "cells": cells,
            "metadata": {"kernelspec": kernel},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (self.root / name).write_text(json.dumps(notebook))
        return self.address(name)

    def address(self, name):
        """Where the browser finds a notebook."""
        return f"http://127.0.0.1:{self.port}/doc/tree/{name}?token={self.token}&reset"


def chromium_path():
    """The browser that is installed, or None."""
    import shutil

    for name in CHROMIUM:
        found = shutil.which(name)
        if found:
            return found
    return None


@contextlib.contextmanager
def browser_page(folder, width=1100, height=900):
    """A page of a browser that was never used before."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(folder / "profile"),
            executable_path=chromium_path(),
            args=FLAGS,
            headless=True,
            viewport={"width": width, "height": height},
        )
        try:
            page = context.pages[0] if context.pages else context.new_page()
            page.set_default_timeout(PATIENCE * 1000)
            yield Page(page)
        finally:
            context.close()


class Page:
    """A notebook in the browser, used as a person uses it."""

    def __init__(self, page):
        self.page = page

    def open(self, address):
        """Go to a notebook; ready when its kernel is."""
        self.page.goto(address)
        self.page.wait_for_selector(".jp-Notebook .jp-CodeCell .cm-content")
        self.wait_for_kernel()

    def wait_for_kernel(self):
        """The kernel is connected, and runs no cell."""
        self.page.get_by_text("| Idle").wait_for()

    def cell(self, number):
        """One of the cells."""
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(number)

    def type(self, number, source):
        """Type into a cell, in place of what is there, and run it."""
        editor = self.cell(number).locator(".cm-content")
        editor.click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.press("Delete")
        self.page.keyboard.insert_text(source)
        self.page.keyboard.press("Shift+Enter")

    def run(self, number):
        """Run a cell as it is."""
        self.cell(number).locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")

    def output(self, number):
        """Where a cell's output is."""
        return self.cell(number).locator(".jp-OutputArea")

    def wait_for_text(self, number, text):
        """Wait until a cell's output shows *text*."""
        self.output(number).get_by_text(text).first.wait_for()

    def reply(self, number, text):
        """Answer the prompt in a cell's output."""
        prompt = self.output(number).locator("input.jp-Stdin-input")
        prompt.fill(text)
        prompt.press("Enter")

    def interrupt(self):
        """Press the button that interrupts the kernel."""
        self.page.locator('[data-jp-item-name="interrupt"]').click()

    def restart(self):
        """Press the button that restarts the kernel, and confirm."""
        self.page.locator('[data-jp-item-name="restart"]').click()
        self.page.locator(".jp-Dialog .jp-mod-accept").click()

    def shut_down(self, lab, name):
        """End the kernel of a notebook, and leave it."""
        script = """async ([base, token, name]) => {
            const headers = {Authorization: "token " + token};
            const found = await (await fetch(base + "/api/sessions", {headers})).json();
            for (const each of found.filter(each => each.path === name)) {
                await fetch(base + "/api/sessions/" + each.id, {method: "DELETE", headers});
            }
        }"""
        self.page.evaluate(script, [f"http://127.0.0.1:{lab.port}", lab.token, name])
        self.page.goto("about:blank")
