"""A scheduler and a worker of Dask in this process, which listen on no port. Importing it imports Dask."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from distributed import Scheduler, SpecCluster, Worker

from kcheck.addons.fleet.process import all_ended

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def local_cluster(threads: int) -> Iterator[str]:
    """Start a worker with so many threads; yield the address of its scheduler. At the end, its checks are ended."""
    options = {"protocol": "inproc://", "dashboard": False}
    worker = {"nthreads": threads, "memory_limit": 0, **options}  # what checks need is in processes of their own
    cluster = SpecCluster(
        scheduler={"cls": _Scheduler, "options": options},
        workers={0: {"cls": _Worker, "options": worker}},
        silence_logs=logging.CRITICAL,
    )
    try:
        yield str(cluster.scheduler_address)
    finally:
        with all_ended():
            cluster.close()


class _Scheduler(Scheduler):
    """A scheduler without its pages: `LocalCluster` shows them to the network, also without a dashboard."""

    def start_http_server(self, *_arguments: object, **_options: object) -> None:
        """Start none."""


class _Worker(Worker):
    """A worker without its pages."""

    def start_http_server(self, *_arguments: object, **_options: object) -> None:
        """Start none."""
