"""
Requests for permission and questions to a person, and everything that answers them.

``request`` and ``questions`` are what a handler gets, ``policies`` and ``rules`` decide without
a person, ``forms`` and ``preview`` are what a person is shown, ``terminal`` asks one.
"""

from .questions import Question, QuestionOption
from .request import LATER, Decision, PermissionRequest, Questions

__all__ = [
    "LATER",
    "Decision",
    "PermissionRequest",
    "Question",
    "QuestionOption",
    "Questions",
]
