"""
How the suite runs: its two tiers, its order, its workers, and what it says about skips.

``pytest`` is the tier that a person runs. ``pytest --everything`` adds the tests marked
``everything``: an older CLI, the bridge's route, other Qt bindings, a browser, ssh, full sizes.

A test that lacks something says ``pytest.skip("needs ...")``, always in the same words for the
same thing: the report has one line for each reason. Where ``CI`` is ``true`` everything has been
installed, and a skip is a failure.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# The only reasons that hold in CI as well. There, each run names the Python it is about.
NOT_IN_CI = ("needs Windows", "needs macOS", "needs Python")


def pytest_addoption(parser):
    """Add ``--everything``."""
    parser.addoption(
        "--everything",
        action="store_true",
        help="also run what is marked 'everything': older CLIs, bridges, browsers, full sizes",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One worker more than there are cores: many tests wait for a process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) + 1
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave out the second tier unless it was asked for, and begin with what takes longest."""
    if not config.getoption("--everything"):
        extra = [item for item in items if item.get_closest_marker("everything")]
        if extra:
            config.hook.pytest_deselected(items=extra)
            items[:] = [item for item in items if not item.get_closest_marker("everything")]
    # Stable, and by file: tests that share a client stay together.
    items.sort(key=lambda item: rank(item.path))


def rank(path):
    """Files of real CLIs first: one that begins last would keep a single worker busy."""
    return 0 if path.is_relative_to(HERE / "real") else 1


def pytest_collection_finish():
    """Tests that collect garbage need not look at thousands of collected tests."""
    gc.collect()
    gc.freeze()


def reason_of(report):
    """Why a test was skipped."""
    where = report.longrepr
    reason = where[2] if isinstance(where, tuple) else str(where)
    return reason.removeprefix("Skipped: ")


def checked(report):
    """A report; in CI, that of a failure instead of that of a skip."""
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        reason = reason_of(report)
        if not reason.startswith(NOT_IN_CI):
            report.outcome = "failed"
            report.longrepr = f"{report.nodeid} was skipped in CI: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """Fail a test that is skipped in CI."""
    return checked((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    """Fail a file that skips itself in CI."""
    return checked((yield))


def pytest_terminal_summary(terminalreporter):
    """One line for each reason."""
    reasons = Counter(reason_of(report) for report in terminalreporter.stats.get("skipped", ()))
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"SKIPPED [{count}] {reason}")
