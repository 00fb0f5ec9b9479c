"""What people asked in vain, grouped, so that someone can see what to write next."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from gateway.conversation.grouping import group
from shared.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.assistant.contract import Explainer, NearPassage
    from gateway.conversation.grouping import Group
    from gateway.storage.contract import Store
    from gateway.storage.staff import StaffMember
    from shared.clock import Clock

LOOKED_AT: Final = 1_000
"""Questions of each cause that are grouped at once, the newest."""
LONGEST_DAYS: Final = 365


class QuestionService:
    """Questions without answers, for those who write the documents."""

    def __init__(self, store: Store, explainer: Explainer, clock: Clock) -> None:
        """Take the seams."""
        self._store = store
        self._explainer = explainer
        self._clock = clock

    async def groups(self, member: StaffMember, days: int) -> Sequence[Group]:
        """Group what was asked in vain in the last `days`, the most asked first.

        Raises:
            NotReady: the store stayed busy.
        """
        since = self._clock.now() - timedelta(days=min(days, LONGEST_DAYS))
        async with self._store.transaction() as tx:
            insufficient = await tx.questions.insufficient(member.project_id, since, LOOKED_AT)
            escalated = await tx.questions.escalated(member.project_id, since, LOOKED_AT)
        return group([*insufficient, *escalated])

    async def near_passages(self, member: StaffMember, turn_id: str) -> Sequence[NearPassage]:
        """Name the passages that such a turn looked at, nearest first; empty once the AI server forgot it.

        Raises:
            NotFound: there is no such turn in this project.
            PasseurError: the AI server cannot say.
        """
        async with self._store.transaction() as tx:
            project_id = await tx.questions.project_of_turn(turn_id)
        if project_id != member.project_id:
            raise NotFound("There is no such question.")
        return await self._explainer.near_passages(member.project_id, turn_id)
