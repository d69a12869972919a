"""The one logger: silent by default, short lines, no credentials."""

from __future__ import annotations

import logging

import pytest

from claude_sync.log import LONGEST_PAYLOAD, logger, shortened


def test_there_is_one_logger_by_name():
    """Programs configure it by the name of the package."""
    assert logger is logging.getLogger("claude_sync")


def test_warnings_reach_people_who_configured_nothing():
    """No handler and no level of our own: Python's last resort prints warnings, the rest not."""
    assert logger.handlers == []
    assert logger.level == logging.NOTSET
    assert logger.propagate


@pytest.mark.parametrize("data", [b'{"a": 1}\n', '{"a": 1}\n'])
def test_a_short_payload_is_shown_whole(data):
    """Bytes and texts are shown alike, without the line end."""
    assert shortened(data) == '{"a": 1}'


def test_a_long_payload_is_cut():
    """However long a payload is, its line is short and says that more was there."""
    shown = shortened("x" * 1_000_000)
    assert shown == "x" * LONGEST_PAYLOAD + " ..."


@pytest.mark.parametrize("data", ['{"apiKey": "hunter2"}', b"Authorization: Bearer hunter2"])
def test_credentials_are_hidden(data):
    """What looks like a credential does not get into the log."""
    assert "hunter2" not in shortened(data)


def test_a_credential_across_the_cut_is_hidden():
    """A secret that the cut goes through is hidden before it is cut."""
    text = "x" * (LONGEST_PAYLOAD - 10) + ' "token": "' + "s3cret" * 100 + '"'
    assert "s3cret" not in shortened(text)


def test_broken_utf8_is_shown_all_the_same():
    """Bytes that are no text do not raise."""
    assert shortened(b"a\xff\xfeb") == "a��b"
