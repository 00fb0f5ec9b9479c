"""Failed turns as errors, for rpcs whose answer has no place for a problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ai_server.answering.contract import Outcome
from shared.errors import BudgetExhausted, PasseurError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_server.answering.contract import AnswerResult, Problem


def _codes(kind: type[PasseurError]) -> Iterator[tuple[str, str]]:
    for each in kind.__subclasses__():
        yield each.reason, each.grpc_code
        yield from _codes(each)


CODES: Final = dict(_codes(PasseurError))
"""gRPC code by reason, for problems that come back from a result."""


class Told(PasseurError):
    """A problem told as the error that it was."""

    def __init__(self, problem: Problem) -> None:
        """Take reason, code and words from the problem."""
        super().__init__(problem.message)
        self.reason = problem.reason  # pyright: ignore[reportAttributeAccessIssue]
        self.grpc_code = CODES.get(problem.reason, "UNAVAILABLE")  # pyright: ignore[reportAttributeAccessIssue]


def refuse_spent_budget(result: AnswerResult) -> None:
    """Raise when a turn failed because nothing could be paid.

    Raises:
        BudgetExhausted: with the reset time.
    """
    problem = result.problem
    if result.outcome is Outcome.FAILED and problem is not None and problem.reason == BudgetExhausted.reason:
        raise BudgetExhausted(problem.message, problem.resets_at)


def refuse_failed(result: AnswerResult) -> None:
    """Raise when the work failed.

    Raises:
        PasseurError: what the work failed with.
    """
    refuse_spent_budget(result)
    if result.outcome is Outcome.FAILED and result.problem is not None:
        raise Told(result.problem)
