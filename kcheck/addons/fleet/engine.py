"""Engine of a fleet: Dask, here or on the workers of a scheduler.

Each worker checks each repository in a new process.
"""

import logging
import pickle
import warnings
from asyncio import CancelledError
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError as FutureCancelledError
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from typing import NamedTuple, Self

from distributed import Client, Future, KilledWorker, Scheduler, SpecCluster, Worker, wait

from kcheck import __version__
from kcheck.addons.fleet import process
from kcheck.addons.fleet.checkout import code
from kcheck.addons.fleet.outcomes import EngineError, Outcome, Task, failed

_CONNECT, _GATHER = 10.0, 10.0
"""Seconds for a scheduler to answer, and for an outcome to come from its worker."""
_WORKERS, _LOOK = 30.0, 2.0
"""Seconds without a worker, and those after which the workers are counted again."""
_AHEAD = 2
"""Tasks that a thread of a worker has at a time, so that it need not wait for the next one."""
_GO_ON = "what is done is kept, and the same command goes on"


# --- on workers


class OtherKcheckError(Exception):
    """A worker has another version of kcheck than the client."""


def identity() -> tuple[str, str]:
    """Return the version of kcheck here, and the digest of its code."""
    return __version__, code()


def work(task: Task, wanted: tuple[str, str]) -> Outcome:
    """Check a repository. Raises OtherKcheckError for another version of kcheck."""
    if identity() != wanted:
        raise OtherKcheckError
    return process.outcome_of(task)


class _Call(NamedTuple):
    """A call of `work`, unpickled only in the worker."""

    task: Task

    def __reduce__(self) -> tuple[Callable[[Task, tuple[str, str]], Outcome], tuple[Task, tuple[str, str]]]:
        return work, (self.task, identity())


# --- of the client


class DaskEngine:
    """The workers of a scheduler, or `jobs` threads here."""

    def __init__(self, scheduler: str | None, jobs: int) -> None:
        self.jobs = 0 if scheduler else jobs
        self._address = scheduler

    def __enter__(self) -> Self:
        """Start or reach the workers. Raises EngineError without a usable one."""
        with ExitStack() as stack:
            stack.enter_context(_silence())
            address = self._address or stack.enter_context(_local(self.jobs))
            try:
                self._client: Client = stack.enter_context(Client(address, timeout=_CONNECT))
            except (OSError, ValueError, TypeError, ImportError, RuntimeError) as error:
                raise EngineError(f"no scheduler answers at {address}: {error}") from error
            self._threads()
            self._compare()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome]]:
        """Check tasks, and yield their outcomes as they finish.

        Raises EngineError if there are no workers, one has another kcheck, or the scheduler is gone.
        """
        left = iter(tasks)
        running: dict[Future[Outcome], Task] = {}
        while True:
            for task in islice(left, max(0, _AHEAD * self._threads() - len(running))):
                running[self._client.submit(pickle.loads, pickle.dumps(_Call(task)), pure=False)] = task
            if not running:
                return
            with suppress(TimeoutError, FutureCancelledError, CancelledError):
                wait(list(running), timeout=_LOOK, return_when="FIRST_COMPLETED")
            for future in [one for one in running if one.done()]:
                outcome = self._outcome(future)
                if outcome is not None:
                    yield running.pop(future), outcome

    def _outcome(self, future: Future[Outcome]) -> Outcome | None:
        """Return a worker's outcome of a task; None if it is not known yet."""
        try:
            return future.result(timeout=_GATHER)
        except TimeoutError:  # its worker was lost with the outcome, and it is checked again
            return None
        except KilledWorker as error:
            return failed(f"{error.allowed_failures + 1} workers ended one after the other while they checked it")
        except (CancelledError, FutureCancelledError, OSError) as error:
            if self._client.status != "running":
                raise self._lost() from error
            return failed(f"Dask lost it: {error}", can_retry=True)
        except (OtherKcheckError, ImportError, AttributeError) as error:
            self._compare()
            raise EngineError(f"a worker with another version of kcheck has joined; {_GO_ON} without it") from error
        except Exception as error:
            return failed(f"the worker failed: {type(error).__name__}: {error}", can_retry=True)

    def _threads(self) -> int:
        """Count the threads of all workers; if there are none, wait for the first one."""
        if self._client.status != "running":
            raise self._lost()
        try:
            self._client.wait_for_workers(1, timeout=_WORKERS)
            threads: int = max(1, sum(self._client.nthreads().values()))
        except TimeoutError as error:
            end = f" any more; {_GO_ON}" if self.jobs else ""
            raise EngineError(f"the scheduler at {self._address} has no worker{end}") from error
        except (OSError, RuntimeError) as error:
            raise self._lost() from error
        self.jobs = max(self.jobs, threads)
        return threads

    def _compare(self) -> None:
        """Compare the version of kcheck on each worker with this one."""
        try:
            answers = self._client.run(identity, on_error="return")
        except (OSError, RuntimeError) as error:
            raise self._lost() from error
        for address, answer in answers.items():
            if answer != identity() and not isinstance(answer, OSError):  # that one has ended
                raise EngineError(f"worker {address} {_difference(answer)}; install the same kcheck there")

    def _lost(self) -> EngineError:
        return EngineError(f"the scheduler at {self._address} is gone; {_GO_ON}")


@contextmanager
def _silence() -> Iterator[None]:
    """Keep Dask's messages off the terminal."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"distributed\b")
        try:
            yield
        finally:
            logging.disable(before)


def _difference(answer: object) -> str:
    if not isinstance(answer, tuple):
        return f"has no kcheck {__version__}: {answer}"
    if answer[0] != __version__:
        return f"has kcheck {answer[0]}, this is {__version__}"
    return f"has another kcheck {__version__} than this: its code, rules or profiles differ"


# --- a scheduler and a worker in this process


@contextmanager
def _local(threads: int) -> Iterator[str]:
    """Start a worker with a number of threads; yield its scheduler's address."""
    options = {"protocol": "inproc://", "dashboard": False}
    worker = {"nthreads": threads, "memory_limit": 0, **options}  # what checks need is in processes of their own
    cluster = SpecCluster({0: {"cls": _Worker, "options": worker}}, {"cls": _Scheduler, "options": options})
    try:
        yield str(cluster.scheduler_address)
    finally:
        with process.all_ended():
            cluster.close()


class _Unseen:
    """A part of Dask without the web pages that `LocalCluster` serves."""

    def start_http_server(self, *_arguments: object, **_options: object) -> None:
        """Start no web server."""


class _Scheduler(_Unseen, Scheduler): ...


class _Worker(_Unseen, Worker): ...
