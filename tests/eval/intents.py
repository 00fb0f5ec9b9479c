"""Intent detection on the handed intent sets, and on questions to documents as a check against asking back.

The few-shot model is fitted on the examples that a set gives (its training rows; where it has none, the other blocks of
paraphrases), beside the product's own background examples, and decides with the product's thresholds.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ai_server.answering.intent import HIGH_GAP, HIGH_SCORE, LOW_SCORE, RoutingDetector
from ai_server.answering.intent_model import BACKGROUND, ExampleModel, Ranked, SentenceEncoder
from ai_server.answering.intent_words import DOCUMENT_EXAMPLES
from tests.eval.encoding import CachedEncoder
from tests.eval.sets import HandedSets
from tests.unit.intent.requests import assistant, project, rows, said

FOLDS = 5
OUT = "out of scope"
HEAD = f"{'set':24} {'way':8} {'rows':>5} {'labels':>6}  acc    F1     out-rec  silent  wrong  asked  right in 3  ms"


class Encoder:
    """The cached encoder as the model wants it."""

    def __init__(self, cached: CachedEncoder) -> None:
        self._cached = cached

    async def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors."""
        return self._cached.encode(list(texts))


@dataclass(frozen=True, slots=True)
class Judged:
    """A message with its true label and what the model said."""

    truth: str
    ranked: tuple[Ranked, ...]

    @property
    def confidence(self) -> str:
        """Apply the product's thresholds."""
        gap = self.ranked[0].score - (self.ranked[1].score if len(self.ranked) > 1 else 0.0)
        if self.ranked[0].score < LOW_SCORE:
            return "low"
        return "high" if self.ranked[0].score >= HIGH_SCORE and gap >= HIGH_GAP else "medium"


def run(handed: HandedSets, cached: CachedEncoder) -> None:
    """Print all figures."""
    asyncio.run(_run(handed, Encoder(cached)))


async def _run(handed: HandedSets, encoder: Encoder) -> None:
    print(HEAD)
    for name, label in (
        ("clinc150_en", "intent"),
        ("clinc150_en", "domain"),
        ("snips_en", "intent"),
        ("home_assistant_en", "domain"),
        ("home_assistant_fr", "domain"),
    ):
        table = handed.rows(f"intents/{name}.jsonl.gz")
        for way, used in (("words", None), ("+meaning", encoder)):
            await _one(name, label, table, way, used)
    print(f"\n{'requests of our own (tests/data/routing_requests.tsv)':56} right  wrong silent  asked without need")
    for way, used in (("words", None), ("+meaning", encoder)):
        await _routing(way, used)
    print("\nquestions to documents, with three services beside them: silent to a service, asked back")
    for way, used in (("words", None), ("+meaning", encoder)):
        await _questions(handed, way, used)


async def _one(name: str, label: str, table: list[dict], way: str, encoder: SentenceEncoder | None) -> None:
    kept = [row for row in table if not row["in_scope"] or row.get(label)]
    judged: list[Judged] = []
    seconds = 0.0
    for train, test in _parts(kept):
        model = ExampleModel(encoder)
        background = [(BACKGROUND, text) for text in DOCUMENT_EXAMPLES]
        # A domain is learnt as its intents: one label for ten kinds of request would be vague.
        shown = [(f"{row[label]}\0{row['intent']}" if row["in_scope"] else BACKGROUND, row["text"]) for row in train]
        await model.fit([*background, *shown])
        started = time.perf_counter()
        ranked = await model.rank_all([row["text"] for row in test])
        seconds += time.perf_counter() - started
        judged += [
            Judged(row[label] if row["in_scope"] else OUT, _merged(found))
            for row, found in zip(test, ranked, strict=True)
        ]
    print(f"{name + ' ' + label:24} {way:8} {len(judged):5} {_figures(judged)}  {1000 * seconds / len(judged):.2f}")


def _parts(table: list[dict]) -> list[tuple[list[dict], list[dict]]]:
    if any(row["split"] == "train" for row in table):
        return [([r for r in table if r["split"] == "train"], [r for r in table if r["split"] == "test"])]
    fold = {
        row["id"]: int(hashlib.sha256((row.get("block") or row["id"]).encode()).hexdigest(), 16) % FOLDS
        for row in table
    }
    return [
        (
            [row for row in table if row["in_scope"] and fold[row["id"]] != part],
            [row for row in table if fold[row["id"]] == part],
        )
        for part in range(FOLDS)
    ]


def _merged(ranked: tuple[Ranked, ...]) -> tuple[Ranked, ...]:
    """Keep the best of each label, as a service counts by its best endpoint."""
    best: dict[str, float] = {}
    for each in ranked:
        best.setdefault(each.label.partition("\0")[0], each.score)
    return tuple(Ranked(label, score) for label, score in best.items())


def _figures(judged: list[Judged]) -> str:
    inside = [each for each in judged if each.truth != OUT]
    outside = [each for each in judged if each.truth == OUT]
    final = [(each.truth, OUT if each.confidence == "low" else each.ranked[0].label) for each in judged]
    labels = sorted({each.truth for each in inside})
    scores = []
    for label in labels:
        hit = sum(truth == said == label for truth, said in final)
        off = sum((truth == label) != (said == label) for truth, said in final)
        scores.append(2 * hit / (2 * hit + off) if hit or off else 0.0)
    silent = [each for each in judged if each.confidence == "high"]
    asked = [each for each in judged if each.confidence == "medium"]
    wrong = sum(each.ranked[0].label != each.truth for each in silent)
    offered = [any(found.label == each.truth for found in each.ranked[:3]) for each in asked if each.truth != OUT]
    accuracy = np.mean([each.ranked[0].label == each.truth for each in inside])
    recall = f"{np.mean([each.confidence == 'low' for each in outside]):.3f}" if outside else "    -"
    return (
        f"{len(labels):6}  {accuracy:.3f}  {np.mean(scores):.3f}  {recall:>7}  {len(silent) / len(judged):.3f}  "
        f"{wrong / len(judged):.3f}  {len(asked) / len(judged):.3f}  {np.mean(offered) if offered else 1.0:10.3f}"
    )


async def _routing(way: str, encoder: SentenceEncoder | None) -> None:
    detector = RoutingDetector(encoder)
    table = rows()
    told = [(row, said(await detector.detect(project(), assistant(), row.message, (), row.language))) for row in table]
    right = sum(answer == row.expected for row, answer in told)
    wrong = sum(answer not in {row.expected, "ask"} for row, answer in told)
    needless = sum(answer == "ask" != row.expected for row, answer in told)
    print(f"{way:56} {right}/{len(table)}  {wrong:12}  {needless:18}")


async def _questions(handed: HandedSets, way: str, encoder: SentenceEncoder | None) -> None:
    detector = RoutingDetector(encoder)
    sets = {"piaf fr": handed.piaf(), "squad2 en": handed.squad2(), "service-public fr": handed.service_public(0)}
    sets["xquad es"] = handed.xquad("es", "es")
    for name, each in sets.items():
        texts = [question.text for question in each.questions]
        answers = [said(await detector.detect(project(), assistant(), text, (), "fr")) for text in texts]
        silent = sum(answer not in {"documents", "ask"} for answer in answers)
        asked = sum(answer == "ask" for answer in answers)
        print(f"{way:8} {name:20} {len(texts):5}  {silent / len(texts):.4f}  {asked / len(texts):.4f}")
