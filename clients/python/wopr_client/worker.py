"""Executes nodes of a host in this program: claims tasks, keeps their leases, reports what became of them.

A task whose lease is lost is dropped: the host has given it to another worker, and refuses what this one would say.
"""
from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Literal, Mapping, Optional, TypeVar, cast

from . import wire
from .errors import InvalidRequestError, LeaseLostError, NotFoundError, PermissionDeniedError, WoprError, is_temporary
from .retry import persist, temporary_delay
from .transport import Transport

T = TypeVar("T")
Json = Dict[str, Any]
Handler = Callable[["TaskContext"], Optional[Mapping[str, Any]]]
H = TypeVar("H", bound=Handler)
CLAIM_MAX = 64  # tasks of one claim
log = logging.getLogger("wopr_client.worker")


def given(**members: Any) -> Json:
    """The members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


class TaskFailure(WoprError):
    """Raised by a handler: the node fails with this code.  ``retryable=False``: whatever its retry policy says."""

    def __init__(self, code: str, message: str, *, retryable: bool = True, details: Optional[Json] = None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.details = details


class TaskOver(BaseException):
    """Leaves a handler whose task is not its any more: it waits for an answer, was cancelled, or another worker has it.

    Not an Exception, so that a handler's ``except Exception`` lets it pass.
    """


class Tasks:
    """The routes of tasks, as the worker below uses them.  Times in milliseconds, as on the wire."""

    def __init__(self, transport: Transport):
        self._call = transport.call

    def claim(self, types: List[str], *, max: int = 1, lease_ms: int = 30_000, wait_ms: int = 20_000, worker: Optional[str] = None) -> wire.ClaimAnswer:
        body = given(types=types, max=max, leaseMs=lease_ms, waitMs=wait_ms, worker=worker)
        return cast(wire.ClaimAnswer, self._call("claimTasks", body=body, held=wait_ms / 1000))

    def heartbeat(self, task_id: str, epoch: int, *, lease_ms: Optional[int] = None, timeout: Optional[float] = None) -> wire.HeartbeatAnswer:
        body = given(epoch=epoch, leaseMs=lease_ms)
        return cast(wire.HeartbeatAnswer, self._call("heartbeatTask", path={"taskId": task_id}, body=body, timeout=timeout))

    def complete(self, task_id: str, epoch: int, output: Mapping[str, Any]) -> wire.TaskSaid:
        body = {"epoch": epoch, "output": dict(output)}
        return cast(wire.TaskSaid, self._call("completeTask", path={"taskId": task_id}, body=body, repeatable=True))

    def fail(self, task_id: str, epoch: int, code: str, message: str, *, retryable: bool = True, details: Optional[Json] = None) -> wire.TaskSaid:
        body = {"epoch": epoch, "error": given(code=code, message=message, details=details), "retryable": retryable}
        return cast(wire.TaskSaid, self._call("failTask", path={"taskId": task_id}, body=body, repeatable=True))

    def ask(self, task_id: str, epoch: int, kind: str, data: Mapping[str, Any], *, resume_schema: Optional[Json] = None,
            timeout_ms: Optional[int] = None) -> wire.TaskSaid:
        body = given(epoch=epoch, kind=kind, data=dict(data), resumeSchema=resume_schema, timeoutMs=timeout_ms)
        return cast(wire.TaskSaid, self._call("askTask", path={"taskId": task_id}, body=body, repeatable=True))

    def emit(self, task_id: str, epoch: int, *, chunks: Optional[List[Json]] = None, progress: Optional[Json] = None,
             number: Optional[int] = None) -> wire.TaskSaid:
        """number: 1, 2, 3, ... within the lease, one call after the other; without it a repeated call may append twice."""
        body = given(epoch=epoch, chunks=chunks, progress=progress, number=number)
        return cast(wire.TaskSaid, self._call("emitTask", path={"taskId": task_id}, body=body, repeatable=True))


class WorkerTypes:
    def __init__(self, transport: Transport):
        self._call = transport.call

    def register(self, type_id: str, *, input_schema: Optional[Json] = None, output_schema: Optional[Json] = None,
                 description: Optional[str] = None) -> wire.WorkerType:
        """May be repeated; other schemas replace those that were there."""
        body = given(typeId=type_id, inputSchema=input_schema, outputSchema=output_schema, description=description)
        return cast(wire.WorkerType, self._call("registerWorkerType", body=body, repeatable=True))

    def list(self, *, limit: Optional[int] = None, after: Optional[str] = None) -> wire.WorkerTypeList:
        """One page, by id."""
        return cast(wire.WorkerTypeList, self._call("listWorkerTypes", query=given(limit=limit, after=after)))

    def list_all(self, *, limit: Optional[int] = None) -> Iterator[wire.WorkerType]:
        after: Optional[str] = None
        while True:
            page = self.list(limit=limit, after=after)
            yield from page["workerTypes"]
            after = page.get("nextAfter")
            if after is None:
                return

    def remove(self, type_id: str) -> wire.WorkerTypeRemoved:
        return cast(wire.WorkerTypeRemoved, self._call("removeWorkerType", path={"typeId": type_id}))


class TaskContext:
    """One task, as its handler sees it."""

    def __init__(self, tasks: Tasks, lease: wire.Task, lease_s: float, claimed_at: float):
        self._tasks, self._lease, self._lease_s = tasks, lease, lease_s
        self._until = claimed_at + lease["leaseMs"] / 1000
        self._questions = 0
        self._emits = 0
        self._emitting = threading.Lock()
        self._over = threading.Event()  # the host knows its end: nothing of it may be sent any more
        self._lost = threading.Event()  # the handler had better stop
        self._why = "the task is over"
        self.task_id, self.epoch = lease["taskId"], lease["epoch"]
        self.type_id, self.run_id = lease["typeId"], lease["runId"]
        self.workflow_id, self.node_id = lease["workflowId"], lease["nodeId"]
        #: Zero-based, of the node's retry policy.
        self.attempt = lease["attempt"]
        #: The same whenever this attempt is executed: hand it to whatever you call.
        self.idempotency_key = lease["idempotencyKey"]
        self.input: Json = lease["input"]
        self.config: Json = lease["config"]

    @property
    def cancelled(self) -> bool:
        """The task is not this worker's any more: its run was cancelled, its time is over, its lease was lost."""
        return self._lost.is_set()

    @property
    def is_over(self) -> bool:
        """Whether the host has ended the task, or this worker has reported its end."""
        return self._over.is_set()

    def check(self) -> None:
        """Leaves the handler when the task is cancelled: to be called in long loops."""
        if self.cancelled:
            raise TaskOver(self._why)

    def sleep(self, seconds: float) -> None:
        """Sleeps, but not beyond the end of the task."""
        self._lost.wait(seconds)
        self.check()

    def progress(self, percent: Optional[float] = None, message: Optional[str] = None) -> None:
        """Shows how far the task is, in the stream and the log of the run."""
        self._emit(progress=given(percent=percent, message=message))

    def chunk(self, text: str, *, is_last: Optional[bool] = None, meta: Optional[Json] = None) -> None:
        """Sends a piece of output to those who watch the run."""
        self._emit(chunks=[given(text=text, isLast=is_last, meta=meta)])

    def _emit(self, **what: Any) -> None:
        with self._emitting:  # the host takes numbers in their order
            self._emits += 1
            number = self._emits
            self._guarded(lambda: self._tasks.emit(self.task_id, self.epoch, number=number, **what))

    def ask(self, kind: Literal["approval", "clarification", "external-event", "custom"], data: Mapping[str, Any], *,
            resume_schema: Optional[Json] = None, timeout: Optional[float] = None) -> Any:
        """Asks a person, or another system.

        The first time the handler ends here; when there is an answer, it is entered again from its beginning, maybe in another
        worker, and the n-th call returns the n-th answer.
        """
        answers, nr = self._lease["answers"], self._questions
        self._questions += 1
        if nr < len(answers):
            return answers[nr].get("value")
        timeout_ms = None if timeout is None else int(timeout * 1000)
        self._guarded(lambda: self._tasks.ask(self.task_id, self.epoch, kind, data, resume_schema=resume_schema, timeout_ms=timeout_ms))
        self.end("the task waits for an answer")
        raise TaskOver(self._why)

    def _guarded(self, work: Callable[[], T]) -> T:
        """An answer of the host that the lease is gone ends the task."""
        if self.is_over:
            raise TaskOver(self._why)
        try:
            return work()
        except (LeaseLostError, NotFoundError) as error:
            self.end(str(error))
            raise TaskOver(self._why) from error

    def keep(self) -> None:
        """Renews the lease until the task is over."""
        while not self._over.wait(self._lease_s / 3):
            sent_at = time.monotonic()
            try:
                answer = self._guarded(lambda: self._tasks.heartbeat(self.task_id, self.epoch, lease_ms=int(self._lease_s * 1000),
                                                                     timeout=self._lease_s / 3))
            except TaskOver:
                return
            except WoprError as error:
                log.warning("heartbeat of %s: %s", self.task_id, error)
                # Another worker may have the task once its time is over, so stop by then.
                if time.monotonic() > self._until:
                    self._why = "the lease of the task could not be renewed"
                    self._lost.set()
                continue
            if answer["state"] == "cancelled":
                self.end("the task was cancelled: %s" % answer.get("reason", "no reason"))
            else:
                self._until = sent_at + self._lease_s

    def end(self, why: str) -> None:
        """No heartbeat, no report after this."""
        self._why = why
        self._over.set()
        self._lost.set()


class NodeHandler:
    def __init__(self, handler: Handler, description: Json):
        self.handler, self.description = handler, description


class Worker:
    """Executes tasks until it is stopped::

        worker = client.worker(concurrency=4)

        @worker.node("acme.greet")
        def greet(task):
            return {"greeting": "hello " + task.input["name"]}

        worker.run()  # SIGTERM and SIGINT stop it when its tasks are through
    """

    def __init__(self, transport: Transport, tasks: Tasks, worker_types: WorkerTypes, *, concurrency: int, lease: float, wait: float,
                 name: Optional[str], register: bool, give_up: float):
        if concurrency < 1:
            raise ValueError("concurrency must be at least 1")
        self._transport, self._tasks, self._worker_types = transport, tasks, worker_types
        self._concurrency, self._lease_s, self._wait_s = concurrency, lease, wait
        self._name = name or "%s/%d" % (socket.gethostname()[:64], os.getpid())
        self._register, self._give_up = register, give_up
        self._types: Dict[str, NodeHandler] = {}
        self._changed = threading.Condition()  # guards the active tasks
        self._active: List[TaskContext] = []
        self._stopping = threading.Event()
        self._leave_at: Optional[float] = None  # the time for tasks to finish is over

    def node(self, type_id: str, *, input_schema: Optional[Json] = None, output_schema: Optional[Json] = None,
             description: Optional[str] = None) -> Callable[[H], H]:
        """Decorates the function that executes nodes of this type."""
        def add(handler: H) -> H:
            described = given(input_schema=input_schema, output_schema=output_schema, description=description)
            self._types[type_id] = NodeHandler(handler, described)
            return handler

        return add

    def run(self) -> None:
        """Returns when the worker was stopped and its tasks are through; raises what no repeat can mend.

        In the main thread SIGTERM and SIGINT stop it; the second of them does not wait for tasks.
        """
        if not self._types:
            raise ValueError("a worker needs a node type")
        before: Dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                before[number] = signal.signal(number, self._signalled)
        try:
            self._loop()
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def stop(self, grace: Optional[float] = None) -> None:
        """Claims nothing more and lets the tasks finish; after ``grace`` seconds leaves them to other workers.  Does not wait."""
        self._stopping.set()
        if grace is not None:
            self._leave_at = time.monotonic() + grace

    def _signalled(self, *_: object) -> None:
        self.stop(0.0 if self._stopping.is_set() else None)

    def _loop(self) -> None:
        try:
            if self._register:
                self._register_types()
            failures = 0
            while not self._stopping.is_set():
                with self._changed:
                    free = self._concurrency - len(self._active)
                    if free <= 0:
                        self._changed.wait(1.0)  # a signal handler cannot notify
                        continue
                failures = self._claim(min(free, CLAIM_MAX), failures)
        finally:
            self._drain()

    def _register_types(self) -> None:
        for type_id, node in self._types.items():
            def register(type_id: str = type_id, node: NodeHandler = node) -> wire.WorkerType:
                return self._worker_types.register(type_id, **node.description)

            try:
                persist(self._transport.retry, float("inf"), self._stopping, register)
            except PermissionDeniedError:
                # A key that may only claim works for types that a deployment has registered.
                if all(known["typeId"] != type_id for known in self._worker_types.list_all(limit=200)):
                    raise

    def _claim(self, most: int, failures: int) -> int:
        """One claim; returns how many have failed in a row."""
        sent_at = time.monotonic()
        try:
            answer = self._tasks.claim(list(self._types), max=most, lease_ms=int(self._lease_s * 1000), wait_ms=int(self._wait_s * 1000),
                                       worker=self._name)
        except WoprError as error:
            if not is_temporary(error):
                raise
            log.warning("claim: %s", error)
            policy = self._transport.retry._replace(retry_after_max=float("inf"))
            self._stopping.wait(temporary_delay(policy, failures, error) or 0.0)
            return failures + 1
        for lease in answer["tasks"]:
            self._begin(TaskContext(self._tasks, lease, self._lease_s, sent_at))
        return 0

    def _begin(self, task: TaskContext) -> None:
        with self._changed:
            self._active.append(task)
        threading.Thread(target=task.keep, name="heartbeat " + task.task_id, daemon=True).start()
        threading.Thread(target=self._execute, args=(task,), name=task.task_id, daemon=True).start()

    def _execute(self, task: TaskContext) -> None:
        try:
            self._handle(task)
        except TaskOver as why:
            log.info("task %s: %s", task.task_id, why)
        except Exception:
            log.exception("task %s (%s, run %s, node %s)", task.task_id, task.type_id, task.run_id, task.node_id)
        finally:
            task.end("the task is over")
            with self._changed:
                self._active.remove(task)
                self._changed.notify_all()

    def _handle(self, task: TaskContext) -> None:
        try:
            output = self._types[task.type_id].handler(task)
        except TaskFailure as failure:
            self._fail(task, failure.code, failure.message, failure.retryable, failure.details)
            return
        except Exception as error:
            log.exception("task %s (%s, run %s, node %s)", task.task_id, task.type_id, task.run_id, task.node_id)
            self._fail(task, "worker_error", str(error) or type(error).__name__, True, None)
            return
        try:
            self._send(task, lambda: self._tasks.complete(task.task_id, task.epoch, output or {}))
        except (InvalidRequestError, TypeError, ValueError) as error:
            # What is no JSON, or what the host does not take this time, it will not take the next.
            details = error.details if isinstance(error, InvalidRequestError) else None
            self._fail(task, "invalid_output", str(error), False, details)

    def _fail(self, task: TaskContext, code: str, message: str, retryable: bool, details: Optional[Json]) -> None:
        self._send(task, lambda: self._tasks.fail(task.task_id, task.epoch, code, message, retryable=retryable, details=details))

    def _send(self, task: TaskContext, report: Callable[[], object]) -> None:
        """Sends the end of a task, unless the host knows of another."""
        if task.is_over:
            return
        try:
            persist(self._transport.retry, self._give_up, None, report)
        except (LeaseLostError, NotFoundError) as error:
            raise TaskOver(str(error)) from error

    def _drain(self) -> None:
        with self._changed:
            while self._active and (self._leave_at is None or time.monotonic() < self._leave_at):
                self._changed.wait(0.25)
            for task in self._active:
                task.end("the worker stops")
