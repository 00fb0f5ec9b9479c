"""Files that were made to hurt whoever opens them, each by a small generator: nothing stored, nothing larger than it
must be. `refusals` are to be refused; `survivals` may be read or refused, but must cost no more than a file may.
"""

from __future__ import annotations

import io
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

PNG, JPEG, GIF, WEBP = "image/png", "image/jpeg", "image/gif", "image/webp"
PDF, TXT, CSV = "application/pdf", "text/plain", "text/csv"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MIB = 1024 * 1024


RUNS = b"/Filter /RunLengthDecode"
SELFISH = b"%PDF-1.5\nxref\n0 1\n0000000000 65535 f \ntrailer << /Size 1 /Prev 9 /Root 1 0 R >>\nstartxref\n9\n%%EOF"
"""A PDF whose table names itself as the one before it."""


@dataclass(frozen=True)
class Hostile:
    """One file: what it claims to be, what makes its bytes, and whether it must be refused."""

    name: str
    media_type: str
    make: Callable[[], bytes]
    refused: bool = True


def chunk(kind: bytes, data: bytes) -> bytes:
    """One PNG chunk."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(
    width: int, height: int, body: bytes = b"", *more: bytes, depth: int = 8, colour: int = 2, lace: int = 0
) -> bytes:
    """A PNG of any promise, with any body."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, lace))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(more) + chunk(b"IDAT", zlib.compress(body, 9)) + chunk(b"IEND", b"")


def packed(kind: bytes) -> bytes:
    """A PNG chunk of a few kilobytes that unpacks to 80 MiB."""
    return chunk(kind, b"a\0\0" + zlib.compress(b"\0" * 80 * MIB))


def saved(kind: str, size: tuple[int, int] = (97, 61), **options: object) -> bytes:
    """A real picture."""
    out = io.BytesIO()
    Image.new("RGB", size, (180, 60, 20)).save(out, kind, **options)  # type: ignore[arg-type]
    return out.getvalue()


def archive(entries: Mapping[str, bytes]) -> bytes:
    """A ZIP of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    return out.getvalue()


def pdf(objects: list[bytes], *, trailer: bytes = b"", table: bool = True) -> bytes:
    """A PDF of these objects, the first one its catalogue."""
    out, offsets = bytearray(b"%PDF-1.5\n"), []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    if table:
        out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return bytes(
        out + b"trailer << /Size %d /Root 1 0 R %b >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, trailer, start)
    )


def page_of(content: bytes, filters: bytes = b"") -> bytes:
    """A one-page PDF with this content stream."""
    return pdf([
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R /Resources << >> >>",
        b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(content), filters, content),
    ])  # fmt: skip


def nested_flate(times: int, size: int) -> bytes:
    """Zeros packed again and again: bytes that become gigabytes."""
    data = b"\0" * size
    for _ in range(times):
        data = zlib.compress(data, 9)
    return page_of(data, b"/Filter [" + b"/FlateDecode " * times + b"]")


def docx(document: bytes, **more: bytes) -> bytes:
    """A DOCX whose main part is this XML."""
    kind = "http://schemas.openxmlformats.org"
    types = (
        f'<Types xmlns="{kind}/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.'
        'openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/'
        'vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
    )
    links = (
        f'<Relationships xmlns="{kind}/package/2006/relationships"><Relationship Id="r1" Type="{kind}/officeDocument/'
        '2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>'
    )
    entries = {"[Content_Types].xml": types.encode(), "_rels/.rels": links.encode(), "word/document.xml": document}
    return archive({**entries, **{name.replace("__", "/"): data for name, data in more.items()}})


def word(body: bytes, before: bytes = b"") -> bytes:
    """The main part of a DOCX."""
    space = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    return b'<?xml version="1.0"?>%b<w:document xmlns:w="%b"><w:body>%b</w:body></w:document>' % (before, space, body)


def laughs(levels: int = 9) -> bytes:
    """Entities of entities: a billion laughs."""
    entities = b'<!ENTITY a0 "ha ha ha">'
    for level in range(1, levels):
        entities += b'<!ENTITY a%d "%b">' % (level, b"&a%d;" % (level - 1) * 10)
    return word(b"<w:p><w:r><w:t>&a%d;</w:t></w:r></w:p>" % (levels - 1), b"<!DOCTYPE x [" + entities + b"]>")


def images(dice: random.Random) -> list[Hostile]:
    """Pictures that promise, hide or unpack too much."""
    big = dice.randrange(20_001, 60_000)
    riff = b"RIFF" + struct.pack("<I", 40) + b"WEBPVP8X" + struct.pack("<I", 10) + b"\0" * 4 + b"\xff" * 6 + b"\0" * 12
    apng = [chunk(b"acTL", struct.pack(">II", 10_000, 0))]
    frames = [Image.new("P", (8, 8), shade) for shade in range(250)]
    moving = io.BytesIO()
    frames[0].save(moving, "GIF", save_all=True, append_images=frames[1:] * 8)
    return [
        Hostile("50,000 × 50,000", PNG, lambda: png(50_000, 50_000)),
        Hostile("one side too long", PNG, lambda: png(big, 1)),
        Hostile("60 megapixels, all there", PNG, lambda: png(10_000, 6_000, b"\0" * (10_000 * 3 + 1) * 60)),
        Hostile("36 megapixels, hollow", PNG, lambda: png(6_000, 6_000, b"\0" * 1_000)),
        Hostile("2^31 wide", PNG, lambda: png(2**31 - 1, 2**31 - 1)),
        Hostile("no pixels", PNG, lambda: png(0, 0)),
        Hostile("16 bits of 39 megapixels", PNG, lambda: png(6_240, 6_240, b"\0" * 100, depth=16, colour=6)),
        Hostile("interlaced and hollow", PNG, lambda: png(6_000, 6_500, b"\0" * 100, lace=1)),
        Hostile("a bomb in a note", PNG, lambda: png(9, 9, b"\0" * 252, packed(b"zTXt"))),
        Hostile("a bomb in the profile", PNG, lambda: png(9, 9, b"\0" * 252, packed(b"iCCP"))),
        Hostile("a body past its size", PNG, lambda: png(9, 9, b"\0" * 200 * MIB), refused=False),
        Hostile("10,000 promised frames", PNG, lambda: png(9, 9, b"\0" * 252, *apng), refused=False),
        Hostile("2,000 frames", GIF, moving.getvalue, refused=False),
        Hostile("GIF of 65,535 × 65,535", GIF, lambda: b"GIF89a\xff\xff\xff\xff\xf7\0\0" + b"\0" * 900),
        Hostile("WebP of 16,777,216 a side", WEBP, lambda: riff),
        Hostile("JPEG of 65,500 × 65,500", JPEG, lambda: saved("JPEG").replace(b"\0\x3d\0\x61", b"\xff\xdc\xff\xdc")),
        Hostile("endless JPEG segments", JPEG, lambda: b"\xff\xd8" + b"\xff\xe1\0\x02" * 90_000),
        Hostile("cut in half", JPEG, lambda: saved("JPEG", (400, 400))[: dice.randrange(150, 600)]),
        Hostile("a page in it", PNG, lambda: png(9, 9, b"\0" * 252, chunk(b"tEXt", b"a\0<script>alert(1)</script>"))),
        Hostile("an archive behind it", PNG, lambda: saved("PNG") + archive({"a.html": b"<script>"})),
        Hostile("a PDF in its comment", JPEG, lambda: saved("JPEG", comment=b"%PDF-1.7 1 0 obj")),
        Hostile("it is another", PNG, lambda: saved("JPEG")),
        Hostile("it is a drawing", PNG, lambda: b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
        Hostile("noise", JPEG, lambda: b"\xff\xd8\xff" + dice.randbytes(20_000)),
        Hostile("a real one with broken bytes", PNG, lambda: _broken(saved("PNG", (300, 300)), dice), refused=False),
    ]  # fmt: skip


def portable(dice: random.Random) -> list[Hostile]:
    """PDFs that loop, nest, unpack or point at themselves."""
    kids = b"".join(b"%d 0 R " % number for number in range(3, 10_003))
    leaf = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"
    many = pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [" + kids + b"] /Count 10000 >>",
            *[leaf] * 10_000,
        ]
    )
    loop = pdf([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 /Parent 2 0 R >>"])
    chain = pdf([
        b"<< /Type /Catalog /Pages 2 0 R >>",
        *[b"<< /Type /Pages /Kids [%d 0 R] /Count 1 >>" % (number + 1) for number in range(2, 3_000)],
    ])  # fmt: skip
    return [
        Hostile("three filters deep.pdf", PDF, lambda: nested_flate(3, 60 * MIB)),
        Hostile("two filters deep.pdf", PDF, lambda: nested_flate(2, 90 * MIB)),
        Hostile("one filter, 300 MB.pdf", PDF, lambda: nested_flate(1, 300 * MIB)),
        Hostile("pages that hold themselves.pdf", PDF, lambda: loop),
        Hostile("3,000 levels of pages.pdf", PDF, lambda: chain),
        Hostile("10,000 empty pages.pdf", PDF, lambda: many, refused=False),
        Hostile("brackets without end.pdf", PDF, lambda: page_of(b"[" * 200_000 + b" TJ")),
        Hostile("dictionaries without end.pdf", PDF, lambda: pdf([b"<< /A " * 30_000])),
        Hostile("a table that points at itself.pdf", PDF, lambda: SELFISH),
        Hostile("no table.pdf", PDF, lambda: pdf([b"<< /Type /Catalog /Pages 2 0 R >>"], table=False)),
        Hostile("two gigabytes by its word.pdf", PDF, lambda: page_of(b"x").replace(b"th 1", b"th 2147483647")),
        Hostile("a file of one line.pdf", PDF, lambda: b"%PDF-1.4" + b" 1 0 obj" * 300_000),
        Hostile("noise.pdf", PDF, lambda: b"%PDF-1.7\n" + dice.randbytes(100_000)),
        Hostile("a run length of nothing.pdf", PDF, lambda: page_of(b"\x81x" * 900_000, RUNS)),
        Hostile("broken bytes.pdf", PDF, lambda: _broken(page_of(b"(a) Tj" * 9_000), dice), refused=False),
    ]  # fmt: skip


def written(dice: random.Random) -> list[Hostile]:
    """Word files, texts and tables that unpack, nest, or are one endless line."""
    text = b"<w:p><w:r><w:t>ha</w:t></w:r></w:p>"
    outside = word(b"<w:p><w:r><w:t>&x;</w:t></w:r></w:p>", b'<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>')
    crowd = archive({f"word/{number}.xml": b"" for number in range(6_000)})
    table = b"<w:tbl><w:tr><w:tc>" * 3_000 + text + b"</w:tc></w:tr></w:tbl>" * 3_000
    return [
        Hostile("1,000 to 1.docx", DOCX, lambda: docx(word(b"<w:p/>" + b" " * 90 * MIB))),
        Hostile("150 MB of paragraphs.docx", DOCX, lambda: docx(word(text * (150 * MIB // len(text))))),
        Hostile("6,000 files.docx", DOCX, lambda: crowd),
        Hostile("a billion laughs.docx", DOCX, lambda: docx(laughs())),
        Hostile("someone else's file.docx", DOCX, lambda: docx(outside), refused=False),
        Hostile("names that climb.docx", DOCX, lambda: archive({"../../../../tmp/pwned": b"x", "/etc/pwned": b"x"})),
        Hostile("tables in tables.docx", DOCX, lambda: docx(word(table))),
        Hostile("an archive in an archive.docx", DOCX, lambda: archive({"word/document.xml": archive({"a": b""})})),
        Hostile("a directory that lies.docx", DOCX, lambda: _lying(docx(word(text)))),
        Hostile("half an archive.docx", DOCX, lambda: docx(word(text * 90))[:-dice.randrange(30, 300)]),
        Hostile("no words.docx", DOCX, lambda: docx(b"not xml at all")),
        Hostile("19 MB in one line.txt", TXT, lambda: b"a" * 19 * MIB),
        Hostile("zeros.txt", TXT, lambda: b"\0" * 900_000),
        Hostile("half of a wide letter.txt", TXT, lambda: b"\xff\xfea\0b\0c", refused=False),
        Hostile("noise.txt", TXT, lambda: bytes(dice.choices(range(1, 256), k=60_000)), refused=False),
        Hostile("a million columns.csv", CSV, lambda: b"a;" * 1_000_000, refused=False),
        Hostile("quotes without end.csv", CSV, lambda: b'"' + b"a,\n" * 900_000),
        Hostile("two million rows.csv", CSV, lambda: b"a;b\n" * 2_000_000),
        Hostile("one endless quote of quotes.csv", CSV, lambda: b'""' * 2_000_000, refused=False),
    ]  # fmt: skip


MAKERS: tuple[Callable[[random.Random], list[Hostile]], ...] = (images, portable, written)


def corpus(dice: random.Random) -> list[Hostile]:
    """All of them, some parts drawn anew."""
    return [each for make in MAKERS for each in make(dice)]


@dataclass(frozen=True)
class Made:
    """One of them whose bytes are in a file."""

    name: str
    media_type: str
    refused: bool
    path: Path


def write_down(folder: Path, seed: str, count: int) -> list[Made]:
    """Make at most `count` of a corpus, in an order of the seed's. It takes much memory: do it in a child."""
    dice = random.Random(seed)
    files = corpus(dice)
    dice.shuffle(files)
    made = []
    for number, each in enumerate(files[:count]):
        path = folder / str(number)
        path.write_bytes(each.make())
        made.append(Made(each.name, each.media_type, each.refused, path))
    return made


def _broken(data: bytes, dice: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(20):
        changed[dice.randrange(40, len(changed))] = dice.randrange(256)
    return bytes(changed)


def _lying(data: bytes) -> bytes:
    """Say in the directory that every file unpacks to nothing."""
    at = data.index(b"PK\x01\x02")
    return data[: at + 24] + b"\0\0\0\0" + data[at + 28 :]
