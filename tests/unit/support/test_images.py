"""Images from outside: what is refused from the header, and what a child makes of the rest (P27, the image part)."""

from __future__ import annotations

import io
import struct
import time
import zipfile
import zlib

import pytest
from PIL import Image

from gateway.attachments.darkroom import ChildDarkroom
from gateway.attachments.headers import ENDS, GIF, JPEG, PNG, WEBP, BadImage, read_header
from gateway.attachments.service import check_document, check_image, clean_name
from shared.errors import InvalidRequest, UnsupportedMedia

SAVED = [
    ("PNG", PNG, {}),
    ("JPEG", JPEG, {}),
    ("JPEG", JPEG, {"progressive": True}),
    ("WEBP", WEBP, {}),
    ("WEBP", WEBP, {"lossless": True}),
    ("WEBP", WEBP, {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0"}),
    ("GIF", GIF, {}),
]


def saved(format_name="PNG", size=(97, 61), **options):
    out = io.BytesIO()
    Image.effect_noise(size, 80).convert("RGB").save(out, format_name, **options)
    return out.getvalue()


def zipped():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("evil.html", "<script>alert(1)</script>")
    return out.getvalue()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, body=b"", *more):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(more) + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b"")


@pytest.mark.parametrize(("format_name", "media_type", "options"), SAVED)
def test_type_size_and_end_are_read_as_pillow_wrote_them(format_name, media_type, options):
    data = saved(format_name, **options)
    header = read_header(data)
    assert (header.media_type, header.width, header.height) == (media_type, 97, 61)
    assert ENDS[media_type](data) == len(data)
    check_image(data, media_type)


@pytest.mark.parametrize(("format_name", "media_type", "options"), SAVED)
@pytest.mark.parametrize("other", [zipped(), b"%PDF-1.7\n", b"<script>alert(1)</script>"], ids=["zip", "pdf", "html"])
def test_a_file_that_is_two_at_once_is_refused(format_name, media_type, options, other):
    with pytest.raises(UnsupportedMedia, match="two files in one"):
        check_image(saved(format_name, **options) + b"\0" * 9 + other, media_type)


def test_what_phones_put_after_a_picture_is_no_reason_to_refuse_it():
    check_image(saved("JPEG") + b"SEFH\x6b\0\0\0\x01\0\0\0SEFT", JPEG)
    check_image(saved("JPEG") + saved("JPEG", (20, 10)), JPEG)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (png(50_000, 50_000), "megapixels"),
        (png(10_000, 6_000), "megapixels"),  # 60 megapixels
        (png(2_000_000, 1), "a side"),
        (png(0, 5), "no pixels"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 40, "broken PNG"),
        (b"\xff\xd8\xff\xe0" + b"\0\x02" * 9000, "broken JPEG"),
        (b"\xff\xd8\xff\xda\0", "broken JPEG"),
        (b"RIFF\0\0\0\0WAVEfmt " + b"\0" * 40, "not a WebP"),
        (b"RIFF\xff\0\0\0WEBPVP8L\0\0\0\0\0" + b"\0" * 40, "broken WebP"),
        (b"GIF8!!" + b"\0" * 20, "broken GIF"),
        (b"GIF89a", "broken GIF"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a PNG"),
        (b"II*\0" + b"\0" * 40, "not a PNG"),  # TIFF
        (b"", "not a PNG"),
    ],
)
def test_bombs_and_broken_files_are_refused_from_their_header_alone(data, why):
    started = time.process_time()
    with pytest.raises(BadImage, match=why):
        read_header(data)
    assert time.process_time() - started < 1


def test_an_image_that_lies_about_its_type_is_refused():
    with pytest.raises(UnsupportedMedia, match="declared as image/jpeg but is image/png"):
        check_image(saved("PNG"), JPEG)


@pytest.mark.parametrize(
    ("data", "declared"),
    [
        (b"MZ\x90", "application/pdf"),
        (b"%PDF-1.7", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        (b"a\0b", "text/plain"),
        (b"x", "text/html"),
    ],
)
def test_a_document_that_is_not_what_it_says_is_refused(data, declared):
    with pytest.raises(UnsupportedMedia):
        check_document(data, declared)


def test_an_empty_document_is_refused():
    with pytest.raises(InvalidRequest, match="empty"):
        check_document(b" \n", "text/plain")


@pytest.mark.parametrize(
    ("name", "shown"), [("../../etc/passwd", "passwd"), ("C:\\x\\a\u202eb.png", "ab.png"), ("", "file"), ("\n", "file")]
)
def test_a_files_name_is_its_last_part_on_one_line(name, shown):
    assert clean_name(name) == shown


async def test_a_child_draws_images_anew_without_what_was_hidden_in_them():
    exif = Image.Exif()
    exif[0x010E] = "secret place"
    data = saved("JPEG", (3000, 1000), exif=exif, comment=b"secret note")
    picture = await ChildDarkroom().develop(data)
    assert b"secret" in data
    assert b"secret" not in picture.data
    with Image.open(io.BytesIO(picture.data)) as opened:
        assert (picture.media_type, opened.format, opened.width) == ("image/jpeg", "JPEG", 2048)


async def test_transparency_is_kept_and_a_second_frame_is_not():
    out = io.BytesIO()
    frames = [Image.new("RGBA", (40, 30), (200, 0, 0, 90)), Image.new("RGBA", (40, 30), (0, 200, 0, 255))]
    frames[0].save(out, "PNG", save_all=True, append_images=frames[1:])
    picture = await ChildDarkroom().develop(out.getvalue())
    with Image.open(io.BytesIO(picture.data)) as opened:
        assert (picture.media_type, getattr(opened, "n_frames", 1), opened.mode) == ("image/png", 1, "RGBA")


@pytest.mark.parametrize(
    "data",
    [
        png(6_000, 6_000, b"\0" * 1000),  # promises 36 megapixels and holds none
        saved("JPEG")[:900],
        png(100, 100, b"\0" * 30_100, chunk(b"zTXt", b"a\0\0" + zlib.compress(b"\0" * 80_000_000))),  # a bomb in a note
    ],
    ids=["hollow", "cut", "note"],
)
async def test_what_breaks_in_the_child_is_refused_and_the_next_one_is_drawn(data):
    darkroom = ChildDarkroom()
    with pytest.raises(InvalidRequest):
        await darkroom.develop(data)
    assert (await darkroom.develop(saved())).media_type == "image/jpeg"
