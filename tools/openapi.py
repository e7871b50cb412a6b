"""The OpenAPI document of a host, from the description of its operations (see operations.py).

A published schema is a document of its own, with an $id and relative references.  That is legal inside OpenAPI 3.1, but most
generators resolve references against the whole document only.  So each is taken apart: its root and every entry of its $defs become
components, and references are rewritten to #/components/schemas/NAME.
"""
import json
import os

COMPONENTS = "#/components/schemas/"
DEFINITIONS = "#/$defs/"
OPERATION_HAS = ("method", "path", "tag", "summary", "status")
GROUP_SECTIONS = ("operations", "path", "parameters", "schemas")
# Of every answer, and of every request (HTTP-12, D3).
COMMON_HEADERS = ["X-Request-Id", "traceparent", "OpenWOP-Version"]
COMMON_PARAMETERS = ["version", "traceparent"]


class Mistake(Exception):
    """The description lacks something or says it twice."""


def unique(pairs: list) -> dict:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise Mistake("a member occurs twice: %s" % ", ".join(k for k, _ in pairs))
    return out


def load(path: str) -> dict:
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f, object_pairs_hook=unique)
    except (OSError, ValueError) as e:
        raise Mistake("%s: %s" % (path, e)) from e


class Description:
    """What operations share, and the groups merged in their order."""

    def __init__(self, root: str, folder: str):
        self.root = root
        self.shared = load(os.path.join(root, folder, "openapi.json"))
        self.operations, self.schemas, self.path, self.parameters = {}, {}, {}, {}
        self.add(self.shared)
        for group in self.shared["groups"]:
            part = load(os.path.join(root, folder, "operations", group + ".json"))
            if set(part) - set(GROUP_SECTIONS):
                raise Mistake("group %s: unknown sections %s" % (group, ", ".join(sorted(set(part) - set(GROUP_SECTIONS)))))
            self.add(part)
        for name, op in self.operations.items():
            lacks = [m for m in OPERATION_HAS + (("body",) if op.get("method") == "POST" else ()) if m not in op]
            if lacks:
                raise Mistake("operation %s has no %s" % (name, ", ".join(lacks)))
        self.files = {row["file"]: load(os.path.join(root, row["file"])) for row in self.shared["published"]}

    def add(self, part: dict):
        for section in GROUP_SECTIONS:
            whole = getattr(self, section)
            for name, value in part.get(section, {}).items():
                if name in whole:
                    raise Mistake("%s %s is described twice" % (section, name))
                whole[name] = value

    def get(self, section: str, name: str):
        if name not in getattr(self, section):
            raise Mistake("there is no %s %s" % (section, name))
        return getattr(self, section)[name]

    def component(self, file: str) -> str:
        """The component that a published file became, by the name other files use for it."""
        for row in self.shared["published"]:
            if row["file"].endswith(file) and "name" in row:
                return row["name"]
        raise Mistake("there is no component for the reference %s" % file)

    def resolve(self, ref: str) -> dict:
        name = ref[len(COMPONENTS):]
        if name in self.schemas:
            return self.schemas[name]
        for row in self.shared["published"]:
            schema = self.files[row["file"]]
            if row.get("name") == name:
                return schema
            if name in schema.get("$defs", {}):
                return schema["$defs"][name]
        raise Mistake("there is no component for the reference %s" % ref)


def traits(op: dict) -> set:
    """What the row of an operation says about its answers; the shared statuses name them under "when"."""
    flags, path = op.get("flags", []), op["path"]
    found = {"any"}
    for trait, holds in (("credential", "public" not in flags), ("id", "{" in path), ("run", "{runId}" in path),
                         ("body", "body" in op), ("keyed", "idempotent" in flags), ("token", "token" in flags)):
        if holds:
            found.add(trait)
    return found


class Document:
    """The document, member by member in the order in which it is served."""

    def __init__(self, description: Description):
        self.d = description

    def copy(self, value):
        """The value with every $ref turned into one that resolves in the document."""
        if isinstance(value, list):
            return [self.copy(v) for v in value]
        if not isinstance(value, dict):
            return value
        return {k: self.ref(v) if k == "$ref" and isinstance(v, str) else self.copy(v) for k, v in value.items()}

    def ref(self, ref: str) -> str:
        if ref.startswith(COMPONENTS):
            return ref
        if ref.startswith(DEFINITIONS):
            return COMPONENTS + ref[len(DEFINITIONS):]
        return COMPONENTS + self.d.component(ref)

    def content(self, schema: str, stream: bool = False, binary: list = ()) -> dict:
        types = {"application/json": {"schema": {"$ref": COMPONENTS + schema}}}
        for kind in binary:
            types[kind] = {"schema": {"type": "string", "format": "binary"}}
        if stream:
            types["text/event-stream"] = {"schema": {"type": "string"}}
        return types

    def headers(self, more: list) -> dict:
        return {name: {"$ref": "#/components/headers/" + name} for name in COMMON_HEADERS + more}

    def parameters(self, op: dict) -> list:
        names = [("path", part.split("}")[0]) for part in op["path"].split("{")[1:]]
        keyed = ["idempotencyKey"] if "idempotent" in op.get("flags", []) else []
        names += [("parameters", name) for name in keyed + op.get("parameters", []) + COMMON_PARAMETERS]
        return [self.copy(self.d.get(section, name)) for section, name in names]

    def responses(self, op: dict) -> dict:
        flags, of = op.get("flags", []), traits(op)
        keyed = ["openwop-Idempotent-Replay"] if "idempotent" in flags else []
        out = {op["status"]: {"description": op["summary"], "headers": self.headers(keyed + op.get("headers", []))}}
        if "answer" in op:  # 204 has none
            out[op["status"]]["content"] = self.content(op["answer"], "ticket" in flags, [] if "bytes" in flags else op.get("binary", []))
        if "also" in op:
            out[op["also"]] = out[op["status"]]
        statuses = self.d.shared["statuses"]
        for status in op.get("errors", []) + [s for s in statuses if of & set(statuses[s].get("when", []))]:
            out[status] = {"$ref": "#/components/responses/Status" + status}
        for status, schema in op.get("failure", {}).items():
            row = statuses[status]
            out[status] = {"description": row["description"], "headers": self.headers(row.get("headers", [])), "content": self.content(schema)}
        return out

    def operation(self, name: str, op: dict) -> dict:
        flags = op.get("flags", [])
        out = {"operationId": name, "summary": op["summary"], "tags": [op["tag"]]}
        if "public" in flags:
            out["security"] = []
        elif "ticket" in flags:
            out["security"] = [{"ApiKeyAuth": []}, {"StreamTicket": []}]
        if "public" not in flags:
            out["x-openwop-scopes"] = op.get("scopes", [])
        out["parameters"] = self.parameters(op)
        if "body" in op:
            body = self.content(op["body"])
            if "bytes" in flags:
                body = {kind: {"schema": {"$ref": COMPONENTS + op["body"]}} for kind in op["binary"]}
            out["requestBody"] = {"required": "bodyOptional" not in flags, "content": body}
        out["responses"] = self.responses(op)
        return out

    def paths(self) -> dict:
        out = {}
        for name, op in self.d.operations.items():
            method = out.setdefault(op["path"], {}).setdefault(op["method"].lower(), {})
            if method:
                raise Mistake("%s %s is described twice" % (op["method"], op["path"]))
            method.update(self.operation(name, op))
        return out

    def statuses(self) -> dict:
        """The answers that operations share; those of 400 and more have the envelope (ERR-1)."""
        out = {}
        for status, row in self.d.shared["statuses"].items():
            answer = {"description": row["description"], "headers": self.headers(row.get("headers", []))}
            if status >= "400":
                answer["content"] = self.content("ErrorEnvelope")
            out["Status" + status] = answer
        return out

    def published(self, row: dict) -> dict:
        """Root and definitions of a published schema; properties of ours replace those of the same name."""
        schema, own, out = self.d.files[row["file"]], row.get("properties", {}), {}
        if "name" in row:
            root = {k: v for k, v in schema.items() if k not in ("$schema", "$id", "$defs")}
            if "properties" in root:
                root["properties"] = {**{k: v for k, v in root["properties"].items() if k not in own}, **own}
            out[row["name"]] = self.copy(root)
        for name, definition in schema.get("$defs", {}).items():
            out[name] = self.copy(definition)
        return out

    def schemas(self) -> dict:
        out = {}
        for part in [self.published(row) for row in self.d.shared["published"]] + [self.copy(self.d.schemas)]:
            for name, schema in part.items():
                if name in out:
                    raise Mistake("two schemas are called %s" % name)
                out[name] = schema
        return out

    def text(self) -> str:
        out = self.copy(self.d.shared["document"])
        out["paths"] = self.paths()
        out["components"] = {"securitySchemes": self.copy(self.d.shared["securitySchemes"]),
                             "headers": self.copy(self.d.shared["headers"]), "responses": self.statuses(),
                             "schemas": self.schemas()}
        return json.dumps(out, ensure_ascii=False, separators=(",", ":"))
