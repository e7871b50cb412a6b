"""The events of a run, as one sequence whatever happens to the connections below it.

Each event arrives once and in order; the sequence ends after the run's last event, or raises what no reconnect can mend.
"""
from __future__ import annotations

import http.client
import json
import threading
import time
from typing import Any, Callable, Dict, Generator, Generic, Iterator, List, NamedTuple, Optional, Sequence, TypeVar, cast

from .errors import AuthenticationError, RequestTimeoutError, TransportError, UnexpectedAnswerError, WoprError, is_temporary
from .retry import temporary_delay
from .sse import Frame, FrameDecoder
from .transport import PIECE, Connection, Transport, read_some, refusal

T = TypeVar("T")
TERMINAL_EVENTS = frozenset(("run.completed", "run.failed", "run.cancelled"))
TERMINAL_STATUSES = frozenset(("completed", "failed", "cancelled"))
LIVED_S = 5.0  # a connection that lived this long is no failed attempt, whatever ended it
TicketSource = Callable[[str], str]
OnReconnect = Callable[[Optional[BaseException], Optional[str]], None]


def is_terminal_status(status: str) -> bool:
    """Whether a run with this status has ended."""
    return status in TERMINAL_STATUSES


class StreamMessage(NamedTuple):
    #: The sequence of the event; of a batch, the highest.
    id: str
    #: The type of the event, or ``state.snapshot``, or ``ai.message.chunk``.
    event: str
    data: Any


def messages_of(frame: Frame) -> List[StreamMessage]:
    try:
        data = json.loads(frame.data)
    except ValueError as cause:
        raise UnexpectedAnswerError("event %s is no JSON" % frame.id) from cause
    if frame.event != "batch":
        return [StreamMessage(frame.id, frame.event, data)]
    return [StreamMessage(str(one["sequence"]), one["type"], one) for one in data]


def is_last(message: StreamMessage) -> bool:
    if message.event in TERMINAL_EVENTS:
        return True
    return message.event == "state.snapshot" and is_terminal_status(message.data["status"])


class RunStream(Iterator[StreamMessage]):
    """Iterate over it; ``close()``, from any thread, ends the iteration."""

    def __init__(self, transport: Transport, run_id: str, modes: Sequence[str], *, after: Optional[int] = None,
                 buffer_ms: Optional[int] = None, silence_max: float = 45.0, give_up: float = 300.0,
                 ticket: Optional[TicketSource] = None, on_reconnect: Optional[OnReconnect] = None):
        self._transport, self._run_id, self._modes = transport, run_id, ",".join(modes)
        self._buffer_ms, self._silence_max, self._give_up = buffer_ms, silence_max, give_up
        self._ask_ticket, self._on_reconnect = ticket, on_reconnect
        self._last = None if after is None else str(after)
        self._ticket: Optional[str] = None
        self._closed = threading.Event()
        self._connection: Optional[Connection] = None
        self._reconnected = False
        self._ended = False  # the run has: what is left is in the log, and the host closes after it
        self._heard_frame = False  # on the last connection
        self._failures = 0  # connections in a row that brought nothing
        self._stuck_since: Optional[float] = None  # since then no connection lived or brought anything new
        self._messages = self._run()

    def __next__(self) -> StreamMessage:
        return next(self._messages)

    def __enter__(self) -> "RunStream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._closed.set()
        connection = self._connection
        if connection is not None:
            connection.cut()

    def _run(self) -> Iterator[StreamMessage]:
        while not self._closed.is_set():
            why: Optional[WoprError] = None
            try:
                over = yield from self._connect_and_read()
                if over or self._is_over():
                    return
            except WoprError as error:
                why = error
            if self._closed.is_set():
                return
            self._rest(why)
            if self._on_reconnect and not self._closed.is_set():
                self._on_reconnect(why, self._last)

    def _connect_and_read(self) -> Generator[StreamMessage, None, bool]:
        """One connection, until it is over with the run (True), or closes (False).  Raises what ended it otherwise."""
        begun, heard, self._heard_frame = time.monotonic(), False, False
        connection = self._connection = self._transport.connect()
        try:
            answer = self._open(connection)
            if answer is None:
                return True  # how the holder of a ticket learns it
            frames = FrameDecoder(self._last or "")
            while not answer.isclosed() and not self._closed.is_set():
                piece = read_some(answer)
                if not piece:
                    break
                heard = True
                for frame in frames.push(piece):
                    self._heard_frame = True
                    over = yield from self._frame(frame)
                    if over:
                        return True
            return False
        except TimeoutError as cause:
            if heard:
                self._note_progress()  # our choice, not the host's failure
            raise RequestTimeoutError("stream: nothing arrived for %g s" % self._silence_max) from cause
        except (OSError, http.client.HTTPException) as cause:
            raise TransportError("stream: %s" % (cause or type(cause).__name__)) from cause
        finally:
            if heard and time.monotonic() - begun > LIVED_S:
                self._note_progress()
            self._connection = None
            connection.close()

    def _frame(self, frame: Frame) -> Generator[StreamMessage, None, bool]:
        # A resumed stream of values begins with the state that was sent last.
        repeated = self._reconnected and self._last is not None and int(frame.id) <= int(self._last)
        for message in messages_of(frame):
            if repeated:
                continue
            self._note_progress()
            yield message
            if is_last(message):
                return True
        self._last = frame.id
        return False

    def _note_progress(self) -> None:
        self._failures, self._stuck_since = 0, None

    def _open(self, connection: Connection) -> Optional[http.client.HTTPResponse]:
        """The answer with the stream; None: nothing is left of it."""
        headers = {"Accept": "text/event-stream"}
        if self._last is not None:
            headers["Last-Event-ID"] = self._last
        headers = self._transport.head(headers, self._ask_ticket is None)
        fresh = False
        while True:
            if self._ask_ticket is not None and (fresh or self._ticket is None):
                self._ticket = self._new_ticket(self._ask_ticket)
            query: Dict[str, Any] = {"streamMode": self._modes, "bufferMs": self._buffer_ms, "ticket": self._ticket}
            connection.limit(self._silence_max)
            target = self._transport.target("streamRunEvents", {"runId": self._run_id}, query)
            connection.request("GET", target, None, headers)
            connection.limit(self._silence_max)
            answer = connection.answer()
            if answer.status == 204:
                return None
            if answer.status == 200:
                if answer.headers.get_content_type() != "text/event-stream":
                    if not read_some(answer) and answer.length:
                        raise http.client.IncompleteRead(b"", answer.length)  # nor is it a whole head
                    raise UnexpectedAnswerError("stream: 200 that is no event stream")
                return answer
            refused = refusal(answer.status, answer.headers, answer.read(PIECE))
            # A ticket is good for minutes, the run may take weeks.
            if not isinstance(refused, AuthenticationError) or self._ask_ticket is None or fresh:
                raise refused
            connection.close()
            fresh = True

    def _new_ticket(self, ask: TicketSource) -> str:
        try:
            return ask(self._run_id)
        except WoprError:
            raise
        except Exception as cause:
            raise TransportError("stream: no ticket") from cause

    def _is_over(self) -> bool:
        """After an orderly end without a last event: is there nothing left?

        http.client takes some cuts for an orderly end, so the log is asked where there is a last event to wait for.
        """
        if self._closed.is_set():
            return True
        if self._ask_ticket is not None:
            return False  # 204 says so
        path = {"runId": self._run_id}
        if self._modes != "messages":
            left = self._transport.call("pollRunEvents", path=path, query={"lastSequence": self._last, "timeout": 1}, held=1.0)
            return bool(left["isComplete"]) and all(event["type"] not in TERMINAL_EVENTS for event in left["events"])
        if self._ended and not self._heard_frame:
            return True  # it had before this connection began, which brought nothing
        self._ended = is_terminal_status(self._transport.call("getRun", path=path)["status"])
        return False

    def _rest(self, why: Optional[WoprError]) -> None:
        """The pause before the next connection; raises what is not worth one."""
        self._reconnected = True
        if why is not None and not is_temporary(why):
            raise why
        now = time.monotonic()
        if self._stuck_since is None:
            self._stuck_since = now
        delay = temporary_delay(self._transport.retry, self._failures, why)
        self._failures += 1
        if delay is None or now - self._stuck_since + delay > self._give_up:
            raise why or TransportError("stream: connections end again and again before anything new arrives")
        self._closed.wait(0 if why is None and self._ended else delay)


class DataStream(Iterator[T], Generic[T]):
    """What the messages of a stream carry."""

    def __init__(self, stream: RunStream, view: Callable[[StreamMessage], T] = lambda message: cast(T, message.data)):
        self._stream, self._view = stream, view

    def __next__(self) -> T:
        return self._view(next(self._stream))

    def __enter__(self) -> "DataStream[T]":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._stream.close()
