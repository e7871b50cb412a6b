#!/usr/bin/env python3
"""Build the dashboard of web/ with esbuild, packed as the program carries it.

usage: web.py SOURCE_ROOT OUT_DIRECTORY ESBUILD
Writes OUT_DIRECTORY/{index.html,app.js,app.css,layout.js,icon.svg}.gz.  A folder of web/src/pages/ that holds a page.tsx is a page: nothing
else has to name it.  index.html names the others with a digest of their content, so that a browser may keep them.  The same sources give the
same bytes.  Refuses a dashboard of more than BYTES_MAX.
"""
import glob
import gzip
import hashlib
import os
import re
import subprocess
import sys

BYTES_MAX = 120 * 1024  # packed, all files together
NOTICE = "/*! preact, @preact/signals, @dagrejs/dagre: MIT licence, texts in NOTICE and web/vendor of the source */"


def read(path: str) -> bytes:
    with open(path, "rb") as f:
        return f.read()


def pages(source: str, out: str) -> str:
    """A module that imports every page."""
    found = sorted(os.path.dirname(p) for p in glob.glob(os.path.join(source, "web/src/pages/*/page.tsx")))
    lines = ['import p%d from "%s/page";\n' % (i, os.path.abspath(folder)) for i, folder in enumerate(found)]
    path = os.path.join(out, "pages.gen.ts")
    with open(path, "w", encoding="utf-8") as f:
        f.write("".join(lines) + "export default [%s];\n" % ", ".join("p%d" % i for i in range(len(found))))
    return path


def bundle(esbuild: str, source: str, out: str, entry: str, *more: str) -> None:
    command = [esbuild, os.path.join(source, "web/src", entry), "--bundle", "--minify", "--format=esm", "--target=es2022", "--charset=utf8",
               "--jsx=automatic", "--jsx-import-source=preact", "--legal-comments=none", "--log-level=warning", "--outdir=" + out, *more]
    subprocess.run(command, check=True, env=dict(os.environ, NODE_PATH=os.path.join(source, "web/vendor")))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def main() -> int:
    source, out, esbuild = sys.argv[1:4]
    os.makedirs(out, exist_ok=True)
    bundle(esbuild, source, out, "layout.ts", "--banner:js=" + NOTICE)
    layout = read(os.path.join(out, "layout.js"))
    bundle(esbuild, source, out, "app.tsx", "--banner:js=" + NOTICE, "--alias:pages=" + os.path.abspath(pages(source, out)),
           '--define:LAYOUT_URL="layout.js?%s"' % digest(layout))
    files = {"layout.js": layout, "icon.svg": read(os.path.join(source, "web/src/icon.svg"))}
    for name in ("app.js", "app.css"):
        files[name] = read(os.path.join(out, name))
    page = read(os.path.join(source, "web/src/index.html")).decode()
    files["index.html"] = re.sub(r"\{\{([a-z.]+)\}\}", lambda m: "%s?%s" % (m.group(1), digest(files[m.group(1)])), page).encode()
    total = 0
    for name, data in files.items():
        packed = gzip.compress(data, 9, mtime=0)
        total += len(packed)
        with open(os.path.join(out, name + ".gz"), "wb") as f:
            f.write(packed)
    if total > BYTES_MAX:
        print("web.py: the dashboard takes %d bytes packed, more than %d" % (total, BYTES_MAX), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
