"""What a model is told: conventions and the mode's instructions, then history, then the passages and the question.

What changes in every turn comes last, so that a provider's prefix cache serves all before it (decision 0034).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ai_server.answering.attached import files, question_for_files
from ai_server.answering.markers import inert, written
from ai_server.answering.texts import FALLBACK
from ai_server.providers.contract import UNSUPPORTED_MARKER, GenerationRequest, ImagePart, Message, TextPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_server.answering.contract import AnswerInput, Assistant, HistoryMessage, Project, PromptOverride
    from ai_server.providers.contract import Part, Passage
    from ai_server.providers.fallback import Link

PROMPTS: Final = Path(__file__).with_name("prompts")
HISTORY_CHARACTERS: Final = 24_000
"""Most characters of history in a prompt; the oldest messages go first."""

WHOLE_TOKENS: Final = 1_024
"""Largest output cap of an answer that is asked for whole: at ten tokens a second, the slowest that is of use, it still
comes within a call's deadline. Of a longer one that breaks off, the beginning is worth keeping.
"""

INSTRUCTIONS_KEPT: Final = 256
"""Finished instructions that are kept: one for each project, mode and language in use."""

LANGUAGE_NAMES: Final = {
    "en": {"en": "English", "fr": "French", "es": "Spanish", "de": "German", "it": "Italian", "pt": "Portuguese"},
    "fr": {"en": "anglais", "fr": "français", "es": "espagnol", "de": "allemand", "it": "italien", "pt": "portugais"},
    "es": {"en": "inglés", "fr": "francés", "es": "español", "de": "alemán", "it": "italiano", "pt": "portugués"},
}


@dataclass(frozen=True, slots=True)
class Draft:
    """One round to be written, before the model that writes it is known. `prompt` names the instructions; `watched`
    says whether anybody can see the text before its end.
    """

    project: Project
    assistant: Assistant
    asked: AnswerInput
    prompt: str
    language: str
    passages: tuple[Passage, ...]
    watched: bool = True

    def request(self, link: Link) -> GenerationRequest:
        """Make the request for one model: what it may not quote and cannot see is left out."""
        able = link.generator.provider.capabilities
        passages = tuple(each for each in self.passages if each.quotable or able.paraphrases)
        if not able.paraphrases:  # those who read the material find the files there
            passages = (*files(self.asked), *passages)
        cap = capped(self.asked.max_output_tokens or self.assistant.max_output_tokens, link)
        told = instructions(self) if able.paraphrases else ""
        read = material(self.asked, passages) if able.paraphrases else ""
        return GenerationRequest(
            model=link.choice.model,
            instructions=told,
            messages=_messages(self.asked, read, with_image=able.image),
            question=self.asked.question if able.image else question_for_files(self.asked),
            passages=passages,
            language=self.language,
            max_output_tokens=cap,
            temperature=self.assistant.temperature if self.asked.temperature is None else self.asked.temperature,
            thinking=link.choice.thinking,
            least_output_tokens=self.assistant.least_output_tokens,
            stable_characters=len(told),
            stream=streamed(cap, watched=self.watched),
        )


def capped(cap: int, link: Link) -> int:
    """Lower an output cap to what the model can write."""
    limit = link.generator.max_output
    return min(cap, limit) if limit else cap


def streamed(cap: int, *, watched: bool) -> bool:
    """Tell whether an answer is worth asking for piece by piece, which costs more than asking for it whole."""
    return watched or cap > WHOLE_TOKENS


def instructions(draft: Draft) -> str:
    """Write the instructions, the same in every turn. A project's text replaces ours for the mode, or follows it."""
    return _instructions(draft.project.prompts.get((draft.prompt, draft.language)), draft.prompt, draft.language)


@lru_cache(INSTRUCTIONS_KEPT)
def _instructions(own: PromptOverride | None, prompt: str, language: str) -> str:
    template = shipped(prompt, language)
    if own is not None:
        template = own.text if own.replaces else f"{template}\n{own.text}"
    filled = {
        "language": language_name(language, language),
        "example": written("…"),
        "unsupported": UNSUPPORTED_MARKER,
    }
    text = f"{shipped('conventions', language)}\n{template}"
    for name, value in filled.items():
        text = text.replace("{" + name + "}", value)
    return text.strip()


def bounded_history(history: Sequence[HistoryMessage]) -> list[HistoryMessage]:
    """Keep the latest messages that fit, beginning with one of the person."""
    kept: list[HistoryMessage] = []
    room = HISTORY_CHARACTERS
    for each in reversed(history):
        room -= len(each.text)
        if room < 0:
            break
        kept.append(each)
    kept.reverse()
    while kept and kept[0].role != "user":
        kept.pop(0)
    return kept


@cache
def shipped(name: str, language: str) -> str:
    """Read one of the prompts that ship; English where a language has none."""
    file = PROMPTS / f"{name}.{language}.md"
    return (file if file.is_file() else PROMPTS / f"{name}.{FALLBACK}.md").read_text("utf-8")


def language_name(language: str, told_in: str) -> str:
    """Name a language in another one; its code where nobody wrote the name down."""
    names = LANGUAGE_NAMES.get(told_in, LANGUAGE_NAMES[FALLBACK])
    return names.get(language, language)


def material(asked: AnswerInput, passages: Sequence[Passage]) -> str:
    """Write down what the answer is to be made from, each piece in its own frame; empty where there is nothing."""
    return "\n\n".join([*map(_rendered, passages), *_attachments(asked)])


def _messages(asked: AnswerInput, read: str, *, with_image: bool) -> tuple[Message, ...]:
    """History in turns that alternate, as every provider takes them, then the question with its material and image."""
    merged: list[tuple[str, str]] = []
    for each in (*bounded_history(asked.history), None):
        role, text = ("user", asked.question) if each is None else (each.role, each.text)
        if merged and merged[-1][0] == role:
            merged[-1] = (role, f"{merged[-1][1]}\n\n{text}")
        else:
            merged.append((role, text))
    messages = [Message("user" if role == "user" else "assistant", (TextPart(text),)) for role, text in merged]
    *before, last = messages
    parts: list[Part] = list(last.parts)
    if read:
        parts.insert(0, TextPart(read))
    if with_image and asked.image is not None:
        parts.append(ImagePart(asked.image.mime_type, asked.image.data))
    return (*before, Message("user", tuple(parts)))


def _rendered(passage: Passage) -> str:
    title = _attribute(f"{passage.title} › {passage.heading}" if passage.heading else passage.title)
    return f'<passage marker="{passage.marker}" title="{title}">\n{passage.text}\n</passage>'


def _attachments(asked: AnswerInput) -> list[str]:
    return [
        f'<attachment name="{_attribute(inert(name))}">\n{inert(text)}\n</attachment>'
        for name, text in asked.attached_texts
    ]


def _attribute(text: str) -> str:
    return " ".join(text.replace('"', "'").split())
