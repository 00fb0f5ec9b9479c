"""What an error of PostgreSQL, its driver or the network is called."""

import asyncpg
import pytest

from shared.postgres_faults import CAUSES, reason


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (asyncpg.InvalidPasswordError(), "the user or password is wrong (28P01)"),
        (asyncpg.InvalidCatalogNameError(), "the database does not exist: create it (3D000)"),
        (asyncpg.CannotConnectNowError(), "the database server is starting or stopping (57P03)"),
        (asyncpg.ConnectionDoesNotExistError(), "the connection was lost (08003)"),
        (asyncpg.InterfaceError("closed"), "the connection was lost (InterfaceError)"),
        (TimeoutError(), "the database server does not answer in time (TimeoutError)"),
        (ConnectionRefusedError(), "the database server cannot be reached (ConnectionRefusedError)"),
        (asyncpg.DataError(), "the database reports an error (22000)"),
        (ValueError(), "the database reports an error (ValueError)"),
    ],
)
def test_a_fault_is_said_with_its_cause_and_code(error, said):
    assert reason(error) == said


def test_no_cause_is_hidden_by_a_wider_one_before_it():
    kinds = [kind for kind, _ in CAUSES]
    assert [b for n, b in enumerate(kinds) if any(issubclass(b, a) for a in kinds[:n])] == []


def test_what_an_error_means_for_the_caller_goes_first():
    assert reason(asyncpg.DiskFullError(), [(asyncpg.DiskFullError, "no room for us")]) == "no room for us (53100)"
