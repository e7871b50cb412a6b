"""A receiver of OTLP over HTTP that misbehaves as it is told, with the standard library alone.

Protobuf is read by the field numbers of opentelemetry-proto (trace.proto, common.proto, resource.proto), into what the JSON form says.
"""
import http.server
import json
import struct
import threading

VALUE = {1: ("stringValue", "text"), 2: ("boolValue", "bool"), 3: ("intValue", "int"), 4: ("doubleValue", "double"), 5: ("arrayValue", "ARRAY")}
MESSAGES = {
    "REQUEST": {1: ("resourceSpans", ["RESOURCE_SPANS"])},
    "RESOURCE_SPANS": {1: ("resource", "RESOURCE"), 2: ("scopeSpans", ["SCOPE_SPANS"]), 3: ("schemaUrl", "text")},
    "RESOURCE": {1: ("attributes", ["KEY_VALUE"])},
    "SCOPE_SPANS": {1: ("scope", "SCOPE"), 2: ("spans", ["SPAN"])},
    "SCOPE": {1: ("name", "text"), 2: ("version", "text")},
    "SPAN": {1: ("traceId", "id"), 2: ("spanId", "id"), 3: ("traceState", "text"), 4: ("parentSpanId", "id"), 5: ("name", "text"),
             6: ("kind", "enum"), 7: ("startTimeUnixNano", "fixed"), 8: ("endTimeUnixNano", "fixed"), 9: ("attributes", ["KEY_VALUE"]),
             13: ("links", ["LINK"]), 15: ("status", "STATUS")},
    "LINK": {1: ("traceId", "id"), 2: ("spanId", "id")},
    "STATUS": {2: ("message", "text"), 3: ("code", "enum")},
    "METRICS_REQUEST": {1: ("resourceMetrics", ["RESOURCE_METRICS"])},
    "RESOURCE_METRICS": {1: ("resource", "RESOURCE"), 2: ("scopeMetrics", ["SCOPE_METRICS"])},
    "SCOPE_METRICS": {1: ("scope", "SCOPE"), 2: ("metrics", ["METRIC"])},
    "METRIC": {1: ("name", "text"), 2: ("description", "text"), 3: ("unit", "text"), 5: ("gauge", "GAUGE"), 7: ("sum", "SUM"),
               9: ("histogram", "HISTOGRAM")},
    "GAUGE": {1: ("dataPoints", ["NUMBER"])},
    "SUM": {1: ("dataPoints", ["NUMBER"]), 2: ("aggregationTemporality", "enum"), 3: ("isMonotonic", "bool")},
    "HISTOGRAM": {1: ("dataPoints", ["BUCKETS"]), 2: ("aggregationTemporality", "enum")},
    "NUMBER": {2: ("startTimeUnixNano", "fixed"), 3: ("timeUnixNano", "fixed"), 4: ("asDouble", "double"), 6: ("asInt", "fixed"), 7: ("attributes", ["KEY_VALUE"])},
    "BUCKETS": {2: ("startTimeUnixNano", "fixed"), 3: ("timeUnixNano", "fixed"), 4: ("count", "fixed"), 5: ("sum", "double"),
                6: ("bucketCounts", "fixeds"), 7: ("explicitBounds", "doubles"), 9: ("attributes", ["KEY_VALUE"])},
    "KEY_VALUE": {1: ("key", "text"), 2: ("value", "VALUE")},
    "VALUE": VALUE,
    "ARRAY": {1: ("values", ["VALUE"])},
}


def varint(data: bytes, at: int):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def scalar(kind: str, wire: int, raw):
    """What the JSON form says of the value; a wrong wire type is an error."""
    if kind in ("text", "id"):
        assert wire == 2, kind
        return raw.decode() if kind == "text" else raw.hex()
    if kind in ("fixed", "double"):
        assert wire == 1, kind
        return str(struct.unpack("<Q", raw)[0]) if kind == "fixed" else struct.unpack("<d", raw)[0]
    if kind in ("fixeds", "doubles"):
        assert wire == 2 and len(raw) % 8 == 0, kind
        v = struct.unpack("<%d%s" % (len(raw) // 8, "Q" if kind == "fixeds" else "d"), raw)
        return [str(x) for x in v] if kind == "fixeds" else list(v)
    assert wire == 0, kind
    if kind == "bool":
        return raw == 1
    return raw if kind == "enum" else str(raw - (1 << 64) if raw >> 63 else raw)


def decode(name: str, data: bytes) -> dict:
    out, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            raw, at = varint(data, at)
        else:
            size, at = (8, at) if wire == 1 else varint(data, at)
            raw, at = data[at:at + size], at + size
            assert wire in (1, 2) and len(raw) == size, "a field of %s is cut" % name
        key, kind = MESSAGES[name][number]  # a number that the schema does not have is an error
        if isinstance(kind, list):
            out.setdefault(key, []).append(decode(kind[0], raw))
        else:
            out[key] = decode(kind, raw) if kind in MESSAGES else scalar(kind, wire, raw)
    return out


def plain(value: dict):
    (kind, v), = value.items()
    if kind == "intValue":
        assert isinstance(v, str), "a 64-bit integer is a text in the JSON form"
        return int(v)
    return [plain(x) for x in v["values"]] if kind == "arrayValue" else v


class Span:
    def __init__(self, raw: dict, resource: dict):
        self.raw, self.resource = raw, resource
        self.trace, self.id, self.parent = raw["traceId"], raw["spanId"], raw.get("parentSpanId")
        self.name, self.status = raw["name"], raw.get("status", {})
        self.start, self.end = int(raw["startTimeUnixNano"]), int(raw["endTimeUnixNano"])
        self.attributes = {a["key"]: plain(a["value"]) for a in raw["attributes"]}
        assert len(self.trace) == 32 and len(self.id) == 16 and self.start <= self.end, raw
        assert isinstance(raw["kind"], int) and isinstance(raw["startTimeUnixNano"], str), raw
        assert self.trace == self.trace.lower() and all(k.startswith("openwop.") for k in self.attributes), raw

    def __getitem__(self, key: str):
        return self.attributes["openwop." + key]


class Point:
    """A number of a metric: a count, or buckets."""

    def __init__(self, metric: dict, raw: dict):
        (self.kind, data), = [(k, metric[k]) for k in ("sum", "gauge", "histogram") if k in metric]
        self.raw, self.name, self.unit = raw, metric["name"], metric["unit"]
        self.attributes = {a["key"]: plain(a["value"]) for a in raw.get("attributes", [])}
        assert metric["description"] and int(raw["startTimeUnixNano"]) <= int(raw["timeUnixNano"]), raw
        assert "openwop.run_id" not in self.attributes, "OBS-12"
        assert self.kind == "gauge" or data["aggregationTemporality"] == 2, "cumulative"
        assert self.kind != "sum" or data.get("isMonotonic", False) is (self.name != "openwop.run.active")  # the one that goes down, too
        if self.kind == "histogram":
            buckets = [int(x) for x in raw["bucketCounts"]]
            assert len(buckets) == len(raw["explicitBounds"]) + 1 and sum(buckets) == int(raw["count"]), raw
            assert raw["explicitBounds"] == sorted(raw["explicitBounds"])
        self.value = raw["asDouble"] if "asDouble" in raw else int(raw["count"] if self.kind == "histogram" else raw["asInt"])


class Receiver:
    def __init__(self, port: int = 0):
        self.posts, self.spans, self.others = [], [], []  # (headers, body); what was taken; requests of other paths
        self.tellings, self.points = 0, []  # messages of metrics; what the last one said
        self.changed = threading.Condition()
        self.answers = []  # of the next posts: (status, headers); else 200
        self.hang = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                receiver._post(self)

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, request, client_address):
                pass  # a host that was killed resets its connections

        self.server = Server(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.hang.clear()
        self.server.shutdown()
        self.server.server_close()

    def _post(self, h) -> None:
        body = h.rfile.read(int(h.headers["Content-Length"]))
        if h.path == "/v1/metrics":
            with self.changed:
                self.tellings += 1
                self._read(h.headers["Content-Type"], body)
                self.changed.notify_all()
            self._answer(h, 200, {}, b"")
            return
        if h.path != "/v1/traces":
            with self.changed:
                self.others.append((h.path, dict(h.headers), body))
                self.changed.notify_all()
            self._answer(h, 200, {}, b"{}")
            return
        with self.changed:
            status, headers = self.answers.pop(0) if self.answers else (200, {})
            self.posts.append((dict(h.headers), body))
            if status == 200 and not self.hang.is_set():
                self._take(h.headers["Content-Type"], body)
            self.changed.notify_all()
        if not self.hang.is_set():
            self._answer(h, status, headers, b"{}" if "json" in h.headers["Content-Type"] else b"")

    def _take(self, kind: str, body: bytes) -> None:
        request = json.loads(body) if kind == "application/json" else decode("REQUEST", body)
        for of in request["resourceSpans"]:
            resource = {a["key"]: plain(a["value"]) for a in of["resource"]["attributes"]}
            for scope in of["scopeSpans"]:
                self.spans += [Span(s, resource) for s in scope["spans"]]

    def _read(self, kind: str, body: bytes) -> None:
        request = json.loads(body) if kind == "application/json" else decode("METRICS_REQUEST", body)
        (of,) = request["resourceMetrics"]
        assert {"service.name", "service.version"} <= {a["key"] for a in of["resource"]["attributes"]}
        (scope,) = of["scopeMetrics"]
        names = [m["name"] for m in scope["metrics"]]
        assert len(set(names)) == len(names), "a metric is there twice"
        self.points = [Point(m, raw) for m in scope["metrics"] for k in ("sum", "gauge", "histogram") for raw in m.get(k, {}).get("dataPoints", [])]

    def number(self, name: str, **attributes: str):
        """The count of the one series of a metric with these attributes; 0 without one."""
        found = [p for p in self.points if p.name == "openwop." + name and
                 all(p.attributes.get("openwop." + k, p.attributes.get(k)) == v for k, v in attributes.items())]
        assert len(found) < 2, [p.raw for p in found]
        return found[0].value if found else 0

    @staticmethod
    def _answer(h, status: int, headers: dict, body: bytes) -> None:
        h.send_response(status)
        for name, value in headers.items():
            h.send_header(name, value)
        h.send_header("Content-Length", str(len(body)))
        h.end_headers()
        h.wfile.write(body)

    def wait(self, what, seconds: float = 60):
        """Until what() is true; its value."""
        with self.changed:
            self.changed.wait_for(what, seconds)
            found = what()
        assert found, "nothing came within %d s; %d posts, %d spans" % (seconds, len(self.posts), len(self.spans))
        return found

    def of(self, run: str) -> list:
        return [s for s in self.spans if s["run_id"] == run]

    def whole(self, run: str) -> list:
        """The spans of a run, once its own has come."""
        self.wait(lambda: any(s.name == "openwop.run" for s in self.of(run)))
        return self.of(run)
