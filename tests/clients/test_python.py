"""clients/python against a real host, over a proxy that does what networks do.  usage: test_python.py WOPR [unittest arguments]"""
import json
import logging
import os
import random
import subprocess
import sys
import threading
import time
import tomllib
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "clients", "python"))
import wopr_client  # noqa: E402
from world import World  # noqa: E402
from wopr_client import RetryPolicy, TaskFailure, TaskOver, WoprClient  # noqa: E402
from wopr_client.sse import FrameDecoder  # noqa: E402

WORLD: World
STEP = int(os.environ.get("WOPR_CLIENT_STEP", "37"))  # 1: every byte
FAULTS_S = float(os.environ.get("WOPR_CLIENT_FAULTS_S", "3"))
QUICK = RetryPolicy(base=0.02, cap=0.1)


def setUpModule():
    logging.getLogger("wopr_client").addHandler(logging.NullHandler())
    logging.getLogger("wopr_client").propagate = False
    global WORLD
    WORLD = World(sys.argv[1], "--keepalive-ms", "200")


def tearDownModule():
    WORLD._close()


class Case(unittest.TestCase):
    def setUp(self):
        WORLD.calm()
        self.client = WoprClient(WORLD.url, WORLD.key, retry=QUICK)
        self.addCleanup(self.client.close)
        self.addCleanup(WORLD.calm)

    def other(self, key=None, **more):
        client = WoprClient(WORLD.url, key, **{"retry": QUICK, **more})
        self.addCleanup(client.close)
        return client

    def begin(self, workflow, inputs=None, **more):
        return self.client.runs.create(workflow, inputs, **more)["runId"]

    def whole(self, run_id, mode="updates"):
        """What an undisturbed stream of the ended run has."""
        WORLD.calm()
        with self.client.runs.stream(run_id, [mode]) as stream:
            return [(m.id, m.event) for m in stream]

    def lines(self, part):
        return [r for r in WORLD.seen() if part in r["line"]]


class Runs(Case):
    def test_a_run_from_its_start_to_its_end(self):
        made = self.client.runs.create("conformance-noop", {}, tags=["first"], metadata={"a": 1}, scope_id="s1",
                                       configurable={"recursionLimit": 5}, dedup="enforce")
        run = self.client.runs.wait(made["runId"], max_wait=20)
        self.assertEqual((run["status"], run["tags"], run["metadata"]), ("completed", ["first"], {"a": 1}))
        self.assertEqual(self.client.runs.get(made["runId"]), run)
        bundle = self.client.runs.debug_bundle(made["runId"])
        self.assertEqual((bundle["run"]["runId"], bundle["events"][-1]["type"]), (made["runId"], "run.completed"))
        page = self.client.runs.poll(made["runId"], wait=1)
        self.assertTrue(page["isComplete"])
        self.assertEqual(self.client.runs.poll(made["runId"], page["events"][0]["sequence"])["events"], page["events"][1:])

    def test_lists_go_on_page_by_page(self):
        ids = [self.begin("conformance-noop", tags=["paged"]) for _ in range(5)]
        self.assertEqual(len(self.client.runs.list(tag="paged", limit=2)["runs"]), 2)
        self.assertEqual([r["runId"] for r in self.client.runs.list_all(tag="paged", limit=2)], ids[::-1])

    def test_cancel_one_and_many(self):
        ids = [self.begin("conformance-cancellable", tags=["doomed"]) for _ in range(3)]
        self.assertIn(self.client.runs.cancel(ids[0], "no more")["status"], ("cancelling", "cancelled"))
        self.assertEqual(self.client.runs.wait(ids[0], max_wait=20)["status"], "cancelled")
        results = self.client.runs.bulk_cancel([ids[0], ids[1], "run_no"], reason="all")
        self.assertEqual([(r.run_id, r.ok) for r in results], [(ids[0], True), (ids[1], True), ("run_no", False)])
        self.assertIsInstance(results[2].error, wopr_client.NotFoundError)
        self.assertEqual([r.run_id for r in self.client.runs.bulk_cancel(tag="doomed") if r.run_id == ids[2]], [ids[2]])
        self.assertEqual(self.client.runs.wait(ids[2], max_wait=20)["status"], "cancelled")
        self.assertRaises(ValueError, self.client.runs.bulk_cancel)

    def test_pause_and_resume(self):
        run = self.begin("ticks")
        self.assertEqual(self.client.runs.pause(run, drain_policy="immediate")["status"], "paused")
        self.assertRaises(wopr_client.WaitTimeoutError, self.client.runs.wait, run, max_wait=0.3)
        self.assertEqual(self.client.runs.resume(run, "go on")["status"], "running")
        self.assertEqual(self.client.runs.wait(run, max_wait=20)["status"], "completed")

    def test_fork(self):
        run = self.begin("conformance-noop")
        self.client.runs.wait(run, max_wait=20)
        replay = self.client.runs.fork(run, "replay")
        self.assertEqual(self.client.runs.wait(replay["runId"], max_wait=20)["fork"]["sourceRunId"], run)
        branch = self.client.runs.fork(run, "branch", 1, overlay={"tags": ["other"]})
        self.assertEqual(self.client.runs.get(branch["runId"])["tags"], ["other"])
        with self.assertRaises(wopr_client.ApiError) as caught:
            self.client.runs.fork(run, "replay", 4711)
        self.assertEqual(caught.exception.status, 422)
        self.assertIsInstance(caught.exception, wopr_client.UnprocessableError)

    def test_what_there_is_to_read(self):
        self.assertEqual(self.client.discovery.capabilities()["protocolVersion"], "1.0")
        self.assertEqual(self.client.discovery.index()["name"], "wopr")
        self.assertIn("/v1/runs", self.client.discovery.openapi()["paths"])
        self.assertEqual(self.client.workflows.get("ticks")["id"], "ticks")
        self.assertTrue(self.client.audit.verify(0)["chainValid"])
        self.assertRaises(wopr_client.NotFoundError, self.client.artifacts.get, self.begin("conformance-noop"), "none")

    def test_agents_come_and_go(self):
        manifest = {"agentId": "local.desk.clerk", "persona": "Clerk", "modelClass": "general", "systemPrompt": "Be kind."}
        agents = self.client.agents
        self.assertTrue(agents.check({"manifest": manifest})["valid"])
        self.assertFalse(agents.check({"manifest": {**manifest, "modelClass": "chat"}})["valid"])
        WORLD.lose("PUT /v1", 1)
        stored = agents.put({"manifest": manifest}, if_revision=0)
        with self.assertRaises(wopr_client.ConflictError) as caught:
            agents.put({"manifest": {**manifest, "persona": "Other"}}, if_revision=0)
        self.assertEqual(caught.exception.details["revision"], stored["revision"])
        self.assertEqual(agents.get("local.desk.clerk")["definition"]["manifest"], manifest)
        self.assertIn("local.desk.clerk", [a["agentId"] for a in agents.list_all(limit=1)])
        self.assertIn(manifest, agents.export()["manifests"])
        self.assertEqual(agents.of_run(self.begin("conformance-noop"))["agents"], {})
        self.assertTrue(agents.delete("local.desk.clerk", if_revision=stored["revision"])["deleted"])
        self.assertRaises(wopr_client.NotFoundError, agents.get, "local.desk.clerk")

    def test_workflows_come_and_go(self):
        ticks = self.client.workflows.get("ticks")
        mine = {**ticks, "id": "mine"}
        self.assertTrue(self.client.workflows.check(mine)["valid"])
        wrong = {**mine, "edges": [{"id": "e", "sourceNodeId": "t0", "targetNodeId": "t99"}]}
        self.assertFalse(self.client.workflows.check(wrong)["valid"])
        self.assertRaises(wopr_client.InvalidRequestError, self.client.workflows.put, wrong)
        WORLD.lose("PUT /v1", 1)
        self.assertEqual(self.client.workflows.put(mine)["revision"], 1)
        self.assertEqual(self.client.workflows.put({**mine, "name": "Mine"}, force=True)["result"], "updated")
        self.assertEqual([v["revision"] for v in self.client.workflows.versions("mine")["versions"]], [2, 1])
        self.assertEqual(self.client.workflows.get_version("mine", 1)["name"], ticks["name"])
        self.assertIn("mine", [w["workflowId"] for w in self.client.workflows.list_all(limit=1)])
        self.assertTrue(self.client.workflows.delete("mine")["deleted"])
        self.assertRaises(wopr_client.NotFoundError, self.client.workflows.get, "mine")
        self.assertIn("core.delay", [t["typeId"] for t in self.client.node_types.list()["nodes"]])
        self.assertIn("example", self.client.node_types.get("core.delay"))

    def test_webhooks_come_and_go(self):
        WORLD.lose("POST /v1/webhooks", 1)
        made = self.client.webhooks.register("https://subscriber.invalid/hook", ["run.completed"], tags=["a"])
        self.assertEqual(len(made["secret"]), 64)
        self.assertEqual([h["webhookId"] for h in self.client.webhooks.list_all(limit=1)], [made["webhookId"]])
        self.assertEqual(self.client.webhooks.get(made["webhookId"])["state"], "closed")
        self.assertEqual(self.client.webhooks.dead_letters(made["webhookId"])["deliveries"], [])
        self.assertEqual(self.client.webhooks.retry(made["webhookId"])["queued"], 0)
        self.client.webhooks.unregister(made["webhookId"])
        self.assertRaises(wopr_client.NotFoundError, self.client.webhooks.get, made["webhookId"])

    def test_deliveries_are_verified(self):
        body, secret = b'{"a":1}', "ab" * 32
        headers = {"X-openwop-Timestamp": "1700000000", "X-openwop-Signature-Algorithm": "v1",
                   "X-openwop-Signature": "sha256=c1358124b3a94733bcf78018138779e2b252e542185db6079095ee4b3c5356c6"}
        self.assertTrue(wopr_client.verify_webhook(secret, headers, body, now=1700000299))
        for wrong in ({"now": 1700000301}, {"now": 1699999699}, {"body": body + b" "}, {"secret": "ba" * 32},
                      {"headers": {**headers, "X-openwop-Signature": "sha256=" + "0" * 64}},
                      {"headers": {**headers, "X-openwop-Signature": "\u00e9"}}, {"headers": {}}):
            asked = {"secret": secret, "headers": headers, "body": body, "now": 1700000000, **wrong}
            self.assertFalse(wopr_client.verify_webhook(asked.pop("secret"), asked.pop("headers"), asked.pop("body"), **asked))

    def test_every_operation_has_a_method(self):
        source = ""
        folder = os.path.dirname(wopr_client.__file__)
        for name in os.listdir(folder):
            if name.endswith(".py") and name != "wire.py":
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    source += f.read()
        aliases = {"cancelRunAlias", "resolveApprovalAlias", "getPackIndex"}
        aliases |= {"callMcp", "getResourceMetadata", "getHostResourceMetadata"}  # clients of MCP speak these
        missing = [o for o in wopr_client.wire.OPERATIONS if o not in aliases and '"%s"' % o not in source]
        self.assertEqual(missing, [], "no method calls these: write it in clients/python/wopr_client/client.py")


class Package(unittest.TestCase):
    def test_the_version_is_one(self):
        clients = os.path.join(os.path.dirname(wopr_client.__file__), "..", "..")
        with open(os.path.join(clients, "python", "pyproject.toml"), "rb") as f:
            self.assertEqual(tomllib.load(f)["project"]["version"], wopr_client.__version__)
        for name in ("package.json", "package-lock.json"):
            with open(os.path.join(clients, "typescript", name), "rb") as f:
                self.assertEqual(json.load(f)["version"], wopr_client.__version__)

    def test_tools_of_the_package_are_those_of_the_tests(self):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        wanted = set()
        for path in ("clients/typescript", "tests/openapi"):
            with open(os.path.join(root, path, "package.json"), "rb") as f:
                wanted.add(json.load(f)["devDependencies"]["typescript"])
        self.assertEqual(len(wanted), 1)


class Interrupts(Case):
    def test_list_and_resolve(self):
        run = self.begin("conformance-clarification")
        pending = self.waiting(run)
        self.assertEqual((pending["kind"], pending["nodeId"]), ("clarification", "ask"))
        answer = self.client.interrupts.resolve(run, "ask", {"answers": {"q1": "blue"}})
        self.assertEqual(answer["interruptId"], pending["interruptId"])
        with self.assertRaises(wopr_client.ConflictError):
            self.client.interrupts.resolve(run, "ask", {"answers": {"q1": "red"}})
        self.assertEqual(self.client.runs.wait(run, max_wait=20)["status"], "completed")

    def test_a_token_is_enough(self):
        run = self.begin("conformance-interrupt-external-event")
        self.waiting(run)
        token = self.client.runs.get(run)["interrupt"]["interruptToken"]
        with WoprClient(WORLD.url, retry=QUICK) as stranger:
            self.assertEqual(stranger.interrupts.inspect_by_token(token)["kind"], "external-event")
            self.assertRaises(wopr_client.UnprocessableError, stranger.interrupts.resolve_by_token, token, {"orderId": "other"})
            stranger.interrupts.resolve_by_token(token, {"orderId": "fixture-order-1", "status": "completed"})
        self.assertEqual(self.client.runs.wait(run, max_wait=20)["status"], "completed")

    def waiting(self, run):
        for _ in range(1500):
            found = list(self.client.interrupts.list_all(run_id=run))
            if found:
                self.assertEqual(self.client.interrupts.list(run_id=run, limit=1)["interrupts"][0]["interruptId"], found[0]["interruptId"])
                return found[0]
            time.sleep(0.02)
        self.fail("no interrupt")


class Errors(Case):
    def test_the_envelope_becomes_an_exception(self):
        with self.assertRaises(wopr_client.InvalidRequestError) as caught:
            self.client.runs.create("no-such-workflow")
        error = caught.exception
        self.assertEqual((error.status, error.code), (400, "validation_error"))
        self.assertTrue(error.request_id and error.message in str(error))
        self.assertTrue(error.details)

    def test_each_kind_has_its_class(self):
        self.assertRaises(wopr_client.AuthenticationError, self.other("hk_test_wrong").runs.list)
        reader = self.other(lambda: WORLD.make_key("runs:read")["key"])
        self.assertRaises(wopr_client.PermissionDeniedError, reader.runs.create, "ticks")
        self.assertRaises(wopr_client.NotFoundError, self.client.runs.get, "run_none")
        self.assertRaises(wopr_client.InvalidRequestError, self.client.runs.list, limit=0)
        run = self.begin("conformance-noop")
        self.client.runs.wait(run, max_wait=20)
        self.assertRaises(wopr_client.ConflictError, self.client.runs.pause, run)

    def test_no_host_at_all(self):
        nobody = WoprClient("http://127.0.0.1:1", "hk_x", retry=RetryPolicy(attempts=2, base=0.01))
        self.assertRaises(wopr_client.TransportError, nobody.runs.list)

    def test_another_program_at_the_address(self):
        WORLD.refuse("GET /v1/runs", 200, 1, {}, "<html>")
        self.assertRaises(wopr_client.UnexpectedAnswerError, self.client.runs.list)
        WORLD.refuse("GET /v1/runs", 403, 1, {}, "<html>blocked</html>")
        with self.assertRaises(wopr_client.PermissionDeniedError) as caught:
            self.client.runs.list()
        self.assertEqual(caught.exception.code, "http_403")

    def test_what_is_no_address_and_no_id(self):
        self.assertRaises(ValueError, WoprClient, "127.0.0.1:8080")
        self.assertRaises(ValueError, WoprClient, "http://127.0.0.1", "two words")
        self.assertRaises(ValueError, self.client.runs.get, "")


class Retries(Case):
    def test_a_pause_that_the_host_asks_for_is_made(self):
        WORLD.refuse("POST /v1/runs ", 503, 1, {"Retry-After": "1"})
        begun = time.monotonic()
        self.begin("conformance-noop")
        self.assertGreaterEqual(time.monotonic() - begun, 1.0)
        sent = self.lines("POST /v1/runs ")
        self.assertEqual(len(sent), 2)
        self.assertEqual(len({r["headers"]["idempotency-key"] for r in sent}), 1)

    def test_the_limit_of_a_real_host(self):
        world = World(sys.argv[1], "--key-rate", "5", "--key-burst", "5")
        self.addCleanup(world._close)
        client = WoprClient(world.url, world.key)
        asked = 0
        while len(world.seen()) == asked and asked < 500:  # until one was refused, and repeated
            client.runs.list()
            asked += 1
        self.assertGreater(len(world.seen()), asked)
        hasty = WoprClient(world.url, world.key, retry=RetryPolicy(attempts=1))
        self.addCleanup(client.close)
        self.addCleanup(hasty.close)
        with self.assertRaises(wopr_client.RateLimitedError) as caught:
            for _ in range(500):
                hasty.runs.list()
        self.assertGreater(caught.exception.retry_after, 0)

    def test_retries_are_bounded(self):
        WORLD.refuse("GET /v1/runs", 503, 99)
        self.assertRaises(wopr_client.ServerError, self.client.runs.list)
        self.assertEqual(len(self.lines("GET /v1/runs")), 5)
        WORLD.calm()
        WORLD.refuse("GET /v1/runs", 429, 99, {"Retry-After": "3600"})
        begun = time.monotonic()
        with self.assertRaises(wopr_client.RateLimitedError) as caught:
            self.client.runs.list()
        self.assertEqual((caught.exception.retry_after, len(self.lines("GET /v1/runs"))), (3600.0, 1))
        self.assertLess(time.monotonic() - begun, 60)  # of the hour

    def test_what_is_wrong_is_not_repeated(self):
        self.assertRaises(wopr_client.InvalidRequestError, self.client.runs.create, "no-such-workflow")
        self.assertEqual(len(self.lines("POST /v1/runs ")), 1)

    def test_a_lost_answer_has_its_effect_once(self):
        WORLD.lose("POST /v1/runs ", 2)
        run = self.begin("conformance-noop", tags=["lost"])
        self.assertEqual(len(self.lines("POST /v1/runs ")), 3)
        self.assertEqual([r["runId"] for r in self.client.runs.list(tag="lost")["runs"]], [run])

    def test_a_key_of_the_caller(self):
        first = self.begin("conformance-noop", idempotency_key="order-1")
        self.assertEqual(self.begin("conformance-noop", idempotency_key="order-1"), first)
        with self.assertRaises(wopr_client.ConflictError) as caught:
            self.begin("ticks", idempotency_key="order-1")
        self.assertEqual(caught.exception.code, "idempotency_key_conflict")

    def test_a_host_that_says_nothing(self):
        client = WoprClient(WORLD.url, WORLD.key, retry=RetryPolicy(attempts=1), timeout=3)
        self.addCleanup(client.close)
        client.runs.list()  # a connection that is kept
        WORLD.stall()
        self.assertRaises(wopr_client.RequestTimeoutError, client.runs.list)
        client.runs.list()  # over another

    def test_an_answer_that_is_cut(self):
        for _ in range(9):
            self.begin("conformance-noop", tags=["long"])
        WORLD.cut_after(600)
        client = WoprClient(WORLD.url, WORLD.key, retry=RetryPolicy(attempts=2, base=0.01))
        self.addCleanup(client.close)
        self.assertRaises(wopr_client.TransportError, client.runs.list, tag="long")

class Streams(Case):
    def test_every_mode(self):
        run = self.begin("ticks")
        updates = list(self.client.runs.events(run))
        self.assertEqual((updates[0]["type"], updates[-1]["type"]), ("run.started", "run.completed"))
        everything = list(self.client.runs.events(run, debug=True))
        self.assertEqual([e["sequence"] for e in everything], list(range(len(everything))))
        self.assertEqual(list(self.client.runs.events(run, debug=True, buffer_ms=500)), everything)
        self.assertEqual(list(self.client.runs.events(run, debug=True, after=7)), everything[8:])
        states = list(self.client.runs.values(run))
        self.assertEqual(states[-1]["status"], "completed")
        self.assertEqual(sorted({s["atSeq"] for s in states}), [s["atSeq"] for s in states])
        mixed = {m.event for m in self.client.runs.stream(run, ["updates", "debug"])}
        self.assertLessEqual({"run.started", "node.started", "run.completed"}, mixed)

    def test_what_a_node_says(self):
        tokens = {"mockProvider": {"id": "stream-text", "config": {"tokens": ["a", "b", "c"]}}}
        run = self.begin("conformance-stream-text", configurable=tokens)
        chunks = list(self.client.runs.messages(run))
        self.assertTrue(chunks and chunks[-1]["isLast"])
        self.assertEqual("".join(c["chunk"] for c in chunks), "abc")
        self.assertEqual(list(self.client.runs.messages(self.begin("conformance-noop"))), [])  # ends although nothing is said

    def test_nothing_is_lost_or_doubled_when_connections_are_cut(self):
        for mode in ("debug", "updates", "values"):
            with self.subTest(mode):
                run = self.begin("ticks")
                WORLD.cut_after(5000 if mode == "values" else 900)
                cuts = []
                with self.client.runs.stream(run, [mode], on_reconnect=lambda why, last: cuts.append(why)) as stream:
                    got = [(m.id, m.event) for m in stream]
                self.assertGreater(len(cuts), 2)
                self.assertEqual(got, self.whole(run, mode))

    def test_a_cut_at_any_byte_is_no_end(self):
        run = self.begin("conformance-noop")
        self.client.runs.wait(run, max_wait=20)
        whole, snapshot = self.whole(run), self.client.runs.get(run)
        for nr in range(1, 1200, STEP):
            WORLD.cut_after(nr, 1)
            self.assertEqual([(m.id, m.event) for m in self.client.runs.stream(run)], whole, "cut after %d bytes" % nr)
        for nr in range(1, 700, STEP):
            with WoprClient(WORLD.url, WORLD.key, retry=QUICK) as fresh:  # what a kept connection has brought already counts
                WORLD.cut_after(nr, 1)
                self.assertEqual(fresh.runs.get(run), snapshot, "cut after %d bytes" % nr)

    def test_a_connection_that_only_looks_alive(self):
        run = self.begin("ticks")
        got, cuts = [], []
        for event in self.client.runs.events(run, silence_max=0.5, on_reconnect=lambda why, last: cuts.append(why)):
            got.append((str(event["sequence"]), event["type"]))
            if len(got) == 3:
                WORLD.stall()
        self.assertEqual(got, self.whole(run))
        self.assertIsInstance(cuts[0], wopr_client.RequestTimeoutError)

    def test_kill_9_in_mid_stream(self):
        run = self.begin("ticks")
        got = []
        for event in self.client.runs.events(run, debug=True):
            got.append((str(event["sequence"]), event["type"]))
            if len(got) == 8:
                WORLD.kill()
                threading.Timer(0.5, WORLD.start).start()
        self.assertEqual(got, self.whole(run, "debug"))
        self.assertEqual(self.client.runs.get(run)["status"], "completed")

    def test_wait_goes_through_a_restart(self):
        run = self.begin("ticks")

        def restart():
            WORLD.kill()
            time.sleep(0.5)
            WORLD.start()

        threading.Timer(0.3, restart).start()
        self.assertEqual(self.client.runs.wait(run, max_wait=30)["status"], "completed")

    def test_faults_at_random_lose_and_double_nothing(self):
        runs = [self.begin("ticks") for _ in range(4)]
        got = {run: [] for run in runs}

        def follow(run):
            for event in self.client.runs.events(run, debug=True, silence_max=0.5):
                got[run].append((str(event["sequence"]), event["type"]))

        readers = [threading.Thread(target=follow, args=(run,)) for run in runs]
        with Faults(restarts=1) as faults:
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join(60)
        asked = len(self.lines("/events?"))
        for run in runs:
            self.assertEqual(got[run], self.whole(run, "debug"), faults)
        self.assertLessEqual(asked, len(runs) * (2 * len(faults.made) + 2), faults)

    def test_a_time_out_shorter_than_the_keep_alives(self):
        run = self.begin("conformance-cancellable", {"delayMs": 1500})
        cuts = []
        got = [e["type"] for e in self.client.runs.events(run, silence_max=0.1, on_reconnect=lambda why, last: cuts.append(why))]
        self.assertEqual(got[-1], "run.completed")
        self.assertEqual(len(got), len(set(got)))
        self.assertGreater(len(cuts), 3)

    def test_refusals_that_pass_and_those_that_do_not(self):
        run = self.begin("ticks")
        WORLD.refuse("/events", 503, 1, {"Retry-After": "1"})
        WORLD.refuse("/events", 502, 1)
        self.assertEqual(list(self.client.runs.events(run))[-1]["type"], "run.completed")
        self.assertEqual(len(self.lines("/events?")), 3)
        self.assertRaises(wopr_client.NotFoundError, list, self.client.runs.events("run_none"))
        self.assertRaises(wopr_client.InvalidRequestError, list, self.client.runs.stream(run, ["noise"]))
        WORLD.refuse("/events", 200, 1, {}, "{}")
        self.assertRaises(wopr_client.UnexpectedAnswerError, list, self.client.runs.events(run))

    def test_cuts_before_anything_new_arrives_are_not_borne_for_ever(self):
        run = self.begin("ticks")
        self.client.runs.wait(run, max_wait=20)
        WORLD.cut_after(700)  # less than a state
        begun = time.monotonic()
        self.assertRaises(wopr_client.TransportError, list, self.client.runs.values(run, after=9, give_up=0.5))
        self.assertLess(time.monotonic() - begun, 25)

    def test_a_host_that_stays_away(self):
        run = self.begin("conformance-cancellable")
        WORLD.refuse("/events", 503, 9999)
        self.assertRaises(wopr_client.ServerError, list, self.client.runs.events(run, give_up=0.5))

    def test_a_revoked_key_ends_a_stream(self):
        made = WORLD.make_key()
        run = self.begin("conformance-cancellable")
        stream = self.other(made["key"]).runs.events(run)
        next(stream)
        WORLD.revoke_key(made["id"])
        self.assertRaises(wopr_client.AuthenticationError, list, stream)

    def test_a_position_beyond_the_end(self):
        run = self.begin("conformance-noop")
        last = self.client.runs.poll(run, wait=5)["events"][-1]["sequence"]
        self.client.runs.wait(run, max_wait=20)
        self.assertEqual(list(self.client.runs.events(run, after=last + 100)), [])

    def test_close_from_another_thread(self):
        stream = self.client.runs.events(self.begin("conformance-cancellable"), silence_max=60)
        next(stream)
        WORLD.stall()  # not even a keep-alive wakes it
        threading.Timer(0.3, stream.close).start()
        begun = time.monotonic()
        self.assertEqual(list(stream), [])
        self.assertLess(time.monotonic() - begun, 25)

    def test_tickets_are_renewed(self):
        keys = [WORLD.make_key(), WORLD.make_key()]
        run = self.begin("ticks")
        asked = []

        def ticket(run_id):
            asked.append(run_id)
            if len(asked) == 2:
                raise OSError("the network of the page is down")
            key = keys[min(len(asked), 2) - 1]["key"]
            return self.other(key).runs.stream_ticket(run_id)["ticket"]

        got = []
        with WoprClient(WORLD.url, retry=QUICK) as page:  # has no key at all
            for event in page.runs.events(run, ticket=ticket):
                got.append((str(event["sequence"]), event["type"]))
                if len(got) == 2:
                    WORLD.revoke_key(keys[0]["id"])  # its tickets die with it
            self.assertEqual(got, self.whole(run))
            self.assertEqual(len(asked), 3)
            last = int(got[-1][0])
            self.assertEqual(list(page.runs.events(run, after=last, ticket=ticket)), [])  # 204


class Faults:
    """What happens between a client and its host, at random, until it is told to stop; the seed repeats it."""

    def __init__(self, restarts):
        self.seed = int(os.environ.get("WOPR_CLIENT_SEED") or random.randrange(2**32))
        self.chance, self.made = random.Random(self.seed), []
        self.kinds = ["cut", "cut", "piece", "piece", "busy", "gateway", "half"] + ["restart"] * restarts
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        until = time.monotonic() + FAULTS_S
        while time.monotonic() < until and not self.over.is_set():
            kind = self.chance.choice(self.kinds)
            self.made.append(kind)
            if kind == "cut":
                WORLD.cut()
            elif kind == "piece":  # a frame, or an answer, that ends in its middle
                WORLD.cut_after(self.chance.randrange(1, 1500), 1)
            elif kind == "busy":
                WORLD.refuse("/v1/", 503, 1, {"Retry-After": "1"})
            elif kind == "gateway":
                WORLD.refuse("/v1/", 502, 1, {}, "<html>no host here</html>")
            elif kind == "half":
                WORLD.lose("/v1/", 1)
            else:
                WORLD.kill()
                time.sleep(self.chance.random() * 0.3)
                WORLD.start()
            time.sleep(self.chance.random() * 0.3)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def __str__(self):
        return "WOPR_CLIENT_SEED=%d %s" % (self.seed, " ".join(self.made))


class Workers(Case):
    """acme.greet is the one type: each test's worker does with it what the test needs."""

    def setUp(self):
        super().setUp()
        self.client.worker_types.register("acme.greet")
        WORLD.put_workflow("greeting")

    def work(self, handler, client=None, **options):
        """A worker in a thread; it is stopped at the end of the test."""
        worker = (client or self.client).worker(**{"wait": 0.2, **options})
        worker.node("acme.greet")(handler)
        thread = threading.Thread(target=worker.run)
        thread.start()

        def stop():
            worker.stop(grace=5)
            thread.join(30)
            self.assertFalse(thread.is_alive())

        self.addCleanup(stop)
        return stop

    def outcome(self, run_id):
        run = self.client.runs.wait(run_id, max_wait=30)
        return run["status"], run["nodeStates"]["work"].get("outputs", run.get("error"))

    def test_a_node_is_executed_here(self):
        tasks = []

        def greet(task):
            tasks.append(task)
            return {"greeting": "hello " + task.input["name"]}

        self.work(greet, concurrency=4)
        runs = [self.begin("greeting", {"name": "n%d" % i}) for i in range(12)]
        self.assertEqual([self.outcome(r) for r in runs], [("completed", {"greeting": "hello n%d" % i}) for i in range(12)])
        self.assertEqual(sorted(t.run_id for t in tasks), sorted(runs))
        ended = self.client.tasks.get(tasks[0].task_id)
        self.assertEqual((ended["typeId"], ended["state"], ended["runId"]), ("acme.greet", "completed", tasks[0].run_id))
        self.assertEqual(list(self.client.tasks.list_all(type="acme.greet", limit=1)), [])
        self.assertEqual((tasks[0].node_id, tasks[0].attempt, tasks[0].config, len(tasks[0].idempotency_key)), ("work", 0, {"mood": "kind"}, 64))

    def test_a_person_is_asked(self):
        entered = []

        def greet(task):
            entered.append(task.idempotency_key)
            first = task.ask("approval", {"artifactId": "a", "artifactType": "greeting", "title": "Say it?", "actions": ["accept", "reject"]})
            second = task.ask("custom", {"customKind": "words"})
            return {"said": first["action"], "words": second}

        self.work(greet)
        run = self.begin("greeting")
        for answer in ({"action": "accept"}, "so be it"):
            self.client.interrupts.resolve(run, self.pending(run)["nodeId"], answer)
        self.assertEqual(self.outcome(run), ("completed", {"said": "accept", "words": "so be it"}))
        self.assertEqual((len(entered), len(set(entered))), (3, 1))

    def pending(self, run):
        for _ in range(1500):
            found = list(self.client.interrupts.list_all(run_id=run))
            if found:
                return found[0]
            time.sleep(0.02)
        self.fail("no interrupt")

    def test_failures(self):
        def greet(task):
            if task.input["name"] == "known":
                raise TaskFailure("bad_name", "no such name", retryable=False, details={"name": "known"})
            if task.input["name"] == "schema":
                return {"greeting": 7}
            if task.input["name"] == "no json":
                return {"greeting": object()}
            raise KeyError("a mistake")

        self.client.worker_types.register("acme.greet", output_schema={"type": "object", "properties": {"greeting": {"type": "string"}}})
        self.addCleanup(self.client.worker_types.register, "acme.greet")
        self.work(greet, register=False)
        with self.assertLogs("wopr_client.worker"):
            for name, code in (("known", "bad_name"), ("schema", "invalid_output"), ("no json", "invalid_output"), ("other", "worker_error")):
                status, error = self.outcome(self.begin("greeting", {"name": name}))
                self.assertEqual((status, error["code"]), ("failed", code))

    def test_what_a_worker_says_reaches_the_stream(self):
        def greet(task):
            task.progress(50, "half")
            task.chunk("hel")
            task.chunk("lo", is_last=True, meta={"model": "m"})
            return {}

        self.work(greet)
        WORLD.refuse(":emit", 503, 2)
        run = self.begin("greeting")
        self.assertEqual([c["chunk"] for c in self.client.runs.messages(run)], ["hel", "lo"])
        self.assertIn("log.appended", [e["type"] for e in self.client.runs.events(run, debug=True)])

    def test_a_cancelled_run_ends_its_task(self):
        began, ended = threading.Event(), []

        def greet(task):
            began.set()
            try:
                task.sleep(30)
            except TaskOver as why:
                ended.append(str(why))
                raise

        self.work(greet, lease=1.0)
        run = self.begin("greeting")
        self.assertTrue(began.wait(20))
        self.client.runs.cancel(run)
        self.assertEqual(self.client.runs.wait(run, max_wait=20)["status"], "cancelled")
        self.wait_for(lambda: ended)
        self.assertIn("cancelled", ended[0])

    def wait_for(self, condition):
        for _ in range(1000):
            if condition():
                return
            time.sleep(0.02)
        self.fail("in vain")

    def test_a_lease_is_kept_as_long_as_the_work_takes(self):
        entered = []

        def greet(task):
            entered.append(task.epoch)
            task.sleep(2.5)
            return {"took": "long"}

        self.work(greet, lease=1.0)
        self.assertEqual(self.outcome(self.begin("greeting")), ("completed", {"took": "long"}))
        self.assertEqual(entered, [1])

    def test_a_late_result_is_refused_and_dropped(self):
        held, tasks = threading.Event(), []

        def slow(task):
            tasks.append(task)
            held.wait(20)  # deaf to task.cancelled
            return {"by": "slow"}

        WORLD.refuse(":heartbeat", 503, 1000)
        with self.assertLogs("wopr_client.worker"):
            stop = self.work(slow, lease=1.0)
            run = self.begin("greeting")
            self.wait_for(lambda: self.lines(":heartbeat"))
            straight = self.direct()
            self.work(lambda task: {"by": "other"}, client=straight, lease=5.0)
            self.assertEqual(self.outcome(run), ("completed", {"by": "other"}))
            self.wait_for(lambda: tasks[0].cancelled)  # its lease could not be renewed
            held.set()
            stop()
        self.assertEqual(self.outcome(run), ("completed", {"by": "other"}))
        said = [e["type"] for e in self.client.runs.events(run, debug=True)]
        self.assertEqual(said.count("node.completed"), 1)

    def direct(self):
        """A client that the proxy does not trouble."""
        client = WoprClient(WORLD.host_url(), WORLD.key, retry=QUICK)
        self.addCleanup(client.close)
        return client

    def test_kill_9_of_the_host_in_mid_task(self):
        began = threading.Event()

        def greet(task):
            began.set()
            time.sleep(1)
            return {"survived": True}

        self.work(greet, lease=10.0)
        run = self.begin("greeting")
        self.assertTrue(began.wait(20))
        WORLD.kill()
        time.sleep(1.2)  # the result is there before the host is
        WORLD.start()
        self.assertEqual(self.outcome(run), ("completed", {"survived": True}))

    def test_faults_at_random_execute_each_task_once(self):
        def greet(task):
            task.sleep(0.05)
            return {"greeting": task.input["name"]}

        with self.assertLogs("wopr_client.worker"):
            stop = self.work(greet, concurrency=2, lease=1.0)
            self.client, runs = self.other(WORLD.key, retry=QUICK._replace(attempts=50)), []
            with Faults(restarts=2) as faults:
                for i in range(16):
                    runs.append(self.begin("greeting", {"name": "n%d" % i}))
                    time.sleep(0.1)
                outcomes = [self.outcome(run) for run in runs]
            self.assertEqual(outcomes, [("completed", {"greeting": "n%d" % i}) for i in range(16)], faults)
            WORLD.calm()
            for run in runs:
                said = [e["type"] for e in self.client.runs.events(run, debug=True)]
                self.assertEqual(said.count("node.completed"), 1, faults)
            self.assertEqual(self.outcome(self.begin("greeting", {"name": "after"})), ("completed", {"greeting": "after"}), faults)
            logging.getLogger("wopr_client.worker").warning("the log of a quiet chance")
            stop()

    def test_a_stop_lets_tasks_finish_and_claims_nothing_more(self):
        began, go_on = threading.Event(), threading.Event()

        def greet(task):
            began.set()
            go_on.wait(20)
            return {"done": True}

        worker = self.client.worker(wait=0.2, concurrency=2)
        worker.node("acme.greet")(greet)
        thread = threading.Thread(target=worker.run)
        thread.start()
        run = self.begin("greeting")
        self.assertTrue(began.wait(20))
        worker.stop()
        time.sleep(0.4)  # the claim that was under way ends
        later = self.begin("greeting")
        self.assertTrue(thread.is_alive())
        go_on.set()
        thread.join(20)
        self.assertFalse(thread.is_alive())
        self.assertEqual(self.outcome(run), ("completed", {"done": True}))
        self.assertNotEqual(self.client.runs.get(later)["status"], "completed")
        self.work(lambda task: {"later": True})
        self.assertEqual(self.outcome(later), ("completed", {"later": True}))

    def test_the_example_of_the_readme(self):
        folder = os.path.join(ROOT, "clients", "python", "examples")
        environment = dict(os.environ, WOPR_URL=WORLD.host_url(), WOPR_API_KEY=WORLD.key, PYTHONPATH=os.path.join(ROOT, "clients", "python"))
        program = subprocess.Popen([sys.executable, os.path.join(folder, "quote.py")], env=environment, stdout=subprocess.DEVNULL)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        self.wait_for(lambda: "acme.price" in [t["typeId"] for t in self.client.worker_types.list_all()])
        with open(os.path.join(folder, "quote.json"), encoding="utf-8") as f:
            self.client.workflows.put(json.load(f))
        run = self.client.runs.create("quote", {"item": "desk", "pieces": 2})["runId"]
        self.wait_for(lambda: self.client.runs.get(run)["status"] == "waiting-approval")
        self.client.interrupts.resolve(run, "approve", {"action": "accept"})
        self.assertEqual(self.client.runs.wait(run)["variables"]["state"], "sent")
        self.client.worker_types.remove("acme.price")

    def test_types_come_and_go(self):
        self.client.worker_types.register("acme.gone", description="not for long")
        self.assertEqual([t["typeId"] for t in self.client.worker_types.list_all(limit=1)], ["acme.gone", "acme.greet"])
        self.assertTrue(self.client.worker_types.remove("acme.gone")["removed"])
        self.assertRaises(wopr_client.NotFoundError, self.client.worker_types.remove, "acme.gone")
        self.assertRaises(wopr_client.ConflictError, self.client.worker_types.register, "core.delay")

    def test_a_key_that_may_only_claim_and_one_that_may_not(self):
        self.work(lambda task: {}, client=self.other(WORLD.make_key("workers:claim")["key"]))
        self.assertEqual(self.outcome(self.begin("greeting"))[0], "completed")
        worker = self.other(WORLD.make_key("runs:read")["key"]).worker()
        worker.node("acme.greet")(lambda task: {})
        self.assertRaises(wopr_client.PermissionDeniedError, worker.run)
        self.assertRaises(ValueError, self.client.worker().run)


class Frames(unittest.TestCase):
    TEXT = ": hi\n\nid: 1\nevent: a\ndata: {\"x\":\"\u00e4\"}\n\r\ndata:one\rdata: two\r\n\r\nid: 3\n\ndata: x\n\n".encode()

    def test_pieces_of_any_size_make_the_same_frames(self):
        whole = FrameDecoder().push(self.TEXT)
        self.assertEqual([tuple(f) for f in whole], [("1", "a", '{"x":"\u00e4"}'), ("1", "message", "one\ntwo"), ("3", "message", "x")])
        for size in range(1, len(self.TEXT)):
            decoder, got = FrameDecoder(), []
            for start in range(0, len(self.TEXT), size):
                got += decoder.push(self.TEXT[start:start + size])
            self.assertEqual(got, whole, size)

    def test_a_frame_is_bounded_by_what_it_holds(self):
        decoder, got = FrameDecoder(frame_max=1000), []
        for piece in [b"id: 1\ndata: "] + [b"x" * 10] * 80 + [b"\n", b"\n"]:
            got += decoder.push(piece)
        self.assertEqual([len(f.data) for f in got], [800])
        decoder = FrameDecoder(frame_max=1000)
        for _ in range(500):
            decoder.push(b": still")  # comments are not kept, however their lines are cut
            decoder.push(b" here\n")
        for line in (b"data:\n", b"data: x\n", b"x"):
            decoder = FrameDecoder(frame_max=1000)
            with self.assertRaises(wopr_client.UnexpectedAnswerError):
                for _ in range(1100):
                    decoder.push(line)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
