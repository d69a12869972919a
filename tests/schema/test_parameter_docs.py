"""What docstrings of tools and classes say about parameters, in three styles."""

from __future__ import annotations

from tables import each

from claude_sync.schema.docstrings import documentation_of

GOOGLE = """Tell the weather.

    For any town.

    Args:
        city (str): Name of the town,
            or of a village.
        days: How many days: at most seven.
        *rest: More.

    Raises:
        ValueError: Never.

    Returns:
        A text.
    """

NUMPY = """Tell the weather.

    For any town.

    Parameters
    ----------
    city : str
        Name of the town,
        or of a village.
    days, hours : int, optional
        How long.
    bare
        Nothing known.

    Raises
    ------
    ValueError
        Never.

    Returns
    -------
    str
        A text.
    """

SPHINX = """Tell the weather.

    For any town.

    :param city: Name of the town,
        or of a village.
    :param int days: How many days.
    :type city: str
    :raises ValueError: Never.
    :returns: A text.
    :rtype: str
    """


@each(
    ("docstring", "rest", "parameters"),
    [
        (
            GOOGLE,
            "Tell the weather.\n\nFor any town.\n\nReturns:\n    A text.",
            {
                "city": "Name of the town, or of a village.",
                "days": "How many days: at most seven.",
                "rest": "More.",
            },
        ),
        (
            NUMPY,
            "Tell the weather.\n\nFor any town.\n\nReturns\n-------\nstr\n    A text.",
            {
                "city": "Name of the town, or of a village.",
                "days": "How long.",
                "hours": "How long.",
                "bare": "Nothing known.",
            },
        ),
        (
            SPHINX,
            "Tell the weather.\n\nFor any town.\n\nReturns: A text.",
            {"city": "Name of the town, or of a village.", "days": "How many days."},
        ),
        (None, "", {}),
        ("Note: text.\n\nExample:\n    x = 1", "Note: text.\n\nExample:\n    x = 1", {}),
        (":mod: is kept, as is a line of ----", ":mod: is kept, as is a line of ----", {}),
        ("Do.\n\nArgs:\n    loose words\n", "Do.", {}),
        (":param:", "", {}),
    ],
)
def test_what_it_says_about_parameters_is_taken_out(docstring, rest, parameters):
    """And about exceptions; the rest, what is returned too, describes the function."""
    found = documentation_of(docstring)
    assert (found.description, found.parameters) == (rest, parameters)
