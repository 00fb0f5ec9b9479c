"""Token buckets and gauges."""

import pytest

from gateway.identity import limits
from gateway.identity.limits import Gauge, Rate, TokenBuckets
from shared.errors import RateLimited
from tests.fakes.clock import ManualClock


def test_a_burst_passes_and_then_one_for_each_refilled_token():
    clock = ManualClock()
    buckets = TokenBuckets(Rate(burst=3, per_minute=60), clock)
    for _ in range(3):
        buckets.take("a")
    with pytest.raises(RateLimited) as refused:
        buckets.take("a")
    assert (refused.value.resets_at - clock.now()).total_seconds() == 1
    clock.advance(1)
    buckets.take("a")
    with pytest.raises(RateLimited):
        buckets.take("a")


def test_one_key_does_not_use_up_anothers_bucket():
    buckets = TokenBuckets(Rate(burst=1, per_minute=1), ManualClock())
    buckets.take("a")
    buckets.take("b")


def test_a_bucket_never_holds_more_than_its_burst():
    clock = ManualClock()
    buckets = TokenBuckets(Rate(burst=2, per_minute=60), clock)
    clock.advance(3600)
    buckets.take("a")
    buckets.take("a")
    with pytest.raises(RateLimited):
        buckets.take("a")


def test_the_number_of_buckets_is_bounded(monkeypatch):
    monkeypatch.setattr(limits, "KEY_LIMIT", 10)
    buckets = TokenBuckets(Rate(burst=1, per_minute=1), ManualClock())
    for number in range(100):
        buckets.take(str(number))
    assert len(buckets._buckets) == 10


def test_a_gauge_counts_what_is_held_and_lets_go():
    gauge = Gauge(2)
    gauge.hold("a", "streams")
    gauge.hold("a", "streams")
    with pytest.raises(RateLimited, match="At most 2 streams"):
        gauge.hold("a", "streams")
    gauge.release("a")
    gauge.hold("a", "streams")
    gauge.hold("b", "streams")
