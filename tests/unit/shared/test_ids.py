import uuid
from datetime import UTC, datetime, timedelta

from shared.ids import is_id, new_id

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def test_an_id_is_a_version_7_uuid_of_its_instant():
    made = uuid.UUID(new_id(NOW))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == int(NOW.timestamp() * 1000)


def test_ids_sort_by_the_millisecond_they_were_made():
    ids = [new_id(NOW + timedelta(milliseconds=each)) for each in range(50)]
    assert ids == sorted(ids)


def test_ten_thousand_ids_of_one_millisecond_differ():
    assert len({new_id(NOW) for _ in range(10_000)}) == 10_000


def test_other_texts_are_not_ids():
    assert is_id(new_id(NOW))
    assert not is_id("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
    assert not is_id(new_id(NOW).upper())
