"""What an image is, read from its first bytes alone: nothing is decoded here, so nothing can blow up.

Formats and where their size stands: PNG (W3C PNG Third Edition §11.2.1), JPEG (ITU-T T.81 §B.2.2), WebP (RFC 9649),
GIF (GIF89a §18).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

PIXEL_LIMIT: Final = 40_000_000
"""A 60-megapixel picture is over; decoded, 40 million pixels are 160 MB."""
SIDE_LIMIT: Final = 20_000
JPEG_SEGMENT_LIMIT: Final = 500
PNG: Final = "image/png"
JPEG: Final = "image/jpeg"
WEBP: Final = "image/webp"
GIF: Final = "image/gif"
IMAGE_TYPES: Final = frozenset({PNG, JPEG, WEBP, GIF})

PNG_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
SOF_MARKERS: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
STANDALONE: Final = frozenset({0x01, *range(0xD0, 0xD8)})
JPEG_SCAN, JPEG_END = 0xDA, 0xD9
NEXT_MARKER: Final = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")
GIF_EXTENSION, GIF_IMAGE = 0x21, 0x2C
WEBP_HEADER: Final = 30
FOREIGN: Final = re.compile(rb"%PDF-|PK\x03\x04|<script|<html|<svg|<\?php|Rar!|7z\xbc\xaf", re.IGNORECASE)
"""What a second file would begin with. Phones put further data after a picture, so not all that follows is refused."""
SEARCHED: Final = 1_024


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """An image's true type and size in pixels."""

    media_type: str
    width: int
    height: int


class BadImage(ValueError):
    """Why a file is not an image that we take."""


def read_header(data: bytes) -> ImageHeader:
    """Read type and size, within the limits.

    Raises:
        BadImage: no format we know, broken, without pixels, or more of them than we decode.
    """
    for signature, read in ((PNG_SIGNATURE, _png), (b"\xff\xd8\xff", _jpeg), (b"RIFF", _webp), (b"GIF8", _gif)):
        if data.startswith(signature):
            header = read(data)
            break
    else:
        raise BadImage("is not a PNG, JPEG, WebP or GIF image")
    if header.width < 1 or header.height < 1:
        raise BadImage("has no pixels")
    if max(header.width, header.height) > SIDE_LIMIT or header.width * header.height > PIXEL_LIMIT:
        raise BadImage(
            f"has {header.width:,} × {header.height:,} pixels; the limit is {PIXEL_LIMIT // 1_000_000} megapixels "
            f"and {SIDE_LIMIT:,} a side: make it smaller"
        )
    return header


def check_declared(header: ImageHeader, declared: str) -> None:
    """Hold an image against the type it was declared to be.

    Raises:
        BadImage: it is another.
    """
    if declared != header.media_type:
        raise BadImage(f"was declared as {declared} but is {header.media_type}")


def check_alone(data: bytes, header: ImageHeader) -> None:
    """Refuse a file that is an image and something else at once.

    Raises:
        BadImage: another file hides in the image's first bytes, or follows its end.
    """
    if FOREIGN.search(data[:SEARCHED]) or FOREIGN.search(data, ENDS[header.media_type](data)):
        raise BadImage("holds another kind of file: it is two files in one")


def _png(data: bytes) -> ImageHeader:
    if len(data) < 33 or data[12:16] != b"IHDR":  # noqa: PLR2004 - signature, length, type, 13 bytes, checksum
        raise BadImage("is a broken PNG")
    return ImageHeader(PNG, int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"))


def _jpeg(data: bytes) -> ImageHeader:
    at = 2
    for _ in range(JPEG_SEGMENT_LIMIT):
        while at < len(data) and data[at] == 0xFF and at + 1 < len(data) and data[at + 1] == 0xFF:  # noqa: PLR2004
            at += 1
        if at + 4 > len(data) or data[at] != 0xFF:  # noqa: PLR2004 - every marker begins with it
            break
        marker = data[at + 1]
        if marker in STANDALONE:
            at += 2
            continue
        if marker in SOF_MARKERS and at + 9 <= len(data):
            height, width = int.from_bytes(data[at + 5 : at + 7], "big"), int.from_bytes(data[at + 7 : at + 9], "big")
            return ImageHeader(JPEG, width, height)
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    raise BadImage("is a broken JPEG")


def _webp(data: bytes) -> ImageHeader:
    if len(data) < WEBP_HEADER or data[8:12] != b"WEBP":
        raise BadImage("is not a WebP image")
    kind = data[12:16]
    if kind == b"VP8X":
        width, height = int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    elif kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = (int.from_bytes(data[at : at + 2], "little") & 0x3FFF for at in (26, 28))
    elif kind == b"VP8L" and data[20] == 0x2F:  # noqa: PLR2004 - the signature byte
        bits = int.from_bytes(data[21:25], "little")
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    else:
        raise BadImage("is a broken WebP image")
    return ImageHeader(WEBP, width, height)


def _gif(data: bytes) -> ImageHeader:
    if len(data) < 13 or data[:6] not in {b"GIF87a", b"GIF89a"}:  # noqa: PLR2004 - header and screen descriptor
        raise BadImage("is a broken GIF")
    return ImageHeader(GIF, int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little"))


def _end_of_png(data: bytes) -> int:
    at = len(PNG_SIGNATURE)
    while at + 12 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        kind = data[at + 4 : at + 8]
        at += 12 + length
        if kind == b"IEND":
            return min(at, len(data))
    return len(data)


def _end_of_jpeg(data: bytes) -> int:
    """Walk the segments; picture data holds no marker but those of restarts, so the next other one ends a scan."""
    at = 2
    while at + 4 <= len(data):
        marker = data[at + 1]
        if marker == JPEG_END:
            return at + 2
        if marker in STANDALONE:
            at += 2
            continue
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == JPEG_SCAN:
            found = NEXT_MARKER.search(data, at)
            at = len(data) if found is None else found.start()
    return len(data)


def _end_of_webp(data: bytes) -> int:
    return min(len(data), 8 + int.from_bytes(data[4:8], "little"))


def _end_of_gif(data: bytes) -> int:
    """Walk the blocks of GIF89a to the trailer."""
    at = 13 + _table_size(data[10])
    while at < len(data) and data[at] in {GIF_EXTENSION, GIF_IMAGE}:
        if data[at] == GIF_EXTENSION:
            at += 2
        elif at + 10 <= len(data):
            at += 11 + _table_size(data[at + 9])
        else:
            break
        while at < len(data) and data[at]:
            at += 1 + data[at]
        at += 1
    return min(len(data), at + 1)


def _table_size(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


ENDS: Final = {PNG: _end_of_png, JPEG: _end_of_jpeg, WEBP: _end_of_webp, GIF: _end_of_gif}
