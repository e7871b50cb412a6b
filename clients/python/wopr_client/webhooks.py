"""Webhooks: registering them, and checking what they deliver."""
from __future__ import annotations

import hashlib
import hmac
import time
from typing import Iterator, List, Mapping, Optional, cast

from . import wire
from .transport import Transport
from .worker import given

TOLERANCE = 300  # seconds between the sender's clock and ours


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes, *, tolerance: int = TOLERANCE,
                   now: Optional[float] = None) -> bool:
    """Was this delivery signed with the secret, not longer ago than tolerance?  ``body``: the bytes as they came."""
    sent = {name.lower(): value for name, value in headers.items()}
    stamp = sent.get("x-openwop-timestamp", "")
    if sent.get("x-openwop-signature-algorithm") != "v1" or not (stamp.isascii() and stamp.isdigit() and len(stamp) < 16):
        return False
    if abs((time.time() if now is None else now) - int(stamp)) > tolerance:
        return False
    want = hmac.new(secret.encode("utf-8"), stamp.encode("ascii") + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(("sha256=" + want).encode("ascii"), sent.get("x-openwop-signature", "").encode("utf-8"))


class Webhooks:
    def __init__(self, transport: Transport):
        self._call = transport.call

    def register(self, url: str, events: List[str], *, tags: Optional[List[str]] = None, secret: Optional[str] = None,
                 idempotency_key: Optional[str] = None) -> wire.WebhookRegistered:
        """The answer is the only place that shows the secret."""
        body = given(url=url, events=events, tags=tags, secret=secret)
        return cast(wire.WebhookRegistered, self._call("registerWebhook", body=body, idempotency_key=idempotency_key))

    def unregister(self, webhook_id: str) -> None:
        self._call("unregisterWebhook", path={"webhookId": webhook_id})

    def get(self, webhook_id: str) -> wire.Webhook:
        return cast(wire.Webhook, self._call("getWebhook", path={"webhookId": webhook_id}))

    def list(self, *, limit: Optional[int] = None, after: Optional[int] = None) -> wire.WebhookList:
        """One page, oldest first."""
        return cast(wire.WebhookList, self._call("listWebhooks", query=given(limit=limit, after=after)))

    def list_all(self, *, limit: Optional[int] = None) -> Iterator[wire.Webhook]:
        after: Optional[int] = None
        while True:
            page = self.list(limit=limit, after=after)
            yield from page["webhooks"]
            after = page.get("nextAfter")
            if after is None:
                return

    def dead_letters(self, webhook_id: str, *, limit: Optional[int] = None,
                     below: Optional[int] = None) -> wire.WebhookDeadLetters:
        """One page, newest first."""
        return cast(wire.WebhookDeadLetters, self._call("listWebhookDeadLetters", path={"webhookId": webhook_id},
                                                        query=given(limit=limit, below=below)))

    def retry(self, webhook_id: str) -> wire.WebhookRetried:
        """Delivers again what was given up, and what waits, now."""
        return cast(wire.WebhookRetried, self._call("retryWebhook", path={"webhookId": webhook_id}, repeatable=True))
