"""What a test does that needs a tool which is not installed."""

from __future__ import annotations

import os

import pytest


def unavailable(reason):
    """A test cannot run: skipped at home, a failure where everything is to be tested."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
