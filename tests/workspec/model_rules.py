"""
model_rules.py: of the model the rules R1 to R71 and H1 to H22, phase by phase as in 2.3 and 2.6.
"""
import datetime
import re

from model_play import DryRun
from model_times import (TRIM, ABSENT, PLAIN, NS, BUILTIN, RESERVED, ALIAS, OPS, DAY, is_object, is_array, is_number, is_text, trim, text_of,
                         type_name, escape, member, date_of, parse_start, UNITMS, duration_reference, HUNDRED_YEARS, duration_host, add_months,
                         zone_of, offset_of)


class Check:

    def __init__(self, doc, profile="host"):
        self.doc, self.host, self.p = (doc, profile == "host", [])
        self.types = {}

    def add(self, code, metric, sev, inst, **ctx):
        self.p.append({"code": code, "metric_id": metric, "severity": sev, "instance": inst, "context": {k: v for k, v in ctx.items()
                      if v is not ABSENT}})

    def E(self, code, metric, inst, **c):
        self.add(code, metric, "error", inst, **c)

    def W(self, code, metric, inst, **c):
        self.add(code, metric, "warning", inst, **c)

    def base(self, t):
        seen = set()
        while True:
            if t in BUILTIN:
                return t
            d = member(self.tdefs, t)
            if not is_object(d):
                return ""
            if t in seen:
                return ""
            seen.add(t)
            t = trim(member(d, "extends"))
            if not t:
                return ""

    def perf(self, t):
        return "p" in BUILTIN.get(self.base(t), "")

    def quant(self, t):
        return "q" in BUILTIN.get(self.base(t), "")

    def stateful(self, t):
        return "s" in BUILTIN.get(self.base(t), "")

    def run(self):
        self._run()
        return self.p

    def ok(self):
        return not any((p["severity"] == "error" for p in self.p))

    def _run(self):
        doc = self.doc
        if not is_object(doc):
            return self.E("R1", "schema.integrity.missing_root", "/simulation", expected="simulation")
        sim = member(doc, "simulation")
        if not is_object(sim):
            if self.host or not (is_object(member(doc, "meta")) or is_object(member(doc, "config")) or is_array(member(doc, "tasks"))
                                 or is_array(member(doc, "objects"))):
                return self.E("R1", "schema.integrity.missing_root", "/simulation", expected="simulation")
            sim = doc
        self.sim = sim
        v = trim(member(sim, "schema_version"))
        I = "schema.integrity."
        if not v:
            return self.E("R2", I + "missing_version", "/simulation/schema_version", field="schema_version")
        if not re.match("[0-9]+\\.[0-9]+\\Z", v):
            return self.E("R3", I + "invalid_version", "/simulation/schema_version", value=v)
        if v != "2.0":
            return self.E("R4", I + "unsupported_version", "/simulation/schema_version", value=v, supported=["2.0"])
        meta = member(sim, "meta")
        if not is_object(meta):
            self.E("R5", I + "missing_meta", "/simulation/meta", field="meta")
        else:
            miss = [k for k in ("title", "description", "domain") if not trim(member(meta, k))]
            if miss:
                self.E("R6", I + "missing_meta_fields", "/simulation/meta", missing=miss)
            if "article_title" in meta:
                self.E("R7", I + "disallowed_meta_field", "/simulation/meta/article_title", field="article_title")
        cfg = member(sim, "config")
        if not is_object(cfg):
            self.E("R8", I + "missing_config", "/simulation/config", field="config")
            cfg = {}
        self.cfg = cfg
        u = trim(member(cfg, "time_unit")).lower()
        unit = u if u in UNITMS else None
        self.unit = unit
        if not unit:
            self.E("R9", I + "invalid_time_unit", "/simulation/config/time_unit", value=member(cfg, "time_unit"))
        self.r10 = set()
        for k in ("start_time", "end_time", "currency", "locale"):
            if not trim(member(cfg, k)):
                self.r10.add(k)
                self.E("R10", I + "missing_config_field", "/simulation/config/" + k, field=k)
        world, proc = (member(sim, "world"), member(sim, "process"))
        if not is_object(world):
            self.E("R11", I + "missing_world", "/simulation/world", field="world")
            world = {}
        if not is_object(proc):
            self.E("R12", I + "missing_process", "/simulation/process", field="process")
            proc = {}
        self.world, self.proc = (world, proc)
        wo, pt, lo, lt = (member(world, "objects"), member(proc, "tasks"), member(sim, "objects"), member(sim, "tasks"))
        O, K = ("/simulation/world/objects", "/simulation/process/tasks")

        def pick(new, old, base, obase):
            a = new if is_array(new) else None
            b = old if is_array(old) and (not self.host) else None
            if a:
                return (a, base)
            if b is not None:
                return (b, obase)
            return (a, base)
        objects, self.O = pick(wo, lo, O, "/simulation/objects")
        tasks, self.K = pick(pt, lt, K, "/simulation/tasks")
        if not is_array(wo):
            self.E("R13", I + "invalid_world_objects", O, field="world.objects", value_type=type_name(wo))
        if not is_array(pt):
            self.E("R14", I + "invalid_process_tasks", K, field="process.tasks", value_type=type_name(pt))
        if self.host:
            for k in ("layout", "objects", "tasks", "recipes", "production_recipes"):
                if k in sim:
                    bad = k == "objects" and is_array(lo) and lo and (not (is_array(wo) and wo)) or (k == "tasks" and is_array(lt) and lt
                            and (not (is_array(pt) and pt)))
                    (self.E if bad else self.W)("H2", I + "legacy_structure", "/simulation/" + k, field=k)
        if objects is None or tasks is None or (not unit):
            return
        self.objects, self.tasks = (objects, tasks)
        self.tdefs = member(sim, "type_definitions")
        if not is_object(self.tdefs):
            self.tdefs = {}
        layout = member(world, "layout")
        if not is_object(layout) and (not self.host):
            layout = member(sim, "layout")
        locs = member(layout, "locations")
        self.locs = {trim(member(l, "id")) for l in locs if is_object(l)} if is_array(locs) else set()
        self.locs.discard("") if not self.host else None
        self.checkloc = is_array(locs) if self.host else bool(self.locs)
        self.phase_objects()
        self.created = {}
        for t in tasks:
            if is_object(t) and is_array(member(t, "interactions")):
                for x in t["interactions"]:
                    if is_object(x) and trim(member(x, "action")) == "create" and is_object(member(x, "object")):
                        c = trim(member(x["object"], "id"))
                        if c not in self.created:
                            self.created[c] = trim(member(x["object"], "type"))
        self.known = set(self.reg) | {c for c in self.created if c}
        self.used = set()
        self.anchor()
        self.phase_tasks()
        for i, t in enumerate(tasks):
            if not is_object(t):
                continue
            if not trim(member(t, "id")):
                continue
            for d in self.deps(t):
                if trim(d) and trim(d) not in self.byid:
                    self.E("R59", "task.reference.invalid_dependency", f"{self.K}/{i}/depends_on", task_id=trim(t["id"]), dependency_id=trim(d))
        self.cycles()
        self.lifecycle()
        self.overlap()
        self.deptime()
        self.recipes()
        if not self.host:
            self.stock()
        self.economics()
        self.unused()
        if self.host:
            self.hrules()

    def obj_rules(self, o, inst, miss_ctx, ctx, created=False):
        """R16-R20,R22,(R23),R24; returns True if it passed R16"""
        miss = ([] if text_of(member(o, "id")) else ["id"]) + [k for k in ("type", "name") if not trim(member(o, k))]
        if miss:
            self.E("R16" if not created else "H12", "object.integrity.missing_required_fields", inst, **{**miss_ctx, "missing": miss})
            return False
        oid, ty = (o["id"], trim(o["type"]))
        M = "object.integrity."
        if ty.startswith("_") or ty in RESERVED:
            self.E("R17", "schema.integrity.disallowed_types", inst + "/type", **{"object_id": oid, "type": ty, **ctx})
        if ty in ALIAS:
            self.E("R18", M + "disallowed_type_alias", inst + "/type", **{"object_id": oid, "type": ty, "suggested_type": ALIAS[ty], **ctx})
        m = NS.match(oid)
        if len(oid) > 250 or not (PLAIN.match(oid) or m):
            self.E("R19", M + "invalid_object_id", inst + "/id", **{"object_id": oid, **ctx})
        elif m and m[1] != ty:
            self.E("R20", M + "namespace_mismatch", inst + "/id", **{"object_id": oid, "namespace": m[1], "type": ty, **ctx})
        return True

    def obj_rules2(self, o, inst, ctx):
        oid, ty = (o["id"], trim(o["type"]))
        if ty not in BUILTIN and (not is_object(member(self.tdefs, ty))):
            self.E("R22", "object.integrity.missing_type_definition", inst + "/type", **{"object_id": oid, "type": ty, **ctx})

    def loc_rule(self, o, inst, ctx):
        l = trim(member(o, "location"))
        if l and self.checkloc and (l not in self.locs):
            self.E("R24", "object.reference.invalid_location", inst + "/location", **{**ctx, "location": o["location"]})

    def phase_objects(self):
        self.reg = {}
        for i, o in enumerate(self.objects):
            inst = f"{self.O}/{i}"
            if not is_object(o):
                self.E("R15", "object.integrity.invalid_object", inst, index=i)
                continue
            if not self.obj_rules(o, inst, {"object_index": i}, {}):
                continue
            oid, ty = (o["id"], trim(o["type"]))
            if oid in self.reg:
                self.E("R21", "object.integrity.duplicate_object_id", inst + "/id", object_id=oid)
            self.obj_rules2(o, inst, {})
            d = member(self.tdefs, ty)
            if not self.host and is_object(d) and (not trim(member(d, "extends"))):
                self.E("R23", "object.integrity.invalid_type_definition", "/simulation/type_definitions/" + escape(ty), type=ty)
            self.loc_rule(o, inst, {"object_id": oid})
            pr = member(o, "properties")
            q = member(pr, "quantity")
            if self.quant(ty) and (not (is_number(q) and q >= 0)):
                self.E("R25", "object.integrity.missing_required_properties", inst + "/properties/quantity", object_id=oid, type=ty, quantity=q)
            if self.stateful(ty) and (not trim(member(pr, "state"))):
                self.E("R26", "object.integrity.missing_required_properties", inst + "/properties/state", object_id=oid, type=ty)
            self.reg[oid] = (ty, o)

    def all_and_any(self, t):
        d = member(t, "depends_on")
        if is_array(d):
            return (d, [])
        if is_object(d):
            a, b = (member(d, "all"), member(d, "any"))
            return (a if is_array(a) else [], b if is_array(b) else [])
        return ([], [])

    def deps(self, t):
        a, b = self.all_and_any(t)
        return a + b

    def anchor(self):
        """host: anchor date and offset (WS-59, 60)"""
        self.anchor_days = self.offset = None
        self.h14tz = False
        tzv = member(self.cfg, "timezone")
        z = datetime.timezone.utc
        self.anchor_inferred = False
        if is_text(tzv):
            zz = zone_of(trim(tzv))
            if zz is None:
                self.h14tz = True
            else:
                z = zz
        dts = []
        cs = parse_start(trim(member(self.cfg, "start_time")))

        def localdate(p):
            if p[3] is None:
                return p[1]
            inst = p[1] * DAY + p[2] - p[3] * 60000
            off = offset_of(z, inst // DAY, inst % DAY)
            return int((inst + off * 60000) // DAY)
        if cs[0] == "datetime":
            self.anchor_days = localdate(cs)
        else:
            best = None
            for t in self.tasks:
                p = parse_start(member(t, "start")) if is_object(t) else ("error",)
                if p[0] == "datetime":
                    d = p[3] if p[3] is not None else offset_of(z, p[1])
                    key = p[1] * DAY + p[2] - d * 60000
                    if best is None or key < best[0]:
                        best = (key, localdate(p))
            if best:
                self.anchor_days = best[1]
                self.anchor_inferred = True
        if self.anchor_days is not None:
            self.offset = offset_of(z, self.anchor_days)
        self.cs = cs

    def toms(self, p):
        if p[0] in ("time", "daytime"):
            return p[1]
        off = p[3] if p[3] is not None else self.offset
        return (p[1] - self.anchor_days) * DAY + p[2] - off * 60000 + self.offset * 60000

    def phase_tasks(self):
        self.byid, self.timing, self.durs = ({}, {}, {})
        self.idx = []
        M = "task.integrity."
        for i, t in enumerate(self.tasks):
            inst = f"{self.K}/{i}"
            if not is_object(t):
                self.E("R27", M + "invalid_task", inst, index=i)
                continue
            tid = trim(member(t, "id"))
            if not tid:
                self.E("R28", M + "invalid_task_id", inst + "/id", task_index=i)
                continue
            if not PLAIN.match(tid):
                self.E("R29", M + "invalid_task_id", inst + "/id", task_id=tid)
            if tid in self.byid:
                self.E("R30", M + "duplicate_task_id", inst + "/id", task_id=tid)
            if tid in self.byid:
                self.timing.pop(self.byid[tid], None)
            self.byid[tid] = i
            a = text_of(member(t, "actor_id"))
            if not a:
                self.E("R31", "task.reference.invalid_actor", inst + "/actor_id", task_id=tid)
            elif a not in self.known:
                self.E("R32", "task.reference.invalid_actor", inst + "/actor_id", task_id=tid, actor_id=a)
            elif a in self.reg:
                if not self.perf(self.reg[a][0]):
                    self.E("R33", "task.reference.invalid_actor", inst + "/actor_id", task_id=tid, actor_id=a, type=self.reg[a][0])
            elif self.host and (not self.perf(self.created[a])):
                self.E("R33", "task.reference.invalid_actor", inst + "/actor_id", task_id=tid, actor_id=a, type=self.created[a])
            p = parse_start(member(t, "start"))
            if p[0] == "error":
                self.E("R34", M + "invalid_start_time", inst + "/start", task_id=tid, value=member(t, "start"), reason=p[1])
            form = None if p[0] == "error" else p[0]
            if self.host:
                d = duration_host(member(t, "duration"), self.unit, form)
                ms = None
                if d[0] == "ok":
                    ms = d[2]
                    if d[1] and form == "datetime":
                        nd = add_months(p[1], d[1])
                        if nd is None:
                            d = ("error", "out_of_range")
                        else:
                            ms = (nd - p[1]) * DAY + d[2]
                            if ms > HUNDRED_YEARS:
                                d = ("error", "out_of_range")
                if d[0] == "error":
                    self.E("R35", M + "invalid_duration", inst + "/duration", task_id=tid, duration=member(t, "duration"), reason=d[1])
                elif form:
                    b = self.toms(p)
                    self.timing[i] = (b, b + ms)
                    self.durs[i] = (d[1], ms)
            else:
                d = duration_reference(member(t, "duration"), self.unit)
                if d is None:
                    self.E("R35", M + "invalid_duration", inst + "/duration", task_id=tid, duration=member(t, "duration"))
                elif form in ("time", "daytime"):
                    self.timing[i] = (p[2], p[2] + d)
            self.loc_rule_task(t, inst, tid)
            dep = member(t, "depends_on")
            if dep is not ABSENT and dep is not None and (not is_array(dep)) and (not is_object(dep)):
                self.E("R37", "task.reference.invalid_dependency", inst + "/depends_on", task_id=tid, depends_on=dep)
            for x in self.deps(t):
                if not trim(x):
                    self.E("R38", "task.reference.invalid_dependency", inst + "/depends_on", task_id=tid, dependency=x)
                    continue
                if trim(x) == tid:
                    self.E("R39", "task.reference.invalid_dependency", inst + "/depends_on", task_id=tid, dependency=x)
            ia = member(t, "interactions")
            if ia is not ABSENT and (not is_array(ia)):
                self.E("R40", M + "invalid_interactions", inst + "/interactions", task_id=tid)
            for j, x in enumerate(ia if is_array(ia) else []):
                self.interaction(x, f"{inst}/interactions/{j}", tid, j)
            self.used.add(text_of(member(t, "actor_id")))

    def loc_rule_task(self, t, inst, tid):
        l = trim(member(t, "location"))
        if l and self.checkloc and (l not in self.locs):
            self.E("R36", "object.reference.invalid_location", inst + "/location", task_id=tid, location=t["location"])

    def interaction(self, x, inst, tid, j):
        M = "task.integrity."
        if not is_object(x):
            return self.E("R41", M + "invalid_interaction", inst, task_id=tid, interaction_index=j)
        for k in ("object_id", "revert_after"):
            if k in x:
                self.E("R42", M + "legacy_field", f"{inst}/{k}", task_id=tid, legacy_field=k)
        a = trim(member(x, "action"))
        tg = member(x, "target_id")
        if a:
            if a not in ("create", "delete"):
                self.E("R44", M + "invalid_interaction_action", inst + "/action", task_id=tid, action=a)
            elif a == "create":
                if not is_object(member(x, "object")):
                    self.E("R45", M + "invalid_interaction", inst, task_id=tid, action=a)
            elif not trim(tg):
                self.E("R46", M + "invalid_interaction", inst, task_id=tid, action=a)
        else:
            if not trim(tg):
                self.E("R47", M + "invalid_interaction", inst + "/target_id", task_id=tid, interaction_index=j)
            if not is_object(member(x, "property_changes")):
                self.E("R48", M + "invalid_interaction", inst + "/property_changes", task_id=tid, interaction_index=j)
        if trim(tg):
            self.used.add(text_of(tg))
            if text_of(tg) not in self.known:
                self.E("R49", M + "invalid_object_reference", inst + "/target_id", task_id=tid, target_id=tg)
        pc = member(x, "property_changes")
        if is_object(pc):
            for p, op in pc.items():
                self.operator(op, f"{inst}/property_changes/{escape(p)}", dict(task_id=tid, target_id=tg, property=p))

    def operator(self, op, inst, c):
        X = "interaction.operator."
        if not is_object(op):
            return self.E("R50", X + "invalid_operator", inst, **c, operator=op)
        unk = [k for k in op if k not in OPS]
        if unk:
            self.W("R51", X + "unknown_operator", inst, **c, unknown_keys=unk)
        tr = "from" in op or "to" in op
        clash = ("delta", "multiply", "increment", "decrement") + (("set", "append", "remove") if self.host else ())
        if tr and any((k in op for k in clash)):
            self.E("R52", X + "conflicting_operator", inst, **c, operator=op)
        if ("from" in op) != ("to" in op):
            self.E("R53", X + "incomplete_transition", inst, **c, operator=op)
        for k in ("delta", "multiply"):
            if k in op and (not is_number(op[k])):
                self.E("R54", X + "invalid_" + k, f"{inst}/{k}", **c, **{k: op[k]})
        for k in ("increment", "decrement"):
            if k in op and op[k] is not True:
                self.E("R56", X + "invalid_" + k, f"{inst}/{k}", **c, **{k: op[k]})
        if "set" in op and any((k in op for k in OPS if k != "set")):
            self.W("R58", X + "conflicting_set", inst, **c, operator=op)

    def cycles(self):
        graph = {}
        for t in self.tasks:
            if is_object(t) and trim(member(t, "id")):
                ds = []
                for d in self.deps(t):
                    d = trim(d)
                    if d and d not in ds:
                        ds.append(d)
                graph[trim(t["id"])] = ds
        state = {}
        for r in graph:
            if r in state:
                continue
            path, stack, on = ([], [], {})

            def push(n):
                on[n] = len(path)
                path.append(n)
                state[n] = 1
                stack.append(iter(graph[n]))
            push(r)
            while stack:
                for d in stack[-1]:
                    if d not in graph:
                        continue
                    if d in on:
                        self.E("R60", "temporal.scheduling.circular_dependency", self.K, cycle=path[on[d]:] + [d])
                    elif d not in state:
                        push(d)
                        break
                else:
                    stack.pop()
                    n = path.pop()
                    del on[n]

    def ordered(self):
        return sorted(self.timing, key=lambda i: (self.timing[i][0], i))

    def inter(self, i):
        ia = member(self.tasks[i], "interactions")
        return [(j, x) for j, x in enumerate(ia) if is_object(x)] if is_array(ia) else []

    def lifecycle(self):
        exist, ever, deleted, pend = (set(self.reg), set(self.reg), {}, [])
        for i in self.ordered():
            t, (b, e) = (self.tasks[i], self.timing[i])
            tid = trim(t["id"])
            inst = f"{self.K}/{i}"
            due = sorted((x for x in pend if x[0] <= b))
            pend = [x for x in pend if x[0] > b]
            for _, ti, _, k, oid in due:
                if k == "delete":
                    exist.discard(oid)
                    deleted[oid] = trim(self.tasks[ti]["id"])
                else:
                    exist.add(oid)
                    deleted.pop(oid, None)
            a = trim(member(t, "actor_id"))
            if a in self.known and a not in exist:
                self.E("R61", "object.reference.lifecycle_violation", inst + "/actor_id", task_id=tid, object_id=a, reference="actor_id",
                       deleted_by=deleted.get(a))
            for j, x in self.inter(i):
                act = trim(member(x, "action"))
                tmp = member(x, "temporary") is True
                if act == "create" and is_object(member(x, "object")) and trim(member(x["object"], "id")):
                    oid = trim(x["object"]["id"])
                    if oid in ever:
                        self.E("R62", "object.integrity.duplicate_object_id", f"{inst}/interactions/{j}/object/id", task_id=tid, object_id=oid)
                    else:
                        ever.add(oid)
                    exist.add(oid)
                    deleted.pop(oid, None)
                    if tmp:
                        pend.append((e, i, j, "delete", oid))
                    continue
                oid = trim(member(x, "target_id"))
                if not oid:
                    continue
                if oid in self.known and oid not in exist:
                    self.E("R63", "object.reference.lifecycle_violation", f"{inst}/interactions/{j}/target_id", task_id=tid, object_id=oid,
                           reference="target_id", deleted_by=deleted.get(oid))
                if act == "delete" and oid in exist:
                    exist.discard(oid)
                    deleted[oid] = tid
                    if tmp:
                        pend.append((e, i, j, "create", oid))

    def overlap(self):
        groups = {}
        for i in sorted(self.timing):
            a = text_of(member(self.tasks[i], "actor_id"))
            if a.strip(TRIM):
                groups.setdefault(a, []).append(i)
        for a, l in groups.items():
            l.sort(key=lambda i: (self.timing[i][0], i))
            prev = None
            for i in l:
                if prev is not None and self.timing[i][0] < self.timing[prev][1]:
                    self.E("R65", "temporal.scheduling.actor_overlap", self.K, actor_id=a, task_a=trim(self.tasks[prev]["id"]),
                           task_b=trim(self.tasks[i]["id"]))
                if prev is None or not self.host or self.timing[i][1] > self.timing[prev][1]:
                    prev = i

    def deptime(self):
        end = {trim(self.tasks[i]["id"]): self.timing[i][1] for i in sorted(self.timing)}
        for i in sorted(self.timing):
            al, an = self.all_and_any(self.tasks[i])
            req = None if self.host else 0
            A = [end[trim(d)] for d in al if trim(d) in end]
            B = [end[trim(d)] for d in an if trim(d) in end]
            if A:
                req = max(A) if req is None else max(req, max(A))
            if B:
                req = min(B) if req is None else max(req, min(B))
            b = self.timing[i][0]
            if req is not None and b < req:
                k = 60000 if self.host else 1
                self.E("R66", "temporal.scheduling.dependency_violation", f"{self.K}/{i}/start", task_id=trim(self.tasks[i]["id"]),
                       start_minutes=b / k, required_end_minutes=req / k)

    def recobj(self):
        r = member(self.proc, "recipes")
        if not is_object(r) and (not self.host):
            r = member(self.sim, "recipes")
        return r if is_object(r) else {}

    def recipes(self):
        rec = self.recobj()
        for i, t in enumerate(self.tasks):
            if not is_object(t) or not trim(member(t, "id")):
                continue
            pro, con = ({}, {})
            for j, x in self.inter(i):
                if trim(member(x, "action")):
                    continue
                d = member(member(member(x, "property_changes"), "quantity"), "delta")
                tg = text_of(member(x, "target_id"))
                if not is_number(d) or not trim(tg):
                    continue
                if d > 0:
                    pro[tg] = pro.get(tg, 0) + d
                elif d < 0:
                    con[tg] = con.get(tg, 0) - d
            for p in pro:
                inp = member(member(rec, p), "inputs")
                if not is_object(inp):
                    continue
                miss = [k for k, n in inp.items() if is_number(n) and n > 0 and (con.get(k, 0) < n)]
                if miss:
                    self.W("R67", "recipe.compliance.missing_inputs", f"{self.K}/{i}", task_id=trim(t["id"]), product_id=p, missing_inputs=miss)

    def stock(self):
        q = {}
        for o in self.objects:
            if is_object(o) and trim(member(o, "type")) in ("resource", "product") and is_number(member(member(o, "properties"),
                    "quantity")) and text_of(member(o, "id")):
                q[o["id"]] = float(o["properties"]["quantity"])
        for i in self.ordered():
            for j, x in self.inter(i):
                if trim(member(x, "action")):
                    continue
                op = member(member(x, "property_changes"), "quantity")
                tg = text_of(member(x, "target_id"))
                if not is_object(op) or tg not in q:
                    continue
                d = op.get("delta")
                if is_number(d):
                    pass
                elif op.get("increment") is True:
                    d = 1
                elif op.get("decrement") is True:
                    d = -1
                else:
                    continue
                b = q[tg]
                q[tg] = a = b + d
                if a < 0:
                    self.E("R68", "resource.flow.negative_stock", self.K, task_id=trim(self.tasks[i]["id"]), object_id=tg, before=b, delta=d, after=a)

    def econ(self, rows):
        """rows: (task index, hours)"""
        labor = material = revenue = 0.0
        num = lambda p, k: float(p[k]) if is_object(p) and is_number(p.get(k)) else 0.0
        for i, h in rows:
            t = self.tasks[i]
            a = self.reg.get(trim(member(t, "actor_id")))
            pr = member(a[1], "properties") if a else None
            labor += num(pr, "cost_per_hour") * (1 + num(pr, "overhead_rate")) * h
            labor += num(pr, "depreciation_per_hour") * h
            for j, x in self.inter(i):
                if trim(member(x, "action")):
                    continue
                d = member(member(member(x, "property_changes"), "quantity"), "delta")
                o = self.reg.get(trim(member(x, "target_id")))
                if not is_number(d) or not o:
                    continue
                if d < 0 and o[0] == "resource":
                    material += abs(d) * num(member(o[1], "properties"), "cost_per_unit")
                if d > 0 and o[0] == "product":
                    revenue += d * num(member(o[1], "properties"), "revenue_per_unit")
        return (labor, material, revenue)

    def economics(self):
        k = 3600000 if self.host else 60
        l, m, r = self.econ([(i, (self.timing[i][1] - self.timing[i][0]) / k) for i in sorted(self.timing)])
        if r - l - m < 0:
            self.W("R69", "economic.profitability.negative_margin", "/simulation", total_labor_cost=l, total_material_cost=m, total_revenue=r,
                   gross_profit=r - l - m)

    def unused(self):
        inp = set()
        for r in self.recobj().values():
            if is_object(member(r, "inputs")):
                inp |= set(r["inputs"])
        for i, o in enumerate(self.objects):
            if is_object(o) and trim(member(o, "type")) == "resource" and trim(member(o,
                    "id")) and (trim(o["id"]) not in self.used) and (trim(o["id"]) not in inp):
                self.add("R71", "object.optimization.unused_resource", "info", f"{self.O}/{i}", object_id=trim(o["id"]))

    def hrules(self):
        for name, d in self.tdefs.items():
            inst = "/simulation/type_definitions/" + escape(name)
            M = "object.integrity.invalid_type_definition"
            if not is_object(d) or not trim(member(d, "extends")):
                self.E("H11", M, inst, type=name, extends=member(d, "extends"), reason="missing")
            elif name in BUILTIN:
                continue
            elif not self.base(name):
                seen, t, why = ([], name, "unresolved")
                while True:
                    if t in seen:
                        why = "cycle"
                        break
                    seen.append(t)
                    dd = member(self.tdefs, t)
                    if not is_object(dd) or not trim(member(dd, "extends")):
                        break
                    t = trim(dd["extends"])
                self.E("H11", M, inst + "/extends", type=name, extends=d["extends"], reason=why)
        for i, t in enumerate(self.tasks):
            if not is_object(t) or not trim(member(t, "id")):
                continue
            for j, x in self.inter(i):
                if trim(member(x, "action")) == "create" and is_object(member(x, "object")):
                    c = {"task_id": trim(t["id"]), "interaction_index": j}
                    inst = f"{self.K}/{i}/interactions/{j}/object"
                    o = x["object"]
                    if self.obj_rules(o, inst, c, c, True):
                        self.obj_rules2(o, inst, c)
                        self.loc_rule(o, inst, {"object_id": o["id"], **c})
        ok = {}
        for k in ("start_time", "end_time"):
            v = member(self.cfg, k)
            if k in self.r10:
                continue
            p = parse_start(v)
            if p[0] == "error":
                self.E("H13", "schema.integrity.invalid_config_time", "/simulation/config/" + k, field=k, value=v)
            ok[k] = p
        a, b = (ok.get("start_time"), ok.get("end_time"))
        if a and b and (a[0] == b[0] == "datetime"):

            def ins(p):
                return p[1] * DAY + p[2] - (p[3] if p[3] is not None else self.offset) * 60000
            if ins(b) < ins(a):
                self.E("H13", "schema.integrity.invalid_config_time", "/simulation/config/end_time", field="end_time", value=self.cfg["end_time"])
        M = "schema.integrity.invalid_config_value"
        c = member(self.cfg, "currency")
        if "currency" not in self.r10 and (not re.match("[A-Z]{3}\\Z", trim(c))):
            self.W("H14", M, "/simulation/config/currency", field="currency", value=c)
        c = member(self.cfg, "locale")
        if "locale" not in self.r10 and (not re.match("[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*\\Z", trim(c))):
            self.W("H14", M, "/simulation/config/locale", field="locale", value=c)
        if self.h14tz:
            self.W("H14", M, "/simulation/config/timezone", field="timezone", value=self.cfg["timezone"])
        locs = member(member(self.world, "layout"), "locations")
        seen = set()
        for n, l in enumerate(locs if is_array(locs) else []):
            if not is_object(l):
                continue
            i = member(l, "id")
            if not is_text(i) or not PLAIN.match(i) or i in seen:
                self.E("H15", "spatial.integrity.invalid_location_id", f"/simulation/world/layout/locations/{n}/id", location_id=i)
            seen.add(i if is_text(i) else None)
        self.h16()
        for i, t in enumerate(self.tasks):
            if not is_object(t) or not trim(member(t, "id")):
                continue
            for j, x in self.inter(i):
                act = trim(member(x, "action"))
                if act in ("create", "delete") and member(x, "temporary") is True:
                    self.add("H20", "task.integrity.temporary_action", "info", f"{self.K}/{i}/interactions/{j}/temporary", task_id=trim(t["id"]),
                             action=act)
        for i, t in enumerate(self.tasks):
            if not is_object(t) or not trim(member(t, "id")):
                continue
            for j, x in self.inter(i):
                pc = member(x, "property_changes")
                for p, op in pc.items() if is_object(pc) else ():
                    if is_object(op) and (not op):
                        self.W("H21", "interaction.operator.empty_operator", f"{self.K}/{i}/interactions/{j}/property_changes/{escape(p)}",
                               task_id=trim(t["id"]), target_id=member(x, "target_id"), property=p)
        forms = {parse_start(member(t, "start"))[0] for t in self.tasks if is_object(t)}
        if self.anchor_inferred and "datetime" in forms and forms & {"time", "daytime"}:
            self.W("H22", "temporal.scheduling.mixed_start_forms", self.K, anchor_date=date_of(self.anchor_days).isoformat())
        if self.ok():
            self.p += DryRun(self).problems()

    def f(self, inst, field):
        if not any((p["severity"] == "error" and p["instance"] == inst for p in self.p)):
            self.E("H16", "schema.integrity.invalid_field", inst, field=field)

    def h16(self):

        def want(o, k, inst, pred, req=False):
            v = member(o, k)
            if v is ABSENT:
                if req:
                    self.f(f"{inst}/{escape(k)}", k)
                return False
            if not pred(v):
                self.f(f"{inst}/{escape(k)}", k)
                return False
            return True
        strs = lambda v: is_array(v) and all((is_text(x) for x in v))
        ge = lambda m: lambda v: is_number(v) and v >= m
        want(self.doc, "$schema", "", is_text)
        S = "/simulation"
        for k in ("version", "author", "created_at", "updated_at"):
            want(member(self.sim, "meta"), k, S + "/meta", is_text)
        want(member(self.sim, "meta"), "tags", S + "/meta", strs)
        want(self.cfg, "timezone", S + "/config", is_text)
        want(self.sim, "type_definitions", S, is_object)
        for n, d in self.tdefs.items():
            if is_object(d):
                want(d, "description", f"{S}/type_definitions/{escape(n)}", is_text)
                want(d, "additional_properties", f"{S}/type_definitions/{escape(n)}", is_object)
        if want(self.world, "layout", S + "/world", is_object):
            lay = self.world["layout"]
            L = S + "/world/layout"
            if want(lay, "meta", L, is_object):
                m = lay["meta"]
                want(m, "units", L + "/meta", lambda v: v in ("meters", "feet", "pixels") and is_text(v))
                want(m, "pixels_per_unit", L + "/meta", ge(1))
                want(m, "origin", L + "/meta", lambda v: is_text(v) and v in ("top-left", "bottom-left", "top-right", "bottom-right"))
                want(m, "coordinate_system", L + "/meta", lambda v: is_text(v) and v in ("2d", "3d"))
            if want(lay, "locations", L, is_array):
                for n, l in enumerate(lay["locations"]):
                    P = f"{L}/locations/{n}"
                    if not is_object(l):
                        self.f(P, str(n))
                        continue
                    want(l, "name", P, is_text, True)
                    if want(l, "shape", P, is_object):
                        sh = l["shape"]
                        want(sh, "type", P + "/shape", lambda v: is_text(v) and v in ("rect", "circle", "polygon"), True)
                        for k in "xy":
                            want(sh, k, P + "/shape", is_number)
                        for k in ("width", "height", "radius"):
                            want(sh, k, P + "/shape", ge(0))
                        want(sh, "points", P + "/shape", lambda v: is_array(v) and all((is_object(q) and is_number(member(q, "x"))
                             and is_number(member(q, "y")) for q in v)))
                    if want(l, "coordinates", P, is_object):
                        for k in "xyz":
                            want(l["coordinates"], k, P + "/coordinates", is_number)
                        for k in ("width", "height", "depth"):
                            want(l["coordinates"], k, P + "/coordinates", ge(0))
                    want(l, "parent_id", P, is_text)
                    want(l, "properties", P, is_object)

        def objm(o, P):
            want(o, "emoji", P, is_text)
            want(o, "location", P, is_text)
            want(o, "properties", P, is_object)
        for i, o in enumerate(self.objects):
            if is_object(o):
                objm(o, f"{self.O}/{i}")
        for i, t in enumerate(self.tasks):
            if not is_object(t):
                continue
            P = f"{self.K}/{i}"
            for k in ("emoji", "location", "description"):
                want(t, k, P, is_text)
            want(t, "priority", P, lambda v: is_text(v) and v in ("low", "medium", "high", "critical"))
            want(t, "tags", P, strs)
            for j, x in self.inter(i):
                Q = f"{P}/interactions/{j}"
                want(x, "temporary", Q, lambda v: isinstance(v, bool))
                want(x, "description", Q, is_text)
                want(x, "action", Q, is_text)
                if trim(member(x, "action")) == "create" and is_object(member(x, "object")):
                    objm(x["object"], Q + "/object")
        if want(self.proc, "recipes", S + "/process", is_object):
            for n, r in self.proc["recipes"].items():
                P = f"{S}/process/recipes/{escape(n)}"
                if not is_object(r):
                    self.f(P, n)
                    continue
                if want(r, "inputs", P, is_object, True):
                    for k in r["inputs"]:
                        want(r["inputs"], k, P + "/inputs", ge(0))
                want(r, "equipment", P, strs)
                want(r, "output_quantity", P, ge(0))
                want(r, "process_time", P, ge(0))
