"""One request and its answer, repeated while that is safe and may help.

A Transport may be used by any number of threads; each request has a connection of its own, and connections are kept for the next.
"""
from __future__ import annotations

import email.utils
import http.client
import json
import re
import secrets
import socket
import ssl
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Union
from urllib.parse import quote, urlencode, urlsplit

from .errors import ApiError, RequestTimeoutError, TransportError, UnexpectedAnswerError, refusal_class
from .retry import RetryPolicy, retry_delay
from .wire import OPERATIONS

ApiKey = Union[None, str, Callable[[], str]]
IDLE_MAX = 16  # connections kept for the next request
IDLE_S = 20.0  # a host closes idle ones later
PIECE = 65536
VISIBLE_ASCII = re.compile(r"[\x21-\x7e]+")


def new_idempotency_key() -> str:
    """A key that no other call uses."""
    return secrets.token_hex(16)


def retry_after(headers: http.client.HTTPMessage, details: Mapping[str, Any]) -> Optional[float]:
    """Retry-After in seconds: a number, or (from proxies) a date."""
    ms = details.get("retryAfterMs")
    text: Optional[str] = headers.get("Retry-After")
    if isinstance(ms, (int, float)) and not isinstance(ms, bool) and ms >= 0:
        return ms / 1000.0
    if text is None:
        return None
    if text.isdigit():
        return float(text)
    date = email.utils.parsedate_tz(text)
    return None if date is None else max(0.0, email.utils.mktime_tz(date) - time.time())


def refusal(status: int, headers: http.client.HTTPMessage, body: bytes) -> ApiError:
    """The error that a refused answer means."""
    text = body.decode("utf-8", "replace")
    try:
        envelope = json.loads(text)
    except ValueError:  # not from a host, but its status still means something
        envelope = {}
    if not isinstance(envelope, dict):
        envelope = {}
    details = envelope.get("details")
    details = details if isinstance(details, dict) else {}
    code = str(envelope.get("error") or "http_%d" % status)
    message = str(envelope.get("message") or text[:200] or http.client.responses.get(status, "refused"))
    kind = refusal_class(status, code)
    return kind(status, code, message, details, headers.get("X-Request-Id"), retry_after(headers, details))


def read_some(answer: http.client.HTTPResponse) -> bytes:
    """What has arrived, after waiting for one byte at least; empty at the orderly end."""
    if answer.length is None:  # in chunks, or up to the end of the connection
        return answer.read1(PIECE)
    # Some versions of read1 do not know where a body with a length ends, and wait for more.
    return answer.read(max(1, min(PIECE, len(answer.peek(1)))))


def is_framed(answer: http.client.HTTPResponse) -> bool:
    """Whether the end of the body can be told from a cut."""
    return answer.length is not None or bool(answer.chunked)


class Connection:
    """An HTTP connection whose reads and writes end at a deadline."""

    def __init__(self, http_connection: http.client.HTTPConnection):
        self._http = http_connection
        self._sock: Optional[socket.socket] = None  # http.client forgets it when the answer says that it is the last
        self._answer: Optional[http.client.HTTPResponse] = None
        self.used_at = 0.0  # 0: never

    def request(self, method: str, target: str, body: Optional[bytes], headers: Mapping[str, str]) -> None:
        self._http.request(method, target, body, dict(headers))
        self._sock = self._http.sock

    def answer(self) -> http.client.HTTPResponse:
        answer = self._answer = self._http.getresponse()
        # http.client takes a head that was cut for a shorter one: it lacks the length, and nothing follows.
        if not is_framed(answer) and answer.status not in (204, 304) and not answer.peek(1):
            raise http.client.IncompleteRead(b"")
        return answer

    def limit(self, seconds: float) -> None:
        """The next socket calls take so long at most."""
        self._http.timeout = seconds
        if self._sock is not None:
            self._sock.settimeout(seconds)

    def close(self) -> None:
        if self._answer is not None:
            self._answer.close()
        self._http.close()
        self._sock = None

    def cut(self) -> None:
        """From another thread: whoever reads is woken."""
        sock = self._sock
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Transport:
    def __init__(self, base_url: str, api_key: ApiKey = None, *, timeout: float = 30.0, retry: Optional[RetryPolicy] = None,
                 headers: Optional[Mapping[str, str]] = None, ssl_context: Optional[ssl.SSLContext] = None):
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("base_url must be an http or https URL: %r" % base_url)
        if isinstance(api_key, str) and not VISIBLE_ASCII.fullmatch(api_key):
            raise ValueError("api_key must be visible ASCII")
        self.base = base_url.rstrip("/")
        self.retry = retry or RetryPolicy()
        self.timeout = timeout
        self._api_key = api_key
        self._headers = dict(headers or {})
        self._https = parts.scheme == "https"
        self._host, self._port, self._prefix = parts.hostname, parts.port, parts.path.rstrip("/")
        self._ssl = ssl_context
        self._idle: List[Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    def connect(self) -> Connection:
        """A new connection; nothing is sent yet."""
        if self._https:
            context = self._ssl or ssl.create_default_context()
            return Connection(http.client.HTTPSConnection(self._host, self._port, context=context))
        return Connection(http.client.HTTPConnection(self._host, self._port))

    def _take(self) -> Connection:
        now = time.monotonic()
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if now - connection.used_at < IDLE_S:
                    return connection
                connection.close()
        return self.connect()

    def _keep(self, connection: Connection) -> None:
        connection.used_at = time.monotonic()
        with self._lock:
            if len(self._idle) < IDLE_MAX and not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Closes the connections; those of requests under way when they are through."""
        with self._lock:
            idle, self._idle, self._closed = self._idle, [], True
        for connection in idle:
            connection.close()

    def target(self, operation: str, path: Optional[Mapping[str, str]] = None, query: Optional[Mapping[str, Any]] = None) -> str:
        def fill(match: "re.Match[str]") -> str:
            value = (path or {}).get(match.group(1))
            if not isinstance(value, str) or not value:
                raise ValueError("%s: %s must be a string that is not empty" % (operation, match.group(1)))
            return quote(value, safe="")

        filled = self._prefix + re.sub(r"\{(\w+)\}", fill, OPERATIONS[operation].path)
        search = urlencode([(k, str(v).lower() if isinstance(v, bool) else v) for k, v in (query or {}).items() if v is not None])
        return filled + ("?" + search if search else "")

    def head(self, headers: Mapping[str, str], with_key: bool = True) -> Dict[str, str]:
        """The headers of a request: ours, the caller's, and the credential."""
        out = {**self._headers, **headers}
        if with_key and self._api_key is not None:
            out["Authorization"] = "Bearer " + (self._api_key if isinstance(self._api_key, str) else self._api_key())
        return out

    def _exchange(self, connection: Connection, operation: str, target: str, headers: Dict[str, str], body: Optional[bytes],
                  deadline: float) -> Any:
        def limit() -> None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise socket.timeout()
            connection.limit(left)

        limit()
        connection.request(OPERATIONS[operation].method, target, body, headers)
        limit()
        answer = connection.answer()
        framed, pieces = is_framed(answer), []
        if answer.length == 0:
            answer.read()  # which closes it; there is nothing to wait for
        while not answer.isclosed():
            limit()
            pieces.append(read_some(answer))
            if not pieces[-1]:
                break
        if answer.length:  # a body that was cut is only shorter
            raise http.client.IncompleteRead(b"", answer.length)
        text = b"".join(pieces)
        if answer.will_close:
            connection.close()
        else:
            self._keep(connection)
        if not 200 <= answer.status < 300:
            raise refusal(answer.status, answer.headers, text)
        if answer.status == 204:
            return None
        try:
            return json.loads(text)
        except ValueError as cause:
            if not framed:
                raise http.client.IncompleteRead(text) from cause
            raise UnexpectedAnswerError("%s: %d without JSON from %s" % (operation, answer.status, self.base)) from cause

    def _attempt(self, operation: str, target: str, headers: Dict[str, str], body: Optional[bytes], timeout: float) -> Any:
        deadline = time.monotonic() + timeout
        headers = self.head(headers)
        while True:
            connection = self._take()
            old = connection.used_at > 0
            try:
                return self._exchange(connection, operation, target, headers, body, deadline)
            except socket.timeout as cause:
                connection.close()
                raise RequestTimeoutError("%s: no answer within %g s" % (operation, timeout)) from cause
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as cause:
                connection.close()
                # The host may have closed a kept connection just before it was used again: a GET is sent again at once.
                if not (old and OPERATIONS[operation].method == "GET"):
                    raise TransportError("%s: %s" % (operation, cause)) from cause
            except (OSError, http.client.HTTPException) as cause:
                connection.close()
                raise TransportError("%s: %s" % (operation, cause or type(cause).__name__)) from cause

    def call(self, operation: str, *, path: Optional[Mapping[str, str]] = None, query: Optional[Mapping[str, Any]] = None,
             body: Any = None, headers: Optional[Mapping[str, str]] = None, idempotency_key: Optional[str] = None,
             repeatable: bool = False, held: float = 0.0, timeout: Optional[float] = None) -> Any:
        """The operation's answer.

        Repeated with the same Idempotency-Key while the failure is a temporary one and attempts are left.  ``repeatable``: the
        request has no key, but repeating it does no harm.  ``held``: the host may hold it so many seconds before it answers.
        """
        method, _, idempotent = OPERATIONS[operation]
        target = self.target(operation, path, query)
        sent = {"Accept": "application/json", **(headers or {})}
        if idempotent:
            sent["Idempotency-Key"] = idempotency_key or new_idempotency_key()
        payload = None
        if isinstance(body, bytes):
            payload = body
            sent["Content-Type"] = "application/gzip"
        elif method == "POST" or body is not None:
            payload = json.dumps({} if body is None else body, separators=(",", ":"), allow_nan=False).encode("utf-8")
            sent["Content-Type"] = "application/json"
        safe = method != "POST" or idempotent or repeatable
        attempt = 0
        while True:
            try:
                return self._attempt(operation, target, sent, payload, (self.timeout if timeout is None else timeout) + held)
            except (ApiError, TransportError) as error:
                delay = retry_delay(self.retry, attempt, error) if safe else None
                if delay is None:
                    raise
                attempt += 1
                time.sleep(delay)
