"""Client of WOPR, a durable workflow host: runs, streams that resume by themselves, interrupts, forks, workers.

Standard library only.  ``WoprClient(base_url, api_key)`` has the operations of a host as methods; see README.md.
"""
from .client import BulkCancelResult, MessageChunk, RunState, WoprClient
from .errors import (ApiError, AuthenticationError, ConflictError, GoneError, InvalidRequestError, LeaseLostError, NotFoundError,
                     PermissionDeniedError, RateLimitedError, RequestTimeoutError, ServerError, TransportError, UnexpectedAnswerError,
                     UnprocessableError, WaitTimeoutError, WoprError)
from .retry import RetryPolicy
from .stream import DataStream, RunStream, StreamMessage, is_terminal_status
from .transport import new_idempotency_key
from .webhooks import verify_webhook
from .worker import TaskContext, TaskFailure, TaskOver, Worker

__version__ = "0.1.0"
__all__ = ["ApiError", "AuthenticationError", "BulkCancelResult", "ConflictError", "DataStream", "GoneError", "InvalidRequestError",
           "LeaseLostError", "MessageChunk", "NotFoundError", "PermissionDeniedError", "RateLimitedError", "RequestTimeoutError",
           "RetryPolicy", "RunState", "RunStream", "ServerError", "StreamMessage", "TaskContext", "TaskFailure", "TaskOver", "TransportError", "UnexpectedAnswerError",
           "UnprocessableError", "WaitTimeoutError", "Worker", "WoprClient", "WoprError",
           "is_terminal_status", "new_idempotency_key", "verify_webhook"]
