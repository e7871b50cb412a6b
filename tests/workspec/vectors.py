#!/usr/bin/env python3
"""The test vectors of the contract (docs/contract/50-workspec.md, section 7.2 to 7.5) as data for the unit tests.

usage: vectors.py ROOT --write     makes tests/workspec/vectors.json of the page
       vectors.py ROOT --check     whether that file is what the page says; also a test
"""
import copy
import json
import re
import sys

PAGE, OUT = "docs/contract/50-workspec.md", "tests/workspec/vectors.json"
ABSENT = "\0absent"
LOCATED = "/simulation/world/layout/locations"
OBJECTS, TASKS = "/simulation/world/objects", "/simulation/process/tasks"


class Reader:
    """The notation of 7.1: JSON with bare member names, and «t.prop op»."""

    def __init__(self, text: str):
        self.text, self.at = text, 0

    def space(self):
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def take(self, c: str) -> bool:
        self.space()
        if self.text.startswith(c, self.at):
            self.at += len(c)
            return True
        return False

    def value(self):
        self.space()
        c = self.text[self.at]
        if c == "{":
            return self.object()
        if c == "[":
            return self.array()
        if c == '"':
            v, n = json.JSONDecoder().raw_decode(self.text[self.at:])
            self.at += n
            return v
        if c == "«":
            return self.change()
        m = re.compile(r"-?[\w.+-]+").match(self.text, self.at)
        word, self.at = m.group(0), m.end()
        named = {"absent": ABSENT, "true": True, "false": False, "null": None, "F": F, "N": N}
        if word in named:
            return copy.deepcopy(named[word])
        try:
            return json.loads(word)
        except ValueError:
            return word  # a bare word is text: id, name

    def object(self):
        out = {}
        assert self.take("{")
        while not self.take("}"):
            self.space()
            m = re.compile(r'"[^"]*"|[\w$/~.]+').match(self.text, self.at)
            self.at = m.end()
            assert self.take(":")
            out[m.group(0).strip('"')] = self.value()
            self.take(",")
        return out

    def array(self):
        out = []
        assert self.take("[")
        while not self.take("]"):
            out.append(self.value())
            self.take(",")
        return out

    def change(self):
        assert self.take("«")
        temporary = self.take("temp ")
        self.space()
        m = re.compile(r"(\w+)\.(\S+)\s+").match(self.text, self.at)
        self.at = m.end()
        out = {"target_id": m.group(1), "property_changes": {m.group(2): self.value()}}
        assert self.take("»")
        if temporary:
            out["temporary"] = True
        return out


F = {"id": "f", "type": "resource", "name": "F", "properties": {"quantity": 10}}
N = {"id": "n", "type": "product", "name": "N", "properties": {"quantity": 1}}
BASE = {"simulation": {
    "schema_version": "2.0", "meta": {"title": "Base", "description": "Vector base", "domain": "Demo"},
    "config": {"time_unit": "minutes", "start_time": "07:00", "end_time": "19:00", "currency": "EUR", "locale": "en-IE"},
    "world": {"layout": {"locations": [{"id": "hall", "name": "Hall"}]},
              "objects": [{"id": "a", "type": "actor", "name": "Ada", "properties": {"state": "free"}},
                          {"id": "b", "type": "actor", "name": "Bob", "properties": {"state": "free"}},
                          {"id": "m", "type": "equipment", "name": "Mill", "properties": {"state": "ready"}},
                          {"id": "p", "type": "product", "name": "Part", "properties": {"quantity": 0}}]},
    "process": {"tasks": []}}}


def task(t):
    if not isinstance(t, dict):
        return t
    t = {**{"actor_id": "a", "start": "09:00", "duration": 30}, **t}
    out = {"id": t.pop("id", ABSENT)} | t
    if "do" in out:
        out["interactions"] = out.pop("do")
    return {k: v for k, v in out.items() if v != ABSENT}


def items(text: str) -> list:
    r, out = Reader(text), []
    while True:
        out.append(r.value())
        r.space()
        if not r.take(","):
            assert r.at == len(text), text
            return out


def put(sim: dict, path: str, value):
    *way, last = path.split(".")
    for step in way:
        sim = sim.setdefault(step, {})
    if value is ABSENT:
        sim.pop(last, None)
    else:
        sim[last] = value


def edit(doc, step: str):
    sim = doc["simulation"]
    if step.startswith("O+ "):
        sim["world"]["objects"] += items(step[3:])
    elif step.startswith("T+ "):
        sim["process"]["tasks"] += [task(t) for t in items(step[3:])]
    elif step.startswith("remove "):
        put(sim, step[7:], ABSENT)
    elif step == "(nothing)":
        pass
    elif step.startswith("schema_version = number"):
        sim["schema_version"] = 2.0
    elif " = " in step:
        path, value = step.split(" = ", 1)
        put(sim, path, items(value)[0])
    else:
        raise ValueError(step)


def special(number: str):
    """Edits that the page says in words."""
    doc = copy.deepcopy(BASE)
    sim = doc["simulation"]
    if number == "V-2":
        return [None, [], {}, {"simulation": []}]
    if number == "V-3":
        return [sim]
    if number == "V-4":
        return [{"objects": [], "tasks": []}]
    if number in ("V-21", "V-22"):
        sim["objects"] = sim["world"]["objects"]
        sim["world"]["objects"] = [] if number == "V-21" else "x"
        if number == "V-21":
            sim["tasks"] = [task({"id": "t1", "actor_id": "zz"})]
        return [doc]
    return None


def documents(number: str, text: str) -> list:
    docs = special(number)
    if docs is None:
        doc = copy.deepcopy(BASE)
        for step in re.split(r"; (?=O\+|T\+|remove |\w+(?:\.\w+)* = )", text):
            edit(doc, step.strip())
        docs = [doc]
    return docs


def pointer(text: str) -> str:
    text = re.sub(r"^O(?=/|$)", OBJECTS, text)
    return re.sub(r"^K(?=/|$)", TASKS, text)


def problem(text: str) -> dict:
    """CODE [E|W|I] [@instance] [{context}] with remarks in between."""
    m = re.match(r"(R\d+|H\d+)(?: ([EWI])(?= |$))?", text)
    out = {"code": m.group(1)}
    if m.group(2):
        out["severity"] = {"E": "error", "W": "warning", "I": "info"}[m.group(2)]
    at = re.search(r" @(\S+?)(?=[ ,;]|$)", text)
    if at:
        out["instance"] = pointer(at.group(1))
    brace = text.find("{")
    if brace >= 0:
        out["context"] = Reader(text[brace:]).value()
    reason = re.search(r'reason "(\w+)"', text)
    if reason:
        out["context"] = {"reason": reason.group(1)}
    return out


def split(text: str) -> list:
    """At '; ' outside of braces."""
    out, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "{[") - (c in "}]")
        if c == ";" and depth == 0:
            out.append(text[start:i].strip())
            start = i + 1
    return out + [text[start:].strip()]


def problems(text: str) -> list:
    return [] if re.match(r"none\b", text) else [problem(p) for p in split(text)]


# Host results that the page gives in words.
def host_words(number: str, reference: list):
    at = TASKS + "/0/interactions/0/property_changes/"
    return {
        "V-17": [{"code": "H14", "instance": "/simulation/config/currency"}],
        "V-21": [{"code": "H2", "severity": "error", "instance": "/simulation/objects"},
                 {"code": "H2", "severity": "error", "instance": "/simulation/tasks"}],
        "V-22": [reference and reference[0], {"code": "H2", "severity": "error", "instance": "/simulation/objects"}],
        "V-30": [{"code": "H11", "instance": "/simulation/type_definitions/vehicle", "context": {"reason": "missing"}}],
        "V-31": [{"code": "R33"}, {"code": "H11", "instance": "/simulation/type_definitions/v1/extends"},
                 {"code": "H11", "instance": "/simulation/type_definitions/v2/extends"}],
        "V-37": [{"code": "H15", "instance": LOCATED + "/1/id"}, {"code": "H15", "instance": LOCATED + "/2/id"}],
        "V-64": [{"code": "R65", "context": {"task_a": "t1", "task_b": "t2"}},
                 {"code": "R65", "context": {"task_a": "t1", "task_b": "t3"}}],
        "V-66": [{"code": "R65", "context": {"task_a": "t1", "task_b": "t2"}}],
        "V-72": [{"code": "R16", "instance": TASKS + "/0/interactions/0/object", "context": {"missing": ["id", "name"]}}],
        "V-79": [{"code": "R52"}, {"code": "R58"}],
        "V-84": [{"metric": "object.integrity.invalid_property_types", "instance": at + "state/delta"}],
        "V-85": [{"metric": "object.state.invalid_transition", "instance": at + "state/from"}],
        "V-95": [{"code": "H22"}],
        "V-97": [{"metric": "resource.flow.negative_stock", "instance": at + "quantity"}],
        "V-99": [{"metric": "resource.flow.negative_stock",
                  "instance": at.replace("tasks/0", "tasks/1") + "quantity", "context": {"before": 1, "delta": -5, "after": -4}}],
        "V-102": [{"metric": "resource.flow.negative_stock", "instance": at + "quantity"}],
    }.get(number)


def host(number: str, text: str, reference: list) -> list:
    words = host_words(number, reference)
    if words is not None:
        return words
    if text == "=":
        return reference
    if text == "= plus H20":
        return reference + [{"code": "H20"}]
    return problems(text)


def validator(page: str) -> list:
    out = []
    for row in re.findall(r"^\| (V-\d+) \| (.*) \| (.*) \| (.*) \|$", page, re.M):
        number, change, reference, own = row
        reference, own_list = problems(reference), None
        own_list = host(number, own, reference)
        if reference == [] and own_list and own_list[0].get("code") == "R34":
            reference = own_list  # one parser of starts for both profiles (7.1)
        out.append({"id": number, "documents": documents(number, change), "reference": reference, "host": own_list})
    return out


def parsers(page: str) -> list:
    out = []
    section = page[page.index("### 7.3"):page.index("Calendar durations")]
    for line in section.split("\n"):
        m = re.match(r"\| (start|duration) \|", line)
        for number, value, result in re.findall(r"(P-\d+) `([^`]*)`: ([^|]*?)(?= \|)", line) if m else []:
            reference, own = result.split(" / ")
            out.append({"id": number, "kind": m.group(1), "value": json.loads(value), "reference": reference, "host": own})
    for number, start, duration, reference, own in re.findall(
            r"^\| (P-\d+) \| `([^`]*)` \| `([^`]*)` \| (.*) \| (.*) \|$", page, re.M):
        out.append({"id": number, "kind": "calendar", "start": start, "duration": duration, "reference": reference, "host": own})
    return out


def interpreter(page: str) -> list:
    out = []
    for number, change, changes, result, _ in re.findall(r"^\| (S-\d+) \| (.*) \| (.*) \| (.*) \| (.*) \|$", page, re.M):
        out.append({"id": number, "documents": documents(number, change), "changes": [] if changes == "no change" else split(changes),
                    "result": result})
    return out


def main() -> int:
    root, how = sys.argv[1], sys.argv[2]
    with open("%s/%s" % (root, PAGE), encoding="utf-8") as f:
        page = f.read()
    made = {"validator": validator(page), "parser": parsers(page), "interpreter": interpreter(page)}
    lines = ['{"%s": [\n%s\n]' % (k, ",\n".join(json.dumps(v, ensure_ascii=False) for v in made[k])) for k in list(made)[:1]]
    lines += ['"%s": [\n%s\n]' % (k, ",\n".join(json.dumps(v, ensure_ascii=False) for v in made[k])) for k in list(made)[1:]]
    text = ",\n".join(lines) + "}\n"
    path = "%s/%s" % (root, OUT)
    if how == "--write":
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    else:
        with open(path, encoding="utf-8") as f:
            if f.read() != text:
                print("%s is not what %s says: run %s ROOT --write" % (OUT, PAGE, sys.argv[0]))
                return 1
    print("vectors: %s" % ", ".join("%d of %s" % (len(v), k) for k, v in made.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
