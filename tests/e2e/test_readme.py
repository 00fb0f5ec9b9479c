"""What the README shows is run as it stands, and what one asks first of a fresh installation is answered."""

from __future__ import annotations

import re

import aiohttp

from tests.e2e.installation import ROOT, Installation, Visitor, installed

EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)
ASKED_FIRST = (
    ("How do I install it?", "To install Passeur", "make run"),
    ("Comment installer Passeur ?", "Pour installer Passeur", "make run"),
    ("¿Cómo instalar Passeur?", "Solo he encontrado la respuesta en inglés:", "make run"),
    ("How do I start it?", "To install Passeur and to start it", "make run"),
    ("Which ports are used?", "Two ports are used: 8080", "8106"),
    ("Can I restrict a document to staff members?", "To restrict a document to staff", "audience: staff"),
    ("Puis-je réserver un document au personnel ?", "Pour réserver un document", "audience: staff"),
    ("What is economy mode?", "When a budget is spent", "labels the answer"),
    ("C'est quoi le mode économique ?", "Quand un budget est épuisé", "Il cite les meilleures phrases"),
    ("Who won the bicycle race?", "I found no answer", ""),
)
"""On a page in French: the question, how its answer begins, and what else it holds (a newcomer's report)."""


async def test_the_grpc_example_answers_with_its_citations(tmp_path, prepared):
    (example,) = EXAMPLE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    async with installed(tmp_path, prepared) as (installation, http):
        # Only where things are differs: the reader's own `make run` has these two as the README writes them.
        here = example.replace('"var/', f'"{installation.data}/').replace(":8106", f":{installation.ai_port}")
        assert here != example
        (tmp_path / "example.py").write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{here}", encoding="utf-8")
        told = await installation.python(str(tmp_path / "example.py"))
        answers = await _answers(installation, http)
    answer, *citations = told.strip().split("\n- ")
    assert "economy mode" in answer
    assert citations
    assert all(": " in each for each in citations)
    for asked, begins, holds in ASKED_FIRST:
        text = answers[asked]["text"]
        assert (asked, text[: len(begins)]) == (asked, begins)
        assert holds in text, asked
    [source] = answers["What is economy mode?"]["citations"]
    assert source["quote"].endswith("labels the answer economy mode.")


async def _answers(installation: Installation, http: aiohttp.ClientSession) -> dict[str, dict]:
    visitor = await Visitor.arrive(installation, http)
    answers = {}
    for asked, _, _ in ASKED_FIRST:
        visitor.conversation = (await visitor.call("POST", "/v1/conversations", {}))["id"]
        answers[asked] = (await visitor.ask(asked))["ai_message"]
    return answers
