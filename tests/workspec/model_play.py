"""
model_play.py: of the model the plan of a document (3), and what its tasks do to the world (4): every cell is a base and its layers.
"""
import copy
import hashlib
import math

from model_times import (ABSENT, OPS, is_object, is_array, is_number, trim, kind_of, escape, member, same, date_of, parse_start)


def node_id(t):
    return t if len(t) <= 128 else t[:103] + "-" + hashlib.sha256(t.encode()).hexdigest()[:24]
PRIO = {"low": 0, "medium": 1, "high": 2, "critical": 3}


def plan(v):
    """The plan (WS-45) of a document that was checked and is good."""
    ent = []
    for i, t in enumerate(v.tasks):
        tid = trim(t["id"])
        a = t["actor_id"]
        ty = v.reg[a][0] if a in v.reg else v.created[a]
        al, an = v.all_and_any(t)
        ix = lambda l: list(dict.fromkeys((v.byid[trim(d)] for d in l)))
        p = parse_start(t["start"])
        e = {"index": i, "id": tid, "nodeId": node_id(tid), "performer": a, "startMs": v.timing[i][0], "durationMs": v.durs[i][1],
             "endMs": v.timing[i][1], "startForm": p[0], "calendar": v.durs[i][0] > 0, "all": ix(al), "any": ix(an),
             "priority": PRIO[t.get("priority", "medium")], "human": v.base(ty) == "actor"}
        if "location" in t:
            e["location"] = t["location"]
        if "tags" in t:
            e["tags"] = t["tags"]
        ent.append(e)
    starts = [e["startMs"] for e in ent]
    cs = parse_start(trim(member(v.cfg, "start_time")))
    if cs[0] in ("time", "daytime"):
        starts.append(cs[1])
    elif cs[0] == "datetime":
        starts.append(v.toms(cs))
    out = {}
    if v.anchor_days is not None:
        out["anchorDate"] = date_of(v.anchor_days).isoformat()
        out["offsetMin"] = v.offset
    out["originMs"] = min(starts) if starts else 0
    out["entries"] = ent
    return out


class Fail(Exception):

    def __init__(self, code, sub="", **d):
        self.code, self.sub, self.d = (code, sub, d)
METRIC = {"transition_mismatch": "object.state.invalid_transition", "type_error": "object.integrity.invalid_property_types",
          "numeric_overflow": "object.integrity.numeric_overflow", "negative_quantity": "resource.flow.negative_stock",
          "property_path": "object.integrity.invalid_property_path", "revert_conflict": "interaction.temporary.revert_conflict",
          "unknown_target": "task.integrity.invalid_object_reference", "object_deleted": "object.reference.lifecycle_violation",
          "object_not_created": "object.reference.lifecycle_violation", "duplicate_object": "object.integrity.duplicate_object_id",
          "performer_unavailable": "task.reference.invalid_actor"}


def finite(x, op, v):
    if not math.isfinite(x):
        raise Fail("numeric_overflow", op, before=v)
    return x + 0.0 if x != 0 else 0.0


def add(v, n, op, orig):
    try:
        r = float(v) + float(n)
    except OverflowError:
        r = math.inf
    if abs(r) <= 1e-09 * max(abs(v), abs(n)):
        r = 0.0
    return finite(r, op, orig)


def apply_op(op, v, check=True):
    """value after the operator object op on v; ABSENT allowed"""
    if "from" in op and "to" in op:
        if check and (not (same(v, op["from"]) or (v is ABSENT and op["from"] is None))):
            raise Fail("transition_mismatch", "from", expected=op["from"], actual=v)
        return copy.deepcopy(op["to"])
    if "set" in op:
        return copy.deepcopy(op["set"])
    num = [k for k in ("delta", "multiply", "increment", "decrement") if k in op]
    if num:
        first = next((k for k in ("delta", "increment", "decrement") if k in op), None)
        if v is not ABSENT and (not is_number(v)):
            raise Fail("type_error", first or "multiply", actual_type=kind_of(v))
        n = 0.0 if v is ABSENT else float(v)
        orig = n
        if first:
            n = add(n, op["delta"] if first == "delta" else 1 if first == "increment" else -1, first, orig)
        if "multiply" in op:
            n = finite(n * float(op["multiply"]), "multiply", orig)
        return n
    for k in ("append", "remove"):
        if k not in op:
            continue
        if v is ABSENT:
            if k == "remove":
                continue
            v = []
        if not is_array(v):
            raise Fail("type_error", k, actual_type=kind_of(v))
        v = v + [copy.deepcopy(op[k])] if k == "append" else [x for x in v if not same(x, op[k])]
    return v


class Cell:

    def __init__(self, base):
        self.base, self.layers = (base, [])

    def fold(self, layers=None, check=False):
        v = copy.deepcopy(self.base) if self.base is not ABSENT else ABSENT
        for l in self.layers if layers is None else layers:
            v = l.apply(v, check)
        return v


class Layer:

    def __init__(self, path, op):
        self.path, self.op = (path, op)

    def apply(self, v, check):
        if not self.path:
            return apply_op(self.op, v, check)
        if v is ABSENT:
            root = {}
            made = True
        else:
            root = v
            made = False
        if not is_object(root):
            raise Fail("property_path", "", segment=self.seg0)
        root = copy.deepcopy(root)
        o = root
        missing = made
        for k in self.path[:-1]:
            if k not in o:
                o[k] = {}
                missing = True
            elif not is_object(o[k]):
                raise Fail("property_path", "", segment=k)
            o = o[k]
        r = apply_op(self.op, o.get(self.path[-1], ABSENT), check)
        if r is ABSENT:
            return v
        o[self.path[-1]] = r
        return root


class Obj:

    def __init__(self, o):
        self.id, self.type, self.name, self.alive = (o["id"], o["type"], o["name"], True)
        self.top = {k: Cell(copy.deepcopy(o[k])) for k in ("location", "emoji") if k in o}
        self.bag = {k: Cell(copy.deepcopy(x)) for k, x in (o.get("properties") or {}).items()}

    def find(self, name):
        """Where the cell is, its name, and the path inside it (WS-69)."""
        if name in ("location", "emoji"):
            return (self.top, name, [])
        x = name[len("properties."):] if name.startswith("properties.") and len(name) > len("properties.") else name
        if x in self.bag and self.bag[x].fold() is not ABSENT:
            return (self.bag, x, [])
        if "." in x:
            parts = x.split(".")
            return (self.bag, parts[0], parts[1:])
        return (self.bag, x, [])

    def variable(self, cells, key):
        """The name of a cell in the log (WS-70); a change of what is inside it is a change of the cell."""
        return f"{self.id}." + ("properties." + key if cells is self.bag and key in ("location", "emoji") else key)

    def shape(self):
        o = {"id": self.id, "type": self.type, "name": self.name}
        for k in ("emoji", "location"):
            if k in self.top and self.top[k].fold() is not ABSENT:
                o[k] = self.top[k].fold()
        pr = {k: c.fold() for k, c in self.bag.items()}
        pr = {k: x for k, x in pr.items() if x is not ABSENT}
        o["properties"] = pr
        return o

    def vars(self):
        o = {}
        for k, c in self.bag.items():
            x = c.fold()
            if x is not ABSENT:
                o[self.variable(self.bag, k)] = x
        for k in ("location", "emoji"):
            if k in self.top and self.top[k].fold() is not ABSENT:
                o[self.variable(self.top, k)] = self.top[k].fold()
        return o


class World:

    def __init__(self, v):
        self.v = v
        self.o = {o["id"]: Obj(o) for o in v.objects}
        self.gone = {}
        self.temps = {}
        self.log = []

    def copyworld(self):
        return copy.deepcopy((self.o, self.gone, self.temps))

    def start(self, i, vt):
        save = self.copyworld()
        n = len(self.log)
        try:
            self._start(i, vt)
        except Fail as f:
            self.o, self.gone, self.temps = save
            del self.log[n:]
            raise

    def alive(self, oid, sub):
        if oid not in self.o:
            raise Fail("object_not_created" if oid in self.v.known else "unknown_target", sub, object_id=oid, deleted_by=None)
        if not self.o[oid].alive:
            raise Fail("object_deleted", sub, object_id=oid, deleted_by=self.gone.get(oid))
        return self.o[oid]

    def note(self, i, name, prev, nxt, cause):
        self.log.append((trim(self.v.tasks[i]["id"]), name, prev, nxt, cause))

    def tell(self, i, o, cause):
        self.note(i, o.id, ABSENT, {"id": o.id, "type": o.type, "name": o.name}, cause)
        for k, x in o.vars().items():
            self.note(i, k, ABSENT, x, cause)

    def _start(self, i, vt):
        t = self.v.tasks[i]
        a = t["actor_id"]
        self.temps[i] = []
        if a not in self.o or not self.o[a].alive or (not self.v.perf(trim(self.o[a].type))):
            raise Fail("performer_unavailable", "actor_id", actor_id=a)
        for j, x in self.v.inter(i):
            act = trim(member(x, "action"))
            tmp = member(x, "temporary") is True
            if act == "create":
                o = x["object"]
                oid = trim(o["id"])
                if oid in self.o:
                    raise Fail("duplicate_object", f"interactions/{j}/object/id", object_id=oid)
                self.o[oid] = Obj(o)
                self.tell(i, self.o[oid], "create")
                if tmp:
                    self.temps[i].append((j, 0, "create", oid))
            elif act == "delete":
                oid = trim(x["target_id"])
                o = self.alive(oid, f"interactions/{j}/target_id")
                o.alive = False
                self.gone[oid] = trim(t["id"])
                self.note(i, oid, {"id": o.id, "type": o.type, "name": o.name}, None, "delete")
                if tmp:
                    self.temps[i].append((j, 0, "delete", oid))
            else:
                oid = trim(x["target_id"])
                o = self.alive(oid, f"interactions/{j}/target_id")
                for n, (p, op) in enumerate(x["property_changes"].items()):
                    self.change(i, j, n, o, p, op, tmp)

    def change(self, i, j, n, o, p, op, tmp):
        at = f"interactions/{j}/property_changes/{escape(p)}"
        if "append" in op and "remove" in op and (not any((k in op for k in OPS if k not in ("append", "remove")))):
            self.change(i, j, n, o, p, {"append": op["append"]}, tmp)
            return self.change(i, j, n + 0.5, o, p, {"remove": op["remove"]}, tmp)
        if not any((k in op for k in OPS)):
            return
        d, key, path = o.find(p)
        cell = d.get(key) or Cell(ABSENT)
        before = cell.fold()
        lay = Layer(path, op)
        lay.seg0 = key
        try:
            after = lay.apply(copy.deepcopy(before) if before is not ABSENT else ABSENT, True)
        except Fail as f:
            f.at = at + ("/" + f.sub if f.sub else "")
            f.d = {"target_id": o.id, "property": p, **f.d}
            if f.code == "type_error" or f.code == "numeric_overflow":
                f.d["operator"] = f.sub
            raise
        if after is ABSENT:
            return
        if d is o.bag and key == "quantity" and (not path) and self.v.quant(trim(o.type)) and is_number(after) and (after < 0):
            dd = op.get("delta") if "delta" in op else 1 if "increment" in op else -1 if "decrement" in op else ABSENT
            if "multiply" in op or "set" in op or "to" in op:
                dd = op["delta"] if "delta" in op and "set" not in op and ("to" not in op) else ABSENT if "multiply" in op or "set" in op or "to" in op else dd
            f = Fail("negative_quantity", "", object_id=o.id, before=before, delta=dd, after=after)
            f.at = at
            raise f
        d.setdefault(key, cell)
        cell.layers.append(lay)
        if tmp:
            self.temps[i].append((j, n, "change", o, d, key, lay))
        if not same(before, after):
            self.note(i, o.variable(d, key), before, after, "apply")

    def end(self, i):
        for x in sorted(self.temps.pop(i, []), key=lambda x: (-x[0], -x[1])):
            j = x[0]
            if x[2] == "create":
                o = self.o[x[3]]
                if o.alive:
                    o.alive = False
                    self.gone[o.id] = trim(self.v.tasks[i]["id"])
                    self.note(i, o.id, {"id": o.id, "type": o.type, "name": o.name}, None, "expire")
            elif x[2] == "delete":
                o = self.o[x[3]]
                if not o.alive:
                    o.alive = True
                    self.gone.pop(o.id, None)
                    self.tell(i, o, "restore")
            else:
                _, _, _, o, d, key, lay = x
                cell = d[key]
                rest = [l for l in cell.layers if l is not lay]
                before = cell.fold()
                try:
                    after = cell.fold(rest)
                except Fail as f:
                    e = Fail("revert_conflict", "", target_id=o.id, property=None, reason=f.code)
                    e.at = f"interactions/{j}/temporary"
                    raise e from f
                cell.layers = rest
                if not same(before, after) and o.alive:
                    self.note(i, o.variable(d, key), before, after, "revert")


def steps(v):
    ev = [(v.timing[i][1], 0, i) for i in v.timing] + [(v.timing[i][0], 1, i) for i in v.timing]
    return sorted(ev)


class DryRun:

    def __init__(self, v):
        self.v = v

    def problems(self):
        w = World(self.v)
        out = []
        failed = set()
        for vt, k, i in steps(self.v):
            t = self.v.tasks[i]
            if i in failed:
                continue
            try:
                if k:
                    w.start(i, vt)
                else:
                    w.end(i)
            except Fail as f:
                failed.add(i)
                at = getattr(f, "at", None) or f.sub
                out.append({"code": "H17", "metric_id": METRIC[f.code], "severity": "error", "instance": f"{self.v.K}/{i}/{at}",
                           "context": {"task_id": trim(t["id"]), **{a: b for a, b in f.d.items() if b is not ABSENT}}, "loose": True})
        self.w = w
        return out


def execute(v):
    w = World(v)
    snaps = []
    for vt, k, i in steps(v):
        if k:
            w.start(i, vt)
        else:
            w.end(i)
    return w
