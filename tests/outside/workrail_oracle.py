"""
workrail_oracle.py: what docs/contract/60-workrail.md says that a session is, written a second time: canonical JSON, made-up workflows, which step is
next, what blocks, the log that comes of it, its preferred tip and status, and the OpenWOP events that are derived. It shares no code and no table with
the host; tests/outside/workrail.py walks both and compares.
"""
import base64
import hashlib
import json
import math
import re

MARK = "\n\n[TRUNCATED]"
FOOTER = "Do only this step. The next step is unknown until continue_workflow returns it."
AUTONOMY = ["guided", "full_auto_stop_on_user_deps", "full_auto_never_stop"]
RISK = ["conservative", "balanced", "aggressive"]
NEEDS = ["needs_user_secret_or_token", "needs_user_account_access", "needs_user_artifact", "needs_user_choice", "needs_user_approval",
         "needs_user_environment_action"]
DIVERGENCES = ["missing_user_context", "capability_unavailable", "efficiency_skip", "safety_stop", "policy_constraint"]
CAPABILITIES = ["delegation", "web_browsing"]
CONTRACT_KINDS = {"wr.contracts." + k: "wr." + k for k in ("loop_control", "workflow_divergence", "capability_observation", "user_only_dependency")}
LOOP_BULLETS = ["Artifact contract: wr.contracts.loop_control", 'Provide an artifact with kind "wr.loop_control", loopId and decision',
                'decision is "continue" or "stop"']


# ---- canonical JSON, digests, identifiers (WR-1 to WR-12)

def number(x):
    """ECMAScript's shortest form (RFC 8785)."""
    if isinstance(x, int) and abs(x) <= 2 ** 53:
        return str(x)
    x = float(x)
    if not math.isfinite(x):
        raise ValueError(x)
    if x == 0:
        return "0"
    mantissa, _, exponent = repr(abs(x)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= 21:
        text = digits[:point] + "." + digits[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + "e%+d" % (point - 1)
    return ("-" if x < 0 else "") + text


ESCAPES = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}


def jcs(v):
    if v is None:
        return "null"
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, (int, float)):
        return number(v)
    if isinstance(v, str):
        return '"' + "".join(ESCAPES.get(ord(c)) or ("\\u%04x" % ord(c) if ord(c) < 32 else c) for c in v) + '"'
    if isinstance(v, list):
        return "[" + ",".join(map(jcs, v)) + "]"
    return "{" + ",".join(jcs(k) + ":" + jcs(v[k]) for k in sorted(v, key=lambda k: k.encode("utf-16-be"))) + "}"


def sha(data):
    return "sha256:" + hashlib.sha256(data if isinstance(data, bytes) else jcs(data).encode()).hexdigest()


def minted(*parts):
    """26 characters of the first 16 bytes of a digest: ids that a repetition must find again (WR-4, WR-5)."""
    return base64.b32encode(hashlib.sha256(":".join(parts).encode()).digest()[:16]).decode().lower().rstrip("=")


def child(attempt):
    return "attempt_" + minted("wr_attempt_next_v1", attempt)


def payload(token):
    part = token.split(".")[2]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def cut(text, most):
    raw = text.encode()
    return text if len(raw) <= most else raw[:most - len(MARK)].decode("utf-8", "ignore") + MARK


# ---- made-up workflows

def make_condition(r, depth=0):
    if depth < 2 and r.random() < .35:
        join = r.choice(["and", "or", "not"])
        return {join: make_condition(r, depth + 1) if join == "not" else [make_condition(r, depth + 1) for _ in range(r.randint(1, 3))]}
    op = r.choice(["equals", "not_equals", "gt", "gte", "lt", "lte", "in"])
    value = r.choice([1, 2, 2.5]) if op[0] in "gl" else [r.choice([1, 2, "a", "Blue", True]) for _ in range(r.randint(1, 3))] if op == "in" else \
        r.choice([1, 2, 3.5, "a", "Blue", True, False])
    return {"var": r.choice("xyz"), op: value}


def make_rule(r, count, depth=0):
    if depth < 2 and r.random() < .4:
        join = r.choice(["and", "or", "not"])
        return {join: make_rule(r, count, depth + 1) if join == "not" else [make_rule(r, count, depth + 1) for _ in range(r.randint(1, 3))]}
    count[0] += 1
    rule = {"type": r.choice(["contains", "length", "regex"]), "message": "rule %d" % count[0]}
    if rule["type"] == "contains":
        rule["value"] = r.choice(["foo", "bar", "## F", "é"])
    elif rule["type"] == "regex":
        rule["pattern"] = r.choice(["^fo+", "ba[rz]$", "^## ", "(foo|bar)", "é{1,2}"])
    else:
        rule.update(r.choice([{"min": r.randint(1, 30)}, {"max": r.randint(20, 60)}, {"min": r.randint(1, 30), "max": r.randint(30, 60)}]))
    return rule


def make_step(r, count, in_loop):
    count[0] += 1
    step = {"id": "s%d" % count[0], "title": "T%d" % count[0], "prompt": "Do %d." % count[0]}
    which = r.random()
    if in_loop and which < .5:
        step["output"] = {"contractRef": "wr.contracts.loop_control"}
    elif which < .2:
        step[r.choice(["output", "outputContract"])] = {"contractRef": r.choice(list(CONTRACT_KINDS)[1:])}
    if r.random() < .25:
        step["validationCriteria"] = r.choice([make_rule(r, count), [make_rule(r, count) for _ in range(r.randint(1, 3))]])
    for name, value in (("notesOptional", True), ("requireConfirmation", True), ("runCondition", make_condition(r)), ("agentRole", "Step role.")):
        if r.random() < .18:
            step[name] = value
    return step


def make_items(r, count, depth, least, most):
    items = []
    for _ in range(r.randint(least, most)):
        if depth < 3 and r.random() < .33:
            count[0] += 1
            items.append({"type": "loop", "loopId": "l%d" % count[0], "while": {"kind": "condition_ref", "conditionId": r.choice(["ask", "ask", "yes", "no"])},
                          "maxIterations": r.randint(1, 3), "body": make_items(r, count, depth + 1, 1, 3)})
        else:
            items.append(make_step(r, count, depth > 0))
    return items


def make_workflow(r, name):
    source = {"id": name, "name": r.choice(["Plain name", "Auth review", "Ünïcode Ｎame"]), "description": "d", "version": "1",
              "conditions": [{"conditionId": "ask", "kind": "loop_control"}, {"conditionId": "yes", "kind": "always_true"},
                             {"conditionId": "no", "kind": "always_false"}]}
    for member, chance, value in (("agentRole", .4, r.choice(["You are a tester.", "First.\n\nSecond."])), ("recommendedAutonomy", .4, r.choice(AUTONOMY)),
                                  ("recommendedRiskPolicy", .4, r.choice(RISK)),
                                  ("capabilities", .3, {c: r.choice(["required", "preferred", "disabled"]) for c in r.sample(CAPABILITIES, r.randint(1, 2))})):
        if r.random() < chance:
            source[member] = value
    source["steps"] = make_items(r, [0], 0, 1, 5)
    return source


# ---- conditions and rules (WR-104, WR-131)

def leniently(v):
    if isinstance(v, str):
        text = v.strip().lower()
        if text in ("true", "false"):
            return text == "true"
        try:
            return float(text)
        except ValueError:
            return text
    return float(v) if isinstance(v, (int, float)) and not isinstance(v, bool) else v


def same(a, b):
    a, b = leniently(a), leniently(b)
    return type(a) is type(b) and a == b


def holds(c, context):
    (op, value), = ((k, v) for k, v in c.items() if k != "var")
    if op in ("and", "or"):
        return (all if op == "and" else any)(holds(x, context) for x in value)
    if op == "not":
        return not holds(value, context)
    have = context.get(c["var"])
    if op in ("equals", "not_equals"):
        return same(have, value) == (op == "equals")
    if op == "in":
        return any(same(have, x) for x in value)
    a, b = leniently(have), leniently(value)
    return isinstance(a, float) and isinstance(b, float) and {"gt": a > b, "gte": a >= b, "lt": a < b, "lte": a <= b}[op]


def keeps(rule, text):
    if isinstance(rule, list) or "and" in rule:
        return all(keeps(x, text) for x in (rule if isinstance(rule, list) else rule["and"]))
    if "or" in rule:
        return any(keeps(x, text) for x in rule["or"])
    if "not" in rule:
        return not keeps(rule["not"], text)
    if rule["type"] == "contains":
        return rule["value"] in text
    if rule["type"] == "regex":
        return re.search(rule["pattern"].replace("$", r"\Z"), text) is not None
    return rule.get("min", 0) <= len(text.encode("utf-16-le")) // 2 <= rule.get("max", 1 << 60)


def plain_rules(rule):
    """The rules of lists and "and"; None for what is joined otherwise, whose wording is the host's."""
    if isinstance(rule, list) or "and" in rule:
        return [y for x in (rule if isinstance(rule, list) else rule["and"]) for y in plain_rules(x)]
    return [None if "or" in rule or "not" in rule else rule]


def issues(rule, text):
    if isinstance(rule, list) or "and" in rule:
        return [y for x in (rule if isinstance(rule, list) else rule["and"]) for y in issues(x, text)]
    return [] if keeps(rule, text) else [None if "or" in rule or "not" in rule else rule["message"]]


def bullet(rule):
    if rule["type"] == "contains":
        return 'Must contain: "%s"' % rule["value"]
    if rule["type"] == "regex":
        return "Must match pattern: " + rule["pattern"]
    return "Length: " + ", ".join(s % rule[k] for k, s in (("min", "≥%d chars"), ("max", "≤%d chars")) if k in rule)


def closed(a, needed, others=()):
    return all(k in a for k in needed) and all(k in needed or k in others for k in a)


def is_valid(a, active):
    """An artifact of a contract that is as its pack wants it (WR-43, WR-100, WR-155)."""
    kind = a.get("kind")
    if kind == "wr.loop_control":
        return closed(a, ("kind", "decision"), ("loopId", "summary")) and a["decision"] in ("continue", "stop") and \
            len(a.get("summary", "").encode()) <= 1024 and a.get("loopId", active[-1] if active else None) in active + [None]
    if kind == "wr.capability_observation":
        return closed(a, ("kind", "capability", "status", "attempted"), ("failureCode",)) and a["capability"] in CAPABILITIES and \
            a["status"] in ("available", "unavailable", "unknown") and isinstance(a["attempted"], bool)
    if kind == "wr.user_only_dependency":
        return closed(a, ("kind", "reason", "summary")) and a["reason"] in NEEDS
    return closed(a, ("kind", "reason", "summary"), ("relatedStepId",)) and a["reason"] in DIVERGENCES


# ---- the interpreter (WR-94 to WR-105)

class Workflow:
    def __init__(self, source):
        self.source, self.steps, self.loops = source, {}, {}
        self.required = [c for c in CAPABILITIES if source.get("capabilities", {}).get(c) == "required"]
        for c in self.required:
            self.steps["wr_probe_" + c] = {"id": "wr_probe_" + c, "title": "Probe: " + c.replace("_", " "), "probe": c,
                                           "output": {"contractRef": "wr.contracts.capability_observation"}}
        self.order = [("step", s) for s in self.steps] + self.walk(source["steps"])

    def walk(self, items):
        order = []
        for x in items:
            if x.get("type") == "loop":
                self.loops[x["loopId"]] = {"max": x["maxIterations"], "while": x["while"]["conditionId"], "body": self.walk(x["body"])}
                order.append(("loop", x["loopId"]))
            else:
                self.steps[x["id"]] = x
                order.append(("step", x["id"]))
        return order

    def contract(self, step):
        return (step.get("output") or step.get("outputContract") or {}).get("contractRef")

    def eligible(self, kind, name, context):
        return kind == "loop" or "runCondition" not in self.steps[name] or holds(self.steps[name]["runCondition"], context)


def key_of(stack, name):
    return "/".join("%s@%d" % (f[0], f[1]) for f in stack) + "::" + name if stack else name


class Interpreter:
    """One call of the interpreter: state {done, stack, step} of the step just done, to the next one or None."""

    def __init__(self, workflow, state, context, artifacts, as_stop):
        self.workflow, self.context, self.trace, self.at_limit, self.decided = workflow, context, [], [], {}
        self.done, self.stack = set(state["done"]), [list(f) for f in state["stack"]]
        active = [f[0] for f in self.stack]
        for a in artifacts:
            if a.get("kind") == "wr.loop_control" and active and is_valid(a, active):
                self.decided[a.get("loopId", active[-1])] = a["decision"]
        if as_stop and active:
            self.decided[active[-1]] = "stop"
        if state["step"]:
            self.done.add(key_of(self.stack, state["step"]))
            if self.stack:
                self.stack[-1][2] += 1

    def goes_on(self, loop):
        condition = self.workflow.loops[loop]["while"]
        return condition == "yes" or condition == "ask" and self.decided.get(loop) != "stop"

    def leave(self, why):
        loop, iteration, _ = self.stack.pop()
        self.done.add(key_of(self.stack, loop))
        self.trace.append(["exited_loop", loop, iteration, why])
        if self.stack:
            self.stack[-1][2] += 1

    def enter(self, loop):
        self.stack.append([loop, 0, 0])
        on = self.goes_on(loop)
        self.trace += ([["entered_loop", loop]] if on else []) + [["evaluated_condition", loop, 0, on]]
        return on or self.leave("condition false")

    def select(self, step):
        self.trace.append(["selected_next_step", step])
        return {"done": self.done, "stack": self.stack, "step": step}

    def next(self):
        entered = False
        while True:
            if not self.stack:
                items = [x for x in self.workflow.order if x[1] not in self.done and self.workflow.eligible(*x, self.context)]
                if not items:
                    return None
                if items[0][0] == "step":
                    return self.select(items[0][1])
                entered = self.enter(items[0][1])
                continue
            loop, iteration, at = self.stack[-1]
            if not entered and not self.goes_on(loop):
                self.trace.append(["evaluated_condition", loop, iteration, False])
                self.leave("condition false")
                continue
            entered = False
            body = self.workflow.loops[loop]["body"]
            found = [i for i in range(at, len(body)) if self.workflow.eligible(*body[i], self.context)]
            if found:
                self.stack[-1][2] = found[0]
                if body[found[0]][0] == "step":
                    return self.select(body[found[0]][1])
                entered = self.enter(body[found[0]][1])
            else:
                self.another_pass(loop, iteration)

    def another_pass(self, loop, iteration):
        if iteration + 1 >= self.workflow.loops[loop]["max"]:
            self.at_limit.append((loop, self.decided.get(loop) == "continue"))
            return self.leave("max iterations reached")
        on = self.goes_on(loop)
        self.trace.append(["evaluated_condition", loop, iteration + 1, on])
        if not on:
            return self.leave("condition false")
        self.stack[-1][1:] = [iteration + 1, 0]


def snapshot(state, blocked=None):
    engine = {"kind": "complete"}
    if state:
        engine = {"kind": "running", "completed": {"kind": "set", "values": sorted(state["done"])},
                  "loopStack": [{"loopId": f[0], "iteration": f[1], "bodyIndex": f[2]} for f in state["stack"]],
                  "pending": {"kind": "some", "step": {"stepId": state["step"], "loopPath": [{"loopId": f[0], "iteration": f[1]} for f in state["stack"]]}}}
        if blocked:
            engine.update(kind="blocked", blocked=blocked)
    return {"v": 1, "kind": "execution_snapshot", "enginePayload": {"v": 1, "engineState": engine}}
