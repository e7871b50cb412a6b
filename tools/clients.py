#!/usr/bin/env python3
"""The wire types and the operation tables of the clients, from the description of the operations (api/host).

usage: clients.py SOURCE_ROOT [--write]
Makes clients/typescript/src/wire.ts and clients/python/wopr_client/wire.py: a type for each schema of the OpenAPI document, and
for each operation its method, its path and whether it takes an Idempotency-Key.
Without --write: exit status 1 when a file is not what the description says.
"""
import json
import keyword
import os
import sys
import textwrap

import openapi

REF = openapi.COMPONENTS
PYTHON = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "object": "Dict[str, Any]",
          "array": "List[Any]"}
SCRIPT = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null",
          "object": "Record<string, unknown>", "array": "unknown[]"}


def union(parts: list) -> list:
    return list(dict.fromkeys(parts))


def has_members(schema: dict) -> bool:
    return bool(schema.get("properties"))


class TypeScript:
    path = "clients/typescript/src/wire.ts"
    head = ("// The wire of a host: its types and its operations.  Made by tools/clients.py from api/host; do not edit.\n")

    def comment(self, schema: dict, indent: str) -> str:
        text = schema.get("description", "").replace("*/", "* /")
        if not text:
            return ""
        lines = textwrap.wrap(text, 110, break_on_hyphens=False)
        if len(lines) == 1:
            return "%s/** %s */\n" % (indent, lines[0])
        return "%s/**\n%s%s */\n" % (indent, "".join("%s * %s\n" % (indent, line) for line in lines), indent)

    def members(self, schema: dict, indent: str) -> str:
        required, inner = set(schema.get("required", [])), indent + "  "
        out = "{\n"
        for name, value in schema["properties"].items():
            key = name if name.isidentifier() else json.dumps(name)
            out += self.comment(value, inner) + "%s%s%s: %s;\n" % (inner, key, "" if name in required else "?", self.type(value, inner))
        if schema.get("additionalProperties") is True:
            out += inner + "[member: string]: unknown;\n"
        return out + indent + "}"

    def type(self, schema: dict, indent: str = "") -> str:
        if "$ref" in schema:
            return schema["$ref"][len(REF):]
        if "const" in schema:
            return json.dumps(schema["const"])
        if "enum" in schema:
            return " | ".join(json.dumps(v) for v in schema["enum"])
        if "oneOf" in schema:
            return " | ".join(union([self.type(s, indent) for s in schema["oneOf"]]))
        if has_members(schema):
            return self.members(schema, indent)
        if isinstance(schema.get("type"), list):
            return " | ".join(union([self.type({**schema, "type": t}, indent) for t in schema["type"]]))
        if schema.get("type") == "array" and "items" in schema:
            item = self.type(schema["items"], indent)
            return "(%s)[]" % item if "|" in item else item + "[]"
        if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
            return "Record<string, %s>" % self.type(schema["additionalProperties"], indent)
        return SCRIPT.get(schema.get("type"), "unknown")

    def schema(self, name: str, schema: dict) -> str:
        body = self.type(schema)
        form = "export interface %s %s\n\n" if has_members(schema) and "oneOf" not in schema else "export type %s = %s;\n\n"
        return self.comment(schema, "") + form % (name, body)

    def query(self, name: str, parameters: list) -> str:
        if not parameters:
            return ""
        members = {p["name"]: {**p["schema"], "description": p.get("description", "")} for p in parameters}
        required = [p["name"] for p in parameters if p.get("required")]
        form = "/** Query parameters of `%s`. */\nexport interface %sQuery %s\n\n"
        return form % (name, name[0].upper() + name[1:], self.members({"properties": members, "required": required}, ""))

    def operations(self, rows: list) -> str:
        out = "/** What the host mounts: `{name}` in a path is a parameter. */\nexport const operations = {\n"
        for name, method, path, keyed in rows:
            out += '  %s: { method: "%s", path: "%s", idempotent: %s },\n' % (name, method, path, str(keyed).lower())
        return out + "} as const;\n\nexport type OperationId = keyof typeof operations;\n"


class Python:
    path = "clients/python/wopr_client/wire.py"
    head = ('"""The wire of a host: its types and its operations.  Made by tools/clients.py from api/host; do not edit."""\n'
            "from __future__ import annotations\n\n"
            "from typing import Any, Dict, List, Literal, NamedTuple, NotRequired, TypedDict, Union\n\n\n")

    def __init__(self):
        self.out = []  # classes in the order in which they are complete

    def literal(self, values: list) -> str:
        return "Literal[%s]" % ", ".join(json.dumps(v) if isinstance(v, str) else repr(v) for v in values)

    def type(self, schema: dict, name: str) -> str:
        if "$ref" in schema:
            return schema["$ref"][len(REF):]
        if "const" in schema:
            return self.literal([schema["const"]])
        if "enum" in schema:
            return self.literal(schema["enum"])
        if "oneOf" in schema:
            kinds = [self.type(s, name + str(i + 1)) for i, s in enumerate(schema["oneOf"])]
            return "Union[%s]" % ", ".join(union(kinds))
        if has_members(schema):
            self.define(name, schema)
            return name
        if isinstance(schema.get("type"), list):
            return "Union[%s]" % ", ".join(union([self.type({**schema, "type": t}, name) for t in schema["type"]]))
        if schema.get("type") == "array" and "items" in schema:
            return "List[%s]" % self.type(schema["items"], name + "Item")
        if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
            return "Dict[str, %s]" % self.type(schema["additionalProperties"], name + "Value")
        return PYTHON.get(schema.get("type"), "Any")

    def define(self, name: str, schema: dict):
        required = set(schema.get("required", []))
        members = []
        for key, value in schema["properties"].items():
            kind = self.type(value, name + key[0].upper() + key[1:])
            members.append((key, kind if key in required else "NotRequired[%s]" % kind))
        if all(k.isidentifier() and not keyword.iskeyword(k) for k, _ in members):
            text = "class %s(TypedDict):\n" % name + self.doc(schema) + "".join("    %s: %s\n" % m for m in members)
        else:  # names that no class can have
            text = '%s = TypedDict("%s", {%s})\n' % (name, name, ", ".join('"%s": %s' % m for m in members))
        self.out.append(text + "\n\n")

    def doc(self, schema: dict) -> str:
        text = schema.get("description", "").replace("\\", "\\\\").replace('"""', "'''")
        if not text:
            return ""
        lines = textwrap.wrap(text, 110, break_on_hyphens=False)
        if len(lines) == 1:
            return '    """%s"""\n\n' % lines[0]
        return '    """%s\n    """\n\n' % "\n    ".join(lines)

    def schema(self, name: str, schema: dict) -> str:
        self.out = []
        if has_members(schema) and "oneOf" not in schema:
            self.define(name, schema)
        else:
            kind = self.type(schema, name)
            self.out.append("%s = %s\n\n\n" % (name, kind))
        return "".join(self.out)

    def query(self, name: str, parameters: list) -> str:
        return ""

    def operations(self, rows: list) -> str:
        out = ("class Operation(NamedTuple):\n    method: str\n    path: str\n    idempotent: bool\n\n\n"
               "# What the host mounts, by operation id; {name} in a path is a parameter.\nOPERATIONS: Dict[str, Operation] = {\n")
        for name, method, path, keyed in rows:
            out += '    "%s": Operation("%s", "%s", %s),\n' % (name, method, path, keyed)
        return out + "}\n"


def ordered(schemas: dict) -> list:
    """Aliases that Python evaluates at once come after what they name."""
    done, out = set(), []

    def visit(name, path):
        if name in done or name in path:
            return
        schema = schemas[name]
        if not (has_members(schema) and "oneOf" not in schema):
            for ref in refs(schema):
                visit(ref, path + [name])
        done.add(name)
        out.append(name)
    for name in schemas:
        visit(name, [])
    return out


def refs(value) -> list:
    if isinstance(value, list):
        return [ref for v in value for ref in refs(v)]
    if not isinstance(value, dict):
        return []
    if "$ref" in value:
        return [value["$ref"][len(REF):]]
    return [ref for v in value.values() for ref in refs(v)]


def render(writer, description: openapi.Description) -> str:
    document = openapi.Document(description)
    schemas = document.schemas()
    out = writer.head
    for name in ordered(schemas):
        out += writer.schema(name, schemas[name])
    for name, op in description.operations.items():
        out += writer.query(name, [p for p in document.parameters(op) if p["in"] == "query"])
    rows = [(name, op["method"], op["path"], "idempotent" in op.get("flags", [])) for name, op in description.operations.items()]
    return out + writer.operations(rows)


def main() -> int:
    root, write, stale = sys.argv[1], "--write" in sys.argv[2:], 0
    description = openapi.Description(root, "api/host")
    for writer in (TypeScript(), Python()):
        path, fresh = os.path.join(root, writer.path), render(writer, description)
        old = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
        if old == fresh:
            continue
        if write:
            with open(path, "w", encoding="utf-8") as f:
                f.write(fresh)
        else:
            print("%s is not what api/host says: run tools/clients.py . --write" % writer.path)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
