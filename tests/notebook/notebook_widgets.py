"""What a person sees and does in ipywidgets, without a browser."""

from __future__ import annotations

import ipywidgets
from patience import wait_until


def every(widget):
    """A widget and all that can be seen inside of it."""
    if widget.layout.display == "none":
        return
    yield widget
    for child in getattr(widget, "children", ()):
        yield from every(child)


def shown(widget):
    """All that its texts say, as HTML."""
    kinds = (ipywidgets.HTML, ipywidgets.HTMLMath)
    return "\n".join(each.value for each in every(widget) if isinstance(each, kinds))


def until_shown(widget, *words):
    """Wait for words."""
    wait_until(lambda: all(each in shown(widget) for each in words))


def buttons_of(widget):
    """The labels of its buttons."""
    return [each.description for each in every(widget) if isinstance(each, ipywidgets.Button)]


def click(widget, label):
    """Click the button of that label, once it is there."""
    found = wait_until(
        lambda: [each for each in every(widget) if getattr(each, "description", "") == label]
    )
    found[0].click()
    return found[0]


def of_kind(widget, kind):
    """The widgets of a kind, by its name in ipywidgets."""
    return [each for each in every(widget) if type(each) is getattr(ipywidgets, kind)]


def displayed(data):
    """The widget that a display shows."""
    identity = data["application/vnd.jupyter.widget-view+json"]["model_id"]
    return ipywidgets.widgets.widget._instances[identity]
