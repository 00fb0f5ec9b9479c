"""Alembic's entry: migrates the connection that `gateway.storage.migrate` hands over."""

import sqlalchemy as sa
from alembic import context

from gateway.storage.tables import metadata

connection: sa.Connection = context.config.attributes["connection"]
sqlite = connection.dialect.name == "sqlite"
if sqlite:
    # The connection is in autocommit mode; on SQLite schema changes are transactional once BEGIN was said.
    connection.execute(sa.text("BEGIN IMMEDIATE"))
try:
    context.configure(connection=connection, target_metadata=metadata, transactional_ddl=not sqlite)
    with context.begin_transaction():
        context.run_migrations()
except BaseException:
    if sqlite:
        connection.execute(sa.text("ROLLBACK"))
    raise
if sqlite:
    connection.execute(sa.text("COMMIT"))
