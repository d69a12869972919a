"""
The questions of Claude's tool AskUserQuestion, and answers to them.

Claude asks up to four questions at once, each with a few options. The answer
goes back as the tool's own input with ``answers`` added to it: one text for each
question, by the question's full text; several labels are one text, joined.
"""

# at() and raw_field() return dataclasses.field(), which is no call at class level.
# ruff: noqa: RUF009

from __future__ import annotations

import dataclasses
from typing import Any, Iterable, Mapping, Sequence

from ..errors import UsageError
from ..messages.fields import (
    Raw,
    at,
    build,
    mappings_of,
    raw_field,
)
from ..support.checks import nearest, refuse

__all__ = ["Question", "QuestionOption", "answered_input", "checked_answers", "questions_of"]

# The answer is one text: newer CLIs join lists like this themselves, older ones cannot.
BETWEEN_LABELS = ", "


@dataclasses.dataclass(frozen=True)
class QuestionOption:
    """
    One of the possible answers.

    Attributes:
        label: What is answered.
        description: What that means; may be empty.
        preview: A longer text to look at before choosing, or None.
        raw: The JSON object.

    """

    label: str = ""
    description: str = ""
    preview: str | None = None
    raw: Raw = raw_field()


def options_of(value: Any) -> tuple[QuestionOption, ...]:
    """The options in a list; a text in place of an object is its label."""
    options: list[QuestionOption] = []
    for item in value if isinstance(value, list) else ():
        if isinstance(item, str):
            options.append(QuestionOption(item))
        elif isinstance(item, dict):
            options.append(build(QuestionOption, item))
    return tuple(option for option in options if option.label)


@dataclasses.dataclass(frozen=True)
class Question:
    """
    A question with its possible answers.

    Attributes:
        text: The question.
        header: The same in a word or two; may be empty.
        options: The answers to choose from.
        multi_select: Whether several may be chosen.
        raw: The JSON object.

    """

    text: str = at("question", default="")
    header: str = ""
    options: tuple[QuestionOption, ...] = at(convert=options_of, default=())
    multi_select: bool = at("multiSelect", default=False)
    raw: Raw = raw_field()

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the options, in their order."""
        return tuple(option.label for option in self.options)


def questions_of(input: Mapping[str, Any]) -> tuple[Question, ...]:
    """The questions in the input of the tool, except those without a text. Never raises."""
    found = mappings_of(input.get("questions")) if isinstance(input, Mapping) else ()
    every = (build(Question, raw) for raw in found)
    return tuple(question for question in every if question.text)


def answered_input(input: Mapping[str, Any], answers: Mapping[str, str]) -> dict[str, Any]:
    """The input of the tool with the answers in it, which is what the CLI wants back."""
    return {**input, "answers": dict(answers)}


def checked_answers(
    questions: Sequence[Question], answers: Any, free_text: bool = False
) -> dict[str, str]:
    """
    The answers as the CLI takes them: one text for each question, by its full text.

    Args:
        questions: What was asked.
        answers: A dict from questions (the object, its text or its header) to a label or a list
            of labels; for a single question a label or a list alone.
        free_text: Whether any text is an answer, not only the labels.

    Raises:
        UsageError: A question or a label does not exist, is given twice, or is missing.

    """
    if not isinstance(answers, Mapping):
        if len(questions) != 1 or not isinstance(answers, (str, list, tuple)):
            form = "a dict {question: label or [labels]} for the questions "
            raise refuse("the answers", answers, form + quoted(q.text for q in questions))
        answers = {questions[0]: answers}
    given: dict[str, str] = {}
    for key, answer in answers.items():
        question = question_of(key, questions)
        if question.text in given:
            raise UsageError(
                f"the question {question.text!r} is answered twice. Name it once, by its text or "
                "by its header."
            )
        given[question.text] = BETWEEN_LABELS.join(labels_of(question, answer, free_text))
    for question in questions:
        if question.text not in given:
            raise UsageError(
                f"the question {question.text!r} has no answer. Answer each question with "
                f"{possible(question, free_text)}."
            )
    return given


def question_of(key: Any, questions: Sequence[Question]) -> Question:
    """The question that *key* names."""
    name = key.text if isinstance(key, Question) else key
    found = alike(name, [question.text for question in questions])
    if not found:
        headers = alike(name, [question.header for question in questions])
        found = {question.text for question in questions if question.header in headers}
    if len(found) == 1:
        return next(question for question in questions if question.text in found)
    names = [name for question in questions for name in (question.text, question.header) if name]
    wanted = f"exactly one of the questions {quoted(names)}"
    raise refuse("the key of an answer", key, wanted, nearest(name, names))


def labels_of(question: Question, answer: Any, free_text: bool) -> list[str]:
    """The chosen labels of one question, in their own spelling; or free text as it is."""
    name = f"the answer to {question.text!r}"
    chosen = [answer] if isinstance(answer, str) else answer
    if not isinstance(chosen, (list, tuple)) or not chosen:
        raise refuse(name, answer, possible(question, free_text))
    labels: list[str] = []
    for label in chosen:
        found = alike(label, question.labels)
        if len(found) == 1:
            labels.append(found.pop())
        elif free_text and isinstance(label, str) and label.strip():
            labels.append(label)
        else:
            meant = nearest(label, question.labels)
            raise refuse(name, label, possible(question, free_text), meant)
    if len(labels) > 1 and not question.multi_select:
        raise refuse(name, answer, "a single label")
    if len(set(labels)) < len(labels):
        raise refuse(name, answer, "a list without repetition")
    return labels


def alike(word: Any, names: Iterable[str]) -> set[str]:
    """The names that are *word*: exactly, or else but for case and blanks around them."""
    if not isinstance(word, str) or not word.strip():
        return set()
    known = set(names)
    folded = word.strip().casefold()
    return {word} if word in known else {n for n in known if n.strip().casefold() == folded}


def possible(question: Question, free_text: bool) -> str:
    """What can be answered, for the text of an error."""
    if not question.options:
        return "a text that is not blank" if free_text else "free text (pass free_text=True)"
    how_many = "one or several of" if question.multi_select else "one of"
    rest = " or any other text" if free_text else " (any other text needs free_text=True)"
    return f"{how_many} {quoted(question.labels)}{rest}"


def quoted(names: Iterable[str]) -> str:
    """The names for the text of an error."""
    return ", ".join(map(repr, names)) or "(none were asked)"
