"""Test that all requests of the autoscaler share one budget."""

from __future__ import annotations

import pytest

from kcheck.scale.simulate.clock import Client


def test_a_burst_of_requests_passes_at_once_and_the_rest_at_the_rate() -> None:
    client = Client(5, 10)
    assert client.send(100, 10)[0] == pytest.approx(100)
    assert client.send(100, 5)[0] == pytest.approx(101)
    assert client.send(200, 15)[0] == pytest.approx(201), "the burst is there again after a rest"


def test_the_request_burst_is_not_refilled_between_batches() -> None:
    client = Client(5, 10)
    client.send(0, 10)
    assert client.send(1, 10)[0] == pytest.approx(2), "five requests were saved in a second"


def test_events_consume_part_of_the_request_budget() -> None:
    client = Client(5, 10)
    client.send(0, 10)
    client.queue(0, 20)
    assert client.send(0, 10)[0] == pytest.approx(4), "one event for each request"
    assert client.send(4, 5, workers=5)[0] == pytest.approx(5.2), "one event for five requests"
    assert client.send(100, 10)[0] == pytest.approx(100), "the other events are gone"


def test_no_request_is_sent_after_the_end() -> None:
    client = Client(5, 0)
    end, number = client.send(0, 100, until=3)
    assert (round(end, 6), number) == (3, 15)


def test_a_client_without_a_limit_sends_at_once() -> None:
    client = Client(0, 0)
    client.queue(0, 1000)
    assert client.send(7, 1000) == (7, 1000)
