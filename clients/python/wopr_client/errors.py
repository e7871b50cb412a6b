"""What can go wrong, as types.

Every refusal of a host is an ApiError with the members of its envelope; a host that cannot be reached is a TransportError.
"""
from __future__ import annotations

from typing import Any, Dict, Optional, Type


class WoprError(Exception):
    """Base of everything that this package raises."""


class TransportError(WoprError):
    """No answer arrived: the connection failed, was cut, or took too long."""


class RequestTimeoutError(TransportError):
    """The attempt took longer than its time-out."""


class WaitTimeoutError(WoprError):
    """The run has not ended in the time that the caller gave it."""


class UnexpectedAnswerError(WoprError):
    """Bytes arrived that are not what a host sends: a proxy, or another program, answers at this address."""


class ApiError(WoprError):
    """The host refused the request."""

    def __init__(self, status: int, code: str, message: str, details: Optional[Dict[str, Any]] = None,
                 request_id: Optional[str] = None, retry_after: Optional[float] = None):
        super().__init__("%d %s: %s" % (status, code, message))
        self.status = status
        #: The envelope's ``error``: stable, for programs.
        self.code = code
        self.message = message
        self.details: Dict[str, Any] = details or {}
        #: Quote it in reports: the log of the host has the same value.
        self.request_id = request_id
        #: Seconds, from ``Retry-After``, when the host sent one.
        self.retry_after = retry_after


class InvalidRequestError(ApiError):
    """400, 413, 415: the request is not valid; ``details`` names the place."""


class AuthenticationError(ApiError):
    """401: the credential is missing, unknown, expired or revoked."""


class PermissionDeniedError(ApiError):
    """403: the credential lacks a scope."""


class NotFoundError(ApiError):
    """404: there is no such resource, or this credential does not see it."""


class ConflictError(ApiError):
    """409: the state does not allow it, or another request was first."""


class LeaseLostError(ConflictError):
    """409 ``task_lease_lost``: the task is over, or another worker has it."""


class GoneError(ApiError):
    """410: removed by retention, or the interrupt is over."""


class UnprocessableError(ApiError):
    """422: there is no such sequence, or the run does not take this answer any more."""


class RateLimitedError(ApiError):
    """429: too many requests."""


class ServerError(ApiError):
    """5xx: the host failed, is full, or shuts down."""


BY_STATUS: Dict[int, Type[ApiError]] = {
    400: InvalidRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    413: InvalidRequestError,
    415: InvalidRequestError,
    422: UnprocessableError,
    429: RateLimitedError,
}
TEMPORARY_STATUSES = frozenset((408, 429, 500, 502, 503, 504))


def refusal_class(status: int, code: str) -> Type[ApiError]:
    if code == "task_lease_lost":
        return LeaseLostError
    return BY_STATUS.get(status, ServerError if status >= 500 else ApiError)


def is_temporary(error: BaseException) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, TransportError):
        return True
    return isinstance(error, ApiError) and (error.status in TEMPORARY_STATUSES or error.code == "idempotency_in_flight")
