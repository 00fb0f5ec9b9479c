"""Which encoding bytes are in, decided once and told; text comes out normalised (NFC), without control characters."""

from __future__ import annotations

import codecs
import re
import unicodedata
from typing import Final

from ai_server.knowledge.loaders.model import Rejected

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LEGACY: Final = ("cp1252", "iso8859_15", "mac_roman", "cp1251", "koi8_r", "shift_jis", "gb18030", "euc_kr")
_WESTERN: Final = frozenset({"cp1252", "iso8859_1", "latin_1", "iso8859_15"})
_TYPOGRAPHY: Final = frozenset("–—‘’“”‚„•…€™«»°·\u00a0".encode("cp1252"))
"""What Windows writes into a text without another letter or sign beyond ASCII; statistics take `1–4` for an old Mac's
`1ñ4`.
"""
_ODD: Final = re.compile(
    r"(?<=[a-zß-öø-ÿ])[À-ÖØ-ÞŒŽŠŸ]"  # a capital behind a small letter of the same word
    r"|(?<=[^\W\d_])[^\w\s\x00-\x7f\u00ad’‘“”«»–—…·](?=[^\W\d_])"  # a sign inside a word
)
"""What no Western text has within a word, but any that is read in the wrong one of two encodings: `thÈologique`."""
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u2028\u2029]")
_ASCII: Final = 0x7F
_NUL_SHARE: Final = 0.001


def decode(data: bytes) -> tuple[str, str]:
    """Decode a text file; gives the text and the name of the encoding.

    A byte order mark decides; else UTF-8 if it is; else, in a file of Western text, Windows-1252.

    Raises:
        Rejected: binary, or in no encoding that is recognised.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            try:
                return clean(data.decode(name)), name
            except UnicodeDecodeError as exc:
                raise Rejected(f"its byte order mark says {name}, but it is not: save it as UTF-8") from exc
    if data.count(0) > len(data) * _NUL_SHARE:
        raise Rejected("it is binary, not text")
    try:
        return clean(data.decode("utf-8")), "utf-8"
    except UnicodeDecodeError:
        pass
    return _guessed(data)


def _guessed(data: bytes) -> tuple[str, str]:
    """Decide a legacy encoding: by statistics where the extra is installed, else Windows-1252 if it fits."""
    if {byte for byte in data if byte > _ASCII} <= _TYPOGRAPHY:
        return clean(data.decode("cp1252")), "cp1252"
    try:
        from charset_normalizer import from_bytes
    except ModuleNotFoundError:
        best = None
    else:
        found = from_bytes(data, cp_isolation=list(_LEGACY))
        best = found.best()
        # Chinese or Russian in which no language is found, where Windows has one: much English and a few accents.
        if best is not None and best.coherence == 0:
            best = next((each for each in found if each.encoding == "cp1252" and each.coherence > 0), best)
    name = best.encoding if best is not None else "cp1252"
    if name == "mac_roman" and _reads_as_windows(data):
        name = "cp1252"
    # What Western statistics take for Latin-1 or a Central European page is nearly always Windows-1252.
    for candidate in dict.fromkeys(("cp1252", name) if name in _WESTERN else (name, "cp1252")):
        try:
            return clean(data.decode(candidate)), candidate
        except UnicodeDecodeError:
            continue
    raise Rejected("its encoding is not recognised: save it as UTF-8")


def _reads_as_windows(data: bytes) -> bool:
    """Tell whether fewer words are broken when read as Windows' than as an old Mac's, which statistics confuse."""
    try:
        windows = data.decode("cp1252")
    except UnicodeDecodeError:
        return False
    return len(_ODD.findall(windows)) < len(_ODD.findall(data.decode("mac_roman")))


def clean(text: str) -> str:
    """Normalise to NFC and replace control characters and line separators that are not line ends."""
    return _CONTROLS.sub(" ", unicodedata.normalize("NFC", text))
