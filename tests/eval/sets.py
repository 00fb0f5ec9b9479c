"""The handed sets, as passages and questions."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import dataclass, field
from pathlib import Path

from ai_server.knowledge import documents
from ai_server.knowledge.contract import Chunk, ProjectKnowledge, SourceSpec
from ai_server.knowledge.loaders.model import Rejected

LANGUAGES = ("fr", "en", "es")
OPEN_VALUES = {"audience": ("public",)}


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the ids of the passages that hold its answer (none: unknown or unanswerable)."""

    text: str
    language: str
    gold: frozenset[str] = frozenset()


@dataclass(slots=True)
class EvalSet:
    """Questions to be asked of passages."""

    name: str
    passages: list[Chunk]
    questions: list[Question] = field(default_factory=list)


def sampled(whole: EvalSet, passages: int) -> EvalSet:
    """Draw passages by their place, always the same, with the questions that they answer.

    Of pairs of sets whose passages and questions correspond place by place, corresponding ones are drawn.
    """
    places = sorted(random.Random(42).sample(range(len(whole.passages)), min(passages, len(whole.passages))))
    kept = [whole.passages[place] for place in places]
    ids = {passage.chunk_id for passage in kept}
    asked = [question for question in whole.questions if question.gold <= ids]
    return EvalSet(whole.name, kept, asked)


@dataclass(frozen=True, slots=True)
class Across:
    """Passages in one language, whole and without the held-out ones; questions in another, by what they are about."""

    whole: list[Chunk]
    without: list[Chunk]
    kept: list[Question]
    held: list[Question]


def chunk(pid: str, title: str, text: str, language: str, path: str = "") -> Chunk:
    """Make a passage that everybody may read."""
    return Chunk(
        pid, "eval", path or pid, title, None, "", text, language, {**OPEN_VALUES, "language": (language,)}, True
    )


class HandedSets:
    """Reads the handed folder; each reader gives what its name says."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def rows(self, name: str) -> list[dict]:
        data = (self.root / name).read_bytes()
        text = (gzip.decompress(data) if name.endswith(".gz") else data).decode()
        return [json.loads(line) for line in text.split("\n") if line]

    def squad2(self) -> EvalSet:
        return self._paired("squad2_en", answerable=True)

    def squad2_unanswerable(self) -> EvalSet:
        return self._paired("squad2_en", answerable=False)

    def piaf(self) -> EvalSet:
        return self._paired("piaf_fr", answerable=True)

    def _paired(self, name: str, *, answerable: bool) -> EvalSet:
        passages = self._passages(f"retrieval/{name}.passages.jsonl.gz")
        questions = [
            Question(row["question"], row["lang"], frozenset(row["gold_pids"]))
            for row in self.rows(f"retrieval/{name}.questions.jsonl.gz")
            if row["answerable"] is answerable
        ]
        return EvalSet(name, passages, questions)

    def _passages(self, name: str, *, holdout: bool | None = None, language: str = "") -> list[Chunk]:
        return [
            chunk(row["pid"], row["title"], row["text"], row["lang"])
            for row in self.rows(name)
            if (holdout is None or row.get("holdout") is holdout) and language in {"", row["lang"]}
        ]

    def xquad(self, asked: str, held: str) -> EvalSet:
        """Questions in one language; passages in one language, or in both with `held` empty."""
        questions: list[Question] = []
        for row in self.rows("retrieval/xquad_en_es.questions.jsonl.gz"):
            if row["lang"] == asked:
                own, other = set(row["gold_pids"]), {row["other_lang_pid"]}
                gold = own if held == asked else other if held else own | other
                questions.append(Question(row["question"], asked, frozenset(gold)))
        passages = self._passages("retrieval/xquad_en_es.passages.jsonl.gz", language=held)
        return EvalSet(f"xquad_{asked}→{held or 'en+es'}", passages, questions)

    def xquad_across(self, asked: str) -> Across:
        """Questions in one language on passages in the other, apart by whether their passage is held out."""
        written = "es" if asked == "en" else "en"
        each = self.xquad(asked, written)
        name = "retrieval/xquad_en_es.passages.jsonl.gz"
        held = {passage.chunk_id for passage in self._passages(name, holdout=True, language=written)}
        return Across(
            whole=each.passages,
            without=[passage for passage in each.passages if passage.chunk_id not in held],
            kept=[question for question in each.questions if not question.gold & held],
            held=[question for question in each.questions if question.gold & held],
        )

    def without_holdout(self, name: str) -> tuple[EvalSet, EvalSet]:
        """The same index without its held-out passages: questions it can answer, and those it cannot."""
        passages = self._passages(f"retrieval/{name}.passages.jsonl.gz", holdout=False)
        rows = [row for row in self.rows(f"retrieval/{name}.questions.jsonl.gz") if row["answerable"]]
        kept, lost = (
            [
                Question(row["question"], row["lang"], frozenset(row["gold_pids"]))
                for row in rows
                if row["gold_in_holdout"] is gone
            ]
            for gone in (False, True)
        )
        return EvalSet(f"{name} kept", passages, kept), EvalSet(f"{name} holdout", passages, lost)

    def service_public(self, files: int) -> EvalSet:
        """Help questions, of the files that answer them and others up to `files`; any passage of a right one counts."""
        passages = self.tree("service_public_fr", "fr")
        asked = self.rows("retrieval/service_public_fr.questions.jsonl")
        right = {name.removeprefix("docs/service_public_fr/") for row in asked for name in row["gold_files"]}
        others = [path for path in sorted({each.path for each in passages}) if path not in right]
        taken = right | set(others[: max(0, files - len(right))])
        passages = [each for each in passages if each.path in taken]
        by_file: dict[str, set[str]] = {}
        for each in passages:
            by_file.setdefault(f"docs/service_public_fr/{each.path}", set()).add(each.chunk_id)
        questions = [
            Question(row["question"], row["lang"], frozenset().union(*(by_file.get(f, ()) for f in row["gold_files"])))
            for row in asked
        ]
        return EvalSet(f"service_public {len(taken)}", passages, questions)

    def tree(self, name: str, language: str) -> list[Chunk]:
        """A documentation tree as the product cuts it."""
        root = self.root / "docs" / name
        source = SourceSpec(name, root, {"language": (language,), **OPEN_VALUES}, {})
        project = ProjectKnowledge("eval", (source,), (), LANGUAGES)
        found: list[Chunk] = []
        for path in sorted(path for path in root.rglob("*") if path.suffix in documents.SUFFIXES):
            relative = path.relative_to(root).as_posix()
            try:
                loaded = documents.load(relative, path.read_bytes())
                found += documents.prepare(relative, loaded, [], source, project).chunks
            except Rejected:
                continue
        return found

    def nomiracl(self, language: str) -> list[tuple[Question, list[Chunk], bool]]:
        """Each question with its own ten passages, and whether people found one of them relevant."""
        return [
            (
                Question(row["question"], language),
                [chunk(p["pid"], p["title"], p["text"], language) for p in row["passages"]],
                row["answerable"],
            )
            for row in self.rows(f"retrieval/nomiracl_{language}.jsonl.gz")
        ]

    def clinc(self) -> list[Question]:
        """Requests to a bank's and a phone's assistant, and chit-chat: out of any documentation's domain."""
        return [
            Question(row["text"], "en") for row in self.rows("intents/clinc150_en.jsonl.gz") if row["split"] == "test"
        ]
