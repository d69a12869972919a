"""The CLIs that the other tests of this folder are about are there."""

from __future__ import annotations

import os

import pytest
from real_clis import NEWEST, OLD, cli_path, is_installed, is_wanted


@pytest.mark.parametrize("version", [NEWEST, pytest.param(OLD, marks=pytest.mark.everything)])
def test_the_cli_is_there(version):
    """Where it is not, no other test tells of it."""
    if is_wanted(version) and not is_installed(version):
        pytest.skip("needs the newest CLI" if version == NEWEST else f"needs the CLI {version}")
    assert not is_wanted(version) or os.access(cli_path(version), os.X_OK)
