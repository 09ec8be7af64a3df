"""The engine of a fleet: Dask, in this process, or the workers of a scheduler.

Its workers pass each repository on to a process of its own. `distributed` is imported when the first one has changed.
"""

from __future__ import annotations

import logging
import pickle
import warnings
from asyncio import CancelledError
from concurrent.futures import CancelledError as FutureCancelledError
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain, islice
from time import monotonic
from typing import TYPE_CHECKING

from kcheck import __version__
from kcheck.addons.fleet import process
from kcheck.addons.fleet.checkout import code
from kcheck.addons.fleet.run import EngineError
from kcheck.addons.fleet.task import Outcome, Task, failed
from kcheck.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Self

    from distributed import Client, Future

LOCAL = "local"
"""The name of an engine without a scheduler."""
_ADDRESS = regex(r"(?:tcp|tls|wss?|ucxx?)://[^/]+:\d{1,5}")
_CONNECT = 10.0
"""Seconds for a scheduler to answer."""
_WORKERS = 30.0
"""Seconds without a worker."""
_LOOK = 2.0
"""Seconds after which the workers are counted again."""
_GATHER = 10.0
"""Seconds for an outcome to come from its worker."""
_AHEAD = 2
"""Tasks that a thread of a worker has at a time, so that it need not wait for the next one."""
_GO_ON = "what is done is kept, and the same command goes on"


# --- on workers


class OtherKcheckError(Exception):
    """A worker has another kcheck than the client."""


def identity() -> tuple[str, str]:
    """Return the version of kcheck here, and the digest of its code."""
    return __version__, code()


def work(task: Task, wanted: tuple[str, str]) -> Outcome:
    """Check a repository with the kcheck that is wanted.

    Raises:
        OtherKcheckError: this one is another.
    """
    if identity() != wanted:
        raise OtherKcheckError
    return process.outcome_of(task)


class _Call:
    """A call of `work`, made where it is unpickled: a scheduler that passes it on as bytes needs no kcheck."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def __reduce__(self) -> tuple[Callable[[Task, tuple[str, str]], Outcome], tuple[Task, tuple[str, str]]]:
        return work, (self._task, identity())


# --- of the client


class DaskEngine:
    """The workers of a scheduler, or `jobs` threads of this process; it starts with the first task.

    `jobs` are the most threads that there were.
    """

    def __init__(self, scheduler: str | None, jobs: int) -> None:
        """Choose the workers.

        Raises:
            EngineError: that is no address of a scheduler.
        """
        if scheduler is not None and not _ADDRESS.fullmatch(scheduler):
            raise EngineError(f"{scheduler} is no scheduler; expected tcp://HOST:PORT or tls://HOST:PORT")
        self.name = scheduler or LOCAL
        self.jobs = 0 if scheduler else jobs
        self._threads = 0
        self._client: Client | None = None
        self._stack = ExitStack()
        self._looked = self._had = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome]]:
        """Check tasks, and yield what becomes of each, in the order in which they end; few are taken ahead.

        Raises:
            EngineError: there are no workers, one has another kcheck, or the scheduler is gone.
        """
        left = iter(tasks)
        for first in islice(left, 1):
            client = self._client or self._started()
            yield from self._outcomes(client, chain((first,), left))

    def _outcomes(self, client: Client, tasks: Iterator[Task]) -> Iterator[tuple[Task, Outcome]]:
        from distributed import wait

        running: dict[Future[Outcome], Task] = {}
        while True:
            for task in islice(tasks, max(0, _AHEAD * max(1, self._threads) - len(running))):
                running[client.submit(pickle.loads, pickle.dumps(_Call(task)), pure=False)] = task
            if not running:
                return
            with suppress(TimeoutError, FutureCancelledError, CancelledError):
                wait(list(running), timeout=_LOOK, return_when="FIRST_COMPLETED")
            self._look(client)
            for future in [one for one in running if one.done()]:
                outcome = self._outcome(client, future)
                if outcome is not None:
                    yield running.pop(future), outcome

    def _outcome(self, client: Client, future: Future[Outcome]) -> Outcome | None:
        """Return what a worker says of a task; None if it is not known yet.

        Raises:
            EngineError: the scheduler is gone, or the worker has another kcheck.
        """
        from distributed import KilledWorker

        try:
            return future.result(timeout=_GATHER)
        except TimeoutError:  # its worker was lost with the outcome, and it is checked again
            return None
        except KilledWorker as error:
            return failed(f"{error.allowed_failures + 1} workers ended one after the other while they checked it")
        except (CancelledError, FutureCancelledError, OSError) as error:
            if client.status != "running":
                raise self._lost() from error
            return failed(f"Dask lost it: {error}", can_retry=True)
        except (OtherKcheckError, ImportError, AttributeError) as error:
            self._compare(client)
            raise EngineError(f"a worker with another kcheck has joined; {_GO_ON} without it") from error
        except Exception as error:
            return failed(f"the worker failed: {type(error).__name__}: {error}", can_retry=True)

    # --- workers

    def _started(self) -> Client:
        """Start, or reach, the workers.

        Raises:
            EngineError: they cannot be had, or one has another kcheck.
        """
        if self.name == LOCAL:
            process.prepare()  # while Dask is imported
        try:
            from distributed import Client

            from kcheck.addons.fleet.local_cluster import local_cluster
        except ImportError as error:
            raise EngineError("kcheck fleet needs Dask: pip install 'kcheck[fleet]'") from error
        self._stack.enter_context(_silence())
        address = self._stack.enter_context(local_cluster(self.jobs)) if self.name == LOCAL else self.name
        try:
            client: Client = self._stack.enter_context(Client(address, timeout=_CONNECT))
        except (OSError, ValueError, TypeError, ImportError, RuntimeError) as error:
            raise EngineError(f"no scheduler answers at {address}: {error}") from error
        with suppress(TimeoutError):
            client.wait_for_workers(1, timeout=_WORKERS)
        self._count(client)
        self._compare(client)
        if not self._threads:
            raise EngineError(f"the scheduler at {address} has no worker")
        self._client = client
        return client

    def _look(self, client: Client) -> None:
        """Count the workers, unless that was done just now.

        Raises:
            EngineError: the scheduler is gone, or there has been no worker for some time.
        """
        if client.status != "running":
            raise self._lost()
        if monotonic() - self._looked < _LOOK:
            return
        self._count(client)
        if monotonic() - self._had > _WORKERS:
            raise EngineError(f"the scheduler at {self.name} has no worker any more; {_GO_ON}")

    def _count(self, client: Client) -> None:
        """Count the threads of all workers.

        Raises:
            EngineError: the scheduler is gone.
        """
        try:
            self._threads = sum(client.nthreads().values())
        except (OSError, RuntimeError) as error:
            raise self._lost() from error
        self._looked = monotonic()
        self.jobs = max(self.jobs, self._threads)
        if self._threads:
            self._had = self._looked

    def _compare(self, client: Client) -> None:
        """Ask each worker for its kcheck.

        Raises:
            EngineError: one has another, or none, or the scheduler is gone.
        """
        try:
            answers = client.run(identity, on_error="return")
        except (OSError, RuntimeError) as error:
            raise self._lost() from error
        for address, answer in answers.items():
            if answer != identity() and not isinstance(answer, OSError):  # that one has ended
                raise EngineError(f"worker {address} {_difference(answer)}; install the same kcheck there")

    def _lost(self) -> EngineError:
        return EngineError(f"the scheduler at {self.name} is gone; {_GO_ON}")


@contextmanager
def _silence() -> Iterator[None]:
    """Keep what Dask says of itself from the terminal: what matters becomes an error or a failed repository."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"distributed\b")
        try:
            yield
        finally:
            logging.disable(before)


def _difference(answer: object) -> str:
    """Say what is wrong with the kcheck of a worker, by what it answers."""
    if isinstance(answer, tuple) and answer[0] != __version__:
        return f"has kcheck {answer[0]}, this is {__version__}"
    if isinstance(answer, tuple):
        return f"has another kcheck {__version__} than this: its code, rules or profiles differ"
    return f"has no kcheck {__version__}: {answer}"
