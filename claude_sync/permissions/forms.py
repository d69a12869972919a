"""
What dialogs show and what they answer, whatever toolkit draws them.

::

    request -> [form] -> a dialog of some toolkit -> [form] -> answer

A form knows the texts, keeps what the person has chosen so far, and answers: once. The
request may have been answered elsewhere or withdrawn meanwhile; a button that is pressed
then does nothing. A dialog that is closed without a choice calls ``deny()`` or
``decline()``, which are harmless after an answer.

Everything that Claude or the CLI wrote is made harmless before it is shown: nothing in it
can turn the direction of text or add lines. Forms belong to one thread, the toolkit's.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

from ..errors import AlreadyAnswered, UsageError
from ..messages.fields import mappings_of, optional_text_of, text_of
from .preview import DIFFS, Line, harmless, preview_lines, shown
from .questions import Question
from .request import QUESTION_TOOL, Decision, PermissionRequest, Questions

__all__ = ["Choice", "Line", "PermissionForm", "QuestionField", "QuestionForm", "form_of"]

MOST_RULES = 6
# The most lines and characters of a question, and of what is told about an option. Without
# limits a text could make a window larger than a display has room for, which ends programs.
QUESTION_SIZE = (20, 1_000)
OPTION_SIZE = (4, 300)

# Milliseconds in which a dialog that has just appeared allows nothing. Whoever presses a button
# so soon has not read what it says: the click was meant for what was in that place before, or
# is the second of a double click on the dialog that went.
SETTLING = 500

# What every view says.
REASON = "If you deny: why, or what to do instead (Claude reads this)"
EVERYTHING = "Show everything"
DECLINE = "Decline"
OWN_WORDS = "Other, in your own words"
DENIED_BY_PERSON = (
    "The user denied this. Do not try to do the same thing another way. Continue without it, or "
    "ask what to do instead."
)
CLOSED_UNDECIDED = "The user closed the dialog without answering, so the request is denied."


class Choice(NamedTuple):
    """
    What a person may choose.

    Attributes:
        name: ``allow``, ``accept_edits``, ``allow_always`` or ``deny``, a method of the form.
        label: The words for a button.
        meaning: What it means beyond its label; may be empty.
        allows: Whether something runs then.

    """

    name: str
    label: str
    meaning: str = ""
    allows: bool = True


class Form:
    """
    What the forms share: one answer, and what happens when it is no longer wanted.

    Attributes:
        request: The request.
        decision: What the verb of the request returned; None before, and if it was not this form's.

    """

    def __init__(self, request: PermissionRequest) -> None:
        self.request = request
        self.decision: Optional[Decision] = None
        self._is_answered = False

    @property
    def is_open(self) -> bool:
        """Whether an answer is still wanted, and nobody else has given one."""
        return not self._is_answered and self.request.is_open

    def on_withdrawn(self, close: Callable[[], object]) -> None:
        """
        Call *close* when the answer is no longer wanted: the CLI withdrew the request,
        died or was closed. It runs where the client's handlers run.
        """

        def withdrawn() -> None:
            self._is_answered = True
            close()

        self.request.on_cancel(withdrawn)

    def _answer(self, verb: Callable[[], Decision]) -> bool:
        """Answer with *verb*, unless somebody has; whether this was the answer."""
        if not self.is_open:
            return False
        try:
            self.decision = verb()
        except AlreadyAnswered:  # by another handler, which was quicker
            self._is_answered = True
            return False
        # What is refused as no answer, an UsageError, leaves the form open.
        self._is_answered = True
        return True


class PermissionForm(Form):
    """
    May Claude use this tool? Allow it, more of its kind, or deny it with a reason.

    Attributes:
        request: The request.
        title: What is asked, in a line.
        details: More about it, in lines; often none.
        lines: What would happen, in the lines of the preview.
        is_diff: Whether the preview is a diff.
        always: What "always" would allow, in words; None where it is not to be offered.
        choices: What the person may choose, in the order of the buttons.

    """

    def __init__(self, request: PermissionRequest) -> None:
        super().__init__(request)
        self.is_diff = request.tool in DIFFS
        self.lines = preview_lines(request.tool, request.raw_input, request.cwd)
        creates = any(line.text.startswith("new file ") for line in self.lines[:2])
        self.title = title_of(request, creates and self.is_diff)
        self.details = tuple(details_of(request))
        self.always = always_of(request)
        choices = [Choice("allow", "Allow")]
        if request.can_accept_edits:
            meaning = "All edits means: Claude edits files without asking, until the session ends"
            choices.append(Choice("accept_edits", "Allow all edits in this session", meaning))
        if self.always is not None:
            meaning = f"Always allow means: {self.always}"
            choices.append(Choice("allow_always", "Always allow", meaning))
        self.choices = (*choices, Choice("deny", "Deny", allows=False))

    def everything(self) -> Tuple[Line, ...]:
        """All that is known about the request, nothing of it left out."""
        return preview_lines(self.request.tool, self.request.raw_input, full=True)

    def allow(self) -> bool:
        """Let it run, this once; whether this was the answer."""
        return self._answer(self.request.allow)

    def allow_always(self) -> bool:
        """Let it run, and what :attr:`always` says, for this session."""
        return self._answer(self.request.allow_always)

    def accept_edits(self) -> bool:
        """Let it run, and all edits of this session."""
        return self._answer(self.request.accept_edits)

    def deny(self, reason: str = "") -> bool:
        """Do not let it run; Claude reads the *reason*, if the person gave one."""
        message = reason.strip() or DENIED_BY_PERSON
        return self._answer(lambda: self.request.deny(message))

    def close(self) -> bool:
        """The dialog is closed without a choice: a no."""
        return self._answer(lambda: self.request.deny(CLOSED_UNDECIDED))


class QuestionField:
    """
    One question, and what is chosen so far.

    Attributes:
        question: The question; its ``options`` have the labels and descriptions.
        is_multiple: Whether several may be chosen.
        chosen: The numbers of the chosen options, in the order of the options.
        other: What the person wrote instead, or besides where several may be chosen.

    """

    def __init__(self, question: Question) -> None:
        self.question = question
        self.is_multiple = question.multi_select
        self.chosen: Tuple[int, ...] = ()
        self.other = ""

    @property
    def title(self) -> str:
        """The question in a word or two; may be empty."""
        return shown(self.question.header)

    @property
    def text(self) -> str:
        """The question."""
        return beginning(self.question.text, *QUESTION_SIZE)

    @property
    def options(self) -> Tuple[Tuple[str, str], ...]:
        """The label and the description of each option, to be shown."""
        return tuple(
            (shown(option.label), beginning(option.description, *OPTION_SIZE))
            for option in self.question.options
        )

    def choose(self, number: int, is_chosen: bool = True) -> None:
        """Choose an option, or take it back. Where one answer is wanted, it replaces others."""
        if not 0 <= number < len(self.question.options):
            raise UsageError(
                f"there is no option {number}: they are 0 to {len(self.question.options) - 1}."
            )
        others = {each for each in self.chosen if each != number}
        if not is_chosen:
            self.chosen = tuple(sorted(others))
        elif self.is_multiple:
            self.chosen = tuple(sorted({*others, number}))
        else:
            self.chosen, self.other = (number,), ""

    def write(self, text: str) -> None:
        """Write an answer of one's own. Where one answer is wanted, it replaces the choice."""
        self.other = text
        if text.strip() and not self.is_multiple:
            self.chosen = ()

    def answer(self) -> Union[str, List[str], None]:
        """The answer: a label or a text, a list where several may be; None without any."""
        labels = [self.question.options[number].label for number in self.chosen]
        if self.other.strip():
            labels.append(self.other.strip())
        # The same answer twice, in words of one's own, is one answer.
        distinct = list({label.strip().casefold(): label for label in reversed(labels)}.values())
        distinct.reverse()
        if not distinct:
            return None
        return distinct if self.is_multiple else distinct[0]


class QuestionForm(Form):
    """
    Claude asks the person something.

    Attributes:
        questions: What is asked.
        title: What this is, in a line.
        fields: One for each question.

    """

    def __init__(self, questions: Questions) -> None:
        super().__init__(questions.request)
        self.questions = questions
        self.title = "A subagent asks" if questions.agent_id else "Claude asks"
        # The same question twice has one answer.
        distinct = {question.text: question for question in questions.questions}
        self.fields = tuple(map(QuestionField, distinct.values()))

    def missing(self) -> Optional[QuestionField]:
        """The first question without an answer; None if the form can be sent."""
        return next((field for field in self.fields if field.answer() is None), None)

    def answers(self) -> Dict[str, Union[str, List[str]]]:
        """The answers so far, for ``questions.answer(..., free_text=True)``."""
        given = ((field.question.text, field.answer()) for field in self.fields)
        return {text: answer for text, answer in given if answer is not None}

    def answer(self) -> bool:
        """Send the answers; whether they were. False, too, while one is missing."""
        if self.missing() is not None:
            return False
        return self._answer(lambda: self.questions.answer(self.answers(), free_text=True))

    def decline(self) -> bool:
        """Do not answer: what a dialog that is closed without an answer means."""
        return self._answer(self.questions.decline)


def form_of(subject: Any) -> Union[PermissionForm, QuestionForm]:
    """
    The form for what a handler got.

    A question without a handler for questions comes to the handlers of permissions;
    the person gets the form for questions all the same.
    """
    if isinstance(subject, Questions):
        return QuestionForm(subject)
    if not isinstance(subject, PermissionRequest):
        raise UsageError(
            "a dialog takes the request that an on_permission or on_question handler got, not "
            f"{subject!r}."
        )
    if subject.tool == QUESTION_TOOL and subject.questions:
        return QuestionForm(Questions(subject))
    return PermissionForm(subject)


# Texts.


def title_of(request: PermissionRequest, creates: bool) -> str:
    """What is asked, in a line; *creates*: the file is not there yet."""
    if request.title:
        return shown(request.title)
    who = "A subagent" if request.agent_id else "Claude"
    if request.tool == "Bash":
        return f"{who} wants to run a command"
    if request.tool in DIFFS:
        return f"{who} wants to {'create' if creates else 'change'} a file"
    if request.tool == "ExitPlanMode":
        return f"{who} wants to carry out this plan"
    if request.mcp_server:
        name = request.tool.split("__")[-1]
        return shown(f"{who} wants to use {name} of {request.mcp_server}")
    return shown(f"{who} wants to use {request.tool}")


def details_of(request: PermissionRequest) -> Iterator[str]:
    """What else the CLI tells about it."""
    # The preview has it already: what a command is for, and which file is changed.
    known = request.raw_input.get("description" if request.tool == "Bash" else "file_path")
    if request.description and not text_of(known).endswith(request.description):
        yield f"Claude says: {shown(request.description)}"
    if request.reason:
        yield shown(request.reason)
    if request.blocked_path:
        yield shown(f"It is about {request.blocked_path}")


def always_of(request: PermissionRequest) -> Optional[str]:
    """What ``allow_always()`` would allow, in words; None if the CLI suggests no rule."""
    rules: List[str] = []
    for suggestion in request.always:
        for rule in mappings_of(suggestion.get("rules")):
            name = text_of(rule.get("toolName"))
            content = optional_text_of(rule.get("ruleContent"))
            if name:
                rules.append(f"{name}({content})" if content else f"every use of {name}")
    if not rules:
        return None
    words = [shown(rule) for rule in dict.fromkeys(rules)]
    if len(words) > MOST_RULES:
        words = [*words[:MOST_RULES], f"{len(words) - MOST_RULES} more"]
    *first, last = words
    return (
        f"{', '.join(first)} and {last}, in this session" if first else f"{last}, in this session"
    )


def beginning(text: str, lines: int, characters: int) -> str:
    """*text* as :func:`shown_text` has it, up to so many lines and characters."""
    kept = "\n".join(text.split("\n", lines)[:lines])[:characters]
    return shown_text(kept) + ("..." if len(kept) < len(text) else "")


def shown_text(text: str) -> str:
    """*text* on as many lines as it has, each harmless."""
    return "\n".join(map(harmless, text.split("\n")))
