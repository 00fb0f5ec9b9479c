import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from shared.pb.passeur.v1 import assistant_pb2 as _assistant_pb2
from shared.pb.passeur.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Billing(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BILLING_UNSPECIFIED: _ClassVar[Billing]
    BILLING_METERED: _ClassVar[Billing]
    BILLING_FREE: _ClassVar[Billing]
BILLING_UNSPECIFIED: Billing
BILLING_METERED: Billing
BILLING_FREE: Billing

class Model(_message.Message):
    __slots__ = ("model_id", "provider", "endpoint", "window_token_count", "max_billable_output_token_count", "cap_bounds_reasoning", "capabilities", "billing", "price_nanousd_per_million", "price_version", "checked_date", "source")
    class PriceNanousdPerMillionEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    WINDOW_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    MAX_BILLABLE_OUTPUT_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    CAP_BOUNDS_REASONING_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    BILLING_FIELD_NUMBER: _ClassVar[int]
    PRICE_NANOUSD_PER_MILLION_FIELD_NUMBER: _ClassVar[int]
    PRICE_VERSION_FIELD_NUMBER: _ClassVar[int]
    CHECKED_DATE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    model_id: str
    provider: str
    endpoint: str
    window_token_count: int
    max_billable_output_token_count: int
    cap_bounds_reasoning: bool
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    billing: Billing
    price_nanousd_per_million: _containers.ScalarMap[str, int]
    price_version: str
    checked_date: str
    source: str
    def __init__(self, model_id: _Optional[str] = ..., provider: _Optional[str] = ..., endpoint: _Optional[str] = ..., window_token_count: _Optional[int] = ..., max_billable_output_token_count: _Optional[int] = ..., cap_bounds_reasoning: _Optional[bool] = ..., capabilities: _Optional[_Iterable[str]] = ..., billing: _Optional[_Union[Billing, str]] = ..., price_nanousd_per_million: _Optional[_Mapping[str, int]] = ..., price_version: _Optional[str] = ..., checked_date: _Optional[str] = ..., source: _Optional[str] = ...) -> None: ...

class ListModelsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListModelsResponse(_message.Message):
    __slots__ = ("models",)
    MODELS_FIELD_NUMBER: _ClassVar[int]
    models: _containers.RepeatedCompositeFieldContainer[Model]
    def __init__(self, models: _Optional[_Iterable[_Union[Model, _Mapping]]] = ...) -> None: ...

class Provider(_message.Message):
    __slots__ = ("provider", "configured", "state", "reason", "capabilities")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    CONFIGURED_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    provider: str
    configured: bool
    state: _common_pb2.ReadinessState
    reason: str
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, provider: _Optional[str] = ..., configured: _Optional[bool] = ..., state: _Optional[_Union[_common_pb2.ReadinessState, str]] = ..., reason: _Optional[str] = ..., capabilities: _Optional[_Iterable[str]] = ...) -> None: ...

class ListProvidersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListProvidersResponse(_message.Message):
    __slots__ = ("providers",)
    PROVIDERS_FIELD_NUMBER: _ClassVar[int]
    providers: _containers.RepeatedCompositeFieldContainer[Provider]
    def __init__(self, providers: _Optional[_Iterable[_Union[Provider, _Mapping]]] = ...) -> None: ...

class Tool(_message.Message):
    __slots__ = ("tool_id", "server", "name", "description", "input_schema", "effect", "quarantined", "reason")
    TOOL_ID_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    INPUT_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    QUARANTINED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    tool_id: str
    server: str
    name: str
    description: str
    input_schema: _struct_pb2.Struct
    effect: _assistant_pb2.ToolEffect
    quarantined: bool
    reason: str
    def __init__(self, tool_id: _Optional[str] = ..., server: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., input_schema: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., effect: _Optional[_Union[_assistant_pb2.ToolEffect, str]] = ..., quarantined: _Optional[bool] = ..., reason: _Optional[str] = ...) -> None: ...

class ListToolsRequest(_message.Message):
    __slots__ = ("project_id", "assistant")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    ASSISTANT_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    assistant: str
    def __init__(self, project_id: _Optional[str] = ..., assistant: _Optional[str] = ...) -> None: ...

class ListToolsResponse(_message.Message):
    __slots__ = ("tools",)
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[Tool]
    def __init__(self, tools: _Optional[_Iterable[_Union[Tool, _Mapping]]] = ...) -> None: ...

class RefreshToolsRequest(_message.Message):
    __slots__ = ("project_id", "server")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    server: str
    def __init__(self, project_id: _Optional[str] = ..., server: _Optional[str] = ...) -> None: ...

class RefreshToolsResponse(_message.Message):
    __slots__ = ("servers",)
    SERVERS_FIELD_NUMBER: _ClassVar[int]
    servers: _containers.RepeatedCompositeFieldContainer[ToolServerStatus]
    def __init__(self, servers: _Optional[_Iterable[_Union[ToolServerStatus, _Mapping]]] = ...) -> None: ...

class GetDefaultsRequest(_message.Message):
    __slots__ = ("project_id",)
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    def __init__(self, project_id: _Optional[str] = ...) -> None: ...

class GetDefaultsResponse(_message.Message):
    __slots__ = ("assistant", "assistant_with_tools", "assistants", "languages", "provider", "model", "embedding_provider", "embedding_model", "max_output_token_count")
    ASSISTANT_FIELD_NUMBER: _ClassVar[int]
    ASSISTANT_WITH_TOOLS_FIELD_NUMBER: _ClassVar[int]
    ASSISTANTS_FIELD_NUMBER: _ClassVar[int]
    LANGUAGES_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_PROVIDER_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_MODEL_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTPUT_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    assistant: str
    assistant_with_tools: str
    assistants: _containers.RepeatedScalarFieldContainer[str]
    languages: _containers.RepeatedScalarFieldContainer[str]
    provider: str
    model: str
    embedding_provider: str
    embedding_model: str
    max_output_token_count: int
    def __init__(self, assistant: _Optional[str] = ..., assistant_with_tools: _Optional[str] = ..., assistants: _Optional[_Iterable[str]] = ..., languages: _Optional[_Iterable[str]] = ..., provider: _Optional[str] = ..., model: _Optional[str] = ..., embedding_provider: _Optional[str] = ..., embedding_model: _Optional[str] = ..., max_output_token_count: _Optional[int] = ...) -> None: ...

class ToolServerStatus(_message.Message):
    __slots__ = ("server", "state", "reason", "since", "tool_count")
    SERVER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    TOOL_COUNT_FIELD_NUMBER: _ClassVar[int]
    server: str
    state: _common_pb2.ReadinessState
    reason: str
    since: _timestamp_pb2.Timestamp
    tool_count: int
    def __init__(self, server: _Optional[str] = ..., state: _Optional[_Union[_common_pb2.ReadinessState, str]] = ..., reason: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tool_count: _Optional[int] = ...) -> None: ...

class GetToolServerStatusRequest(_message.Message):
    __slots__ = ("project_id",)
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    def __init__(self, project_id: _Optional[str] = ...) -> None: ...

class GetToolServerStatusResponse(_message.Message):
    __slots__ = ("servers",)
    SERVERS_FIELD_NUMBER: _ClassVar[int]
    servers: _containers.RepeatedCompositeFieldContainer[ToolServerStatus]
    def __init__(self, servers: _Optional[_Iterable[_Union[ToolServerStatus, _Mapping]]] = ...) -> None: ...
