"""P28: nothing is lost silently at ingest. Real paragraphs in every format and disguise; each file ends as a line.

What was written is known word by word, so it is compared with what can be retrieved. Files that cannot be read must
be rejected with a reason; a file that is taken must give words.
"""

from __future__ import annotations

import csv
import io
import os
import random
import re
import tempfile
import textwrap
from collections import Counter
from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path

from ai_server.knowledge import documents
from ai_server.knowledge.contract import FileLine, FileStatus
from tests.fakes.library import Desk
from tests.torture import workload
from tests.torture.figure import Figure, span

PROMISE = "every file ends as a line: indexed, and its words can be retrieved, or rejected with a reason"
FULL = 20_000
SHORT = 60
AT_ONCE = 100
LEAST_SHARE = 0.999
WORD = re.compile(r"\w+")
FALLBACK = (
    "Refunds are paid within ten days after the receipt was shown at the desk.",
    "L'été, le guichet de Besançon ouvre à 9 h 30 ; un œuf coûte 0,35 €.",
    "¿Cuándo se puede pedir el reembolso? Mañana, en la oficina número 12.",
)


@cache
def paragraphs() -> tuple[str, ...]:
    """Real paragraphs of the handed sets, or a few of ours where they are not at hand."""
    root = os.environ.get("PASSEUR_EVAL_DATA", "")
    if not root:
        return FALLBACK
    from tests.eval.sets import HandedSets

    sets = HandedSets(Path(root))
    rows = [
        row["text"]
        for name in ("squad2_en", "piaf_fr", "xquad_en_es")
        for row in sets.rows(f"retrieval/{name}.passages.jsonl.gz")
    ]
    return tuple(" ".join(text.split()) for text in rows)


def markdown(parts: list[str], dice: random.Random) -> str:
    made: list[str] = []
    for number, part in enumerate(parts):
        if dice.random() < 0.5:
            made.append(f"{'#' * dice.randint(1, 4)} Part {number}")
        made.append(dice.choice([_plain, _wrapped, _bullet, _quoted, _table])(part, dice))
    return "\n\n".join(made)


def _plain(part: str, _: random.Random) -> str:
    return _literal(part)


def _wrapped(part: str, dice: random.Random) -> str:
    return textwrap.fill(_literal(part), dice.randint(50, 100), break_long_words=False, break_on_hyphens=False)


def _bullet(part: str, dice: random.Random) -> str:
    return f"{dice.choice('-*+')} {_literal(part)}\n  - second level"


def _quoted(part: str, _: random.Random) -> str:
    return f"> {_literal(part)}"


def _table(part: str, _: random.Random) -> str:
    cells = _literal(part).replace("|", " ").split()
    rows = [cells[start : start + 3] for start in range(0, len(cells), 3)]
    lines = ["| " + " | ".join([*row, *[""] * (3 - len(row))]) + " |" for row in rows]
    return "\n".join([lines[0], "| --- | --- | --- |", *lines[1:]])


def _literal(part: str) -> str:
    """Keep what Markdown would take for marks from meaning anything."""
    return re.sub(r"([\\`*_\[\]<>&{}#|~])", r"\\\1", part)


def text(parts: list[str], dice: random.Random) -> str:
    return "\n\n".join(textwrap.fill(part, dice.choice([72, 10_000]), break_on_hyphens=False) for part in parts)


def html(parts: list[str], dice: random.Random) -> str:
    tags = ("p", "li", "td", "div", "blockquote", "h2")
    body = "".join(f"<{tag}>{escape(part)}</{tag}>" for part in parts for tag in [dice.choice(tags)])
    return f"<!doctype html><html><head><meta charset='utf-8'><title>T</title></head><body>{body}</body></html>"


def table(parts: list[str], dice: random.Random) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=dice.choice(",;\t"), quoting=dice.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    writer.writerow(["name", "text"])
    writer.writerows([f"row{number}", part] for number, part in enumerate(parts))
    return out.getvalue()


def docx(parts: list[str], dice: random.Random) -> bytes:
    from docx import Document

    made = Document()
    for part in parts:
        if dice.random() < 0.3:
            made.add_table(rows=1, cols=2).rows[0].cells[1].text = part
        else:
            made.add_paragraph(part, style=dice.choice([None, "List Bullet", "Heading 2"]))
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


FORMATS: dict[str, Callable[[list[str], random.Random], str | bytes]] = {
    ".md": markdown,
    ".mdx": markdown,
    ".txt": text,
    ".html": html,
    ".csv": table,
    ".docx": docx,
}


def disguised(body: str, suffix: str, dice: random.Random) -> tuple[bytes, str]:
    """Save a text as people's programs do; gives how."""
    how = dice.choice(["utf-8", "utf-8", "bom", "crlf", "utf-16", "cp1252", "front", "decomposed"])
    if how == "front" and suffix in {".md", ".mdx"}:
        return f"---\ncreated: 2026-07-30\non: yes\nversion: 1.10\ntags: [a, null]\n---\n{body}".encode(), how
    if how == "bom":
        return body.encode("utf-8-sig"), how
    if how == "crlf":
        return body.replace("\r\n", "\n").replace("\n", "\r\n").encode(), how
    if how == "utf-16":
        return body.encode("utf-16"), how
    if how == "cp1252" and suffix != ".html":
        kept = body.encode("cp1252", "ignore")
        return (kept, how) if kept.decode("cp1252") == body else (body.encode(), "utf-8")
    return body.encode(), "utf-8"


def broken(data: bytes, dice: random.Random) -> tuple[bytes, str]:
    """Break a file as disks and people do."""
    how = dice.choice(["empty", "noise", "cut", "flipped", "blank", "zeros"])
    if how == "empty":
        return b"", how
    if how == "blank":
        return b" \n\t\r\n " * 9, how
    if how == "zeros":
        return bytes(len(data)), how
    if how == "noise":
        return dice.randbytes(2_000), how
    if how == "cut":
        return data[: dice.randrange(len(data))], how
    flipped = bytearray(data)
    for _ in range(20):
        flipped[dice.randrange(len(flipped))] = dice.randrange(256)
    return bytes(flipped), how


async def run(n: int, seed: int) -> Figure:
    """Sync `n` files in folders of `AT_ONCE`."""
    workload.quiet()
    failures: list[str] = []
    counts: Counter[str] = Counter()
    for start in range(0, n, AT_ONCE):
        failures += await _folder(seed + start, min(AT_ONCE, n - start), counts)
    written = counts["words written"]
    share = counts["words retrievable"] / written if written else 1.0
    if share < LEAST_SHARE:
        failures.append(f"only {share:.5f} of the words of sound files can be retrieved")
    notes: dict[str, object] = {**counts, "share of words retrievable": round(share, 6)}
    return Figure(n, span(seed, n), failures, notes)


async def _folder(seed: int, count: int, counts: Counter[str]) -> list[str]:
    with tempfile.TemporaryDirectory() as name:
        desk = Desk(Path(name))
        expected: dict[str, tuple[bool, Counter[str], str]] = {}
        for number in range(count):
            dice = random.Random(f"p28/{seed + number}")
            suffix = dice.choice(list(FORMATS))
            parts = dice.choices(paragraphs(), k=dice.randint(1, 5))
            body = FORMATS[suffix](parts, dice)
            data, how = (body, "binary") if isinstance(body, bytes) else disguised(body, suffix, dice)
            sound = dice.random() < 0.8
            if not sound:
                data, how = broken(data, dice)
            path = f"{number}{suffix}"
            (desk.docs / path).write_bytes(data)
            expected[path] = (sound, Counter(word for part in parts for word in WORD.findall(part.casefold())), how)
        await desk.service.start()
        try:
            lines, _ = await desk.sync()
            return [
                f"seed {seed + int(path.partition('.')[0])}: {path} ({how}): {fault}"
                for path, (sound, words, how) in expected.items()
                for fault in await _faults(desk, path, lines.get(path), words if sound else None, counts)
            ]
        finally:
            await desk.service.close()


async def _faults(
    desk: Desk, path: str, line: FileLine | None, words: Counter[str] | None, counts: Counter[str]
) -> list[str]:
    if line is None:
        return ["no line at all"]
    counts[f"{'sound' if words is not None else 'broken'} {line.status.value}"] += 1
    if line.status is FileStatus.REJECTED:
        if words is not None:
            return [f"a sound file was rejected: {line.reason}"]
        return [] if line.reason else ["rejected without a reason"]
    _, chunks = await desk.service.explain("demo", "handbook", path)
    if not chunks or not any(chunk.text.strip() for chunk in chunks):
        return ["taken, but silently empty"]
    if words is not None:
        held = Counter(word for chunk in chunks for word in WORD.findall(f"{chunk.heading}\n{chunk.text}".casefold()))
        missing = words - held
        counts["words written"] += words.total()
        counts["words retrievable"] += words.total() - missing.total()
    return []


assert set(FORMATS) <= documents.SUFFIXES
