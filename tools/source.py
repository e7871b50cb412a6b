"""What the checks know of C: layers, files, functions, calls, circles.  Read from the text, without a compiler."""
import os
import re

# Left to right: a file includes only its own layer and those before it (docs/architecture.md).
LAYERS = ["base", "codec", "domain", "store", "journal", "audit", "egress", "sandbox", "hooks", "otel", "packs", "engine", "nodes", "workspec", "mcp", "workrail", "rail", "http",
          "wire/common", "wire/v1", "host", "cli"]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+([<"])([^>"]+)[>"]', re.M)
WORD = re.compile(r"(?<![.\w])(?<!->)[A-Za-z_]\w*")  # no member's name
TAG = re.compile(r"\b(struct|enum|union)\s+\w+")  # names of types are a space of their own
NOT_FUNCTIONS = {"if", "for", "while", "switch", "return", "sizeof", "do", "else", "defined", "_Static_assert", "__attribute__"}


def layer_of(path: str):
    for name in sorted(LAYERS, key=len, reverse=True):
        if path.startswith(name + "/"):
            return name
    return None


def strip(text: str) -> str:
    """Blank out comments, strings and character literals, keeping line structure."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def without_directives(code: str) -> str:
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), code, flags=re.M)


class Function:
    def __init__(self, name, static, line, lines):
        self.name, self.static, self.line, self.lines = name, static, line, lines


class File:
    def __init__(self, root: str, rel: str):
        with open(os.path.join(root, "src", rel), encoding="utf-8") as f:
            self.text = f.read()
        self.rel, self.layer = rel, layer_of(rel)
        self.code = strip(self.text)
        self.plain = without_directives(self.code)
        # Of the text, not the code: a path in quotes is blanked there.
        self.includes = [(self.text.count("\n", 0, m.start()) + 1, m.group(1), m.group(2)) for m in INCLUDE.finditer(self.text)]
        self.functions = list(functions(self.plain))
        self.statics = {f.name for f in self.functions if f.static}
        self.exported = {f.name for f in self.functions if not f.static}
        # Words of directives too: a macro's body calls.
        self.words = set(WORD.findall(TAG.sub("", self.code)))

    def prototypes(self) -> int:
        return sum(1 for s in top_level(self.plain) if re.search(r"\)\s*(__attribute__\s*\(.*\)\s*)?$", s, re.S)
                   and "(" in s and not re.match(r"\s*(typedef|static|#)", s))


def top_level(plain: str):
    """Statements that end with ';' outside of any braces."""
    depth, start = 0, 0
    for i, c in enumerate(plain):
        if c == "{":
            depth += 1
        elif c == "}":
            depth -= 1
            if depth == 0:
                start = i + 1
        elif c == ";" and depth == 0:
            yield plain[start:i]
            start = i + 1


def name_before_arguments(head: str):
    """'static int f(void (*g)(int))' -> 'f'; None when the text does not end with a list of arguments."""
    head, depth = head.rstrip(), 0
    if not head.endswith(")"):
        return None
    for i in range(len(head) - 1, -1, -1):
        depth += (head[i] == ")") - (head[i] == "(")
        if depth == 0:
            m = re.search(r"([A-Za-z_]\w*)\s*$", head[:i])
            return m.group(1) if m and m.group(1) not in NOT_FUNCTIONS else None
    return None


def functions(plain: str):
    """Every function with a body."""
    depth, start, open_at, name, static = 0, 0, 0, None, False
    for i, c in enumerate(plain):
        if c == "{":
            if depth == 0:
                head, open_at = plain[start:i], i
                name, static = name_before_arguments(head), re.search(r"\bstatic\b", head) is not None
            depth += 1
        elif c == "}":
            depth -= 1
            if depth == 0:
                if name:
                    first = plain.count("\n", 0, start + len(plain[start:open_at]) - len(plain[start:open_at].lstrip()))
                    yield Function(name, static, first + 1, plain.count("\n", 0, i) - first + 1)
                start, name = i + 1, None
        elif c == ";" and depth == 0:
            start = i + 1


def read_all(root: str) -> list:
    found = []
    for folder, _, names in sorted(os.walk(os.path.join(root, "src"))):
        for name in sorted(names):
            if name.endswith((".c", ".h", ".def")):
                found.append(File(root, os.path.relpath(os.path.join(folder, name), os.path.join(root, "src"))))
    return found


def calls(files: list) -> dict:
    """File -> {other file of its layer: names of it that are called here, or handed on}.  A name that is also a static here is
    not the other's."""
    graph = {}
    for layer in LAYERS:
        own = [f for f in files if f.layer == layer and f.rel.endswith(".c")]
        home = {name: f.rel for f in own for name in f.exported}
        for f in own:
            out = graph.setdefault(f.rel, {})
            for word in f.words & home.keys():
                if home[word] != f.rel and word not in f.statics:
                    out.setdefault(home[word], set()).add(word)
    return graph


def circles(graph: dict) -> list:
    """Strongly connected parts of more than one file (Tarjan), largest first."""
    index, low, stack, on, found = {}, {}, [], set(), []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        on.add(v)
        for w in sorted(graph.get(v, ())):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            part = []
            while True:
                w = stack.pop()
                on.discard(w)
                part.append(w)
                if w == v:
                    break
            if len(part) > 1:
                found.append(sorted(part))

    for v in sorted(graph):
        if v not in index:
            visit(v)
    return sorted(found, key=len, reverse=True)


def header_graph(files: list) -> dict:
    return {f.rel: {name for _, quote, name in f.includes if quote == '"' and name.endswith(".h")} for f in files
            if f.rel.endswith(".h")}
