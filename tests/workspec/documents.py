"""
documents.py: WorkSpec documents by chance: mostly right, with faults planted in them, and spelled as YAML in many ways.
"""
import copy
import json
import re


def clock_text(ms, r):
    s = ms // 1000
    t = f"{s // 3600:02d}:{s // 60 % 60:02d}"
    return t + f":{s % 60:02d}" if s % 60 or r.random() < 0.1 else t
VALS = [0, 1, -1, 2.5, 0.1, 0.2, 0.3, 1e+300, "a", "b", "", "ä", "🍵", True, False, None, [], {}, [1], {"k": 1}, [1, "a", {"k": 1}], {"x": 1,
        "y": {"z": 2}}, 1e-12, 3, 7, 100]
NUMS = [1, -1, 2, 0.1, -0.1, 0.2, 0.3, -0.3, 1.5, 1e-09, 3, 5, 0, 100, 1e+16, -2.5, 1 / 3]


def doc(r, size=None):
    nact, nres = (r.randint(1, 4), r.randint(1, 5))
    objs, perf, res = ([], [], [])
    tdefs = {}
    if r.random() < 0.3:
        tdefs = {"van": {"extends": "vehicle"}, "vehicle": {"extends": "equipment"}, "bulk": {"extends": "resource", "description": "x"}}
    locs = [{"id": "hall", "name": "Hall"}, {"id": "yard", "name": "Yard", "shape": {"type": "rect", "x": 0, "y": 0, "width": 1,
            "height": 2}}] if r.random() < 0.5 else None
    for i in range(nact):
        ty = r.choice(["actor", "equipment", "service"] + (["van"] if tdefs else []))
        o = {"id": f"{ty}:p{i}" if r.random() < 0.1 else f"p{i}", "type": ty, "name": f"P{i}", "properties": {"state": r.choice(["free", "idle"])}}
        if r.random() < 0.3:
            o["properties"].update(cost_per_hour=r.choice([1, 10, 2.5]), overhead_rate=r.choice([0, 0.25, 0.5]))
        if r.random() < 0.2:
            o["properties"]["depreciation_per_hour"] = 3
        if locs and r.random() < 0.4:
            o["location"] = r.choice(["hall", "yard"])
        if r.random() < 0.2:
            o["emoji"] = "🤖"
        objs.append(o)
        perf.append(o["id"])
    for i in range(nres):
        ty = r.choice(["resource", "product", "digital_object", "display"] + (["bulk"] if tdefs else []))
        o = {"id": f"r{i}", "type": ty, "name": f"R{i}", "properties": {}}
        if ty not in ("display",):
            o["properties"]["quantity"] = r.choice([0, 1, 2, 10, 0.3, 100, 1000000.0])
        if ty in ("digital_object", "display"):
            o["properties"]["state"] = "on"
        if r.random() < 0.5:
            o["properties"]["tags"] = r.choice([[], ["a"], ["a", "b", "a", {"k": 1}]])
        if r.random() < 0.5:
            o["properties"]["pos"] = {"x": 1, "y": {"z": 2}}
        if r.random() < 0.2:
            o["properties"]["a.b"] = 5
        if r.random() < 0.3:
            o["properties"]["level"] = r.choice([1, 2.5, -3])
        if r.random() < 0.2:
            o["properties"]["location"] = "inner"
        if r.random() < 0.3:
            o["properties"].update(cost_per_unit=2, revenue_per_unit=r.choice([1, 1000]))
        objs.append(o)
        res.append(o["id"])
    r.shuffle(objs)
    n = size or r.choice([1, 2, 3, 4, 5, 8, 12])
    form = r.choice(["time", "time", "daytime", "datetime", "mix"])
    unit = r.choice(["seconds", "minutes", "hours"])
    tasks, ends, free = ([], {}, {p: 0 for p in perf})
    base = r.choice([0, 6 * 3600000, 8 * 3600000])
    created, alive = (0, list(res) + list(perf))
    quant = {}
    for k in range(n):
        a = r.choice(perf)
        deps = {}
        prev = [t["id"] for t in tasks]
        al = r.sample(prev, min(len(prev), r.choice([0, 0, 1, 2])))
        an = r.sample(prev, min(len(prev), r.choice([0, 0, 0, 2])))
        b = max([base, free[a]] + [ends[x] for x in al] + ([min((ends[x] for x in an))] if an else []))
        b += r.choice([0, 0, 0, 60000, 600000, 3600000])
        b = -(-b // 60000) * 60000 if r.random() < 0.8 else b
        secs = r.choice([1, 30, 60, 300, 1800, 3600, 7200])
        if unit == "seconds" and r.random() < 0.5:
            dur = secs
        elif unit == "minutes" and secs % 60 == 0 and (r.random() < 0.5):
            dur = secs // 60
        elif unit == "hours" and secs % 3600 == 0 and (r.random() < 0.5):
            dur = secs // 3600
        else:
            dur = r.choice([f"{secs}s", f"PT{secs}S", f"pt{secs}s", f" {secs}s ", f"{secs}.0s"] + ([f"{secs // 60}m", f"PT{secs // 60}M"]
                           if secs % 60 == 0 else []))
        e = b + secs * 1000
        f = form if form != "mix" else r.choice(["time", "daytime", "datetime"])
        if f == "time" and b >= 86400000:
            f = "daytime"
        if f == "time":
            s = clock_text(b, r)
        elif f == "daytime":
            s = {"day": b // 86400000 + 1, "time": clock_text(b % 86400000, r)}
        else:
            s = f"2026-02-{3 + b // 86400000:02d}T{clock_text(b % 86400000, r)}" + r.choice(["", "Z"] if False else ["Z", "z", "+00:00"])
        t = {"id": f"t{k}", "actor_id": a, "start": s, "duration": dur}
        if al and (not an):
            t["depends_on"] = al if r.random() < 0.6 else {"all": al}
        elif al or an:
            t["depends_on"] = {kk: vv for kk, vv in (("all", al), ("any", an)) if vv}
        if r.random() < 0.3:
            t["priority"] = r.choice(["low", "medium", "high", "critical"])
        if locs and r.random() < 0.3:
            t["location"] = "hall"
        if r.random() < 0.2:
            t["tags"] = ["x", "y"]
        ints = []
        for _ in range(r.choice([0, 1, 1, 2, 3, 5])):
            x = r.random()
            tmp = r.random() < 0.35
            if x < 0.12:
                ty = r.choice(["product", "actor", "resource", "display"])
                o = {"id": f"n{created}", "type": ty, "name": "New"}
                if r.random() < 0.7:
                    o["properties"] = r.choice([{"quantity": 3}, {"state": "s", "v": [1]}, {}])
                if r.random() < 0.3:
                    o["emoji"] = "E"
                ia = {"action": "create", "object": o}
                if r.random() < 0.7:
                    alive.append(o["id"])
                created += 1
                if tmp and r.random() < 0.4:
                    ia["temporary"] = True
            elif x < 0.18 and len(alive) > 2:
                d = r.choice([z for z in alive if z not in perf] or ["r0"])
                ia = {"action": "delete", "target_id": d}
                if tmp:
                    ia["temporary"] = True
                elif d in alive:
                    alive.remove(d)
            else:
                ia = {"target_id": r.choice(alive), "property_changes": {}}
                for _ in range(r.choice([1, 1, 1, 2, 3])):
                    p, op = change(r)
                    ia["property_changes"][p] = op
                if tmp:
                    ia["temporary"] = r.choice([True, True, True, False])
            ints.append(ia)
        if ints or r.random() < 0.5:
            t["interactions"] = ints
        tasks.append(t)
        ends[t["id"]] = e
        free[a] = e
    if r.random() < 0.3:
        r.shuffle(tasks)
    sim = {"schema_version": "2.0", "meta": {"title": "T", "description": "D", "domain": "X"}, "config": {"time_unit": unit,
           "start_time": r.choice(["08:00", "07:00:00", "00:00"]) if form != "datetime" or r.random() < 0.5 else "2026-02-03T00:00:00Z",
           "end_time": "23:00", "currency": "EUR", "locale": "en-IE"}, "world": {"objects": objs}, "process": {"tasks": tasks}}
    if r.random() < 0.3:
        sim["config"]["timezone"] = r.choice(["UTC", "Z", "GMT", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia",
                                             "Australia/Lord_Howe", "Antarctica/Troll"])
    if locs:
        sim["world"]["layout"] = {"locations": locs}
    if tdefs:
        sim["type_definitions"] = tdefs
    if r.random() < 0.2:
        sim["process"]["recipes"] = {r.choice(res): {"inputs": {r.choice(res): r.choice([0, 1, 2.5])}}}
    return {"simulation": sim}


def change(r):
    x = r.random()
    if x < 0.45:
        return ("quantity", r.choice([{"delta": r.choice(NUMS)}, {"delta": r.choice(NUMS)}, {"increment": True}, {"decrement": True},
                {"multiply": r.choice([2, 0.5, 1.1, 0, 1e+200])}, {"set": r.choice([0, 1, 5, 7.5])}, {"delta": 2, "multiply": 3}, {"increment": True,
                "multiply": 0.5}]))
    if x < 0.6:
        return ("state", r.choice([{"set": r.choice(["free", "on", "x"])}, {"from": r.choice(["free", "idle", "on", "x"]), "to": r.choice(["x",
                "free", "on"])}]))
    if x < 0.72:
        return ("tags", r.choice([{"append": r.choice(VALS)}, {"remove": r.choice(["a", {"k": 1}, 1])}, {"append": "a", "remove": "a"}, {"set": []},
                {"append": "z", "delta": 1} if r.random() < 0.1 else {"remove": "a"}]))
    if x < 0.8:
        return (r.choice(["pos.x", "pos.y.z", "pos.n.m", "properties.pos.x", "a.b", "properties.a.b", "pos.w"]), r.choice([{"delta": 1}, {"set": 4},
                {"increment": True}, {"remove": 1} if r.random() < 0.1 else {"multiply": 2}]))
    if x < 0.86:
        return (r.choice(["location", "emoji", "properties.location", "properties.emoji"]), {"set": r.choice(["hall", "yard", "E"])})
    if x < 0.9:
        return (r.choice(["id", "type", "name", "properties.id", "__proto__", "constructor", ""]) if r.random() < 0.97 else "properties.",
                {"set": r.choice(VALS)})
    if x < 0.97:
        return ("level", r.choice([{"delta": r.choice(NUMS)}, {"multiply": r.choice(NUMS)}, {"set": r.choice(VALS)}, {"from": None, "to": 1}]))
    return (r.choice(["v", "w"]), r.choice([{"set": r.choice(VALS)}, {"append": r.choice(VALS)}, {"remove": 1}, {"delta": 1}, {}, {"become": 1},
            {"to": 1, "from": 0}]))
JUNK = [None, True, False, 0, -1, 1.5, 2, "", " ", "x", "X Y", [], {}, [1], {"a": 1}, "zz", "9:30", "any", "_x", "tool", "a:b", "actor:q", "\xa0",
        "a" * 251, 1e+308, "PT0S", "1M", "1.5M", "0.4ms", "P1W", "urgent", ["x", 5], {"day": 0, "time": "09:00"}, {"day": 2, "time": "9:00"},
        {"day": 40000, "time": "09:00"}, "2026-02-30T00:00:00Z", "2024-02-29T12:00:00", "24:00", "PT", "200000h", "P101Y", "t0", "t1", "r0", "p0"]


def walk(x, path=()):
    yield path
    if isinstance(x, dict):
        for k in x:
            yield from walk(x[k], path + (k,))
    elif isinstance(x, list):
        for i, v in enumerate(x):
            yield from walk(v, path + (i,))


def plant(r, d):
    """plants one fault in place"""
    paths = [p for p in walk(d) if p]
    deep = [p for p in paths if len(p) > 2]
    p = r.choice(deep or paths) if r.random() < 0.95 else r.choice(paths)
    o = d
    for k in p[:-1]:
        o = o[k]
    x = r.random()
    if x < 0.3:
        del o[p[-1]]
    elif x < 0.75:
        o[p[-1]] = copy.deepcopy(r.choice(JUNK))
    elif x < 0.85 and isinstance(o, list):
        o.append(copy.deepcopy(o[p[-1]]))
    elif x < 0.95 and isinstance(o, dict):
        o[r.choice(["object_id", "revert_after", "temporary", "tags", "priority", "emoji", "location", "article_title", "layout", "objects", "tasks",
          "recipes", "version", "timezone", "action", "from", "to", "set", "delta", "increment", "append", "any", "all", "parent_id", "shape",
          "extends", "x_openwop", "meta", "pixels_per_unit", "depends_on", "description", "target_id"])] = copy.deepcopy(r.choice(JUNK))
    else:
        q = r.choice(paths)
        y = d
        for k in q:
            y = y[k]
        o[p[-1]] = copy.deepcopy(y)


def yaml_scalar(x, r):
    if x is None:
        return "null"
    if x is True:
        return "true"
    if x is False:
        return "false"
    if isinstance(x, (int, float)):
        return json.dumps(x)
    return yaml_text(x, r)
PLAIN = re.compile("[A-Za-z_][A-Za-z0-9_ .]*[A-Za-z0-9_]\\Z|[A-Za-z_]\\Z|[0-9]{2}:[0-9]{2}\\Z")


def yaml_text(x, r):
    if PLAIN.match(x) and x not in ("true", "false", "null") and (r.random() < 0.6):
        return x
    if r.random() < 0.3 and x and all((" " <= ch <= "~" for ch in x)):
        return "'" + x.replace("'", "''") + "'"
    return json.dumps(x, ensure_ascii=False) if True else ""


def yaml_flow(x, r):
    if isinstance(x, dict):
        return "{" + ", ".join((yaml_key(k, r, True) + ": " + yaml_flow(v, r) for k, v in x.items())) + "}"
    if isinstance(x, list):
        return "[" + ", ".join((yaml_flow(v, r) for v in x)) + "]"
    return yaml_scalar(x, r)


def yaml_key(k, r, fl=False):
    if re.match("[A-Za-z_][A-Za-z0-9_]*\\Z", k) and k not in ("true", "false", "null") and (r.random() < 0.8):
        return k
    return json.dumps(k, ensure_ascii=False)


def yaml_block(x, r, ind):
    p = " " * ind
    if isinstance(x, dict) and x and (r.random() < 0.85):
        o = ""
        for k, v in x.items():
            o += p + yaml_key(k, r) + ":"
            if isinstance(v, (dict, list)) and v and (r.random() < 0.8):
                o += "\n" + yaml_block(v, r, ind + r.choice([1, 2, 2, 4]))
            else:
                o += " " + yaml_flow(v, r) + (" # c" if r.random() < 0.05 else "") + "\n"
        return o
    if isinstance(x, list) and x and (r.random() < 0.85):
        o = ""
        for v in x:
            if isinstance(v, (dict, list)) and v and (r.random() < 0.8):
                b = yaml_block(v, r, ind + 2)
                o += p + "- " + b[ind + 2:] if b.startswith(" " * (ind + 2)) else p + "-\n" + b
            else:
                o += p + "- " + yaml_flow(v, r) + "\n"
        return o
    return p + yaml_flow(x, r) + "\n"


def yaml(x, r):
    return yaml_block(x, r, 0)
