import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from shared.pb.passeur.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ToolEffect(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOOL_EFFECT_UNSPECIFIED: _ClassVar[ToolEffect]
    TOOL_EFFECT_READ: _ClassVar[ToolEffect]
    TOOL_EFFECT_WRITE: _ClassVar[ToolEffect]
    TOOL_EFFECT_EXECUTE: _ClassVar[ToolEffect]

class Confidence(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONFIDENCE_UNSPECIFIED: _ClassVar[Confidence]
    CONFIDENCE_HIGH: _ClassVar[Confidence]
    CONFIDENCE_MEDIUM: _ClassVar[Confidence]
    CONFIDENCE_LOW: _ClassVar[Confidence]

class IntentKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INTENT_KIND_UNSPECIFIED: _ClassVar[IntentKind]
    INTENT_KIND_DOCUMENTS: _ClassVar[IntentKind]
    INTENT_KIND_CONNECTOR: _ClassVar[IntentKind]
    INTENT_KIND_TOOL: _ClassVar[IntentKind]
    INTENT_KIND_CONVERSATION: _ClassVar[IntentKind]
    INTENT_KIND_GREETING: _ClassVar[IntentKind]

class StepKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STEP_KIND_UNSPECIFIED: _ClassVar[StepKind]
    STEP_KIND_INTENT: _ClassVar[StepKind]
    STEP_KIND_RETRIEVE: _ClassVar[StepKind]
    STEP_KIND_DECIDE: _ClassVar[StepKind]
    STEP_KIND_GENERATE: _ClassVar[StepKind]
    STEP_KIND_TOOL: _ClassVar[StepKind]
    STEP_KIND_CITE: _ClassVar[StepKind]

class AnswerKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ANSWER_KIND_UNSPECIFIED: _ClassVar[AnswerKind]
    ANSWER_KIND_ANSWER: _ClassVar[AnswerKind]
    ANSWER_KIND_GREETING: _ClassVar[AnswerKind]
TOOL_EFFECT_UNSPECIFIED: ToolEffect
TOOL_EFFECT_READ: ToolEffect
TOOL_EFFECT_WRITE: ToolEffect
TOOL_EFFECT_EXECUTE: ToolEffect
CONFIDENCE_UNSPECIFIED: Confidence
CONFIDENCE_HIGH: Confidence
CONFIDENCE_MEDIUM: Confidence
CONFIDENCE_LOW: Confidence
INTENT_KIND_UNSPECIFIED: IntentKind
INTENT_KIND_DOCUMENTS: IntentKind
INTENT_KIND_CONNECTOR: IntentKind
INTENT_KIND_TOOL: IntentKind
INTENT_KIND_CONVERSATION: IntentKind
INTENT_KIND_GREETING: IntentKind
STEP_KIND_UNSPECIFIED: StepKind
STEP_KIND_INTENT: StepKind
STEP_KIND_RETRIEVE: StepKind
STEP_KIND_DECIDE: StepKind
STEP_KIND_GENERATE: StepKind
STEP_KIND_TOOL: StepKind
STEP_KIND_CITE: StepKind
ANSWER_KIND_UNSPECIFIED: AnswerKind
ANSWER_KIND_ANSWER: AnswerKind
ANSWER_KIND_GREETING: AnswerKind

class HistoryMessage(_message.Message):
    __slots__ = ("role", "text")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    role: _common_pb2.Role
    text: str
    def __init__(self, role: _Optional[_Union[_common_pb2.Role, str]] = ..., text: _Optional[str] = ...) -> None: ...

class BrowserTool(_message.Message):
    __slots__ = ("name", "description", "input_schema", "status_text", "effect", "confirm", "repeatable")
    class StatusTextEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    INPUT_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    STATUS_TEXT_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    CONFIRM_FIELD_NUMBER: _ClassVar[int]
    REPEATABLE_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    input_schema: _struct_pb2.Struct
    status_text: _containers.ScalarMap[str, str]
    effect: ToolEffect
    confirm: bool
    repeatable: bool
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., input_schema: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., status_text: _Optional[_Mapping[str, str]] = ..., effect: _Optional[_Union[ToolEffect, str]] = ..., confirm: _Optional[bool] = ..., repeatable: _Optional[bool] = ...) -> None: ...

class Intent(_message.Message):
    __slots__ = ("kind", "connector", "instance", "endpoint", "tool", "search_terms", "query_parameters", "score", "label")
    class QueryParametersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class LabelEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    KIND_FIELD_NUMBER: _ClassVar[int]
    CONNECTOR_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    SEARCH_TERMS_FIELD_NUMBER: _ClassVar[int]
    QUERY_PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    kind: IntentKind
    connector: str
    instance: str
    endpoint: str
    tool: str
    search_terms: _containers.RepeatedScalarFieldContainer[str]
    query_parameters: _containers.ScalarMap[str, str]
    score: float
    label: _containers.ScalarMap[str, str]
    def __init__(self, kind: _Optional[_Union[IntentKind, str]] = ..., connector: _Optional[str] = ..., instance: _Optional[str] = ..., endpoint: _Optional[str] = ..., tool: _Optional[str] = ..., search_terms: _Optional[_Iterable[str]] = ..., query_parameters: _Optional[_Mapping[str, str]] = ..., score: _Optional[float] = ..., label: _Optional[_Mapping[str, str]] = ...) -> None: ...

class FailedSearch(_message.Message):
    __slots__ = ("intent", "search_terms", "tried_terms", "suggestions", "other_services")
    INTENT_FIELD_NUMBER: _ClassVar[int]
    SEARCH_TERMS_FIELD_NUMBER: _ClassVar[int]
    TRIED_TERMS_FIELD_NUMBER: _ClassVar[int]
    SUGGESTIONS_FIELD_NUMBER: _ClassVar[int]
    OTHER_SERVICES_FIELD_NUMBER: _ClassVar[int]
    intent: Intent
    search_terms: _containers.RepeatedScalarFieldContainer[str]
    tried_terms: _containers.RepeatedScalarFieldContainer[str]
    suggestions: _containers.RepeatedScalarFieldContainer[str]
    other_services: _containers.RepeatedCompositeFieldContainer[Intent]
    def __init__(self, intent: _Optional[_Union[Intent, _Mapping]] = ..., search_terms: _Optional[_Iterable[str]] = ..., tried_terms: _Optional[_Iterable[str]] = ..., suggestions: _Optional[_Iterable[str]] = ..., other_services: _Optional[_Iterable[_Union[Intent, _Mapping]]] = ...) -> None: ...

class AnswerInput(_message.Message):
    __slots__ = ("idempotency_key", "project_id", "assistant", "user", "question", "history", "image", "language_hint", "retrieval_contexts", "tools", "resolved_intent", "budget_user", "max_output_token_count", "temperature", "detached", "attached_texts")
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    ASSISTANT_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_HINT_FIELD_NUMBER: _ClassVar[int]
    RETRIEVAL_CONTEXTS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_INTENT_FIELD_NUMBER: _ClassVar[int]
    BUDGET_USER_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTPUT_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    DETACHED_FIELD_NUMBER: _ClassVar[int]
    ATTACHED_TEXTS_FIELD_NUMBER: _ClassVar[int]
    idempotency_key: str
    project_id: str
    assistant: str
    user: str
    question: str
    history: _containers.RepeatedCompositeFieldContainer[HistoryMessage]
    image: _common_pb2.Image
    language_hint: str
    retrieval_contexts: _containers.RepeatedCompositeFieldContainer[_common_pb2.RetrievalContext]
    tools: _containers.RepeatedCompositeFieldContainer[BrowserTool]
    resolved_intent: Intent
    budget_user: str
    max_output_token_count: int
    temperature: float
    detached: bool
    attached_texts: _containers.RepeatedCompositeFieldContainer[AttachedText]
    def __init__(self, idempotency_key: _Optional[str] = ..., project_id: _Optional[str] = ..., assistant: _Optional[str] = ..., user: _Optional[str] = ..., question: _Optional[str] = ..., history: _Optional[_Iterable[_Union[HistoryMessage, _Mapping]]] = ..., image: _Optional[_Union[_common_pb2.Image, _Mapping]] = ..., language_hint: _Optional[str] = ..., retrieval_contexts: _Optional[_Iterable[_Union[_common_pb2.RetrievalContext, _Mapping]]] = ..., tools: _Optional[_Iterable[_Union[BrowserTool, _Mapping]]] = ..., resolved_intent: _Optional[_Union[Intent, _Mapping]] = ..., budget_user: _Optional[str] = ..., max_output_token_count: _Optional[int] = ..., temperature: _Optional[float] = ..., detached: _Optional[bool] = ..., attached_texts: _Optional[_Iterable[_Union[AttachedText, _Mapping]]] = ...) -> None: ...

class AttachedText(_message.Message):
    __slots__ = ("name", "text")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    name: str
    text: str
    def __init__(self, name: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class AnswerRequest(_message.Message):
    __slots__ = ("input",)
    INPUT_FIELD_NUMBER: _ClassVar[int]
    input: AnswerInput
    def __init__(self, input: _Optional[_Union[AnswerInput, _Mapping]] = ...) -> None: ...

class AnswerResponse(_message.Message):
    __slots__ = ("result", "paused")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    result: AnswerResult
    paused: Paused
    def __init__(self, result: _Optional[_Union[AnswerResult, _Mapping]] = ..., paused: _Optional[_Union[Paused, _Mapping]] = ...) -> None: ...

class StreamAnswerRequest(_message.Message):
    __slots__ = ("input",)
    INPUT_FIELD_NUMBER: _ClassVar[int]
    input: AnswerInput
    def __init__(self, input: _Optional[_Union[AnswerInput, _Mapping]] = ...) -> None: ...

class StreamAnswerResponse(_message.Message):
    __slots__ = ("step", "delta", "paused", "result")
    STEP_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    step: Step
    delta: Delta
    paused: Paused
    result: AnswerResult
    def __init__(self, step: _Optional[_Union[Step, _Mapping]] = ..., delta: _Optional[_Union[Delta, _Mapping]] = ..., paused: _Optional[_Union[Paused, _Mapping]] = ..., result: _Optional[_Union[AnswerResult, _Mapping]] = ...) -> None: ...

class ResumeAnswerRequest(_message.Message):
    __slots__ = ("idempotency_key", "project_id", "continuation", "results", "confirmations", "detached")
    class ConfirmationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bool
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bool] = ...) -> None: ...
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    CONTINUATION_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    CONFIRMATIONS_FIELD_NUMBER: _ClassVar[int]
    DETACHED_FIELD_NUMBER: _ClassVar[int]
    idempotency_key: str
    project_id: str
    continuation: bytes
    results: _containers.RepeatedCompositeFieldContainer[ToolResult]
    confirmations: _containers.ScalarMap[str, bool]
    detached: bool
    def __init__(self, idempotency_key: _Optional[str] = ..., project_id: _Optional[str] = ..., continuation: _Optional[bytes] = ..., results: _Optional[_Iterable[_Union[ToolResult, _Mapping]]] = ..., confirmations: _Optional[_Mapping[str, bool]] = ..., detached: _Optional[bool] = ...) -> None: ...

class ResumeAnswerResponse(_message.Message):
    __slots__ = ("step", "delta", "paused", "result")
    STEP_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    step: Step
    delta: Delta
    paused: Paused
    result: AnswerResult
    def __init__(self, step: _Optional[_Union[Step, _Mapping]] = ..., delta: _Optional[_Union[Delta, _Mapping]] = ..., paused: _Optional[_Union[Paused, _Mapping]] = ..., result: _Optional[_Union[AnswerResult, _Mapping]] = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ("kind", "detail")
    KIND_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    kind: StepKind
    detail: str
    def __init__(self, kind: _Optional[_Union[StepKind, str]] = ..., detail: _Optional[str] = ...) -> None: ...

class Delta(_message.Message):
    __slots__ = ("message_id", "start", "text")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    start: int
    text: str
    def __init__(self, message_id: _Optional[str] = ..., start: _Optional[int] = ..., text: _Optional[str] = ...) -> None: ...

class Paused(_message.Message):
    __slots__ = ("calls", "continuation", "expires_at")
    CALLS_FIELD_NUMBER: _ClassVar[int]
    CONTINUATION_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    calls: _containers.RepeatedCompositeFieldContainer[ToolCall]
    continuation: bytes
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, calls: _Optional[_Iterable[_Union[ToolCall, _Mapping]]] = ..., continuation: _Optional[bytes] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ToolCall(_message.Message):
    __slots__ = ("call_id", "name", "arguments", "arguments_digest", "effect", "needs_confirmation")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    NEEDS_CONFIRMATION_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    name: str
    arguments: _struct_pb2.Struct
    arguments_digest: bytes
    effect: ToolEffect
    needs_confirmation: bool
    def __init__(self, call_id: _Optional[str] = ..., name: _Optional[str] = ..., arguments: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., arguments_digest: _Optional[bytes] = ..., effect: _Optional[_Union[ToolEffect, str]] = ..., needs_confirmation: _Optional[bool] = ...) -> None: ...

class ToolResult(_message.Message):
    __slots__ = ("call_id", "arguments_digest", "result_json", "error")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    RESULT_JSON_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    arguments_digest: bytes
    result_json: str
    error: str
    def __init__(self, call_id: _Optional[str] = ..., arguments_digest: _Optional[bytes] = ..., result_json: _Optional[str] = ..., error: _Optional[str] = ...) -> None: ...

class Problem(_message.Message):
    __slots__ = ("reason", "message", "resets_at", "provider")
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RESETS_AT_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    reason: str
    message: str
    resets_at: _timestamp_pb2.Timestamp
    provider: str
    def __init__(self, reason: _Optional[str] = ..., message: _Optional[str] = ..., resets_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., provider: _Optional[str] = ...) -> None: ...

class AnswerResult(_message.Message):
    __slots__ = ("outcome", "text", "language", "citations", "candidates", "failed_search", "confidence", "model", "provider", "economy", "usage", "cost_nanousd", "estimated", "turn_id", "answer_kind", "problem", "duration_ms")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    CITATIONS_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    FAILED_SEARCH_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    ECONOMY_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    COST_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    ANSWER_KIND_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    outcome: _common_pb2.Outcome
    text: str
    language: str
    citations: _containers.RepeatedCompositeFieldContainer[_common_pb2.Citation]
    candidates: _containers.RepeatedCompositeFieldContainer[Intent]
    failed_search: FailedSearch
    confidence: float
    model: str
    provider: str
    economy: bool
    usage: _common_pb2.Usage
    cost_nanousd: int
    estimated: bool
    turn_id: str
    answer_kind: AnswerKind
    problem: Problem
    duration_ms: int
    def __init__(self, outcome: _Optional[_Union[_common_pb2.Outcome, str]] = ..., text: _Optional[str] = ..., language: _Optional[str] = ..., citations: _Optional[_Iterable[_Union[_common_pb2.Citation, _Mapping]]] = ..., candidates: _Optional[_Iterable[_Union[Intent, _Mapping]]] = ..., failed_search: _Optional[_Union[FailedSearch, _Mapping]] = ..., confidence: _Optional[float] = ..., model: _Optional[str] = ..., provider: _Optional[str] = ..., economy: _Optional[bool] = ..., usage: _Optional[_Union[_common_pb2.Usage, _Mapping]] = ..., cost_nanousd: _Optional[int] = ..., estimated: _Optional[bool] = ..., turn_id: _Optional[str] = ..., answer_kind: _Optional[_Union[AnswerKind, str]] = ..., problem: _Optional[_Union[Problem, _Mapping]] = ..., duration_ms: _Optional[int] = ...) -> None: ...

class CancelTurnRequest(_message.Message):
    __slots__ = ("project_id", "idempotency_key")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    idempotency_key: str
    def __init__(self, project_id: _Optional[str] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class CancelTurnResponse(_message.Message):
    __slots__ = ("was_running",)
    WAS_RUNNING_FIELD_NUMBER: _ClassVar[int]
    was_running: bool
    def __init__(self, was_running: _Optional[bool] = ...) -> None: ...

class AskRequest(_message.Message):
    __slots__ = ("idempotency_key", "project_id", "assistant", "user", "budget_user", "instructions", "question", "image", "max_output_token_count", "temperature")
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    ASSISTANT_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    BUDGET_USER_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTPUT_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    idempotency_key: str
    project_id: str
    assistant: str
    user: str
    budget_user: str
    instructions: str
    question: str
    image: _common_pb2.Image
    max_output_token_count: int
    temperature: float
    def __init__(self, idempotency_key: _Optional[str] = ..., project_id: _Optional[str] = ..., assistant: _Optional[str] = ..., user: _Optional[str] = ..., budget_user: _Optional[str] = ..., instructions: _Optional[str] = ..., question: _Optional[str] = ..., image: _Optional[_Union[_common_pb2.Image, _Mapping]] = ..., max_output_token_count: _Optional[int] = ..., temperature: _Optional[float] = ...) -> None: ...

class AskResponse(_message.Message):
    __slots__ = ("text", "outcome", "model", "provider", "usage", "cost_nanousd", "estimated")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    COST_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_FIELD_NUMBER: _ClassVar[int]
    text: str
    outcome: _common_pb2.Outcome
    model: str
    provider: str
    usage: _common_pb2.Usage
    cost_nanousd: int
    estimated: bool
    def __init__(self, text: _Optional[str] = ..., outcome: _Optional[_Union[_common_pb2.Outcome, str]] = ..., model: _Optional[str] = ..., provider: _Optional[str] = ..., usage: _Optional[_Union[_common_pb2.Usage, _Mapping]] = ..., cost_nanousd: _Optional[int] = ..., estimated: _Optional[bool] = ...) -> None: ...

class SummarizeRequest(_message.Message):
    __slots__ = ("idempotency_key", "project_id", "assistant", "budget_user", "messages", "language")
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    ASSISTANT_FIELD_NUMBER: _ClassVar[int]
    BUDGET_USER_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    idempotency_key: str
    project_id: str
    assistant: str
    budget_user: str
    messages: _containers.RepeatedCompositeFieldContainer[HistoryMessage]
    language: str
    def __init__(self, idempotency_key: _Optional[str] = ..., project_id: _Optional[str] = ..., assistant: _Optional[str] = ..., budget_user: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[HistoryMessage, _Mapping]]] = ..., language: _Optional[str] = ...) -> None: ...

class SummarizeResponse(_message.Message):
    __slots__ = ("text", "model", "provider", "usage", "cost_nanousd", "estimated")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    COST_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_FIELD_NUMBER: _ClassVar[int]
    text: str
    model: str
    provider: str
    usage: _common_pb2.Usage
    cost_nanousd: int
    estimated: bool
    def __init__(self, text: _Optional[str] = ..., model: _Optional[str] = ..., provider: _Optional[str] = ..., usage: _Optional[_Union[_common_pb2.Usage, _Mapping]] = ..., cost_nanousd: _Optional[int] = ..., estimated: _Optional[bool] = ...) -> None: ...

class CountTokensRequest(_message.Message):
    __slots__ = ("project_id", "assistant", "instructions", "messages")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    ASSISTANT_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    assistant: str
    instructions: str
    messages: _containers.RepeatedCompositeFieldContainer[HistoryMessage]
    def __init__(self, project_id: _Optional[str] = ..., assistant: _Optional[str] = ..., instructions: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[HistoryMessage, _Mapping]]] = ...) -> None: ...

class CountTokensResponse(_message.Message):
    __slots__ = ("token_count", "exact", "limit_token_count", "model")
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    LIMIT_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    token_count: int
    exact: bool
    limit_token_count: int
    model: str
    def __init__(self, token_count: _Optional[int] = ..., exact: _Optional[bool] = ..., limit_token_count: _Optional[int] = ..., model: _Optional[str] = ...) -> None: ...

class SearchRequest(_message.Message):
    __slots__ = ("project_id", "query", "retrieval_contexts", "result_limit", "language_hint", "budget_user")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    RETRIEVAL_CONTEXTS_FIELD_NUMBER: _ClassVar[int]
    RESULT_LIMIT_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_HINT_FIELD_NUMBER: _ClassVar[int]
    BUDGET_USER_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    query: str
    retrieval_contexts: _containers.RepeatedCompositeFieldContainer[_common_pb2.RetrievalContext]
    result_limit: int
    language_hint: str
    budget_user: str
    def __init__(self, project_id: _Optional[str] = ..., query: _Optional[str] = ..., retrieval_contexts: _Optional[_Iterable[_Union[_common_pb2.RetrievalContext, _Mapping]]] = ..., result_limit: _Optional[int] = ..., language_hint: _Optional[str] = ..., budget_user: _Optional[str] = ...) -> None: ...

class SearchHit(_message.Message):
    __slots__ = ("chunk_id", "source_id", "path", "title", "url", "text", "language", "distance", "score", "metadata")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _common_pb2.Values
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[_common_pb2.Values, _Mapping]] = ...) -> None: ...
    CHUNK_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    DISTANCE_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    chunk_id: str
    source_id: str
    path: str
    title: str
    url: str
    text: str
    language: str
    distance: float
    score: float
    metadata: _containers.MessageMap[str, _common_pb2.Values]
    def __init__(self, chunk_id: _Optional[str] = ..., source_id: _Optional[str] = ..., path: _Optional[str] = ..., title: _Optional[str] = ..., url: _Optional[str] = ..., text: _Optional[str] = ..., language: _Optional[str] = ..., distance: _Optional[float] = ..., score: _Optional[float] = ..., metadata: _Optional[_Mapping[str, _common_pb2.Values]] = ...) -> None: ...

class SearchResponse(_message.Message):
    __slots__ = ("hits", "sufficient")
    HITS_FIELD_NUMBER: _ClassVar[int]
    SUFFICIENT_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[SearchHit]
    sufficient: bool
    def __init__(self, hits: _Optional[_Iterable[_Union[SearchHit, _Mapping]]] = ..., sufficient: _Optional[bool] = ...) -> None: ...

class DetectIntentRequest(_message.Message):
    __slots__ = ("project_id", "assistant", "message", "history", "language_hint")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    ASSISTANT_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_HINT_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    assistant: str
    message: str
    history: _containers.RepeatedCompositeFieldContainer[HistoryMessage]
    language_hint: str
    def __init__(self, project_id: _Optional[str] = ..., assistant: _Optional[str] = ..., message: _Optional[str] = ..., history: _Optional[_Iterable[_Union[HistoryMessage, _Mapping]]] = ..., language_hint: _Optional[str] = ...) -> None: ...

class DetectIntentResponse(_message.Message):
    __slots__ = ("intent", "confidence", "candidates", "language")
    INTENT_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    intent: Intent
    confidence: Confidence
    candidates: _containers.RepeatedCompositeFieldContainer[Intent]
    language: str
    def __init__(self, intent: _Optional[_Union[Intent, _Mapping]] = ..., confidence: _Optional[_Union[Confidence, str]] = ..., candidates: _Optional[_Iterable[_Union[Intent, _Mapping]]] = ..., language: _Optional[str] = ...) -> None: ...

class ExplainTurnRequest(_message.Message):
    __slots__ = ("project_id", "turn_id", "idempotency_key")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    turn_id: str
    idempotency_key: str
    def __init__(self, project_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class ExplainTurnResponse(_message.Message):
    __slots__ = ("turn_id", "started_at", "ended_at", "outcome", "assistant", "language", "intent", "search_query", "chunks", "calls", "duration_ms_by_step", "cost_nanousd", "estimated", "dropped_marker_count", "problem")
    class DurationMsByStepEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    ASSISTANT_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    INTENT_FIELD_NUMBER: _ClassVar[int]
    SEARCH_QUERY_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_BY_STEP_FIELD_NUMBER: _ClassVar[int]
    COST_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_FIELD_NUMBER: _ClassVar[int]
    DROPPED_MARKER_COUNT_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    turn_id: str
    started_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    outcome: _common_pb2.Outcome
    assistant: str
    language: str
    intent: Intent
    search_query: str
    chunks: _containers.RepeatedCompositeFieldContainer[ExplainedChunk]
    calls: _containers.RepeatedCompositeFieldContainer[ExplainedCall]
    duration_ms_by_step: _containers.ScalarMap[str, int]
    cost_nanousd: int
    estimated: bool
    dropped_marker_count: int
    problem: Problem
    def __init__(self, turn_id: _Optional[str] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., outcome: _Optional[_Union[_common_pb2.Outcome, str]] = ..., assistant: _Optional[str] = ..., language: _Optional[str] = ..., intent: _Optional[_Union[Intent, _Mapping]] = ..., search_query: _Optional[str] = ..., chunks: _Optional[_Iterable[_Union[ExplainedChunk, _Mapping]]] = ..., calls: _Optional[_Iterable[_Union[ExplainedCall, _Mapping]]] = ..., duration_ms_by_step: _Optional[_Mapping[str, int]] = ..., cost_nanousd: _Optional[int] = ..., estimated: _Optional[bool] = ..., dropped_marker_count: _Optional[int] = ..., problem: _Optional[_Union[Problem, _Mapping]] = ...) -> None: ...

class ExplainedChunk(_message.Message):
    __slots__ = ("chunk_id", "title", "distance", "score", "kept", "cited")
    CHUNK_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DISTANCE_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    CITED_FIELD_NUMBER: _ClassVar[int]
    chunk_id: str
    title: str
    distance: float
    score: float
    kept: bool
    cited: bool
    def __init__(self, chunk_id: _Optional[str] = ..., title: _Optional[str] = ..., distance: _Optional[float] = ..., score: _Optional[float] = ..., kept: _Optional[bool] = ..., cited: _Optional[bool] = ...) -> None: ...

class ExplainedCall(_message.Message):
    __slots__ = ("reservation_key", "operation", "provider", "model", "price_version", "usage", "cost_nanousd", "estimated", "error_class", "duration_ms")
    RESERVATION_KEY_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PRICE_VERSION_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    COST_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_FIELD_NUMBER: _ClassVar[int]
    ERROR_CLASS_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    reservation_key: str
    operation: str
    provider: str
    model: str
    price_version: str
    usage: _common_pb2.Usage
    cost_nanousd: int
    estimated: bool
    error_class: str
    duration_ms: int
    def __init__(self, reservation_key: _Optional[str] = ..., operation: _Optional[str] = ..., provider: _Optional[str] = ..., model: _Optional[str] = ..., price_version: _Optional[str] = ..., usage: _Optional[_Union[_common_pb2.Usage, _Mapping]] = ..., cost_nanousd: _Optional[int] = ..., estimated: _Optional[bool] = ..., error_class: _Optional[str] = ..., duration_ms: _Optional[int] = ...) -> None: ...
