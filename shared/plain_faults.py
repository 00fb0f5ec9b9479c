"""What is wrong with a setting, in the words of those who set it rather than of the library that found it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WORDS: Final[Mapping[str, str]] = {
    "missing": "is missing: add it",
    "string_type": "must be text, in quotes",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "list_type": "must be a list: [ … ]",
    "tuple_type": "must be a list: [ … ]",
    "dict_type": "must be a table: { … }",
    "model_type": "must be a table: { … }",
    "model_attributes_type": "must be a table: { … }",
    "path_type": "must be a path, in quotes",
}
BOUNDED: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "greater_than_equal": lambda bounds: f"must be {bounds['ge']} or more",
    "greater_than": lambda bounds: f"must be more than {bounds['gt']}",
    "less_than_equal": lambda bounds: f"must be {bounds['le']} or less",
    "less_than": lambda bounds: f"must be less than {bounds['lt']}",
    "too_short": lambda bounds: f"must have {bounds['min_length']} or more",
    "too_long": lambda bounds: f"must have {bounds['max_length']} or fewer",
    "string_too_short": lambda bounds: f"must have {bounds['min_length']} or more characters",
    "string_too_long": lambda bounds: f"must have {bounds['max_length']} or fewer characters",
    "literal_error": lambda bounds: f"must be one of {bounds['expected']}",
    "enum": lambda bounds: f"must be one of {bounds['expected']}",
}
PATTERNS: Final[Mapping[str, str]] = {
    r"^https?://[^/\s@?#]+$": "must be an origin, without a path: https://www.example.org",
    r"^pk_[A-Za-z0-9_-]{1,60}$": "must be `pk_` and then letters, digits, - or _",
    r"^[a-z0-9][a-z0-9_-]{0,62}$": "must be small letters, digits, - and _, at most 63",
    r"^[a-z]{2}$": "must be a language's two letters, such as fr",
    r"^[A-Za-z0-9_.:-]{1,64}$": "must be 1 to 64 of letters, digits, and _ . : -",
}


def in_plain_words(error: Mapping[str, Any]) -> str:
    """Say one of pydantic's faults as what to do; what has no words of ours keeps its own."""
    kind, bounds = error["type"], error.get("ctx", {})
    if kind == "string_pattern_mismatch":
        return PATTERNS.get(bounds["pattern"], f"must look like {bounds['pattern']}")
    if kind in BOUNDED:
        return BOUNDED[kind](bounds)
    return WORDS.get(kind, str(error["msg"]).removeprefix("Value error, "))


def field_fault(error: Mapping[str, Any]) -> str:
    """Say one of pydantic's faults with the field of a file that it is about; `keys.scope.values`."""
    where = ".".join(map(str, error["loc"])) or "the file"
    if error["type"] == "extra_forbidden":
        return f"{where}: there is no such field: correct its name, or remove it"
    return f"{where}: {in_plain_words(error)}"


def variable_fault(prefix: str, error: Mapping[str, Any]) -> str:
    """Say one of pydantic's faults with the environment variable that it is about."""
    name = prefix + "_".join(map(str, error["loc"])).upper()
    if error["type"] == "extra_forbidden":
        return f"{name}: no such setting; docs/settings.md lists them"
    return f"{name}: {in_plain_words(error)} (it is {error['input']!r})"
