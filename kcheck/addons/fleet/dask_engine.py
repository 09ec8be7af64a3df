"""Workers of a Dask cluster: a running one, or one of this machine's."""

from __future__ import annotations

import logging
import pickle
import threading
import warnings
from asyncio import CancelledError
from concurrent.futures import CancelledError as FutureCancelledError
from contextlib import ExitStack, contextmanager, suppress
from queue import Empty, Queue
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

import msgspec
from distributed import Client, KilledWorker, LocalCluster
from msgspec.structs import replace

from kcheck import __version__
from kcheck.addons.fleet import worker
from kcheck.addons.fleet.code import code
from kcheck.addons.fleet.local import LocalEngine
from kcheck.addons.fleet.run import EngineError
from kcheck.addons.fleet.task import PACKED, Outcome, Task, failed
from kcheck.addons.fleet.worker import identity, work
from kcheck.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from distributed import Future

LOCAL = "local"
"""In place of the address of a scheduler: a cluster of this machine's for one run."""
_ADDRESS = regex(r"(?:tcp|tls|wss?|ucxx?)://[^/]+:\d{1,5}")
_CONNECT = 10.0
"""Seconds for a scheduler to answer."""
_WORKERS = 30.0
"""Seconds without a worker."""
_LOOK = 2.0
"""Seconds after which the cluster is looked at again."""
_GATHER = 10.0
"""Seconds for an outcome to come from its worker."""
_AHEAD = 2
"""Tasks that a thread of a worker has at a time, so that it need not wait for the next one."""
_BYTES = 256 * 1024**2
"""Of archives under way."""
_REFUSALS = 5
"""Answers of another kcheck after which a repository is given up."""
_GO_ON = "what is done is kept, and the same command goes on"


@contextmanager
def dask_engine(scheduler: str, jobs: int, *, pack: bool) -> Iterator[DaskEngine]:
    """The workers of a scheduler, or `jobs` of this machine; so many repositories are packed at a time.

    Raises:
        EngineError: there is no such scheduler, it has no worker, or one has another kcheck.
    """
    with ExitStack() as stack:
        stack.enter_context(_silence())
        is_local = scheduler == LOCAL
        if not is_local and not _ADDRESS.fullmatch(scheduler):
            raise EngineError(f"{scheduler} is no scheduler; expected tcp://HOST:PORT, tls://HOST:PORT or {LOCAL}")
        if is_local:
            scheduler = stack.enter_context(_cluster(jobs)).scheduler_address
            stack.callback(worker.close)
        try:
            client = stack.enter_context(Client(scheduler, timeout=_CONNECT, set_as_default=False))
        except (OSError, ValueError, TypeError, ImportError, RuntimeError) as error:
            raise EngineError(f"no scheduler answers at {scheduler}: {error}") from error
        packers = stack.enter_context(LocalEngine(jobs)) if pack else None
        yield DaskEngine("dask" if is_local else scheduler, client, packers)


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


def _cluster(jobs: int) -> LocalCluster:
    """Workers of this machine, one thread each. All are in this process: what they check is in others anyway."""
    return LocalCluster(
        n_workers=jobs,
        threads_per_worker=1,
        processes=False,
        memory_limit=0,
        dashboard_address=None,
        silence_logs=logging.CRITICAL,
    )


class DaskEngine:
    """All workers of a scheduler, also those that join later; `jobs` are the most threads that they had."""

    def __init__(self, name: str, client: Client, packers: LocalEngine | None) -> None:
        self.name = name
        self._cluster = _Cluster(name, client)
        self._packers = packers

    @property
    def jobs(self) -> int:
        """Repositories checked at a time."""
        return self._cluster.most

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome]]:
        """What becomes of each task, in the order in which they end; few are taken ahead.

        Raises:
            EngineError: the scheduler or all workers are gone.
        """
        flow = _Flow(self._cluster, self._packers, tasks)
        try:
            yield from flow.outcomes()
        finally:
            flow.close()


class _Cluster:
    """What is known of the workers. The first ones must have this kcheck; of later ones, others are passed over."""

    def __init__(self, name: str, client: Client) -> None:
        self.client = client
        self.threads = self.most = 0
        self.good: set[str] = set()
        self._name = name
        self._seen: set[str] = set()
        self._looked = self._had = monotonic()
        with suppress(TimeoutError):
            client.wait_for_workers(1, timeout=_WORKERS)
        bad = self._look()
        if bad:
            raise EngineError(f"{bad}; install the same kcheck there")
        if not self.threads:
            raise EngineError(f"the scheduler at {name} has no worker")

    def look(self) -> None:
        """Look who is there, unless that was done just now.

        Raises:
            EngineError: the scheduler is gone, or there has been no worker for some time.
        """
        if self.client.status != "running":
            raise self.lost()
        now = monotonic()
        if now - self._looked < _LOOK:
            return
        bad = self._look()
        self._looked = now
        if self.threads:
            self._had = now
        elif now - self._had > _WORKERS:
            raise EngineError(f"the scheduler at {self._name} has no worker any more{bad and f': {bad}'}; {_GO_ON}")

    def lost(self) -> EngineError:
        """Say that the scheduler is gone."""
        return EngineError(f"the scheduler at {self._name} is gone; {_GO_ON}")

    def _look(self) -> str:
        """See the workers, and ask new ones for their kcheck: what is wrong with the last that has another one."""
        try:
            threads: dict[str, int] = self.client.nthreads()
            new = [address for address in threads if address not in self._seen]
            answers = self.client.run(identity, workers=new, on_error="return") if new else {}
        except (OSError, RuntimeError) as error:
            raise self.lost() from error
        wrong = ""
        for address, answer in answers.items():
            if isinstance(answer, OSError):  # it is gone already, or asked again
                continue
            self._seen.add(address)
            if answer == identity():
                self.good.add(address)
            else:
                wrong = f"worker {address} {_difference(answer)}"
        self.good.intersection_update(threads)
        self._seen.intersection_update(threads)
        self.threads = sum(count for address, count in threads.items() if address in self.good)
        self.most = max(self.most, self.threads)
        return wrong


def _difference(answer: object) -> str:
    """What is wrong with the kcheck of a worker, by what it answers."""
    if isinstance(answer, tuple) and answer[0] != __version__:
        return f"has kcheck {answer[0]}, this is {__version__}"
    if isinstance(answer, tuple):
        return f"has another kcheck {__version__} than this: its code, rules or profiles differ"
    return f"has no kcheck {__version__}: {answer}"


class _Answer(NamedTuple):
    """A task whose future has ended, and how often it was refused before."""

    task: Task
    future: Future[bytes]
    refusals: int


class _Flow:
    """Tasks on their way: a thread packs and submits them, the caller's takes what comes back."""

    def __init__(self, cluster: _Cluster, packers: LocalEngine | None, tasks: Iterable[Task]) -> None:
        self._cluster = cluster
        self._packers = packers
        self._tasks = iter(tasks)
        self._room = _Room(lambda: _AHEAD * cluster.threads)
        self._ended: Queue[_Answer | tuple[Task, Outcome] | BaseException | None] = Queue()
        threading.Thread(target=self._feed, daemon=True).start()

    def close(self) -> None:
        """Take no more tasks."""
        self._room.close()

    def outcomes(self) -> Iterator[tuple[Task, Outcome]]:
        """What becomes of each task.

        Raises:
            EngineError: the scheduler or all workers are gone.
        """
        is_fed = False
        while not is_fed or self._room.count:
            self._cluster.look()
            self._room.look()
            try:
                found = self._ended.get(timeout=_LOOK)
            except Empty:
                continue
            if found is None:
                is_fed = True
            elif isinstance(found, BaseException):
                self._cluster.look()
                raise found
            else:
                task, outcome = (found.task, self._outcome(found)) if isinstance(found, _Answer) else found
                if outcome is not None:
                    self._room.give(len(task.archive))
                    yield replace(task, archive=b""), outcome

    # --- to the workers

    def _feed(self) -> None:
        try:
            if self._packers is None:
                for task in self._taken():
                    self._submit(task)
            else:
                for task, outcome in self._packers.outcomes(replace(task, is_packing=True) for task in self._taken()):
                    if outcome.status == PACKED:
                        self._room.add(len(outcome.archive))
                        self._submit(replace(task, is_packing=False, past=None, archive=outcome.archive))
                    else:
                        self._ended.put((task, outcome))
        except BaseException as error:  # of the tasks, or of the cluster: the run ends with it
            self._ended.put(error)
        finally:
            self._ended.put(None)

    def _taken(self) -> Iterator[Task]:
        """The tasks, each when there is room for it."""
        while self._room.take():
            task = next(self._tasks, None)
            if task is None:
                self._room.give(0)
                return
            yield task

    def _submit(self, task: Task, refusals: int = 0) -> None:
        try:
            data = msgspec.msgpack.encode(task)
        except UnicodeEncodeError:
            self._ended.put((task, failed("its path, or a setting, is no text in UTF-8")))
            return
        future = self._cluster.client.submit(
            pickle.loads,
            pickle.dumps(_Call(data)),
            key=f"kcheck-{uuid4().hex}",
            pure=False,
            # one that was refused goes to those that are known to be right, as far as there are any
            workers=sorted(self._cluster.good) if refusals else None,
            allow_other_workers=True if refusals else None,
        )
        self._wait(_Answer(task, future, refusals))

    def _wait(self, answer: _Answer) -> None:
        answer.future.add_done_callback(lambda _: self._ended.put(answer))

    # --- from the workers

    def _outcome(self, answer: _Answer) -> Outcome | None:
        """What a worker says of a task; None if it is not known yet.

        Raises:
            EngineError: the scheduler is gone.
        """
        try:
            data = answer.future.result(timeout=_GATHER)
            outcome = msgspec.msgpack.decode(data, type=Outcome)
        except TimeoutError:  # its worker was lost with the outcome, and it is checked again
            self._cluster.look()
            self._wait(answer)
            return None
        except KilledWorker as error:
            return failed(f"{error.allowed_failures + 1} workers ended one after the other while they checked it")
        except (CancelledError, FutureCancelledError, OSError) as error:
            if self._cluster.client.status != "running":
                raise self._cluster.lost() from error
            return failed(f"Dask lost it: {error}", can_retry=True)
        except (ImportError, AttributeError, msgspec.MsgspecError):  # of a worker with no kcheck, or an older one
            return self._again(answer)
        except Exception as error:
            return failed(f"the worker failed: {type(error).__name__}: {error}", can_retry=True)
        return outcome if outcome.code == code() else self._again(answer)

    def _again(self, answer: _Answer) -> Outcome | None:
        """Have another worker check a task, as this one has another kcheck."""
        if answer.refusals >= _REFUSALS:
            return failed("workers with another kcheck answered; install the same one on all", can_retry=True)
        self._submit(answer.task, answer.refusals + 1)
        return None


class _Call:
    """A call of `work`, made where it is loaded; a scheduler that passes it on needs no kcheck."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __reduce__(self) -> tuple[Callable[[bytes], bytes], tuple[bytes]]:
        return work, (self._data,)


class _Room:
    """Bounds how many tasks are under way, and the bytes of their archives."""

    def __init__(self, most: Callable[[], int]) -> None:
        self.count = 0
        self._most = most
        self._bytes = 0
        self._is_closed = False
        self._changed = threading.Condition()

    def take(self) -> bool:
        """Wait for room for a task; False if there will be none."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_closed or (self.count < max(1, self._most()) and self._bytes < _BYTES)
            )
            self.count += not self._is_closed
            return not self._is_closed

    def add(self, size: int) -> None:
        """Note the bytes of a task."""
        with self._changed:
            self._bytes += size

    def give(self, size: int) -> None:
        """Give back what a task with so many bytes had."""
        with self._changed:
            self.count -= 1
            self._bytes -= size
            self._changed.notify_all()

    def look(self) -> None:
        """Let those who wait see how many workers there are now."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """Give room to nobody any more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
