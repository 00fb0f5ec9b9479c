"""Takes files from visitors: images are drawn anew, documents become text, both wait for the message to carry them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from gateway.attachments.headers import IMAGE_TYPES, BadImage, check_alone, check_declared, read_header
from gateway.storage.attachments import Attachment
from gateway.storage.contract import KeyRecord
from shared.errors import (
    BodyTooLarge,
    IdempotencyConflict,
    InvalidRequest,
    NotFound,
    NotReady,
    UnsupportedMedia,
    Violation,
)
from shared.ids import new_id
from shared.logs import logger

if TYPE_CHECKING:
    from gateway.assistant.contract import Extractor, Question
    from gateway.attachments.contract import Darkroom
    from gateway.attachments.shelf import Shelf
    from gateway.conversation.model import Visitor
    from gateway.storage.contract import Store, TurnRecord
    from gateway.storage.staff import StaffMember
    from shared.clock import Clock

IMAGE_LIMIT: Final = 10 * 1024 * 1024
DOCUMENT_LIMIT: Final = 20 * 1024 * 1024
NAME_LIMIT: Final = 200
TEXT_LIMIT: Final = 100_000
"""Characters of documents that go with one question, all documents of a conversation together, the newest first."""
DOCUMENT_COUNT: Final = 8
UNUSED_KEPT: Final = timedelta(hours=24)
SWEPT_AT_ONCE: Final = 500
SWEEP_EVERY_S: Final = 3_600.0
DOCX: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
DOCUMENT_TYPES: Final = {"application/pdf": b"%PDF-", DOCX: b"PK\x03\x04", "text/plain": b"", "text/csv": b""}
"""Types that are taken, with what such a file begins with."""

log = logger(__name__)


def size_limit(media_type: str) -> int:
    """Tell how many bytes a file of this type may have."""
    return IMAGE_LIMIT if media_type in IMAGE_TYPES else DOCUMENT_LIMIT


class AttachmentService:
    """The attachments of every project."""

    def __init__(self, store: Store, shelf: Shelf, darkroom: Darkroom, extractor: Extractor, clock: Clock) -> None:
        """Take the seams."""
        self._store = store
        self._shelf = shelf
        self._darkroom = darkroom
        self._extractor = extractor
        self._clock = clock

    async def take(
        self, visitor: Visitor, name: str, media_type: str, data: bytes, key: str | None = None
    ) -> Attachment:
        """Check and keep a file; the same key and file give the same attachment.

        Raises:
            UnsupportedMedia: a type we do not take, or a file that is not what it says.
            BodyTooLarge: more bytes than its type may have.
            InvalidRequest: an image or document that cannot be read.
            IdempotencyConflict: the key came before with another file.
            NotImplementedHere: this installation cannot read such files.
        """
        if len(data) > size_limit(media_type):
            raise BodyTooLarge(f"The file is over {size_limit(media_type) // 1024 // 1024} MiB: make it smaller.")
        digest = hashlib.sha256(b"attachment\0" + media_type.encode() + b"\0" + data).digest()
        if key is not None and (known := await self._known(visitor, key, digest)):
            return known
        attachment, kept = await self._read(visitor, clean_name(name), media_type, data)
        await self._shelf.put(attachment.id, kept)
        async with self._store.transaction() as tx:
            await tx.attachments.add(attachment)
            if key is not None:
                await tx.keys.add(visitor.id, key, KeyRecord(digest, attachment.id), self._clock.now())
        log.info("attachment_taken", attachment_id=attachment.id, kind=attachment.kind, size=attachment.size)
        return attachment

    async def for_visitor(self, visitor: Visitor, attachment_id: str) -> tuple[Attachment, bytes]:
        """Read an attachment of a visitor.

        Raises:
            NotFound: not there, or not theirs.
        """
        async with self._store.transaction() as tx:
            found = await tx.attachments.get(attachment_id)
        if found is None or found.visitor_id != visitor.id:
            raise NotFound("There is no such attachment.")
        return await self._with_bytes(found)

    async def for_staff(self, member: StaffMember, attachment_id: str) -> tuple[Attachment, bytes]:
        """Read an attachment of a conversation that was passed to the staff.

        Raises:
            NotFound: not there, or not for this person.
        """
        async with self._store.transaction() as tx:
            found = await tx.attachments.get(attachment_id)
            if found is None or found.project_id != member.project_id or found.conversation_id is None:
                raise NotFound("There is no such attachment.")
            if await tx.tickets.latest_in(found.conversation_id) is None:
                raise NotFound("There is no such attachment.")
        return await self._with_bytes(found)

    async def enclose(self, turn: TurnRecord, question: Question) -> Question:
        """Put a turn's image and the conversation's documents with its question; see `gateway.turns.desk.Enclosures`.

        What is put there depends only on what was sent up to the turn's own message, so that asking again under the
        same key is the same question.
        """
        async with self._store.transaction() as tx:
            carried = await tx.attachments.of_message(turn.user_message_id)
            documents = await tx.attachments.documents_up_to(turn.user_message_id, DOCUMENT_COUNT)
        image = next((each for each in carried if each.kind == "image"), None)
        data = None if image is None else await self._shelf.get(image.id)
        texts: list[tuple[str, str]] = []
        room = TEXT_LIMIT
        for each in documents:
            text = each.text[:room]
            room -= len(text)
            if text:
                texts.insert(0, (each.name, text))
        return replace(
            question,
            image=None if image is None or data is None else (image.media_type, data),
            attached_texts=tuple(texts),
        )

    async def sweep(self) -> int:
        """Forget files that no message came to carry, and bytes that belong to nothing; tells how many went."""
        async with self._store.transaction() as tx:
            unused = await tx.attachments.forget_unused(self._clock.now() - UNUSED_KEPT, SWEPT_AT_ONCE)
        lying = await self._shelf.ids()
        lost: list[str] = []
        for start in range(0, len(lying), SWEPT_AT_ONCE):
            some = lying[start : start + SWEPT_AT_ONCE]
            async with self._store.transaction() as tx:
                known = await tx.attachments.known(some)
            lost.extend(each for each in some if each not in known)
        # Bytes are written before their row: a file of the last minutes may still be on its way.
        old = [each for each in lost if _age(each, self._clock) > UNUSED_KEPT]
        await self._shelf.drop([*unused, *old])
        return len({*unused, *old})

    async def _known(self, visitor: Visitor, key: str, digest: bytes) -> Attachment | None:
        async with self._store.transaction() as tx:
            record = await tx.keys.find(visitor.id, key)
            if record is None:
                return None
            found = await tx.attachments.get(record.created_id)
        if record.body_hash != digest or found is None:
            raise IdempotencyConflict("This Idempotency-Key came before with another body: use a new key.")
        return found

    async def _read(self, visitor: Visitor, name: str, media_type: str, data: bytes) -> tuple[Attachment, bytes]:
        now = self._clock.now()
        if media_type in IMAGE_TYPES:
            check_image(data, media_type)
            picture = await self._darkroom.develop(data)
            kept, truncated, text, kind, true_type = picture.data, False, "", "image", picture.media_type
        else:
            check_document(data, media_type)
            found = await self._extractor.extract(visitor.project_id, name, media_type, data)
            kept, truncated, text, kind, true_type = data, found.truncated, found.text, "document", media_type
        attachment = Attachment(
            id=new_id(now),
            project_id=visitor.project_id,
            visitor_id=visitor.id,
            kind="image" if kind == "image" else "document",
            name=name,
            media_type=true_type,
            size=len(kept),
            sha256=hashlib.sha256(kept).digest(),
            created_at=now,
            text=text,
            truncated=truncated,
        )
        return attachment, kept

    async def _with_bytes(self, attachment: Attachment) -> tuple[Attachment, bytes]:
        data = await self._shelf.get(attachment.id)
        if data is None:
            raise NotFound("There is no such attachment.")
        return attachment, data


async def sweep_for_ever(attachments: AttachmentService, clock: Clock) -> None:
    """Sweep at once and then every `SWEEP_EVERY_S`."""
    while True:
        try:
            await attachments.sweep()
        except NotReady as exc:
            log.warning("not_swept", reason=exc.message)
        await clock.sleep(SWEEP_EVERY_S)


def check_image(data: bytes, declared: str) -> None:
    """Check an image from its header: true type, size, and nothing else in the same file.

    Raises:
        UnsupportedMedia: it is not the image it says to be.
        InvalidRequest: it is one, but broken or too large.
    """
    try:
        header = read_header(data)
        check_declared(header, declared)
        check_alone(data, header)
    except BadImage as exc:
        raise UnsupportedMedia([Violation("body", str(exc))]) from exc


def check_document(data: bytes, declared: str) -> None:
    """Check that a document begins as its type does.

    Raises:
        UnsupportedMedia: a type we do not take, or another than declared.
        InvalidRequest: it is empty.
    """
    signature = DOCUMENT_TYPES.get(declared)
    if signature is None:
        taken = ", ".join(sorted({*IMAGE_TYPES, *DOCUMENT_TYPES}))
        raise UnsupportedMedia([Violation("Content-Type", f"must be one of {taken}")])
    if not data.strip():
        raise InvalidRequest.of("body", "is empty")
    if not data.startswith(signature):
        raise UnsupportedMedia([Violation("body", f"was declared as {declared} but does not begin like one")])
    if not signature and b"\x00" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnsupportedMedia([Violation("body", "was declared as text but is binary")])


def clean_name(name: str) -> str:
    """Make a file name that is safe to show: its last part, one line, without control characters, bounded."""
    last = name.replace("\\", "/").rpartition("/")[2]
    shown = "".join(each for each in last if each.isprintable()).strip()
    return shown[-NAME_LIMIT:] or "file"


def _age(attachment_id: str, clock: Clock) -> timedelta:
    """Read how old an id is: its first 48 bits are milliseconds since 1970 (RFC 9562 §5.7)."""
    made_ms = int(attachment_id.replace("-", "")[:12], 16)
    return timedelta(milliseconds=clock.now().timestamp() * 1000 - made_ms)
