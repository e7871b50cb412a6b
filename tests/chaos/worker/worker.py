#!/usr/bin/env python3
"""The Python client's worker as a process of its own, which keeps the same journal as worker.c and kills itself in the same places.

usage: worker.py CLIENT_FOLDER PORTS JOURNAL NUMBER SEED HARM
"""
import logging
import os
import random
import signal
import struct
import sys
import threading
import time

sys.path.insert(0, sys.argv[1])
from wopr_client.errors import LeaseLostError  # noqa: E402
from wopr_client.retry import RetryPolicy  # noqa: E402
from wopr_client.transport import Connection, Transport  # noqa: E402
from wopr_client.worker import TaskFailure, Tasks, Worker, WorkerTypes  # noqa: E402

KEY = "hk_test_integration_key_0123456789abcdef"
HOSTS = 3
PORTS, JOURNAL, NUMBER, SEED, HARM = sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), sys.argv[6] == "1"
dice = random.Random(SEED)
journal = os.open(JOURNAL, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def record(*words):
    os.write(journal, (" ".join(str(w) for w in words) + " ;\n").encode())


def now_ms():
    return int(time.monotonic() * 1000)


def chance(one_in):
    return HARM and dice.randrange(one_in) == 0


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class AnyHost(Transport):
    """Dials a host that is up now: ports change with every start."""

    def connect(self):
        with open(PORTS, "rb") as f:
            up = [port for port in struct.unpack("%di" % HOSTS, f.read(4 * HOSTS)) if port]
        if up:
            self._port = dice.choice(up)
        return Connection(super().connect()._http)


class Recorded(Tasks):
    """What was said, and what the host said to it."""

    def claim(self, types, **more):
        answer = super().claim(types, **more)
        if chance(40):
            die()
        for t in answer["tasks"]:
            clear = str(t["input"].get("token", "")).startswith("chaos-canary-")
            record("lease", t["runId"], t["taskId"], t["nodeId"], t["epoch"], t["attempt"], t["idempotencyKey"], int(clear), now_ms())
        return answer

    def _said(self, verb, task_id, epoch, send):
        sent_ms = now_ms()
        if chance(24):  # while the answer is on its way, or just before
            threading.Timer(dice.random() * 0.03, die).start()
        try:
            answer = send()
        except LeaseLostError as lost:
            record("said", verb, task_id, epoch, 409, sent_ms)
            if "state" not in lost.details or "epoch" not in lost.details:
                record("wrong", verb, task_id, "a refusal without state and epoch")
            raise
        if chance(40):
            die()
        record("said", verb, task_id, epoch, 200, sent_ms)
        return answer

    def complete(self, task_id, epoch, output):
        return self._said("complete", task_id, epoch, lambda: super(Recorded, self).complete(task_id, epoch, output))

    def fail(self, task_id, epoch, *what, **more):
        return self._said("fail", task_id, epoch, lambda: super(Recorded, self).fail(task_id, epoch, *what, **more))

    def ask(self, task_id, epoch, *what, **more):
        return self._said("ask", task_id, epoch, lambda: super(Recorded, self).ask(task_id, epoch, *what, **more))

    def emit(self, task_id, epoch, **what):
        record("emits", task_id, epoch)
        return self._said("emit", task_id, epoch, lambda: super(Recorded, self).emit(task_id, epoch, **what))


def work(task):
    token = "%s:%d:%s" % (task.task_id, task.epoch, NUMBER)
    if chance(12):
        die()
    if chance(12):
        time.sleep(dice.random() * 2)  # heartbeats go on meanwhile
    if chance(12):
        raise TaskFailure("dice", "m")
    if chance(6):
        task.chunk(token)
    record("effect", task.task_id, task.epoch)
    if chance(20):
        die()
    if task.type_id == "chaos.ask":
        task.ask("approval", {"artifactId": "a", "artifactType": "t", "title": "?", "actions": ["accept", "reject"]})
    return {"by": token}


def main():
    logging.basicConfig(level=logging.CRITICAL)  # hosts that are down are no news
    transport = AnyHost("http://127.0.0.1:1", KEY, timeout=3.0, retry=RetryPolicy(attempts=50, base=0.02, cap=0.2))
    worker = Worker(transport, Recorded(transport), WorkerTypes(transport), concurrency=2, lease=1.5, wait=0.5, name="python-" + NUMBER,
                    register=False, give_up=20.0)
    worker.node("chaos.step")(work)
    worker.node("chaos.ask")(work)
    try:
        worker.run()
    except Exception as error:  # nothing that hosts do may end it
        record("wrong", type(error).__name__, str(error).replace("\n", " ")[:300])


main()
