"""Writes `docs/settings.md` from the settings themselves; `--check` fails where the page says something else."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Final

from ai_server.providers.registry import ENTRIES

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs" / "settings.md"
PARTS: Final = (("The AI server", "ai_server", "PASSEUR_AI_"), ("The gateway", "gateway", "PASSEUR_GATEWAY_"))
HEAD: Final = """# Settings

Environment variables, read once at the start. One that is wrong, unknown or nearly named like one of these stops the
process with exit code 2 and every fault at once; `python -m ai_server check` and `python -m gateway check` say the same
without starting. Projects are set in files: [projects.md](projects.md). This page is written by
`scripts/settings_page.py` from the settings themselves.

## Both

| variable | default | |
| --- | --- | --- |
| `PASSEUR_DATA_DIR` | `./var` | Everything that is written; the AI server keeps to `ai/`, the gateway to `gateway/`. |
| `PASSEUR_PROJECTS_DIR` | `./projects` | One folder a project, with `ai.toml` and `gateway.toml`. |
| `PASSEUR_CONNECTOR_…` | | Credentials of live services, under the names that `secret_env` in `ai.toml` gives. |
"""


def page() -> str:
    """Give the whole page."""
    parts = [HEAD, *(_part(*each) for each in PARTS), _providers()]
    return "\n".join(parts)


def _part(title: str, package: str, prefix: str) -> str:
    rows = [f"## {title}", "", "| variable | default | |", "| --- | --- | --- |"]
    tree = ast.parse((ROOT / package / "settings.py").read_text(encoding="utf-8"))
    (settings,) = (
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "BaseSettings" for base in node.bases)
    )
    for field, said in zip(settings.body, settings.body[1:], strict=False):
        if not isinstance(field, ast.AnnAssign) or not isinstance(said, ast.Expr):
            continue
        text = " ".join(ast.literal_eval(said.value).split()).replace("|", "\\|")
        rows.append(f"| `{prefix}{ast.unparse(field.target).upper()}` | {_default(field.value)} | {text} |")
    return "\n".join([*rows, ""])


def _default(value: ast.expr | None) -> str:
    if isinstance(value, ast.Call):
        value = next((each.value for each in value.keywords if each.arg == "default"), None)
    known = ast.literal_eval(value) if value is not None else None
    return f"`{known}`" if known not in (None, "") else ""


def _providers() -> str:
    rows = [
        "## Providers",
        "",
        "Which models there are, and what each provider needs: [providers.md](providers.md).",
        "",
    ]
    rows += ["| provider | secret | other |", "| --- | --- | --- |"]
    for name, entry in ENTRIES.items():
        secrets, options = (
            ", ".join(f"`PASSEUR_AI_{name}_{each}`".upper() for each in named)
            for named in (entry.secrets, entry.options)
        )
        if secrets or options:
            rows.append(f"| {name} | {secrets} | {options} |")
    return "\n".join([*rows, ""])


if __name__ == "__main__":
    if "--check" not in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        sys.exit(f"{PAGE.name} is not what the settings say: run `python scripts/settings_page.py`")
