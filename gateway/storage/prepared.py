"""A statement that is made once, as a database driver takes it: its SQL, and how values go in and come out.

SQLAlchemy writes the SQL and knows the types. Having it run a statement as well costs four times what the driver, the
types and a dictionary for each row take together, so what every turn asks goes to the driver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import sqlalchemy as sa

    Converter = Callable[[Any], Any]


class Prepared:
    """One statement for one dialect and one set of parameters."""

    __slots__ = ("_columns", "_values", "sql")

    def __init__(self, statement: sa.Executable, dialect: sa.Dialect, names: Sequence[str]) -> None:
        """Write the SQL of a statement that is run with parameters of these names.

        Raises:
            TypeError: a number of values that differs from run to run stands in it (`expanding`).
        """
        compiled: Any = cast("sa.ClauseElement", statement).compile(dialect=dialect, column_keys=list(names))
        if compiled.post_compile_params:
            raise TypeError("what stands in an IN may differ in number: have SQLAlchemy run this one")
        self.sql: str = compiled.string
        self._values: list[tuple[str | None, Any, Converter | None]] = []
        for name in compiled.positiontup:
            bound = compiled.binds[name]
            convert = bound.type.dialect_impl(dialect).bind_processor(dialect)
            if name in names:
                self._values.append((name, None, convert))
            else:
                constant = bound.effective_value
                self._values.append((None, constant if convert is None else convert(constant), None))
        self._columns: list[tuple[str, Converter | None]] = [
            (each.key, each.type.dialect_impl(dialect).result_processor(dialect, None))
            for each in getattr(statement, "exported_columns", ())
        ]

    def values(self, parameters: Mapping[str, Any]) -> list[Any]:
        """Put parameters in the order of the SQL, as the driver takes them."""
        return [
            constant if name is None else parameters[name] if convert is None else convert(parameters[name])
            for name, constant, convert in self._values
        ]

    def plain(self, rows: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
        """Read rows by the names of their columns."""
        return [
            {
                name: value if convert is None else convert(value)
                for (name, convert), value in zip(self._columns, row, strict=True)
            }
            for row in rows
        ]


class PreparedStatements:
    """The statements that were prepared for one dialect."""

    def __init__(self, dialect: sa.Dialect) -> None:
        """Begin with none."""
        self._dialect = dialect
        self._known: dict[tuple[sa.Executable, tuple[str, ...]], Prepared | None] = {}

    def of(self, statement: sa.Executable, parameters: Mapping[str, Any]) -> Prepared | None:
        """Prepare a statement that is a constant, or find it; None where SQLAlchemy has to run it."""
        key = (statement, tuple(parameters))
        if key not in self._known:
            try:
                self._known[key] = Prepared(statement, self._dialect, key[1])
            except TypeError:
                self._known[key] = None
        return self._known[key]
