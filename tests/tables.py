"""Tables of cases: one test runs all rows of one, and tells of every row that failed."""

from __future__ import annotations

import functools
import inspect

import pytest


def each(names, rows):
    """
    Run a test for every row of a table, as one test.

    As ``pytest.mark.parametrize``, for functions that leave nothing behind: fixtures are made
    once for all rows. A table may be of tens of lines without costing tens of tests.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = list(rows)

    def decorate(test):
        @functools.wraps(test)
        def every_row(**fixtures):
            assert rows, "the table is empty"
            failures, first = [], None
            for row in rows:
                values = [row] if len(names) == 1 else row
                try:
                    test(**dict(zip(names, values, strict=True)), **fixtures)
                # A row that is skipped would hide those after it.
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
                    first = first or error
                    told = str(error) or repr(error)
                    failures.append(f"{str(row)[:300]}: {type(error).__name__}: {told}")
            if failures:
                head = f"{len(failures)} of {len(rows)} rows failed"
                raise pytest.fail.Exception("\n\n".join([head, *failures])) from first

        signature = inspect.signature(test)
        kept = [each for name, each in signature.parameters.items() if name not in names]
        every_row.__signature__ = signature.replace(parameters=kept)
        return every_row

    return decorate
