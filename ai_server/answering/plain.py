"""Work without documents: one question to a model (Ask), and the summary of a conversation for staff (Summarize)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ai_server.answering import prompt, texts
from ai_server.answering.contract import AnswerInput, HistoryMessage, Outcome, StepKind
from ai_server.answering.markers import CitedText
from ai_server.answering.work import payer_of, result_of
from ai_server.answering.writing import Writer, Written
from ai_server.providers.contract import FinishReason, GenerationRequest, ImagePart, Message, TextPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_server.answering.contract import AnswerResult, Assistant, Image, Problem, Project
    from ai_server.answering.journal import TurnRecord
    from ai_server.answering.turn import Turn
    from ai_server.answering.work import Tools
    from ai_server.providers.fallback import Link

SUMMARY_TOKENS: Final = 256
QUOTED_QUESTIONS: Final = 5
QUOTED_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class PlainDraft:
    """One round without passages. `watched`: its text may be wanted before its end."""

    instructions: str
    text: str
    image: Image | None
    language: str
    cap: int
    temperature: float | None
    watched: bool = False

    @property
    def asked(self) -> AnswerInput:
        """The round as the writer looks at it: whether there is an image."""
        return AnswerInput("", "", "", "", self.text, image=self.image)

    def request(self, link: Link) -> GenerationRequest:
        """Make the request for one model."""
        parts: list[TextPart | ImagePart] = [TextPart(self.text)]
        if self.image is not None and link.generator.provider.capabilities.image:
            parts.append(ImagePart(self.image.mime_type, self.image.data))
        cap = prompt.capped(self.cap, link)
        return GenerationRequest(
            model=link.choice.model,
            instructions=self.instructions,
            messages=(Message("user", tuple(parts)),),
            question=self.text,
            passages=(),
            language=self.language,
            max_output_tokens=cap,
            temperature=self.temperature,
            thinking=link.choice.thinking,
            stream=prompt.streamed(cap, watched=self.watched),
        )


class PlainWork:
    """One round of a draft."""

    def __init__(self, tools: Tools, assistant: Assistant, draft: PlainDraft, record: TurnRecord, payer: str) -> None:
        """Take the draft; `payer` is the user whose budget pays, as the client names them."""
        self.record = record
        self.draft = draft
        self._tools = tools
        self._assistant = assistant
        self._payer = payer
        self._written = Written(CitedText(set()))
        record.assistant, record.language = assistant.name, draft.language

    async def run(self, turn: Turn) -> AnswerResult:
        """Write it."""
        turn.step(StepKind.GENERATE)
        payer = payer_of(self.record.client, self.record.project_id, self._assistant.name, "", self._payer)
        writer = Writer(turn, self.record, payer)
        chain = self._tools.chains.chain(self._assistant.chain)
        operation = self.record.operation
        await writer.write(chain, self.draft, set(), self._written, round_number=1, operation=operation)
        if self._written.empty:
            return self.cut(Outcome.INSUFFICIENT_CONTEXT, None)
        cut_short = self._written.finish in {FinishReason.LENGTH, FinishReason.REFUSED}
        return self.cut(Outcome.TRUNCATED if cut_short else Outcome.ANSWERED, None)

    def cut(self, outcome: Outcome, problem: Problem | None) -> AnswerResult:
        """Give what was written so far."""
        return result_of(self.record, outcome, self._written, problem)


class SummaryWork(PlainWork):
    """A summary. Where no model writes one, the person's own questions are quoted: true, and better than nothing."""

    def __init__(
        self,
        tools: Tools,
        assistant: Assistant,
        draft: PlainDraft,
        record: TurnRecord,
        payer: str,
        messages: Sequence[HistoryMessage],
    ) -> None:
        """Take the conversation too."""
        super().__init__(tools, assistant, draft, record, payer)
        self._messages = messages

    async def run(self, turn: Turn) -> AnswerResult:
        """Write it, or quote."""
        result = await super().run(turn)
        if result.outcome is not Outcome.INSUFFICIENT_CONTEXT:
            return result
        return replace(result, outcome=Outcome.ANSWERED, text=quoted(self._messages, self.record.language))


def summary_draft(project: Project, messages: Sequence[HistoryMessage], language: str) -> PlainDraft:
    """Make the draft of a summary; a project's own instructions replace ours or follow them."""
    template = prompt.shipped("summary", language)
    own = project.prompts.get(("summary", language))
    if own is not None:
        template = own.text if own.replaces else f"{template}\n{own.text}"
    instructions = template.replace("{language}", prompt.language_name(language, language))
    kept = prompt.bounded_history(messages)
    text = "\n\n".join(f"{'USER' if each.role == 'user' else 'AI'}: {each.text}" for each in kept)
    return PlainDraft(instructions, text, None, language, SUMMARY_TOKENS, None)


def quoted(messages: Sequence[HistoryMessage], language: str) -> str:
    """List what the person asked, latest questions first to be kept, in order."""
    asked = list(dict.fromkeys(" ".join(each.text.split()) for each in messages if each.role == "user"))
    lines = [f"- {each[:QUOTED_CHARACTERS]}" for each in asked[-QUOTED_QUESTIONS:]]
    return "\n".join([texts.said(texts.ASKED, language), *lines])
