"""
workrail_session.py: one session that is walked on the real program while a model of it is kept (workrail_oracle.py). Each call returns when the answer is
the predicted one and raises Differs otherwise; check() compares the whole log, its digests, the projections and the derived runs at the end.
"""
import hashlib
import json
import re

from workrail_oracle import (AUTONOMY, CAPABILITIES, CONTRACT_KINDS, DIVERGENCES, FOOTER, LOOP_BULLETS, NEEDS, RISK, Interpreter, bullet, child, cut,
                             is_valid, issues, jcs, keeps, minted, payload, plain_rules, sha, snapshot)

REASONS = {"MISSING_REQUIRED_OUTPUT": ("contract_violation", "missing_required_output"), "INVALID_REQUIRED_OUTPUT": ("contract_violation", "invalid_required_output"),
           "MISSING_REQUIRED_NOTES": ("contract_violation", "missing_required_notes"), "REQUIRED_CAPABILITY_UNKNOWN": ("capability_missing", "required_capability_unknown"),
           "REQUIRED_CAPABILITY_UNAVAILABLE": ("capability_missing", "required_capability_unavailable")}
BLOCKING = ("user_only_dependency", "contract_violation", "capability_missing")


class Differs(Exception):
    pass


def equal(got, want, what):
    if got != want:
        raise Differs("%s: got %s, expected %s" % (what, json.dumps(got, sort_keys=True, default=str)[:700], json.dumps(want, sort_keys=True, default=str)[:700]))


class Node:
    def __init__(self, name, kind, parent, state, blocked):
        self.id, self.kind, self.parent, self.state, self.blocked = name, kind, parent, state, blocked
        self.children, self.capabilities, self.critical, self.reported = [], {}, [], set()
        self.preferences = self.context = self.recap = self.created = None
        self.active = -1

    def path(self):
        node = self
        while node:
            yield node
            node = node.parent

    def nearest(self, member):
        return next((getattr(n, member) for n in self.path() if getattr(n, member) is not None), None)


class Session:
    def __init__(self, client, workflow, r):
        self.client, self.workflow, self.source, self.r = client, workflow, workflow.source, r
        self.nodes, self.log, self.answered, self.saved, self.snapshots, self.artifacts = {}, [], {}, {}, set(), set()
        self.acks, self.checkpoints, self.states, self.repeatable = [], [], {}, []
        self.shown, self.run_of, self.suspended = {}, {}, {}

    # -- the log

    def event(self, kind, node=None, scope="node", **data):
        self.log.append((kind, node.id if node else None, scope, data))
        if node:
            node.active = len(self.log) - 1

    def node(self, name, kind, parent, state, blocked=None):
        n = self.nodes[name] = Node(name, kind, parent, state, blocked)
        if parent:
            parent.children.append(n)
        ref = sha(snapshot(state, blocked))
        self.snapshots.add(ref)
        n.created = len(self.log)
        self.event("node_created", n, nodeKind=kind, parentNodeId=parent.id if parent else None, snapshotRef=ref, workflowHash=self.hash)
        return n

    def edge(self, a, b, kind, cause):
        self.event("edge_created", None, "run", edgeKind=kind, fromNodeId=a.id, toNodeId=b.id, cause=cause)
        a.active = b.active = max(a.active, b.active, len(self.log) - 1)

    def outputs(self, n, output, recap, artifact):
        if "notesMarkdown" in output:
            old, n.recap = n.recap, (recap, cut(output["notesMarkdown"], 4096))
            self.event("node_output_appended", n, outputId=recap, supersedesOutputId=old[0] if old else None,
                       payload={"payloadKind": "notes", "notesMarkdown": n.recap[1]})
        sent = sorted((sha(a), i, len(jcs(a).encode())) for i, a in enumerate(output.get("artifacts", [])))
        for digest, i, size in sent:
            self.artifacts.add(digest)
            self.event("node_output_appended", n, outputId="%s_%d" % (artifact, i),
                       payload={"payloadKind": "artifact_ref", "sha256": digest, "contentType": "application/json", "byteLength": size})
        return ["artifact.created"] * len(sent)

    # -- the runs that show it (WR-256 to WR-262)

    def show(self, run, *rows):
        self.shown[run] += [list(x) for x in rows]

    def show_pending(self, run, n):
        self.run_of[n.id] = run
        if n.state is None:
            return self.show(run, ("run.completed", None))
        self.show(run, *[(t, n.id) for t in ("node.started", "interrupt.requested", "node.suspended")])
        self.suspended[n.id] = len(self.shown[run])

    def show_advance(self, n, attempt, artifacts, between, target):
        run = self.run_of[n.id]
        if sum(1 for c in n.children if c.kind != "checkpoint") > 1:
            prefix = self.shown[run][:self.suspended[n.id]]
            run = "run_" + minted("wr_openwop_branch_v1", self.run, n.id, attempt)
            self.shown[run] = list(prefix)
        self.show(run, ("interrupt.resolved", n.id), ("node.resumed", n.id), *[(t, n.id) for t in artifacts], ("node.completed", n.id), *between)
        self.show_pending(run, target)

    # -- what an answer must have

    def prompt(self, step):
        if "prompt" not in step:
            return None
        role = step.get("agentRole") or self.source.get("agentRole")
        text = (role.split("\n\n")[0] + "\n\n" if role else "") + step["prompt"]
        contract = self.workflow.contract(step)
        if contract:
            return text + "\n\n**OUTPUT REQUIREMENTS (System):**\n- " + "\n- ".join(LOOP_BULLETS) if contract.endswith("loop_control") else None
        bullets = [bullet(x) for x in plain_rules(step.get("validationCriteria", [])) if x][:5]
        return text + ("\n\n**OUTPUT REQUIREMENTS:**\n- " + "\n- ".join(bullets) if bullets else "")

    def expect(self, answer, n, attempt=None, recovered=False, started=False):
        equal(answer.get("code"), None, "an answer, not " + str(answer.get("message")))
        ids = {"nodeId": n.id, "runId": self.run, "sessionId": self.id, "tokenVersion": 1}
        equal(payload(answer["stateToken"]), {**ids, "tokenKind": "state", "workflowHash": self.hash}, "state token (WR-107)")
        autonomy, risk = n.nearest("preferences")
        equal(answer["preferences"], {"autonomy": autonomy, "riskPolicy": risk}, "preferences (WR-168)")
        equal(answer["session"], {"sessionId": self.id, "runId": self.run, "workflowId": self.source["id"]}, "session (WR-223)")
        self.states[answer["stateToken"]] = n
        if n.state is None:
            equal([answer[k] for k in ("isComplete", "pending", "nextCall", "nextIntent")] + ["ackToken" in answer, "checkpointToken" in answer],
                  [True, None, None, "complete", False, False], "a complete answer (WR-133)")
            return
        step = self.workflow.steps[n.state["step"]]
        equal([answer["pending"][k] for k in ("stepId", "title", "requireConfirmation")], [step["id"], step["title"], bool(step.get("requireConfirmation"))], "pending")
        text, want = answer["pending"]["prompt"], self.prompt(step)
        if want is not None:
            equal((text.startswith(want) and text.endswith("\n\n" + FOOTER)) if recovered else text, True if recovered else want + "\n\n" + FOOTER, "prompt (WR-203)")
        token = payload(answer["ackToken"])
        equal(token, {**ids, "tokenKind": "ack", "attemptId": attempt or token["attemptId"]}, "ack token (WR-132)")
        equal(payload(answer["checkpointToken"]), {**token, "tokenKind": "checkpoint"}, "checkpoint token (WR-145)")
        equal(answer["nextIntent"], "rehydrate_only" if recovered else "await_user_confirmation" if step.get("requireConfirmation") and autonomy == "guided"
              else "perform_pending_then_continue", "nextIntent (WR-228)")
        if not started:
            equal(answer["kind"], "blocked" if n.blocked else "ok", "kind")
        self.acks.append((n, answer["stateToken"], answer["ackToken"]))
        self.checkpoints.append((n, answer["checkpointToken"]))
        self.expect_block(answer, n, recovered)

    def expect_block(self, answer, n, recovered):
        ack, retry = answer["ackToken"], bool(n.blocked) and n.blocked["kind"] == "retryable_block"
        equal([answer.get("blockers"), answer.get("retryable"), "retryAckToken" in answer], [n.blocked["blockers"], retry, retry] if n.blocked else [None, None, False],
              "block (WR-135, WR-138)")
        if retry:
            ack, again = answer["retryAckToken"], payload(answer["retryAckToken"])["attemptId"]
            if not recovered:
                equal(ack, answer["ackToken"], "the retry is the ack (WR-135)")
            elif (n.id, n.blocked["retryAttemptId"]) not in self.answered:
                equal(again, n.blocked["retryAttemptId"], "the stored retry attempt (WR-126)")
            equal((n.id, again) in self.answered, False, "a retry token that was used (WR-126)")
            self.acks.append((n, answer["stateToken"], ack))
        params = {"intent": "advance", "stateToken": answer["stateToken"], "ackToken": ack}
        equal(answer["nextCall"], None if n.blocked and not retry else {"tool": "continue_workflow", "params": params}, "nextCall (WR-227)")

    # -- calls

    def start(self, context, anchors, preferences):
        call = {k: v for k, v in (("anchors", anchors), ("preferences", preferences)) if v}
        answer = self.client.tool("start_workflow", workflowId=self.source["id"], **call, **({} if context is None else {"context": context}))
        equal(answer.get("code"), None, "start, not " + str(answer.get("message")))
        ids = payload(answer["stateToken"])
        self.id, self.run, self.hash = ids["sessionId"], ids["runId"], ids["workflowHash"]
        kept = {k: v for k, v in (context or {}).items() if v is not None}
        state = Interpreter(self.workflow, {"done": [], "stack": [], "step": None}, kept, [], False).next()
        self.event("session_created", None, "session")
        self.event("run_started", None, "run", workflowId=self.source["id"], workflowHash=self.hash)
        root = self.node(ids["nodeId"], "step", None, state)
        root.preferences = (AUTONOMY[0], RISK[0])
        self.event("preferences_changed", root, source="system")
        rows = []
        if preferences:
            root.preferences = tuple(preferences.get(k, v) for k, v in zip(("autonomy", "riskPolicy"), root.preferences))
            self.event("preferences_changed", root, source="user")
            rows = self.warn(root, root.preferences)
        if context is not None:
            root.context = kept
            self.event("context_set", None, "run", source="initial", context=kept)
        for key, form, value in (("git_branch", "short_string", anchors.get("gitBranch")), ("git_head_sha", "git_sha1", anchors.get("gitHeadSha"))):
            if value and (form != "short_string" or len(value.encode()) <= 80):
                self.event("observation_recorded", None, "session", key=key, value={"type": form, "value": value}, confidence="med")
        self.shown[self.run] = []
        self.show(self.run, ("run.started", None), *rows, *[("variable.changed", k) for k in sorted(kept)])
        self.show_pending(self.run, root)
        self.expect(answer, root, started=True)

    def reasons(self, n, step, output, objects, observed):
        """What keeps a step from being accepted, as blockers sort (WR-32, WR-128), and the issues where their wording is the workflow's."""
        found, told, contract = [], [], self.workflow.contract(step)
        active = [f[0] for f in n.state["stack"]]
        pointer = lambda ref: {"kind": "output_contract", "contractRef": ref}
        if contract:
            kinds = [CONTRACT_KINDS[contract]] + (["workflow_divergence"] if contract == "wr.contracts.workflow_divergence" else [])
            mine = [a for a in objects if a.get("kind") in kinds]
            if not any(is_valid(a, active) for a in mine):
                found.append(("INVALID_REQUIRED_OUTPUT" if mine else "MISSING_REQUIRED_OUTPUT", pointer(contract), None))
                told = None if mine else []
        elif "validationCriteria" in step:
            if "notesMarkdown" not in output:
                found.append(("MISSING_REQUIRED_OUTPUT", pointer("wr.validationCriteria"), None))
            elif not keeps(step["validationCriteria"], output["notesMarkdown"]):
                found.append(("INVALID_REQUIRED_OUTPUT", pointer("wr.validationCriteria"), None))
                told = issues(step["validationCriteria"], output["notesMarkdown"])
                told = None if None in told else sorted(set(told))
        elif "notesMarkdown" not in output and not step.get("notesOptional"):
            found.append(("MISSING_REQUIRED_NOTES", {"kind": "workflow_step", "stepId": step["id"]}, None))
        for c in self.workflow.required:
            have = observed.get(c) or next((x.capabilities[c] for x in n.path() if c in x.capabilities), "unknown")
            if step.get("probe", c) == c and have != "available":
                found.append(("REQUIRED_CAPABILITY_UN" + ("KNOWN" if have == "unknown" else "AVAILABLE"), {"kind": "capability", "capability": c}, None))
        for a in objects:
            if a.get("kind") == "wr.user_only_dependency" and is_valid(a, active):
                found.append(("USER_ONLY_DEPENDENCY", {"kind": "workflow_step", "stepId": step["id"]}, a["reason"]))
        stable = lambda p: p.get("contractRef") or p.get("capability") or p.get("stepId")
        return sorted(found, key=lambda x: "%s|%s|%s" % (x[0], x[1]["kind"], stable(x[1]))), told

    def advance(self, n, state, ack, output, delta=None, preferences=None):
        attempt, call = payload(ack)["attemptId"], {"stateToken": state, "ackToken": ack}
        call.update({k: v for k, v in (("output", output), ("context", delta), ("preferences", preferences)) if v})
        answer = self.client.tool("continue_workflow", **call)
        if (n.id, attempt) in self.answered:
            return equal(answer, self.answered[n.id, attempt], "the same call again (WR-140)")
        if n.state is None or n.blocked and n.blocked["kind"] != "retryable_block":
            return equal(answer.get("code"), "TOKEN_SCOPE_MISMATCH", "an advance of what is at its end (WR-114, 17)")
        if all(x.kind == "blocked_attempt" for x in [y for _, y in zip(range(10), n.path())]) and len(list(n.path())) > 10:
            return equal(answer.get("code"), "PRECONDITION_FAILED", "the eleventh attempt (WR-137)")
        equal(answer.get("code"), None, "an advance, not " + str(answer.get("message")))
        self.record(n, attempt, answer, output, delta, preferences)
        self.answered[n.id, attempt] = answer
        self.repeatable.append(call)

    def record(self, n, attempt, answer, output, delta, preferences):
        step, target = self.workflow.steps[n.state["step"]], payload(answer["stateToken"])["nodeId"]
        objects = [a for a in output.get("artifacts", []) if isinstance(a, dict)]
        reported = [a for a in objects if a.get("kind") == "wr.capability_observation" and is_valid(a, [])]
        observed = {a["capability"]: a["status"] for a in reported if step.get("probe") or a["attempted"]}
        before = n.nearest("context") or {}
        merged = {k: v for k, v in {**before, **(delta or {})}.items() if not (k in (delta or {}) and v is None)}
        now = list(n.nearest("preferences"))
        for i, name in enumerate(("autonomy", "riskPolicy")):
            now[i] = (preferences or {}).get(name, now[i])
        reasons, told = self.reasons(n, step, output, objects, observed)
        cause = "non_tip_advance" if any(c.kind != "checkpoint" for c in n.children) else "intentional_fork"
        self.event("advance_recorded", n, attemptId=attempt, intent="ack_pending", outcome={"kind": "advanced", "toNodeId": target})
        if preferences:
            n.preferences = tuple(now)
            self.event("preferences_changed", n, source="user", changeId="prefchg_" + attempt, effective={"autonomy": now[0], "riskPolicy": now[1]})
        if reasons and now[0] != AUTONOMY[2]:
            return self.block(n, attempt, answer, step, target, reasons, told, cause)
        ask = [x for x in reasons if x[1].get("contractRef") == "wr.contracts.loop_control"]
        interpreter = Interpreter(self.workflow, n.state, merged, objects, bool(ask))
        following = interpreter.next()
        rows = self.disclose(n, attempt, reasons, interpreter, now)
        for a in reported:
            self.event("capability_observed", n, capability=a["capability"], status=a["status"])
        n.capabilities.update(observed)
        for a in objects:
            if a.get("kind") in ("wr.workflow_divergence", "workflow_divergence") and is_valid(a, []):
                self.event("divergence_recorded", n, reason=a["reason"], summary=a["summary"])
                rows.append(("log.appended", "info"))
        changed = jcs(merged) != jcs(before)
        if changed:
            self.event("context_set", None, "run", source="agent_delta", context=merged)
            rows += [("variable.changed", k) for k in sorted({**before, **merged}, key=lambda k: (k not in merged, k)) if jcs(before.get(k)) != jcs(merged.get(k)) or (k in before) != (k in merged)]
        if n.kind == "blocked_attempt" and not reasons:
            self.event("validation_performed", n, attemptId=attempt, valid=True)
        trace = ([["detected_non_tip_advance"]] if cause[0] == "n" else []) + interpreter.trace
        if trace:
            self.event("decision_trace_appended", n, traceId="trace_" + attempt, trace=trace[:25])
        rows += [("workflow.loopback-limit", None)] * len(interpreter.at_limit)
        made = self.node(target, "step", n, following)
        made.context = merged if changed else None
        self.edge(n, made, "acked_step", cause)
        artifacts = self.outputs(n, output, "out_recap_" + attempt, "out_artifact_" + attempt)
        self.show_advance(n, attempt, artifacts, rows, made)
        self.expect(answer, made, child(attempt))

    def disclose(self, n, attempt, reasons, interpreter, now):
        """Gaps for what never-stop goes on without, loops asked beyond their limit, and preferences above what is recommended (WR-148 to WR-152)."""
        gaps = []
        for code, pointer, detail in reasons:
            capability = pointer.get("capability")
            if capability and any((code, capability) in x.reported for x in n.path()):
                continue
            n.reported.add((code, capability))
            gaps.append(("critical", *(REASONS.get(code) or ("user_only_dependency", detail))))
        gaps += [("warning", "unexpected", "invariant_violation") for _, asked in interpreter.at_limit if asked]
        for i, (severity, category, detail) in enumerate(gaps):
            self.event("gap_recorded", n, gapId="gap_%s_%d" % (attempt, i), severity=severity, category=category, detail=detail)
        n.critical += [g[1] for g in gaps if g[0] == "critical"]
        return [("log.appended", {"critical": "error", "warning": "warn"}[g[0]]) for g in gaps] + self.warn(n, now)

    def warn(self, n, now):
        rows = []
        for i, (name, order) in enumerate((("recommendedAutonomy", AUTONOMY), ("recommendedRiskPolicy", RISK))):
            if name in self.source and order.index(now[i]) > order.index(self.source[name]) and ("warned", i) not in n.reported:
                n.reported.add(("warned", i))
                self.event("gap_recorded", n, gapId="rec_warn_%s_%d" % (n.id, i), severity="warning", category="unexpected", detail="invariant_violation")
                rows.append(("log.appended", "warn"))
        return rows

    def block(self, n, attempt, answer, step, target, reasons, told, cause):
        shown = answer.get("blockers", {}).get("blockers", [])
        equal([(b["code"], b["pointer"]) for b in shown], [x[:2] for x in reasons[:10]], "blockers (WR-32)")
        if told is not None:
            equal(answer["validation"]["issues"], told, "issues (WR-131)")
        code, pointer, detail = reasons[0]
        reason = {"kind": "missing_notes" if code == "MISSING_REQUIRED_NOTES" else code.lower(), **{k: v for k, v in pointer.items() if k != "kind"}}
        if detail:
            reason["detail"] = detail
        ends = code.startswith(("USER", "REQUIRED"))
        blocked = {"kind": "terminal_block" if ends else "retryable_block", "reason": reason, "validationRef": "validation_" + attempt, "blockers": answer["blockers"]}
        if not ends:
            blocked["retryAttemptId"] = child(attempt)
        self.event("validation_performed", n, attemptId=attempt, valid=False)
        made = self.node(target, "blocked_attempt", n, n.state, blocked)
        self.edge(n, made, "acked_step", cause)
        self.show_advance(n, attempt, [], [("log.appended", "warn")], made)
        self.expect(answer, made, child(attempt))

    def checkpoint(self, n, token, output):
        attempt = payload(token)["attemptId"]
        answer = self.client.tool("checkpoint_workflow", checkpointToken=token, **({"output": output} if output else {}))
        if (n.id, attempt) in self.saved:
            return equal(answer, self.saved[n.id, attempt], "the same checkpoint again (WR-144)")
        name = "node_" + minted("wr_checkpoint_node_v1", self.id, self.run, n.id, attempt)
        equal(answer.get("checkpointNodeId"), name, "checkpoint node (WR-5), not " + str(answer.get("message")))
        equal(payload(answer["stateToken"])["nodeId"], n.id, "state of the original (WR-145)")
        equal(answer["nextCall"]["params"], {"intent": "rehydrate", "stateToken": answer["stateToken"]}, "nextCall (WR-227)")
        made = self.node(name, "checkpoint", n, n.state, n.blocked)
        self.edge(n, made, "checkpoint", "checkpoint_created")
        artifacts = self.outputs(made, output, "out_checkpoint_recap_" + attempt, "out_checkpoint_artifact_" + attempt)
        run = self.run_of[n.id]
        if ["run.completed", None] not in self.shown[run]:
            self.show(run, ("node.started", name), *[(t, name) for t in artifacts], ("node.completed", name))
        self.saved[n.id, attempt] = answer
        self.states[answer["stateToken"]] = n

    def rehydrate(self, token):
        answer = self.client.tool("continue_workflow", stateToken=token)
        equal(answer.get("stateToken"), token, "the state token is unchanged (WR-123), not " + str(answer.get("message")))
        self.expect(answer, self.states[token], recovered=True)

    # -- at random

    def artifact(self, kind, step, active, good):
        r = self.r
        if kind == "wr.loop_control":
            a = {"kind": kind, "decision": r.choice(["continue", "continue", "stop"]), **({"loopId": r.choice(active)} if active and r.random() < .5 else {})}
            return a if good else {**a, **r.choice([{"decision": "maybe"}, {"more": 1}, {"loopId": "other"}, {"summary": "s" * 1025}])}
        if kind == "wr.capability_observation":
            a = {"kind": kind, "capability": step.get("probe") or r.choice(CAPABILITIES), "status": r.choice(["available", "available", "unavailable", "unknown"]),
                 "attempted": r.random() < .7}
            return a if good else {**a, **r.choice([{"status": "x"}, {"attempted": "yes"}, {"capability": "fly"}])}
        return {"kind": kind, "reason": (r.choice(NEEDS if "user" in kind else DIVERGENCES) if good else "because"), "summary": "needs you"}

    def output(self, n):
        r, step = self.r, self.workflow.steps[n.state["step"]]
        contract, active, output, sent = self.workflow.contract(step), [f[0] for f in n.state["stack"]], {}, []
        if r.random() < (.5 if contract else .9):
            output["notesMarkdown"] = r.choice(["foo notes", "## F bar", "fooo bar é", "x" * r.randint(1, 50), "## Findings\nfoo and bar, é",
                                                "n%d" % r.randint(0, 999), "\U0001F600" * 12, "long " + "é" * 2100])
        if contract and r.random() < .9:
            sent += [self.artifact(CONTRACT_KINDS[contract], step, active, r.random() < .75) for _ in range(r.choice([1, 1, 1, 2]))]
        for kind, chance in (("wr.loop_control", .1 if active else 0), ("wr.user_only_dependency", .06), ("workflow_divergence", .06), ("wr.capability_observation", .08)):
            if r.random() < chance:
                sent.append(self.artifact(kind, step, active, True))
        if r.random() < .15:
            sent.append(r.choice([{"kind": "free", "n": 1.50, "z": [1e21, -0.0]}, {"a": "\u2028\x7f\x01"}, {"kind": 7}, {"kind": "wr.other"}]))
        return {**output, **({"artifacts": sent} if sent else {})}

    def wish(self):
        both = {"autonomy": self.r.choice(AUTONOMY), "riskPolicy": self.r.choice(RISK)}
        return {k: v for k, v in both.items() if self.r.random() < .6} if self.r.random() < .12 else None

    def random_call(self):
        r, which = self.r, self.r.random()
        if which < .62 and self.acks:
            n, state, ack = self.acks[-1] if r.random() < .7 else r.choice(self.acks)
            delta = {k: r.choice([1, 2, "a", None, "Blue", False, [1]]) for k in r.sample("xyz", r.randint(0, 2))} if r.random() < .25 else None
            self.advance(n, state, ack, self.output(n) if n.state else {}, delta, self.wish())
        elif which < .72 and self.repeatable:
            call = {**r.choice(self.repeatable), **({"output": {"notesMarkdown": "other"}} if r.random() < .5 else {})}
            ids = payload(call["ackToken"])
            equal(self.client.tool("continue_workflow", **call), self.answered[ids["nodeId"], ids["attemptId"]], "an earlier call again (WR-140, WR-141)")
        elif which < .84:
            self.rehydrate(r.choice(list(self.states)))
        elif which < .94 and self.checkpoints:
            self.checkpoint(*r.choice(self.checkpoints[-6:]), r.choice([{}, {"notesMarkdown": "saved"}]))
        elif self.acks:
            a, b = r.choice(self.acks), r.choice(self.acks)
            if a[0] is not b[0]:
                equal(self.client.tool("continue_workflow", stateToken=a[1], ackToken=b[2]).get("code"), "TOKEN_SCOPE_MISMATCH", "tokens of two nodes (WR-114, 13)")

    def walk(self, steps):
        r = self.r
        context = None if r.random() < .3 else {k: r.choice([1, "2", " Blue ", "A", True, "true", 3.5, None, {"n": None}]) for k in r.sample("xyzw", r.randint(0, 4))}
        anchors = {k: v for k, v in (("gitBranch", r.choice(["main", "b" * 81, "feature/login"])), ("gitHeadSha", hashlib.sha1(b"%d" % r.randint(0, 5)).hexdigest()))
                   if r.random() < .4}
        self.start(context, anchors, self.wish())
        for _ in range(steps):
            self.random_call()
        return self.check()

    # -- the whole of it

    def tip(self):
        leaves = [n for n in self.nodes.values() if not n.children]
        leaves = [n for n in leaves if n.kind != "checkpoint"] or leaves
        return max(leaves, key=lambda n: (max(x.active for x in n.path()), n.created))

    def status(self):
        tip = self.tip()
        if tip.state is None:
            return "complete_with_gaps" if any(n.critical for n in self.nodes.values()) else "complete"
        while tip.kind == "checkpoint":
            tip = tip.parent
        blocked = tip.kind == "blocked_attempt" or any(c in BLOCKING for c in tip.critical)
        return "blocked" if blocked and tip.nearest("preferences")[0] != AUTONOMY[2] else "in_progress"

    def check(self):
        bundle = self.client.get("/v1/x-workrail/sessions/%s/bundle?artifacts=true" % self.id)
        events = bundle["session"]["events"]
        for i in range(max(len(events), len(self.log))):
            equal(events[i]["kind"] if i < len(events) else None, self.log[i][0] if i < len(self.log) else None,
                  "event %d %s" % (i, json.dumps(events[i - 1:i + 2])[:400]))
            self.check_event(events[i], *self.log[i])
        check_digests(bundle)
        equal(sorted(bundle["session"]["snapshots"]), sorted(self.snapshots), "snapshots (WR-88)")
        equal(sorted(bundle["session"]["artifacts"]), sorted(self.artifacts), "artifacts (WR-41)")
        view = self.client.get("/v1/x-workrail/sessions/" + self.id)
        run = view["runs"][0]
        equal([run["preferredTipNodeId"], run["status"], view["health"]], [self.tip().id, self.status(), "healthy"], "tip, status, health (WR-160, WR-163)")
        equal(sorted(run["tipNodeIds"]), sorted(n.id for n in self.nodes.values() if not n.children), "tips (WR-158)")
        equal([len(run["nodes"]), len(run["edges"])], [len(self.nodes), len(self.nodes) - 1], "nodes and edges")
        equal(sorted(x["runId"] for x in view["shownBy"]), sorted(self.shown), "runs that show it (WR-262)")
        for name in self.shown:
            self.check_run(name)
        return bundle

    def check_event(self, e, kind, node, scope, data):
        want = {"session": {}, "run": {"runId": self.run}, "node": {"runId": self.run, "nodeId": node}}[scope]
        equal([e["sessionId"], e.get("scope", {})], [self.id, want], "scope of " + kind)
        short = {"cause": lambda d: d["cause"]["kind"], "category": lambda d: d["reason"]["category"], "detail": lambda d: d["reason"]["detail"],
                 "valid": lambda d: d["result"]["valid"], "trace": lambda d: [trace_row(x) for x in d["entries"]]}
        for member, value in data.items():
            equal(short.get(member, lambda d: d.get(member))(e["data"]), value, "%s of %s %d" % (member, kind, e["eventIndex"]))

    def check_run(self, name):
        got = []
        for e in self.client.events(name):
            p = e["payload"]
            if e["type"] == "log.appended" and p["level"] == "debug":
                continue
            more = {"log.appended": p.get("level"), "variable.changed": p.get("name"), "workflow.loopback-limit": None}
            got.append([e["type"], more.get(e["type"], e.get("nodeId"))])
        want = self.shown[name]
        at = next((i for i in range(max(len(got), len(want))) if got[i:i + 1] != want[i:i + 1]), 0)
        equal(got[at:], want[at:], "events of the derived run %s from the %dth (WR-258)" % (name, at))


def trace_row(entry):
    refs = {x["kind"]: x.get("stepId", x.get("loopId", x.get("value"))) for x in entry.get("refs", [])}
    return [entry["kind"], *{"selected_next_step": lambda: [refs["step_id"]], "entered_loop": lambda: [refs["loop_id"]],
                             "evaluated_condition": lambda: [refs["loop_id"], refs["iteration"], entry["summary"] == "condition true"],
                             "exited_loop": lambda: [refs["loop_id"], refs["iteration"], entry["summary"]]}.get(entry["kind"], list)()]


def entries_of(session):
    values = {"session/events": session["events"], "session/manifest": session["manifest"]}
    for part in ("snapshots", "pinnedWorkflows", "artifacts"):
        values.update({"session/%s/%s" % (part, k): v for k, v in session.get(part, {}).items()})
    return [{"path": p, "sha256": sha(values[p]), "bytes": len(jcs(values[p]).encode())} for p in sorted(values)]


def lines(events):
    return b"".join(jcs(e).encode() + b"\n" for e in events)


def check_digests(bundle):
    """Integrity, segments, pins and content addresses, recomputed (WR-62 to WR-69, WR-238)."""
    s, at, pins = bundle["session"], 0, []
    equal(bundle["integrity"]["entries"], entries_of(s), "integrity (WR-238)")
    for i, m in enumerate(s["manifest"]):
        equal(m["manifestIndex"], i, "manifest index (WR-65)")
        if m["kind"] == "snapshot_pinned":
            pins.append((m["eventIndex"], m["snapshotRef"], m["createdByEventId"]))
            continue
        raw = lines(s["events"][at:m["lastEventIndex"] + 1])
        equal([m["firstEventIndex"], m["sha256"], m["bytes"], m["segmentRelPath"]],
              [at, sha(raw), len(raw), "events/%08d-%08d.jsonl" % (at, m["lastEventIndex"])], "segment (WR-69)")
        at = m["lastEventIndex"] + 1
    equal([at, [e["eventIndex"] for e in s["events"]]], [len(s["events"]), list(range(len(s["events"])))], "segments cover the events (WR-63)")
    equal(sorted(pins), sorted((e["eventIndex"], e["data"]["snapshotRef"], e["eventId"]) for e in s["events"] if e["kind"] == "node_created"), "pins (WR-64)")
    for part in ("snapshots", "pinnedWorkflows", "artifacts"):
        equal([k for k, v in s.get(part, {}).items() if sha(v) != k], [], "content addresses of " + part)
    keys = [e["dedupeKey"] for e in s["events"]]
    equal([len(set(keys)), [k for k in keys if not re.match(r"[a-z0-9_:>-]{1,256}\Z", k)]], [len(keys), []], "dedupe keys (WR-20)")
