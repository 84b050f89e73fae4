"""Questions: what a proposal cannot know, with what it takes where nobody answers.

`propose` asks where it gets to a question, so that later ones depend on earlier answers. Whoever answers is a function;
the command line has one that asks at a terminal. Without one every default is taken, and said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Question:
    """One thing to decide."""

    key: str
    """What it is about, for programs: `person`, `role of age`."""
    text: str
    choices: tuple[tuple[str, str], ...]
    """What can be answered, and in words what that means."""
    default: str
    several: bool = False
    """Whether several choices can be taken, separated by commas, or none."""
    loud: bool = False
    """Whether something is lost or risked by the default, so that it must not be overlooked."""
    taken: str = ""
    """In a sentence, what taking the default means; empty: the text and the default say it."""

    def accepts(self, answer: str) -> bool:
        """Whether an answer is one of the choices, or a list of them."""
        allowed = {choice for choice, _ in self.choices}
        given = parts(answer) if self.several else [answer]
        return all(one in allowed for one in given) and len(set(given)) == len(given)


def parts(answer: str) -> list[str]:
    """The choices in an answer of several. Names with commas in them are not told apart, and not offered."""
    return [part.strip() for part in answer.split(",") if part.strip()]


@dataclass(frozen=True)
class Answered:
    """A question with its answer."""

    question: Question
    answer: str

    @property
    def assumption(self) -> str:
        """What was taken, in a sentence."""
        if self.question.taken and self.answer == self.question.default:
            return self.question.taken
        words = dict(self.question.choices).get(self.answer, "")
        return f"{self.question.text} {self.answer or 'none'}" + (f" ({words})" if words else "")


Answer = Callable[[Question], str]


@dataclass
class Asking:
    """Asks, and keeps what was answered."""

    answer: Answer | None = None
    answered: list[Answered] = field(default_factory=list)

    def ask(self, question: Question) -> str:
        """The answer to a question; its default where nobody answers."""
        given = question.default if self.answer is None or len(question.choices) < 2 else self.answer(question)
        self.answered.append(Answered(question, given))
        return given

    def assume(self, question: Question) -> None:
        """Take the default without asking, and keep that."""
        self.answered.append(Answered(question, question.default))
