import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from shared.pb.passeur.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CheckRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DependencyState(_message.Message):
    __slots__ = ("name", "state", "reason", "since")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    name: str
    state: _common_pb2.ReadinessState
    reason: str
    since: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., state: _Optional[_Union[_common_pb2.ReadinessState, str]] = ..., reason: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class CheckResponse(_message.Message):
    __slots__ = ("state", "http_status", "dependencies", "draining", "version", "since")
    STATE_FIELD_NUMBER: _ClassVar[int]
    HTTP_STATUS_FIELD_NUMBER: _ClassVar[int]
    DEPENDENCIES_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    state: _common_pb2.ReadinessState
    http_status: int
    dependencies: _containers.RepeatedCompositeFieldContainer[DependencyState]
    draining: bool
    version: str
    since: _timestamp_pb2.Timestamp
    def __init__(self, state: _Optional[_Union[_common_pb2.ReadinessState, str]] = ..., http_status: _Optional[int] = ..., dependencies: _Optional[_Iterable[_Union[DependencyState, _Mapping]]] = ..., draining: _Optional[bool] = ..., version: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
