import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from shared.pb.passeur.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FileStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FILE_STATUS_UNSPECIFIED: _ClassVar[FileStatus]
    FILE_STATUS_INDEXED: _ClassVar[FileStatus]
    FILE_STATUS_UNCHANGED: _ClassVar[FileStatus]
    FILE_STATUS_MOVED: _ClassVar[FileStatus]
    FILE_STATUS_REMOVED: _ClassVar[FileStatus]
    FILE_STATUS_REJECTED: _ClassVar[FileStatus]
    FILE_STATUS_SKIPPED: _ClassVar[FileStatus]
FILE_STATUS_UNSPECIFIED: FileStatus
FILE_STATUS_INDEXED: FileStatus
FILE_STATUS_UNCHANGED: FileStatus
FILE_STATUS_MOVED: FileStatus
FILE_STATUS_REMOVED: FileStatus
FILE_STATUS_REJECTED: FileStatus
FILE_STATUS_SKIPPED: FileStatus

class FileLine(_message.Message):
    __slots__ = ("path", "status", "chunk_count", "reason", "undeclared_key_count", "moved_from", "undeclared_keys")
    PATH_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CHUNK_COUNT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    UNDECLARED_KEY_COUNT_FIELD_NUMBER: _ClassVar[int]
    MOVED_FROM_FIELD_NUMBER: _ClassVar[int]
    UNDECLARED_KEYS_FIELD_NUMBER: _ClassVar[int]
    path: str
    status: FileStatus
    chunk_count: int
    reason: str
    undeclared_key_count: int
    moved_from: str
    undeclared_keys: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, path: _Optional[str] = ..., status: _Optional[_Union[FileStatus, str]] = ..., chunk_count: _Optional[int] = ..., reason: _Optional[str] = ..., undeclared_key_count: _Optional[int] = ..., moved_from: _Optional[str] = ..., undeclared_keys: _Optional[_Iterable[str]] = ...) -> None: ...

class SyncProgress(_message.Message):
    __slots__ = ("files_done_count", "files_total_count", "chunks_embedded_count", "chunks_total_count")
    FILES_DONE_COUNT_FIELD_NUMBER: _ClassVar[int]
    FILES_TOTAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_EMBEDDED_COUNT_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_TOTAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    files_done_count: int
    files_total_count: int
    chunks_embedded_count: int
    chunks_total_count: int
    def __init__(self, files_done_count: _Optional[int] = ..., files_total_count: _Optional[int] = ..., chunks_embedded_count: _Optional[int] = ..., chunks_total_count: _Optional[int] = ...) -> None: ...

class SyncSummary(_message.Message):
    __slots__ = ("indexed_count", "unchanged_count", "moved_count", "removed_count", "rejected_count", "skipped_count", "chunks_embedded_count", "chunks_reused_count", "chunks_removed_count", "duration_ms", "cost_nanousd", "index_generation")
    INDEXED_COUNT_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_COUNT_FIELD_NUMBER: _ClassVar[int]
    MOVED_COUNT_FIELD_NUMBER: _ClassVar[int]
    REMOVED_COUNT_FIELD_NUMBER: _ClassVar[int]
    REJECTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_COUNT_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_EMBEDDED_COUNT_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_REUSED_COUNT_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_REMOVED_COUNT_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    COST_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    INDEX_GENERATION_FIELD_NUMBER: _ClassVar[int]
    indexed_count: int
    unchanged_count: int
    moved_count: int
    removed_count: int
    rejected_count: int
    skipped_count: int
    chunks_embedded_count: int
    chunks_reused_count: int
    chunks_removed_count: int
    duration_ms: int
    cost_nanousd: int
    index_generation: int
    def __init__(self, indexed_count: _Optional[int] = ..., unchanged_count: _Optional[int] = ..., moved_count: _Optional[int] = ..., removed_count: _Optional[int] = ..., rejected_count: _Optional[int] = ..., skipped_count: _Optional[int] = ..., chunks_embedded_count: _Optional[int] = ..., chunks_reused_count: _Optional[int] = ..., chunks_removed_count: _Optional[int] = ..., duration_ms: _Optional[int] = ..., cost_nanousd: _Optional[int] = ..., index_generation: _Optional[int] = ...) -> None: ...

class SyncRequest(_message.Message):
    __slots__ = ("project_id", "source_id", "root", "defaults")
    class DefaultsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _common_pb2.Values
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[_common_pb2.Values, _Mapping]] = ...) -> None: ...
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    DEFAULTS_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    source_id: str
    root: str
    defaults: _containers.MessageMap[str, _common_pb2.Values]
    def __init__(self, project_id: _Optional[str] = ..., source_id: _Optional[str] = ..., root: _Optional[str] = ..., defaults: _Optional[_Mapping[str, _common_pb2.Values]] = ...) -> None: ...

class SyncResponse(_message.Message):
    __slots__ = ("file", "progress", "summary")
    FILE_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    file: FileLine
    progress: SyncProgress
    summary: SyncSummary
    def __init__(self, file: _Optional[_Union[FileLine, _Mapping]] = ..., progress: _Optional[_Union[SyncProgress, _Mapping]] = ..., summary: _Optional[_Union[SyncSummary, _Mapping]] = ...) -> None: ...

class Document(_message.Message):
    __slots__ = ("path", "content", "metadata")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _common_pb2.Values
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[_common_pb2.Values, _Mapping]] = ...) -> None: ...
    PATH_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    path: str
    content: bytes
    metadata: _containers.MessageMap[str, _common_pb2.Values]
    def __init__(self, path: _Optional[str] = ..., content: _Optional[bytes] = ..., metadata: _Optional[_Mapping[str, _common_pb2.Values]] = ...) -> None: ...

class UpsertRequest(_message.Message):
    __slots__ = ("project_id", "source_id", "documents")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    source_id: str
    documents: _containers.RepeatedCompositeFieldContainer[Document]
    def __init__(self, project_id: _Optional[str] = ..., source_id: _Optional[str] = ..., documents: _Optional[_Iterable[_Union[Document, _Mapping]]] = ...) -> None: ...

class UpsertResponse(_message.Message):
    __slots__ = ("files",)
    FILES_FIELD_NUMBER: _ClassVar[int]
    files: _containers.RepeatedCompositeFieldContainer[FileLine]
    def __init__(self, files: _Optional[_Iterable[_Union[FileLine, _Mapping]]] = ...) -> None: ...

class DeleteRequest(_message.Message):
    __slots__ = ("project_id", "source_id", "paths")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    source_id: str
    paths: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, project_id: _Optional[str] = ..., source_id: _Optional[str] = ..., paths: _Optional[_Iterable[str]] = ...) -> None: ...

class DeleteResponse(_message.Message):
    __slots__ = ("files",)
    FILES_FIELD_NUMBER: _ClassVar[int]
    files: _containers.RepeatedCompositeFieldContainer[FileLine]
    def __init__(self, files: _Optional[_Iterable[_Union[FileLine, _Mapping]]] = ...) -> None: ...

class ForgetSourceRequest(_message.Message):
    __slots__ = ("project_id", "source_id")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    source_id: str
    def __init__(self, project_id: _Optional[str] = ..., source_id: _Optional[str] = ...) -> None: ...

class ForgetSourceResponse(_message.Message):
    __slots__ = ("document_count", "chunk_count")
    DOCUMENT_COUNT_FIELD_NUMBER: _ClassVar[int]
    CHUNK_COUNT_FIELD_NUMBER: _ClassVar[int]
    document_count: int
    chunk_count: int
    def __init__(self, document_count: _Optional[int] = ..., chunk_count: _Optional[int] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("project_id", "source_id", "page_size", "page_token")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    source_id: str
    page_size: int
    page_token: str
    def __init__(self, project_id: _Optional[str] = ..., source_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class DocumentEntry(_message.Message):
    __slots__ = ("source_id", "path", "status", "reason", "chunk_count", "title", "language", "metadata", "synced_at", "content_sha256")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _common_pb2.Values
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[_common_pb2.Values, _Mapping]] = ...) -> None: ...
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CHUNK_COUNT_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SYNCED_AT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_SHA256_FIELD_NUMBER: _ClassVar[int]
    source_id: str
    path: str
    status: FileStatus
    reason: str
    chunk_count: int
    title: str
    language: str
    metadata: _containers.MessageMap[str, _common_pb2.Values]
    synced_at: _timestamp_pb2.Timestamp
    content_sha256: bytes
    def __init__(self, source_id: _Optional[str] = ..., path: _Optional[str] = ..., status: _Optional[_Union[FileStatus, str]] = ..., reason: _Optional[str] = ..., chunk_count: _Optional[int] = ..., title: _Optional[str] = ..., language: _Optional[str] = ..., metadata: _Optional[_Mapping[str, _common_pb2.Values]] = ..., synced_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., content_sha256: _Optional[bytes] = ...) -> None: ...

class SourceEntry(_message.Message):
    __slots__ = ("source_id", "root", "managed", "document_count", "chunk_count")
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    MANAGED_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_COUNT_FIELD_NUMBER: _ClassVar[int]
    CHUNK_COUNT_FIELD_NUMBER: _ClassVar[int]
    source_id: str
    root: str
    managed: bool
    document_count: int
    chunk_count: int
    def __init__(self, source_id: _Optional[str] = ..., root: _Optional[str] = ..., managed: _Optional[bool] = ..., document_count: _Optional[int] = ..., chunk_count: _Optional[int] = ...) -> None: ...

class ListResponse(_message.Message):
    __slots__ = ("sources", "documents", "next_page_token")
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    sources: _containers.RepeatedCompositeFieldContainer[SourceEntry]
    documents: _containers.RepeatedCompositeFieldContainer[DocumentEntry]
    next_page_token: str
    def __init__(self, sources: _Optional[_Iterable[_Union[SourceEntry, _Mapping]]] = ..., documents: _Optional[_Iterable[_Union[DocumentEntry, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ExplainRequest(_message.Message):
    __slots__ = ("project_id", "source_id", "path")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    source_id: str
    path: str
    def __init__(self, project_id: _Optional[str] = ..., source_id: _Optional[str] = ..., path: _Optional[str] = ...) -> None: ...

class ChunkEntry(_message.Message):
    __slots__ = ("chunk_id", "heading", "character_count", "text")
    CHUNK_ID_FIELD_NUMBER: _ClassVar[int]
    HEADING_FIELD_NUMBER: _ClassVar[int]
    CHARACTER_COUNT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    chunk_id: str
    heading: str
    character_count: int
    text: str
    def __init__(self, chunk_id: _Optional[str] = ..., heading: _Optional[str] = ..., character_count: _Optional[int] = ..., text: _Optional[str] = ...) -> None: ...

class ExplainResponse(_message.Message):
    __slots__ = ("document", "chunks")
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    document: DocumentEntry
    chunks: _containers.RepeatedCompositeFieldContainer[ChunkEntry]
    def __init__(self, document: _Optional[_Union[DocumentEntry, _Mapping]] = ..., chunks: _Optional[_Iterable[_Union[ChunkEntry, _Mapping]]] = ...) -> None: ...

class GetPassageRequest(_message.Message):
    __slots__ = ("project_id", "chunk_id", "retrieval_contexts")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    CHUNK_ID_FIELD_NUMBER: _ClassVar[int]
    RETRIEVAL_CONTEXTS_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    chunk_id: str
    retrieval_contexts: _containers.RepeatedCompositeFieldContainer[_common_pb2.RetrievalContext]
    def __init__(self, project_id: _Optional[str] = ..., chunk_id: _Optional[str] = ..., retrieval_contexts: _Optional[_Iterable[_Union[_common_pb2.RetrievalContext, _Mapping]]] = ...) -> None: ...

class GetPassageResponse(_message.Message):
    __slots__ = ("chunk_id", "title", "url", "heading", "text", "language")
    CHUNK_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    HEADING_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    chunk_id: str
    title: str
    url: str
    heading: str
    text: str
    language: str
    def __init__(self, chunk_id: _Optional[str] = ..., title: _Optional[str] = ..., url: _Optional[str] = ..., heading: _Optional[str] = ..., text: _Optional[str] = ..., language: _Optional[str] = ...) -> None: ...

class ExtractHeader(_message.Message):
    __slots__ = ("project_id", "name", "mime_type")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    MIME_TYPE_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    name: str
    mime_type: str
    def __init__(self, project_id: _Optional[str] = ..., name: _Optional[str] = ..., mime_type: _Optional[str] = ...) -> None: ...

class ExtractRequest(_message.Message):
    __slots__ = ("header", "data")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    header: ExtractHeader
    data: bytes
    def __init__(self, header: _Optional[_Union[ExtractHeader, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class ExtractResponse(_message.Message):
    __slots__ = ("text", "truncated", "page_count", "skipped_image_count", "encoding")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    PAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_IMAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    text: str
    truncated: bool
    page_count: int
    skipped_image_count: int
    encoding: str
    def __init__(self, text: _Optional[str] = ..., truncated: _Optional[bool] = ..., page_count: _Optional[int] = ..., skipped_image_count: _Optional[int] = ..., encoding: _Optional[str] = ...) -> None: ...

class DocumentsServiceAuditRequest(_message.Message):
    __slots__ = ("project_id",)
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    def __init__(self, project_id: _Optional[str] = ...) -> None: ...

class DocumentsServiceAuditResponse(_message.Message):
    __slots__ = ("chunk_count", "unreachable_chunk_ids", "ghost_chunk_ids", "clean")
    CHUNK_COUNT_FIELD_NUMBER: _ClassVar[int]
    UNREACHABLE_CHUNK_IDS_FIELD_NUMBER: _ClassVar[int]
    GHOST_CHUNK_IDS_FIELD_NUMBER: _ClassVar[int]
    CLEAN_FIELD_NUMBER: _ClassVar[int]
    chunk_count: int
    unreachable_chunk_ids: _containers.RepeatedScalarFieldContainer[str]
    ghost_chunk_ids: _containers.RepeatedScalarFieldContainer[str]
    clean: bool
    def __init__(self, chunk_count: _Optional[int] = ..., unreachable_chunk_ids: _Optional[_Iterable[str]] = ..., ghost_chunk_ids: _Optional[_Iterable[str]] = ..., clean: _Optional[bool] = ...) -> None: ...

class RebuildRequest(_message.Message):
    __slots__ = ("project_id",)
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    def __init__(self, project_id: _Optional[str] = ...) -> None: ...

class RebuildResponse(_message.Message):
    __slots__ = ("file", "progress", "summary")
    FILE_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    file: FileLine
    progress: SyncProgress
    summary: SyncSummary
    def __init__(self, file: _Optional[_Union[FileLine, _Mapping]] = ..., progress: _Optional[_Union[SyncProgress, _Mapping]] = ..., summary: _Optional[_Union[SyncSummary, _Mapping]] = ...) -> None: ...

class ReindexRequest(_message.Message):
    __slots__ = ("project_id", "embedding_provider", "embedding_model")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_PROVIDER_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_MODEL_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    embedding_provider: str
    embedding_model: str
    def __init__(self, project_id: _Optional[str] = ..., embedding_provider: _Optional[str] = ..., embedding_model: _Optional[str] = ...) -> None: ...

class ReindexResponse(_message.Message):
    __slots__ = ("progress", "summary")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    progress: SyncProgress
    summary: SyncSummary
    def __init__(self, progress: _Optional[_Union[SyncProgress, _Mapping]] = ..., summary: _Optional[_Union[SyncSummary, _Mapping]] = ...) -> None: ...

class RollbackRequest(_message.Message):
    __slots__ = ("project_id",)
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    def __init__(self, project_id: _Optional[str] = ...) -> None: ...

class RollbackResponse(_message.Message):
    __slots__ = ("embedding_provider", "embedding_model", "index_generation")
    EMBEDDING_PROVIDER_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_MODEL_FIELD_NUMBER: _ClassVar[int]
    INDEX_GENERATION_FIELD_NUMBER: _ClassVar[int]
    embedding_provider: str
    embedding_model: str
    index_generation: int
    def __init__(self, embedding_provider: _Optional[str] = ..., embedding_model: _Optional[str] = ..., index_generation: _Optional[int] = ...) -> None: ...

class LabelledQuestion(_message.Message):
    __slots__ = ("question", "answerable")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    ANSWERABLE_FIELD_NUMBER: _ClassVar[int]
    question: str
    answerable: bool
    def __init__(self, question: _Optional[str] = ..., answerable: _Optional[bool] = ...) -> None: ...

class CalibrateRequest(_message.Message):
    __slots__ = ("project_id", "questions", "max_lost_share")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    MAX_LOST_SHARE_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    questions: _containers.RepeatedCompositeFieldContainer[LabelledQuestion]
    max_lost_share: float
    def __init__(self, project_id: _Optional[str] = ..., questions: _Optional[_Iterable[_Union[LabelledQuestion, _Mapping]]] = ..., max_lost_share: _Optional[float] = ...) -> None: ...

class CalibrateResponse(_message.Message):
    __slots__ = ("thresholds", "lost_share", "false_answer_share")
    class ThresholdsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    THRESHOLDS_FIELD_NUMBER: _ClassVar[int]
    LOST_SHARE_FIELD_NUMBER: _ClassVar[int]
    FALSE_ANSWER_SHARE_FIELD_NUMBER: _ClassVar[int]
    thresholds: _containers.ScalarMap[str, float]
    lost_share: float
    false_answer_share: float
    def __init__(self, thresholds: _Optional[_Mapping[str, float]] = ..., lost_share: _Optional[float] = ..., false_answer_share: _Optional[float] = ...) -> None: ...
