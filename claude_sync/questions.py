"""
The questions of Claude's tool AskUserQuestion, and answers to them.

Claude asks up to four questions at once, each with a few options. The answer
goes back as the tool's own input with ``answers`` added to it: one text for each
question, by the question's full text; several labels are one text, joined.
"""

# wire() and raw_field() return dataclasses.field(), which is no call at class level.
# ruff: noqa: RUF009

from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .errors import UsageError
from .option_kinds import nearest
from .wire_fields import (
    Raw,
    build,
    flag_of,
    mappings_of,
    optional_text_of,
    raw_field,
    text_of,
    wire,
)

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

    label: str = wire(text_of)
    description: str = wire(text_of)
    preview: Optional[str] = wire(optional_text_of)
    raw: Raw = raw_field()


def options_of(value: Any) -> Tuple[QuestionOption, ...]:
    """The options in a list; a text in place of an object is its label."""
    options: List[QuestionOption] = []
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

    text: str = wire(text_of, "question")
    header: str = wire(text_of)
    options: Tuple[QuestionOption, ...] = wire(options_of)
    multi_select: bool = wire(flag_of, "multiSelect")
    raw: Raw = raw_field()

    @property
    def labels(self) -> Tuple[str, ...]:
        """The labels of the options, in their order."""
        return tuple(option.label for option in self.options)


def questions_of(input: Mapping[str, Any]) -> Tuple[Question, ...]:
    """The questions in the input of the tool; what has no text is none. Never raises."""
    found = mappings_of(input.get("questions")) if isinstance(input, Mapping) else ()
    every = (build(Question, raw) for raw in found)
    return tuple(question for question in every if question.text)


def answered_input(input: Mapping[str, Any], answers: Mapping[str, str]) -> Dict[str, Any]:
    """The input of the tool with the answers in it, which is what the CLI wants back."""
    return {**input, "answers": dict(answers)}


def checked_answers(
    questions: Sequence[Question], answers: Any, free_text: bool = False
) -> Dict[str, str]:
    """
    The answers as the CLI takes them: one text for each question, by its full text.

    Args:
        questions: What was asked.
        answers: A dict from questions (the object, its text or its header) to a label or
            a list of labels; for a single question a label or a list alone.
        free_text: Whether any text is an answer, not only the labels.

    Raises:
        UsageError: A question or a label that is not there, one too many, or none; the
            text says what there is.

    """
    given: Dict[str, Any] = {}
    for key, answer in answer_pairs(questions, answers):
        question = question_for(key, questions)
        if question.text in given:
            raise UsageError(
                f"the question {question.text!r} is answered twice. Name it once, by its text "
                "or by its header."
            )
        given[question.text] = answer_text(question, answer, free_text)
    missing = [question for question in questions if question.text not in given]
    if missing:
        unanswered = missing[0]
        raise UsageError(
            f"the question {unanswered.text!r} has no answer. Answer every question; "
            f"{possible(unanswered, free_text)}"
        )
    return given


def answer_pairs(questions: Sequence[Question], answers: Any) -> List[Tuple[Any, Any]]:
    """Each question that is answered, as it was named, with its answer."""
    if isinstance(answers, Mapping):
        return list(answers.items())
    if len(questions) == 1 and isinstance(answers, (str, list, tuple)):
        return [(questions[0], answers)]
    if len(questions) == 1:
        form = "a label, a list of labels, or a dict {question: label or [labels]}"
    else:
        form = f"a dict {{question: label or [labels]}} with the {len(questions)} questions"
    raise UsageError(f"answers must be {form}, not {shown(answers)}. {names_of(questions)}")


def question_for(key: Any, questions: Sequence[Question]) -> Question:
    """The question that *key* names: exactly, or but for upper and lower case."""
    if isinstance(key, Question):
        found = [question for question in questions if question.text == key.text]
    elif isinstance(key, str):
        found = (
            [question for question in questions if question.text == key]
            or [question for question in questions if question.header == key]
            or [question for question in questions if is_like(key, question.text)]
            or [question for question in questions if is_like(key, question.header)]
        )
    else:
        found = []
    texts = {question.text for question in found}
    if len(texts) > 1:
        raise UsageError(
            f"{key!r} may mean any of {len(texts)} questions. Name each by its text: "
            + ", ".join(map(repr, sorted(texts)))
            + "."
        )
    if not found:
        names = [name for question in questions for name in (question.text, question.header)]
        meant = nearest(key, names) if isinstance(key, str) else None
        hint = f" Did you mean {meant!r}?" if meant else ""
        raise UsageError(f"there is no question {shown(key)}.{hint} {names_of(questions)}")
    return found[0]


def answer_text(question: Question, answer: Any, free_text: bool) -> str:
    """The answer to one question as the text the CLI takes."""
    chosen = [answer] if isinstance(answer, str) else answer
    if not isinstance(chosen, (list, tuple)):
        raise UsageError(
            f"the answer to {question.text!r} must be a label or a list of labels, not "
            f"{shown(answer)}. {capital(possible(question, free_text))}"
        )
    if not chosen:
        raise UsageError(
            f"the answer to {question.text!r} is an empty list. "
            f"{capital(possible(question, free_text))}"
        )
    labels = [label_for(question, label, free_text) for label in chosen]
    if len(labels) > 1 and not question.multi_select:
        raise UsageError(
            f"the question {question.text!r} takes one answer, not {len(labels)}. "
            f"{capital(possible(question, free_text))}"
        )
    if len(set(labels)) < len(labels):
        raise UsageError(
            f"an answer to {question.text!r} is given twice: {shown(answer)}. Give each once."
        )
    return BETWEEN_LABELS.join(labels)


def label_for(question: Question, label: Any, free_text: bool) -> str:
    """The label that *label* is, but for upper and lower case; or free text as it is."""
    if isinstance(label, str):
        if label in question.labels:
            return label
        alike = {known for known in question.labels if is_like(label, known)}
        if len(alike) == 1:
            return alike.pop()
        if free_text and label.strip():
            return label
    meant = nearest(label, question.labels) if isinstance(label, str) else None
    hint = f" Did you mean {meant!r}?" if meant else ""
    raise UsageError(
        f"{shown(label)} is no answer to {question.text!r}.{hint} "
        f"{capital(possible(question, free_text))}"
    )


def is_like(one: str, other: str) -> bool:
    """Whether both are the same but for case and blanks around them."""
    folded = one.strip().casefold()
    return bool(folded) and folded == other.strip().casefold()


# Texts of errors.


def possible(question: Question, free_text: bool) -> str:
    """What can be answered, as the end of a sentence."""
    if not question.options:
        return "any text will do." if free_text else "it has no options: pass free_text=True."
    how_many = "one or several of" if question.multi_select else "one of"
    labels = ", ".join(map(repr, question.labels))
    rest = "; or any other text" if free_text else "; any other text needs free_text=True"
    return f"possible is {how_many} {labels}{rest}."


def names_of(questions: Sequence[Question]) -> str:
    """The questions that can be answered, as a sentence."""
    if not questions:
        return "Nothing was asked."
    names = (
        repr(question.text) + (f" ({question.header!r})" if question.header else "")
        for question in questions
    )
    return "Asked was: " + ", ".join(names) + "."


def capital(text: str) -> str:
    """*text* as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def shown(value: Any) -> str:
    """*value* for an error text."""
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "..."
