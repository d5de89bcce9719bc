"""Engines that run the pieces with joblib: this process, local processes, Dask or Ray.

Each piece writes its own file, so results do not depend on the engine.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from typing import Any, Literal, TypeVar, get_args

from structuredbandits.errors import InvalidInput, suggestion
from structuredbandits.simulation.arguments import read_workers

EngineName = Literal["local", "dask", "ray"]
Item = TypeVar("Item")
Result = TypeVar("Result")
_SECONDS_BETWEEN_LOOKS = 1.0
# By default Dask's dashboard uses port 8787, which another cluster may occupy.
_ANY_PORT = "127.0.0.1:0"
# Workers whose parent was killed would wait for work forever; a short timeout ends them.
_OF_BACKEND: dict[str, dict[str, Any]] = {
    "loky": {"idle_worker_timeout": 20},
    "dask": {},
    "ray": {},
}


class WorkersLost(Exception):
    """Workers ended abruptly; their current work is not complete."""


class Engine:
    """A group of workers; a context manager that releases them at the end.

    Parameters
    ----------
    name
        "local", "dask" or "ray".
    address
        Address of a running cluster; without one, Dask and Ray use the cluster that this process is
        connected to, or start a small one on this machine.
    n_jobs
        Number of workers; -1 for all that are available.
    """

    def __init__(self, name: str, address: str | None = None, n_jobs: int = -1) -> None:
        if name not in get_args(EngineName):
            raise InvalidInput(f"there is no engine {name!r}; {suggestion(name, ENGINES)}.")
        if address is not None and name == "local":
            raise InvalidInput(
                f"the local engine has no address, and {address!r} was given; choose the engine "
                "'dask' or 'ray', or leave the address out."
            )
        self.name, self._address, self._n_jobs = name, address, read_workers(n_jobs)
        self._open = contextlib.ExitStack()

    @property
    def in_process(self) -> bool:
        """Whether the work is done in this process."""
        return self.name == "local" and self._n_jobs == 1

    def __enter__(self) -> Engine:
        if self.name == "dask":
            self._open.enter_context(_dask(self._address, self._n_jobs))
        elif self.name == "ray":
            self._open.enter_context(_ray(self._address, self._n_jobs))
        return self

    def __exit__(self, *_problem: object) -> None:
        self._open.close()

    def run(
        self,
        work: Callable[[Item], Result],
        items: Sequence[Item],
        is_done: Callable[[Item], bool],
        tick: Callable[[Item], None],
    ) -> Iterator[Result]:
        """Work on all items in any order, and yield the results.

        ``tick`` is called once per completed item: joblib on Ray reports nothing before everything
        is complete, so ``is_done`` is polled there.
        """
        if self.in_process:
            for item in items:
                result = work(item)
                tick(item)
                yield result
        elif self.name == "ray":
            with _watching(items, is_done, tick):
                results = list(self._parallel(work, items, "list"))
            yield from results
        else:
            for place, result in self._parallel(_Numbered(work), enumerate(items), "generator"):
                tick(items[place])
                yield result

    def _parallel(
        self, work: Callable[[Any], Any], items: Iterable[Any], kind: str
    ) -> Iterable[Any]:
        import joblib

        backend = {"local": "loky", "dask": "dask", "ray": "ray"}[self.name]
        return_as = "generator_unordered" if kind == "generator" else "list"
        try:
            with joblib.parallel_config(
                backend=backend, n_jobs=self._n_jobs, **_OF_BACKEND[backend]
            ):
                # One item per task: an item takes about a second, and the batches of joblib would
                # give several of them to one worker.
                parallel = joblib.Parallel(
                    return_as=return_as, batch_size=1, pre_dispatch="3*n_jobs"
                )
                yield from parallel(joblib.delayed(work)(item) for item in items)
        except Exception as error:
            if _is_loss(error):
                raise WorkersLost(str(error).splitlines()[0] if str(error) else "") from error
            raise


class _Numbered:
    """Adds the number of the item to its result, so that results may arrive in any order."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self._work = work

    def __call__(self, item: tuple[int, Any]) -> tuple[int, Any]:
        return item[0], self._work(item[1])


ENGINES: tuple[str, ...] = get_args(EngineName)


def _is_loss(error: Exception) -> bool:
    """Whether an error of any engine means that workers are lost."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, BrokenExecutor) or bool(
        names & {"TerminatedWorkerError", "KilledWorker", "RayActorError", "CommClosedError"}
    )


@contextlib.contextmanager
def _watching(
    items: Sequence[Item], is_done: Callable[[Item], bool], tick: Callable[[Item], None]
) -> Iterator[None]:
    """Call ``tick`` for every item as it is found to be complete, from a thread."""
    left, end = list(items), threading.Event()

    def look() -> None:
        for item in [item for item in left if is_done(item)]:
            left.remove(item)
            tick(item)

    def watch() -> None:
        while not end.wait(_SECONDS_BETWEEN_LOOKS):
            look()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
    look()


def _package(name: str, engine: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InvalidInput(
            f"the engine {engine!r} needs a package that is not installed; install it with "
            f"pip install 'structuredbandits[{engine}]'."
        ) from None


@contextlib.contextmanager
def _dask(address: str | None, n_jobs: int) -> Iterator[None]:
    distributed = _package("distributed", "dask")
    if address is None and _has_client(distributed):
        yield
        return
    workers = None if n_jobs < 0 else n_jobs
    try:
        client = (
            distributed.Client(n_workers=workers, threads_per_worker=1, dashboard_address=_ANY_PORT)
            if address is None
            else distributed.Client(address, timeout=30)
        )
    except (OSError, ValueError) as error:
        raise _no_cluster("Dask", address, error) from error
    with client:
        yield


def _has_client(distributed: Any) -> bool:
    try:
        distributed.get_client()
    except ValueError:  # none is open in this process
        return False
    return True


@contextlib.contextmanager
def _ray(address: str | None, n_jobs: int) -> Iterator[None]:
    ray = _package("ray", "ray")
    started = not ray.is_initialized()
    if started:
        quiet = {"include_dashboard": False, "num_cpus": None if n_jobs < 0 else n_jobs}
        try:
            ray.init(
                address=address or "local",
                log_to_driver=False,
                logging_level="error",
                **(quiet if address is None else {}),
            )
        except (ConnectionError, OSError, ValueError) as error:
            raise _no_cluster("Ray", address, error) from error
    _package("ray.util.joblib", "ray").register_ray()
    try:
        yield
    finally:
        if started:
            ray.shutdown()


def _no_cluster(kind: str, address: str | None, error: Exception) -> InvalidInput:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InvalidInput(
        f"no {kind} cluster responds at {address!r} ({reason}); check the address and that it is "
        "running."
    )
