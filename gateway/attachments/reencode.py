"""The child that rewrites one image: bytes in on stdin, a line of JSON and new bytes out on stdout.

It is run as a file of its own (`python -I reencode.py`), imports nothing of ours, bounds its own memory and time before
it looks at the first byte, and can be killed at any moment. What it writes was drawn anew from pixels: metadata, colour
profiles, second frames and anything hidden between them are gone.
"""

from __future__ import annotations

import io
import json
import resource
import sys
import warnings

MEMORY = 480 * 1024 * 1024
CPU_S = 4
PIXELS = 40_000_000
SIDES = (2_048, 1_536, 1_024, 640)
QUALITIES = (88, 75, 60)
OUTPUT_LIMIT = 3 * 1024 * 1024
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")


def main() -> int:
    """Rewrite the image on stdin."""
    from PIL import Image, ImageFile, ImageOps

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    Image.MAX_IMAGE_PIXELS = PIXELS
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    data = sys.stdin.buffer.read()
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
            opened.draft("RGB", (SIDES[0], SIDES[0]))
            opened.thumbnail((SIDES[0], SIDES[0]), reducing_gap=2.0)
            picture = ImageOps.exif_transpose(opened)
        written, media_type = _write(picture)
    except MemoryError:
        return _tell({"problem": "needs more memory than an image may: make it smaller"})
    except Exception as exc:  # noqa: BLE001 - whatever a decoder says about bytes from outside
        return _tell({"problem": f"cannot be decoded ({type(exc).__name__})"})
    return _tell({"media_type": media_type}, written)


def _write(picture):  # noqa: ANN001, ANN202 - Pillow is an extra and only known here
    from PIL import Image

    transparent = "A" in picture.getbands() or "transparency" in picture.info
    picture = picture.convert("RGBA" if transparent else "RGB")
    picture.info = {}  # comments and other notes of the original would be written along
    if transparent and picture.getextrema()[3][0] < 255:  # noqa: PLR2004 - opaque
        out = io.BytesIO()
        picture.save(out, "PNG")
        if out.tell() <= OUTPUT_LIMIT:
            return out.getvalue(), "image/png"
        ground = Image.new("RGB", picture.size, "white")
        ground.paste(picture, mask=picture.getchannel("A"))
        picture = ground
    picture = picture.convert("RGB")
    for side in SIDES:
        picture.thumbnail((side, side))
        for quality in QUALITIES:
            out = io.BytesIO()
            picture.save(out, "JPEG", quality=quality)
            if out.tell() <= OUTPUT_LIMIT:
                return out.getvalue(), "image/jpeg"
    raise ValueError("too large however small")


def _tell(head, body: bytes = b"") -> int:  # noqa: ANN001 - plain data
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n" + body)
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
