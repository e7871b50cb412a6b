"""A host's operations as methods.  Each returns what the host answered: dictionaries, typed as in its OpenAPI document."""
from __future__ import annotations

import concurrent.futures
import ssl
import time
from typing import Any, Callable, Dict, Iterator, List, Literal, Mapping, NamedTuple, NotRequired, Optional, Sequence, Tuple, TypedDict, Unpack, cast

from . import wire
from .errors import WaitTimeoutError, WoprError
from .packs import Packs
from .retry import RetryPolicy, persist
from .stream import DataStream, OnReconnect, RunStream, StreamMessage, TicketSource, is_terminal_status
from .transport import ApiKey, Transport
from .webhooks import Webhooks
from .worker import Tasks, Worker, WorkerTypes
from .workspec import Workspec

BEYOND_EVERY_SEQUENCE = 2**53 - 1
BULK_AT_ONCE = 8  # requests of bulk_cancel under way at once


class CallOptions(TypedDict, total=False):
    """What every method takes besides its own arguments."""

    #: Seconds, of one attempt.
    timeout: Optional[float]


class ChangeOptions(CallOptions, total=False):
    #: Repeats with the same key have the effect once.  Default: a new one for each call.
    idempotency_key: Optional[str]


class StreamOptions(TypedDict, total=False):
    #: Begin after this sequence; absent: at the beginning.
    after: Optional[int]
    #: Collect events for so many ms on the host and send them together.
    buffer_ms: Optional[int]
    #: Seconds.  Without a byte for this long, the connection counts as dead and is made again.  Longer than the host's keep-alives
    #: (15 s, 30 s at most).  Default 45.
    silence_max: float
    #: Seconds.  Raise when the host could not be reached for this long.  Default 300.
    give_up: float
    #: Opens the stream with a ticket instead of the API key; asked for a new one whenever the last is refused.  A WoprError that it
    #: raises ends the stream; after anything else it is asked again.
    ticket: Optional[TicketSource]
    #: Called before each reconnect, with what ended the last connection (None: its orderly end) and the last id.
    on_reconnect: Optional[OnReconnect]


class MessageChunk(TypedDict):
    """A piece of text that a node puts out while it runs."""

    nodeId: str
    runId: str
    chunk: str
    isLast: bool
    sequence: int
    meta: NotRequired[Dict[str, Any]]


class RunState(wire.RunSnapshot):
    """The state of a run after the event with the sequence ``atSeq``."""

    atSeq: int


class BulkCancelResult(NamedTuple):
    run_id: str
    ok: bool
    status: Optional[str] = None
    error: Optional[WoprError] = None


Page = Tuple[List[Any], Optional[str]]


def pages(page: Callable[[Optional[str]], Page]) -> Iterator[Any]:
    cursor: Optional[str] = None
    while True:
        items, following = page(cursor)
        yield from items
        if following is None:
            return
        if following == cursor:
            raise WoprError("the list does not go on")
        cursor = following


def given(**members: Any) -> Dict[str, Any]:
    """The members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


class Discovery:
    def __init__(self, transport: Transport):
        self._call = transport.call

    def caller(self, **options: Unpack[CallOptions]) -> wire.Caller:
        """Whose credential the client has, and what it may do."""
        return cast(wire.Caller, self._call("getCaller", **options))

    def operations(self, *metrics: str, **options: Unpack[CallOptions]) -> wire.Operations:
        """Figures of the whole host: all, or these metrics.  For operators (scope host:read)."""
        return cast(wire.Operations, self._call("getOperations", query=given(metrics=",".join(metrics) or None), **options))

    def capabilities(self, **options: Unpack[CallOptions]) -> wire.Capabilities:
        """What the host can do."""
        return cast(wire.Capabilities, self._call("getCapabilities", **options))

    def index(self, **options: Unpack[CallOptions]) -> wire.HostIndex:
        return cast(wire.HostIndex, self._call("getIndex", **options))

    def openapi(self, **options: Unpack[CallOptions]) -> wire.OpenApiDocument:
        return cast(wire.OpenApiDocument, self._call("getOpenApiSpec", **options))


class Workflows:
    def __init__(self, transport: Transport):
        self._call = transport.call

    def get(self, workflow_id: str, **options: Unpack[CallOptions]) -> wire.WorkflowDefinition:
        return cast(wire.WorkflowDefinition, self._call("getWorkflow", path={"workflowId": workflow_id}, **options))

    def list(self, *, limit: Optional[int] = None, after: Optional[str] = None, **options: Unpack[CallOptions]) -> wire.WorkflowList:
        """One page, by id."""
        return cast(wire.WorkflowList, self._call("listWorkflows", query=given(limit=limit, after=after), **options))

    def list_all(self, *, limit: Optional[int] = None, **options: Unpack[CallOptions]) -> Iterator[wire.WorkflowSummary]:
        def page(after: Optional[str]) -> Page:
            got = self.list(limit=limit, after=after, **options)
            return got["workflows"], got.get("nextAfter")

        return pages(page)

    def check(self, definition: Mapping[str, Any], **options: Unpack[CallOptions]) -> wire.WorkflowCheck:
        """Says all that is wrong or strange in a definition; stores nothing."""
        return cast(wire.WorkflowCheck, self._call("checkWorkflow", body=definition, repeatable=True, **options))

    def put(self, definition: Mapping[str, Any], *, force: Optional[bool] = None, if_revision: Optional[int] = None,
            **options: Unpack[CallOptions]) -> wire.WorkflowStored:
        """Stores a definition under its id; runs keep the one that they began with.  ``if_revision``: only if this one is stored now
        (0: none); else ConflictError with ``details["revision"]``."""
        path, query = {"workflowId": definition["id"]}, given(force=force, ifRevision=if_revision)
        return cast(wire.WorkflowStored, self._call("putWorkflow", path=path, query=query, body=definition, **options))

    def delete(self, workflow_id: str, **options: Unpack[CallOptions]) -> wire.WorkflowDeleted:
        return cast(wire.WorkflowDeleted, self._call("deleteWorkflow", path={"workflowId": workflow_id}, **options))

    def versions(self, workflow_id: str, *, limit: Optional[int] = None, below: Optional[int] = None,
                 **options: Unpack[CallOptions]) -> wire.WorkflowVersions:
        """One page of what was stored under the id, newest first."""
        path, query = {"workflowId": workflow_id}, given(limit=limit, below=below)
        return cast(wire.WorkflowVersions, self._call("listWorkflowVersions", path=path, query=query, **options))

    def get_version(self, workflow_id: str, revision: int, **options: Unpack[CallOptions]) -> wire.WorkflowDefinition:
        path = {"workflowId": workflow_id, "revision": str(revision)}
        return cast(wire.WorkflowDefinition, self._call("getWorkflowVersion", path=path, **options))


class Sessions:
    """Sessions of agents that are led step by step over MCP: to be looked at, moved, and kept."""

    def __init__(self, transport: Transport):
        self._call = transport.call

    def list(
        self, *, limit: Optional[int] = None, below: Optional[int] = None, status: Optional[str] = None,
        health: Optional[str] = None, workflow_id: Optional[str] = None, **options: Unpack[CallOptions],
    ) -> wire.SessionList:
        """One page, the last changed first."""
        query = given(limit=limit, below=below, status=status, health=health, workflowId=workflow_id)
        return cast(wire.SessionList, self._call("listSessions", query=query, **options))

    def get(self, session_id: str, **options: Unpack[CallOptions]) -> wire.Session:
        return cast(wire.Session, self._call("getSession", path={"sessionId": session_id}, **options))

    def node(self, session_id: str, node_id: str, **options: Unpack[CallOptions]) -> wire.SessionNode:
        path = {"sessionId": session_id, "sessionNodeId": node_id}
        return cast(wire.SessionNode, self._call("getSessionNode", path=path, **options))

    def export(
        self, session_id: str, *, artifacts: Optional[bool] = None, salvage: Optional[bool] = None,
        **options: Unpack[CallOptions],
    ) -> wire.SessionBundle:
        query = given(artifacts=artifacts, salvage=salvage)
        return cast(wire.SessionBundle, self._call("exportSession", path={"sessionId": session_id}, query=query, **options))

    def import_(
        self, bundle: wire.SessionBundle, *, rename: Optional[bool] = None, **options: Unpack[CallOptions],
    ) -> wire.SessionImported:
        return cast(wire.SessionImported, self._call("importSession", body=bundle, query=given(rename=rename), **options))

    def workflows(self, **options: Unpack[CallOptions]) -> wire.SessionWorkflows:
        return cast(wire.SessionWorkflows, self._call("listSessionWorkflows", **options))

    def workflow(
        self, workflow_id: str, *, view: Optional[str] = None, hash: Optional[str] = None, **options: Unpack[CallOptions],
    ) -> wire.SessionWorkflow:
        path = {"sessionWorkflowId": workflow_id}
        return cast(wire.SessionWorkflow, self._call("getSessionWorkflow", path=path, query=given(view=view, hash=hash), **options))

    def builtins(self, **options: Unpack[CallOptions]) -> wire.SessionBuiltins:
        return cast(wire.SessionBuiltins, self._call("listSessionBuiltins", **options))

    def config(self, **options: Unpack[CallOptions]) -> wire.SessionConfig:
        return cast(wire.SessionConfig, self._call("getSessionConfig", **options))


class Agents:
    """Agents of the workspace: new runs go by what is stored when they start."""

    def __init__(self, transport: Transport):
        self._call = transport.call

    def get(self, agent_id: str, **options: Unpack[CallOptions]) -> wire.Agent:
        return cast(wire.Agent, self._call("getAgent", path={"agentId": agent_id}, **options))

    def list(self, *, limit: Optional[int] = None, after: Optional[str] = None, **options: Unpack[CallOptions]) -> wire.AgentList:
        """One page, by id."""
        return cast(wire.AgentList, self._call("listAgents", query=given(limit=limit, after=after), **options))

    def list_all(self, *, limit: Optional[int] = None, **options: Unpack[CallOptions]) -> Iterator[wire.AgentSummary]:
        def page(after: Optional[str]) -> Page:
            got = self.list(limit=limit, after=after, **options)
            return got["agents"], got.get("nextAfter")

        return pages(page)

    def check(self, definition: Mapping[str, Any], **options: Unpack[CallOptions]) -> wire.AgentCheck:
        """Says all that is wrong or strange in ``{"manifest": ..., "files": ...}``; stores nothing."""
        return cast(wire.AgentCheck, self._call("checkAgent", body=definition, repeatable=True, **options))

    def put(self, definition: Mapping[str, Any], *, if_revision: Optional[int] = None, **options: Unpack[CallOptions]) -> wire.AgentStored:
        """Stores ``{"manifest": ..., "files": ...}``; runs keep what they began with.  ``if_revision``: only if this one is stored now
        (0: none); else ConflictError with ``details["revision"]``."""
        path, query = {"agentId": definition["manifest"]["agentId"]}, given(ifRevision=if_revision)
        return cast(wire.AgentStored, self._call("putAgent", path=path, query=query, body=definition, **options))

    def delete(self, agent_id: str, *, if_revision: Optional[int] = None, **options: Unpack[CallOptions]) -> wire.AgentDeleted:
        query = given(ifRevision=if_revision)
        return cast(wire.AgentDeleted, self._call("deleteAgent", path={"agentId": agent_id}, query=query, **options))

    def of_run(self, run_id: str, **options: Unpack[CallOptions]) -> wire.RunAgents:
        """Those that a run was started with, and goes by."""
        return cast(wire.RunAgents, self._call("getRunAgents", path={"runId": run_id}, **options))

    def export(self, *, limit: Optional[int] = None, after: Optional[str] = None, **options: Unpack[CallOptions]) -> wire.AgentExport:
        """Manifests as packs have them."""
        return cast(wire.AgentExport, self._call("exportAgents", query=given(limit=limit, after=after), **options))


class NodeTypes:
    def __init__(self, transport: Transport):
        self._call = transport.call

    def list(self, *, limit: Optional[int] = None, after: Optional[str] = None, **options: Unpack[CallOptions]) -> wire.NodeTypeList:
        """One page: the first has all types of the host; those of workers follow by id."""
        return cast(wire.NodeTypeList, self._call("listNodeTypes", query=given(limit=limit, after=after), **options))

    def list_all(self, *, limit: Optional[int] = None, **options: Unpack[CallOptions]) -> Iterator[wire.NodeType]:
        def page(after: Optional[str]) -> Page:
            got = self.list(limit=limit, after=after, **options)
            return got["nodes"], got.get("nextAfter")

        return pages(page)

    def get(self, type_id: str, **options: Unpack[CallOptions]) -> wire.NodeType:
        """What a type is for, its configuration, an example."""
        return cast(wire.NodeType, self._call("getNodeType", path={"typeId": type_id}, **options))


class Runs:
    def __init__(self, transport: Transport):
        self._transport = transport
        self._call = transport.call

    def create(self, workflow_id: str, inputs: Optional[Mapping[str, Any]] = None, *, tags: Optional[Sequence[str]] = None,
               metadata: Optional[Mapping[str, Any]] = None, configurable: Optional[wire.Configurable] = None,
               scope_id: Optional[str] = None, callback_url: Optional[str] = None, dedup: Optional[Literal["enforce"]] = None,
               **options: Unpack[ChangeOptions]) -> wire.RunAccepted:
        """Starts a run.  ``dedup``: refuse it while another active run holds the same ``scope_id``."""
        body = given(workflowId=workflow_id, inputs=inputs, tags=None if tags is None else list(tags), metadata=metadata,
                     configurable=configurable, scopeId=scope_id, callbackUrl=callback_url)
        headers = {"X-Dedup": dedup} if dedup else {}
        return cast(wire.RunAccepted, self._call("createRun", body=body, headers=headers, **options))

    def get(self, run_id: str, **options: Unpack[CallOptions]) -> wire.RunSnapshot:
        return cast(wire.RunSnapshot, self._call("getRun", path={"runId": run_id}, **options))

    def debug_bundle(self, run_id: str, **options: Unpack[CallOptions]) -> wire.RunDebugBundle:
        """What is known of a run, in one document to hand on."""
        return cast(wire.RunDebugBundle, self._call("getDebugBundle", path={"runId": run_id}, **options))

    def list(self, *, tag: Optional[str] = None, status: Optional[wire.RunStatus] = None, workflow_id: Optional[str] = None,
             fork_of: Optional[str] = None, parent_run_id: Optional[str] = None, limit: Optional[int] = None,
             before: Optional[str] = None, **options: Unpack[CallOptions]) -> wire.RunList:
        """One page, newest first."""
        query = given(tag=tag, status=status, workflowId=workflow_id, forkOf=fork_of, parentRunId=parent_run_id, limit=limit, before=before)
        return cast(wire.RunList, self._call("listRuns", query=query, **options))

    def list_all(self, *, tag: Optional[str] = None, status: Optional[wire.RunStatus] = None, workflow_id: Optional[str] = None,
                 fork_of: Optional[str] = None, parent_run_id: Optional[str] = None, limit: Optional[int] = None,
                 **options: Unpack[CallOptions]) -> Iterator[wire.RunSummary]:
        """All runs that match, page by page."""
        def page(before: Optional[str]) -> Page:
            got = self.list(tag=tag, status=status, workflow_id=workflow_id, fork_of=fork_of, parent_run_id=parent_run_id, limit=limit,
                            before=before, **options)
            return got["runs"], got.get("nextBefore")

        return pages(page)

    def cancel(self, run_id: str, reason: Optional[str] = None, **options: Unpack[ChangeOptions]) -> wire.CancelAnswer:
        return cast(wire.CancelAnswer, self._call("cancelRun", path={"runId": run_id}, body=given(reason=reason), **options))

    def bulk_cancel(self, run_ids: Optional[Sequence[str]] = None, *, reason: Optional[str] = None, tag: Optional[str] = None,
                    workflow_id: Optional[str] = None, parent_run_id: Optional[str] = None, fork_of: Optional[str] = None,
                    **options: Unpack[CallOptions]) -> List[BulkCancelResult]:
        """Cancels many runs, a few at a time: those with these ids, or every unfinished run that the filter matches.

        One that cannot be cancelled does not stop the others.
        """
        filters = given(tag=tag, workflow_id=workflow_id, parent_run_id=parent_run_id, fork_of=fork_of)
        if (run_ids is None) == (not filters):
            raise ValueError("bulk_cancel takes run_ids, or a filter")
        if run_ids is None:
            found = self.list_all(tag=tag, workflow_id=workflow_id, parent_run_id=parent_run_id, fork_of=fork_of, limit=200, **options)
            run_ids = [run["runId"] for run in found if not is_terminal_status(run["status"])]

        def cancel(run_id: str) -> BulkCancelResult:
            try:
                return BulkCancelResult(run_id, True, self.cancel(run_id, reason, **options)["status"])
            except WoprError as error:
                return BulkCancelResult(run_id, False, error=error)

        with concurrent.futures.ThreadPoolExecutor(BULK_AT_ONCE) as threads:
            return [result for result in threads.map(cancel, dict.fromkeys(run_ids))]

    def pause(self, run_id: str, reason: Optional[str] = None, *, drain_policy: Optional[Literal["immediate", "drain-current-node"]] = None,
              **options: Unpack[ChangeOptions]) -> wire.PauseAnswer:
        body = given(reason=reason, drainPolicy=drain_policy)
        return cast(wire.PauseAnswer, self._call("pauseRun", path={"runId": run_id}, body=body, **options))

    def resume(self, run_id: str, reason: Optional[str] = None, **options: Unpack[ChangeOptions]) -> wire.ResumeAnswer:
        return cast(wire.ResumeAnswer, self._call("resumeRun", path={"runId": run_id}, body=given(reason=reason), **options))

    def fork(self, run_id: str, mode: wire.ForkMode, from_seq: Optional[int] = None, *, overlay: Optional[wire.ForkOverlay] = None,
             **options: Unpack[ChangeOptions]) -> wire.ForkAccepted:
        """Replays the run from a sequence on, or branches off there."""
        body = given(mode=mode, fromSeq=from_seq, runOptionsOverlay=overlay)
        return cast(wire.ForkAccepted, self._call("forkRun", path={"runId": run_id}, body=body, **options))

    def stream(self, run_id: str, modes: Sequence[Literal["updates", "values", "messages", "debug"]] = ("updates",),
               **options: Unpack[StreamOptions]) -> RunStream:
        """Any mode, or several together, with the name and the id of each event."""
        return RunStream(self._transport, run_id, modes, **options)

    def events(self, run_id: str, *, debug: bool = False, **options: Unpack[StreamOptions]) -> DataStream[wire.RunEventDoc]:
        """The events of a run until it has ended, over any number of connections.  ``debug``: all of them."""
        return DataStream(self.stream(run_id, ["debug" if debug else "updates"], **options))

    def values(self, run_id: str, **options: Unpack[StreamOptions]) -> DataStream[RunState]:
        """The state of a run after each of its events that changes it."""
        return DataStream(self.stream(run_id, ["values"], **options))

    def messages(self, run_id: str, **options: Unpack[StreamOptions]) -> DataStream[MessageChunk]:
        """What the nodes of a run say while they run."""
        def chunk(message: StreamMessage) -> MessageChunk:
            return cast(MessageChunk, {**message.data, "sequence": int(message.id)})

        return DataStream(self.stream(run_id, ["messages"], **options), chunk)

    def poll(self, run_id: str, last_sequence: Optional[int] = None, *, wait: int = 30, **options: Unpack[CallOptions]) -> wire.EventPage:
        """Long-poll: the events after ``last_sequence``, as soon as there are any, at most ``wait`` seconds later."""
        query = given(lastSequence=last_sequence, timeout=wait)
        return cast(wire.EventPage, self._call("pollRunEvents", path={"runId": run_id}, query=query, held=float(wait), **options))

    def wait(self, run_id: str, *, max_wait: Optional[float] = None, give_up: float = 300.0, **options: Unpack[CallOptions]) -> wire.RunSnapshot:
        """The state of the run when it has ended.

        ``max_wait``: raise a WaitTimeoutError after so many seconds; None: however long it takes.  It waits through restarts of the
        host of at most ``give_up`` seconds.
        """
        until = None if max_wait is None else time.monotonic() + max_wait
        while True:
            left = 30.0 if until is None else until - time.monotonic()
            if left <= 0:
                raise WaitTimeoutError("run %s has not ended within %g s" % (run_id, max_wait or 0))
            held = max(1, min(30, int(left + 0.999)))

            # Beyond the last sequence there is nothing to send, so the answer comes when the run ends.
            def poll() -> wire.EventPage:
                return self.poll(run_id, BEYOND_EVERY_SEQUENCE, wait=held, **options)

            if persist(self._transport.retry, give_up if until is None else min(give_up, left), None, poll)["isComplete"]:
                return self.get(run_id, **options)

    def stream_ticket(self, run_id: str, **options: Unpack[CallOptions]) -> wire.StreamTicket:
        """A ticket for one stream, to hand to a browser."""
        return cast(wire.StreamTicket, self._call("mintStreamTicket", path={"runId": run_id}, repeatable=True, **options))

    def definition(self, run_id: str, **options: Unpack[CallOptions]) -> wire.RunDefinition:
        """The definition that the run goes by, whatever was put since, and how long its log is."""
        return cast(wire.RunDefinition, self._call("getRunDefinition", path={"runId": run_id}, **options))

    def callbacks(self, run_id: str, *, limit: Optional[int] = None, after: Optional[int] = None) -> wire.RunCallbackList:
        """What came of the questions that the run sent to its callback URL: one page, by sequence."""
        return cast(wire.RunCallbackList, self._call("listRunCallbacks", path={"runId": run_id},
                                                     query=given(limit=limit, after=after)))


class Interrupts:
    def __init__(self, transport: Transport):
        self._call = transport.call

    def list(self, *, kind: Optional[str] = None, run_id: Optional[str] = None, owner_user_id: Optional[str] = None,
             limit: Optional[int] = None, cursor: Optional[str] = None, **options: Unpack[CallOptions]) -> wire.PendingInterruptList:
        """One page of what waits for an answer, oldest first."""
        query = given(kind=kind, runId=run_id, ownerUserId=owner_user_id, limit=limit, cursor=cursor)
        return cast(wire.PendingInterruptList, self._call("listInterrupts", query=query, **options))

    def list_all(self, *, kind: Optional[str] = None, run_id: Optional[str] = None, owner_user_id: Optional[str] = None,
                 limit: Optional[int] = None, **options: Unpack[CallOptions]) -> Iterator[wire.PendingInterrupt]:
        def page(cursor: Optional[str]) -> Page:
            got = self.list(kind=kind, run_id=run_id, owner_user_id=owner_user_id, limit=limit, cursor=cursor, **options)
            return got["interrupts"], got.get("nextCursor")

        return pages(page)

    def resolve(self, run_id: str, node_id: str, resume_value: Any, *, interrupt_id: Optional[str] = None,
                **options: Unpack[ChangeOptions]) -> wire.ResolveAnswer:
        """Answers the open interrupt of a node; with interrupt_id that one, and none that the node asks since (409)."""
        path, body = {"runId": run_id, "nodeId": node_id}, {"resumeValue": resume_value}
        query = given(interruptId=interrupt_id)
        return cast(wire.ResolveAnswer, self._call("resolveInterruptByRun", path=path, query=query, body=body, **options))

    def inspect_by_token(self, token: str, **options: Unpack[CallOptions]) -> wire.InterruptPayload:
        """What the holder of a token is asked."""
        return cast(wire.InterruptPayload, self._call("inspectInterruptByToken", path={"token": token}, **options))

    def resolve_by_token(self, token: str, resume_value: Any, **options: Unpack[ChangeOptions]) -> wire.ResolveAnswer:
        """Answers with a token as the authority."""
        body = {"resumeValue": resume_value}
        return cast(wire.ResolveAnswer, self._call("resolveInterruptByToken", path={"token": token}, body=body, **options))


class Artifacts:
    def __init__(self, transport: Transport):
        self._call = transport.call

    def get(self, run_id: str, artifact_id: str, **options: Unpack[CallOptions]) -> wire.Artifact:
        path = {"runId": run_id, "artifactId": artifact_id}
        return cast(wire.Artifact, self._call("getArtifact", path=path, **options))


class Audit:
    def __init__(self, transport: Transport):
        self._call = transport.call

    def verify(self, from_seq: Optional[int] = None, to_seq: Optional[int] = None, **options: Unpack[CallOptions]) -> wire.AuditReport:
        """Has the host compute the chain of its audit log again; ``toSeq`` of the answer says how far it came."""
        return cast(wire.AuditReport, self._call("verifyAuditLog", query=given(fromSeq=from_seq, toSeq=to_seq), **options))


class WoprClient:
    """A host, as seen with one API key.  May be used by any number of threads."""

    def __init__(self, base_url: str, api_key: ApiKey = None, *, timeout: float = 30.0, retry: Optional[RetryPolicy] = None,
                 headers: Optional[Mapping[str, str]] = None, ssl_context: Optional[ssl.SSLContext] = None):
        """``api_key``: a key, or a function that is asked for it before each attempt.  ``timeout``: seconds, of one attempt;
        long-polls have their own time on top."""
        transport = Transport(base_url, api_key, timeout=timeout, retry=retry, headers=headers, ssl_context=ssl_context)
        self._transport = transport
        self.discovery = Discovery(transport)
        self.workflows = Workflows(transport)
        self.agents = Agents(transport)
        self.sessions = Sessions(transport)
        self.node_types = NodeTypes(transport)
        self.runs = Runs(transport)
        self.interrupts = Interrupts(transport)
        self.artifacts = Artifacts(transport)
        self.audit = Audit(transport)
        self.tasks = Tasks(transport)
        self.worker_types = WorkerTypes(transport)
        self.webhooks = Webhooks(transport)
        self.packs = Packs(transport)
        self.workspec = Workspec(transport)

    def worker(self, *, concurrency: int = 1, lease: float = 30.0, wait: float = 5.0, name: Optional[str] = None,
               register: bool = True, give_up: float = 300.0) -> Worker:
        """A worker that executes nodes of this host in this program; see Worker.

        ``lease``: seconds; a task that gives no sign of life for this long is given to another worker.  ``wait``: seconds that one
        claim waits for tasks, and so how long a stop may take when there are none.  ``give_up``: seconds; how long the result of a
        task is sent again while the host cannot be reached.  ``register=False``: another program registers the types.
        """
        return Worker(self._transport, self.tasks, self.worker_types, concurrency=concurrency, lease=lease, wait=wait, name=name,
                      register=register, give_up=give_up)

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> "WoprClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
