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

class BudgetPeriod(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BUDGET_PERIOD_UNSPECIFIED: _ClassVar[BudgetPeriod]
    BUDGET_PERIOD_DAILY: _ClassVar[BudgetPeriod]
    BUDGET_PERIOD_MONTHLY: _ClassVar[BudgetPeriod]

class ReservationState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESERVATION_STATE_UNSPECIFIED: _ClassVar[ReservationState]
    RESERVATION_STATE_PENDING: _ClassVar[ReservationState]
    RESERVATION_STATE_SETTLED: _ClassVar[ReservationState]
    RESERVATION_STATE_VOIDED: _ClassVar[ReservationState]
    RESERVATION_STATE_HELD: _ClassVar[ReservationState]
BUDGET_PERIOD_UNSPECIFIED: BudgetPeriod
BUDGET_PERIOD_DAILY: BudgetPeriod
BUDGET_PERIOD_MONTHLY: BudgetPeriod
RESERVATION_STATE_UNSPECIFIED: ReservationState
RESERVATION_STATE_PENDING: ReservationState
RESERVATION_STATE_SETTLED: ReservationState
RESERVATION_STATE_VOIDED: ReservationState
RESERVATION_STATE_HELD: ReservationState

class BudgetScope(_message.Message):
    __slots__ = ("project_id", "assistant", "user")
    GLOBAL_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    ASSISTANT_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    assistant: AssistantScope
    user: UserScope
    def __init__(self, project_id: _Optional[str] = ..., assistant: _Optional[_Union[AssistantScope, _Mapping]] = ..., user: _Optional[_Union[UserScope, _Mapping]] = ..., **kwargs) -> None: ...

class AssistantScope(_message.Message):
    __slots__ = ("project_id", "assistant")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    ASSISTANT_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    assistant: str
    def __init__(self, project_id: _Optional[str] = ..., assistant: _Optional[str] = ...) -> None: ...

class UserScope(_message.Message):
    __slots__ = ("project_id", "user")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    user: str
    def __init__(self, project_id: _Optional[str] = ..., user: _Optional[str] = ...) -> None: ...

class Budget(_message.Message):
    __slots__ = ("scope", "period", "limit_nanousd", "time_zone", "alert_share")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    PERIOD_FIELD_NUMBER: _ClassVar[int]
    LIMIT_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    TIME_ZONE_FIELD_NUMBER: _ClassVar[int]
    ALERT_SHARE_FIELD_NUMBER: _ClassVar[int]
    scope: BudgetScope
    period: BudgetPeriod
    limit_nanousd: int
    time_zone: str
    alert_share: float
    def __init__(self, scope: _Optional[_Union[BudgetScope, _Mapping]] = ..., period: _Optional[_Union[BudgetPeriod, str]] = ..., limit_nanousd: _Optional[int] = ..., time_zone: _Optional[str] = ..., alert_share: _Optional[float] = ...) -> None: ...

class BudgetBalance(_message.Message):
    __slots__ = ("budget", "window_start", "resets_at", "settled_nanousd", "open_hold_nanousd", "held_nanousd", "available_nanousd", "estimated_nanousd", "closed_by_overrun", "alert")
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    WINDOW_START_FIELD_NUMBER: _ClassVar[int]
    RESETS_AT_FIELD_NUMBER: _ClassVar[int]
    SETTLED_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    OPEN_HOLD_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    HELD_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    CLOSED_BY_OVERRUN_FIELD_NUMBER: _ClassVar[int]
    ALERT_FIELD_NUMBER: _ClassVar[int]
    budget: Budget
    window_start: _timestamp_pb2.Timestamp
    resets_at: _timestamp_pb2.Timestamp
    settled_nanousd: int
    open_hold_nanousd: int
    held_nanousd: int
    available_nanousd: int
    estimated_nanousd: int
    closed_by_overrun: bool
    alert: bool
    def __init__(self, budget: _Optional[_Union[Budget, _Mapping]] = ..., window_start: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., resets_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., settled_nanousd: _Optional[int] = ..., open_hold_nanousd: _Optional[int] = ..., held_nanousd: _Optional[int] = ..., available_nanousd: _Optional[int] = ..., estimated_nanousd: _Optional[int] = ..., closed_by_overrun: _Optional[bool] = ..., alert: _Optional[bool] = ...) -> None: ...

class Reservation(_message.Message):
    __slots__ = ("reservation_id", "idempotency_key", "project_id", "assistant", "user", "operation", "provider", "model", "service_tier", "price_version", "ceiling_nanousd", "state", "cost_nanousd", "estimated", "overrun_nanousd", "usage", "created_at", "resolved_at")
    RESERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    ASSISTANT_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    SERVICE_TIER_FIELD_NUMBER: _ClassVar[int]
    PRICE_VERSION_FIELD_NUMBER: _ClassVar[int]
    CEILING_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    COST_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_FIELD_NUMBER: _ClassVar[int]
    OVERRUN_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_AT_FIELD_NUMBER: _ClassVar[int]
    reservation_id: str
    idempotency_key: str
    project_id: str
    assistant: str
    user: str
    operation: str
    provider: str
    model: str
    service_tier: str
    price_version: str
    ceiling_nanousd: int
    state: ReservationState
    cost_nanousd: int
    estimated: bool
    overrun_nanousd: int
    usage: _common_pb2.Usage
    created_at: _timestamp_pb2.Timestamp
    resolved_at: _timestamp_pb2.Timestamp
    def __init__(self, reservation_id: _Optional[str] = ..., idempotency_key: _Optional[str] = ..., project_id: _Optional[str] = ..., assistant: _Optional[str] = ..., user: _Optional[str] = ..., operation: _Optional[str] = ..., provider: _Optional[str] = ..., model: _Optional[str] = ..., service_tier: _Optional[str] = ..., price_version: _Optional[str] = ..., ceiling_nanousd: _Optional[int] = ..., state: _Optional[_Union[ReservationState, str]] = ..., cost_nanousd: _Optional[int] = ..., estimated: _Optional[bool] = ..., overrun_nanousd: _Optional[int] = ..., usage: _Optional[_Union[_common_pb2.Usage, _Mapping]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., resolved_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ReserveRequest(_message.Message):
    __slots__ = ("idempotency_key", "project_id", "assistant", "user", "operation", "provider", "model", "service_tier", "price_version", "ceiling_nanousd")
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    ASSISTANT_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    SERVICE_TIER_FIELD_NUMBER: _ClassVar[int]
    PRICE_VERSION_FIELD_NUMBER: _ClassVar[int]
    CEILING_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    idempotency_key: str
    project_id: str
    assistant: str
    user: str
    operation: str
    provider: str
    model: str
    service_tier: str
    price_version: str
    ceiling_nanousd: int
    def __init__(self, idempotency_key: _Optional[str] = ..., project_id: _Optional[str] = ..., assistant: _Optional[str] = ..., user: _Optional[str] = ..., operation: _Optional[str] = ..., provider: _Optional[str] = ..., model: _Optional[str] = ..., service_tier: _Optional[str] = ..., price_version: _Optional[str] = ..., ceiling_nanousd: _Optional[int] = ...) -> None: ...

class ReserveResponse(_message.Message):
    __slots__ = ("reservation",)
    RESERVATION_FIELD_NUMBER: _ClassVar[int]
    reservation: Reservation
    def __init__(self, reservation: _Optional[_Union[Reservation, _Mapping]] = ...) -> None: ...

class SettleRequest(_message.Message):
    __slots__ = ("reservation_id", "cost_nanousd", "estimated", "usage")
    RESERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    COST_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    reservation_id: str
    cost_nanousd: int
    estimated: bool
    usage: _common_pb2.Usage
    def __init__(self, reservation_id: _Optional[str] = ..., cost_nanousd: _Optional[int] = ..., estimated: _Optional[bool] = ..., usage: _Optional[_Union[_common_pb2.Usage, _Mapping]] = ...) -> None: ...

class SettleResponse(_message.Message):
    __slots__ = ("reservation",)
    RESERVATION_FIELD_NUMBER: _ClassVar[int]
    reservation: Reservation
    def __init__(self, reservation: _Optional[_Union[Reservation, _Mapping]] = ...) -> None: ...

class VoidRequest(_message.Message):
    __slots__ = ("reservation_id", "reason")
    RESERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    reservation_id: str
    reason: str
    def __init__(self, reservation_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class VoidResponse(_message.Message):
    __slots__ = ("reservation",)
    RESERVATION_FIELD_NUMBER: _ClassVar[int]
    reservation: Reservation
    def __init__(self, reservation: _Optional[_Union[Reservation, _Mapping]] = ...) -> None: ...

class GetBudgetRequest(_message.Message):
    __slots__ = ("scope", "period")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    PERIOD_FIELD_NUMBER: _ClassVar[int]
    scope: BudgetScope
    period: BudgetPeriod
    def __init__(self, scope: _Optional[_Union[BudgetScope, _Mapping]] = ..., period: _Optional[_Union[BudgetPeriod, str]] = ...) -> None: ...

class GetBudgetResponse(_message.Message):
    __slots__ = ("balance",)
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    balance: BudgetBalance
    def __init__(self, balance: _Optional[_Union[BudgetBalance, _Mapping]] = ...) -> None: ...

class SetBudgetRequest(_message.Message):
    __slots__ = ("budget",)
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    budget: Budget
    def __init__(self, budget: _Optional[_Union[Budget, _Mapping]] = ...) -> None: ...

class SetBudgetResponse(_message.Message):
    __slots__ = ("balance",)
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    balance: BudgetBalance
    def __init__(self, balance: _Optional[_Union[BudgetBalance, _Mapping]] = ...) -> None: ...

class ListReservationsRequest(_message.Message):
    __slots__ = ("project_id", "state", "page_size", "page_token")
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    project_id: str
    state: ReservationState
    page_size: int
    page_token: str
    def __init__(self, project_id: _Optional[str] = ..., state: _Optional[_Union[ReservationState, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListReservationsResponse(_message.Message):
    __slots__ = ("reservations", "next_page_token")
    RESERVATIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    reservations: _containers.RepeatedCompositeFieldContainer[Reservation]
    next_page_token: str
    def __init__(self, reservations: _Optional[_Iterable[_Union[Reservation, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class Reconciliation(_message.Message):
    __slots__ = ("reservation_id", "cost_nanousd", "void", "at_ceiling")
    RESERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    COST_NANOUSD_FIELD_NUMBER: _ClassVar[int]
    VOID_FIELD_NUMBER: _ClassVar[int]
    AT_CEILING_FIELD_NUMBER: _ClassVar[int]
    reservation_id: str
    cost_nanousd: int
    void: bool
    at_ceiling: bool
    def __init__(self, reservation_id: _Optional[str] = ..., cost_nanousd: _Optional[int] = ..., void: _Optional[bool] = ..., at_ceiling: _Optional[bool] = ...) -> None: ...

class ReconcileRequest(_message.Message):
    __slots__ = ("reconciliations", "acknowledged_overruns")
    RECONCILIATIONS_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGED_OVERRUNS_FIELD_NUMBER: _ClassVar[int]
    reconciliations: _containers.RepeatedCompositeFieldContainer[Reconciliation]
    acknowledged_overruns: _containers.RepeatedCompositeFieldContainer[BudgetScope]
    def __init__(self, reconciliations: _Optional[_Iterable[_Union[Reconciliation, _Mapping]]] = ..., acknowledged_overruns: _Optional[_Iterable[_Union[BudgetScope, _Mapping]]] = ...) -> None: ...

class ReconcileResponse(_message.Message):
    __slots__ = ("reservations",)
    RESERVATIONS_FIELD_NUMBER: _ClassVar[int]
    reservations: _containers.RepeatedCompositeFieldContainer[Reservation]
    def __init__(self, reservations: _Optional[_Iterable[_Union[Reservation, _Mapping]]] = ...) -> None: ...

class BudgetsServiceAuditRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class BudgetsServiceAuditResponse(_message.Message):
    __slots__ = ("entry_count", "reservation_count", "clean", "findings")
    ENTRY_COUNT_FIELD_NUMBER: _ClassVar[int]
    RESERVATION_COUNT_FIELD_NUMBER: _ClassVar[int]
    CLEAN_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    entry_count: int
    reservation_count: int
    clean: bool
    findings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, entry_count: _Optional[int] = ..., reservation_count: _Optional[int] = ..., clean: _Optional[bool] = ..., findings: _Optional[_Iterable[str]] = ...) -> None: ...
