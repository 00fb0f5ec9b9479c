from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLE_UNSPECIFIED: _ClassVar[Role]
    ROLE_USER: _ClassVar[Role]
    ROLE_AI: _ClassVar[Role]
    ROLE_ADMIN: _ClassVar[Role]
    ROLE_SYSTEM: _ClassVar[Role]

class ReadinessState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    READINESS_STATE_UNSPECIFIED: _ClassVar[ReadinessState]
    READINESS_STATE_READY: _ClassVar[ReadinessState]
    READINESS_STATE_DEGRADED: _ClassVar[ReadinessState]
    READINESS_STATE_DOWN: _ClassVar[ReadinessState]

class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTCOME_UNSPECIFIED: _ClassVar[Outcome]
    OUTCOME_ANSWERED: _ClassVar[Outcome]
    OUTCOME_INSUFFICIENT_CONTEXT: _ClassVar[Outcome]
    OUTCOME_CLARIFY_CONNECTOR: _ClassVar[Outcome]
    OUTCOME_CLARIFY_SEARCH: _ClassVar[Outcome]
    OUTCOME_PAUSED: _ClassVar[Outcome]
    OUTCOME_TRUNCATED: _ClassVar[Outcome]
    OUTCOME_STOPPED: _ClassVar[Outcome]
    OUTCOME_FAILED: _ClassVar[Outcome]
ROLE_UNSPECIFIED: Role
ROLE_USER: Role
ROLE_AI: Role
ROLE_ADMIN: Role
ROLE_SYSTEM: Role
READINESS_STATE_UNSPECIFIED: ReadinessState
READINESS_STATE_READY: ReadinessState
READINESS_STATE_DEGRADED: ReadinessState
READINESS_STATE_DOWN: ReadinessState
OUTCOME_UNSPECIFIED: Outcome
OUTCOME_ANSWERED: Outcome
OUTCOME_INSUFFICIENT_CONTEXT: Outcome
OUTCOME_CLARIFY_CONNECTOR: Outcome
OUTCOME_CLARIFY_SEARCH: Outcome
OUTCOME_PAUSED: Outcome
OUTCOME_TRUNCATED: Outcome
OUTCOME_STOPPED: Outcome
OUTCOME_FAILED: Outcome

class Values(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, values: _Optional[_Iterable[str]] = ...) -> None: ...

class RetrievalContext(_message.Message):
    __slots__ = ("allowed",)
    class AllowedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Values
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Values, _Mapping]] = ...) -> None: ...
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    allowed: _containers.MessageMap[str, Values]
    def __init__(self, allowed: _Optional[_Mapping[str, Values]] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("input_token_count", "cached_input_token_count", "cache_write_short_token_count", "cache_write_long_token_count", "output_token_count", "reasoning_token_count", "unit_count")
    class UnitCountEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    INPUT_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    CACHED_INPUT_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    CACHE_WRITE_SHORT_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    CACHE_WRITE_LONG_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    REASONING_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    UNIT_COUNT_FIELD_NUMBER: _ClassVar[int]
    input_token_count: int
    cached_input_token_count: int
    cache_write_short_token_count: int
    cache_write_long_token_count: int
    output_token_count: int
    reasoning_token_count: int
    unit_count: _containers.ScalarMap[str, int]
    def __init__(self, input_token_count: _Optional[int] = ..., cached_input_token_count: _Optional[int] = ..., cache_write_short_token_count: _Optional[int] = ..., cache_write_long_token_count: _Optional[int] = ..., output_token_count: _Optional[int] = ..., reasoning_token_count: _Optional[int] = ..., unit_count: _Optional[_Mapping[str, int]] = ...) -> None: ...

class Image(_message.Message):
    __slots__ = ("mime_type", "data")
    MIME_TYPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    mime_type: str
    data: bytes
    def __init__(self, mime_type: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class Citation(_message.Message):
    __slots__ = ("citation_id", "chunk_id", "title", "url", "quote", "position", "service", "text")
    CITATION_ID_FIELD_NUMBER: _ClassVar[int]
    CHUNK_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    QUOTE_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    citation_id: str
    chunk_id: str
    title: str
    url: str
    quote: str
    position: int
    service: str
    text: str
    def __init__(self, citation_id: _Optional[str] = ..., chunk_id: _Optional[str] = ..., title: _Optional[str] = ..., url: _Optional[str] = ..., quote: _Optional[str] = ..., position: _Optional[int] = ..., service: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...
