"""How often, and after which pause, a request is repeated."""
from __future__ import annotations

import random
import threading
import time
from typing import Callable, NamedTuple, Optional, TypeVar

from .errors import ApiError, WoprError, is_temporary

T = TypeVar("T")


class RetryPolicy(NamedTuple):
    #: Attempts in all, the first included; 1 = never repeat.
    attempts: int = 5
    #: Seconds: the first pause; it doubles with each attempt.
    base: float = 0.25
    #: Seconds: the longest pause of our own choice.
    cap: float = 8.0
    #: Seconds.  A host that asks for a longer pause gets none: its refusal is raised at once.
    retry_after_max: float = 60.0


def backoff(policy: RetryPolicy, attempt: int) -> float:
    """The pause after the attempt with this number (from 0): half of it is fixed, half is chance, so that clients part."""
    whole = min(policy.cap, policy.base * float(2 ** min(attempt, 30)))
    return whole / 2 + random.random() * (whole / 2)


def temporary_delay(policy: RetryPolicy, attempt: int, error: Optional[BaseException]) -> Optional[float]:
    """The pause before another attempt, without a bound on attempts; None: the host asks for too long a one."""
    asked = (error.retry_after or 0.0) if isinstance(error, ApiError) else 0.0
    if asked > policy.retry_after_max:
        return None
    return asked + backoff(policy, 0 if asked > 0 else attempt)


def retry_delay(policy: RetryPolicy, attempt: int, error: BaseException) -> Optional[float]:
    """The pause before the request is repeated; None: it is not."""
    if attempt + 1 >= policy.attempts or not is_temporary(error):
        return None
    return temporary_delay(policy, attempt, error)


def persist(policy: RetryPolicy, give_up: float, stopped: Optional[threading.Event], work: Callable[[], T]) -> T:
    """What ``work`` returns, repeated for ``give_up`` seconds while its failures are temporary."""
    begun, attempt = time.monotonic(), 0
    while True:
        try:
            return work()
        except WoprError as error:
            delay = temporary_delay(policy, attempt, error) if is_temporary(error) else None
            if delay is None or time.monotonic() - begun + delay > give_up or (stopped is not None and stopped.is_set()):
                raise
            attempt += 1
            if stopped is None:
                time.sleep(delay)
            elif stopped.wait(delay):
                raise
