"""What the README shows is run as it stands."""

from __future__ import annotations

import re

from tests.e2e.installation import ROOT, installed

EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)


async def test_the_grpc_example_answers_with_its_citations(tmp_path, prepared):
    (example,) = EXAMPLE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    async with installed(tmp_path, prepared) as (installation, _):
        # Only where things are differs: the reader's own `make run` has these two as the README writes them.
        here = example.replace('"var/', f'"{installation.data}/').replace(":8106", f":{installation.ai_port}")
        assert here != example
        (tmp_path / "example.py").write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{here}", encoding="utf-8")
        told = await installation.python(str(tmp_path / "example.py"))
    answer, *citations = told.strip().split("\n- ")
    assert "economy mode" in answer
    assert citations
    assert all(": " in each for each in citations)
