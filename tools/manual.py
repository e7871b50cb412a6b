#!/usr/bin/env python3
"""The manual pages, made of what the program says of itself and of the table of settings.

usage: manual.py WOPR SOURCE_ROOT OUT_DIR    writes wopr.1, a page for each command, and wopr.json.5
       manual.py --check SOURCE_ROOT         exit status 1 when options.def differs from what commands take
The forms, their explanations and the options are those of "wopr COMMAND --help"; the settings those of src/host/config.def.
Dates come from SOURCE_DATE_EPOCH, so that two builds of one source are equal.
"""
import glob
import os
import re
import subprocess
import sys
import time

import settings

INDENT = 7  # of the second form of a usage text
OVERVIEW = """WOPR is a durable workflow host: it accepts runs over HTTP, executes them, writes every fact about them to an
append-only log in one SQLite file, and streams that log.  Kill the process at any moment and start it again: every run goes on where
its log ends."""
FILES = [("/etc/wopr/wopr.json", "settings, where WOPR is installed as a package; elsewhere the file of --config or WOPR_CONFIG"),
         ("/var/lib/wopr/wopr.db", "the database of the package; elsewhere data/wopr.db, or --db"),
         ("/var/lib/wopr/wopr.db.key", "the key of sensitive values; keep a copy with each backup"),
         ("/etc/wopr/keys", "API keys of the package's service, readable by root only"),
         ("data/dev-api-key", "a key beside the database, which commands find by themselves")]
ENVIRONMENT = [("WOPR_CONFIG", "JSON file of settings; empty: none"),
               ("WOPR_URL", "the host that commands ask, as with --url"),
               ("WOPR_API_KEY", "the key for it")]
STATUS = [("0", "done"), ("1", "failed; the reason is on standard error"), ("2", "wrong use")]


def roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def bold(text: str) -> str:
    return "\\fB%s\\fR" % roff(text)


def output(wopr: str, *args: str) -> str:
    return subprocess.run([wopr, *args], check=True, capture_output=True, encoding="utf-8").stdout


def commands(wopr: str) -> list:
    """(name, help) of wopr --help"""
    return re.findall(r"^  ([a-z-]+) +(\S.*)$", output(wopr, "--help"), re.M)


class Usage:
    """What wopr COMMAND --help says: forms with their explanations, prose, options."""

    def __init__(self, text: str):
        text, _, rest = text.partition("\noptions:\n")
        self.options = re.findall(r"^  --([a-z-]+) ?(\S+)?(?<! ) +(\S.*)$", rest.split("\nsettings:")[0], re.M)
        self.forms, prose = [], []
        for line in text.splitlines():
            if line.startswith("The settings of "):
                continue
            if line[INDENT:].startswith("wopr ") and line[:INDENT] in ("usage: ", " " * INDENT):
                self.forms.append(["", ""])
            elif not line.startswith(" "):
                prose.append(line)
                continue
            form, _, says = line[INDENT:].strip().partition("   ")
            self.forms[-1][0] += (" " if self.forms[-1][0] else "") + form
            self.forms[-1][1] += (" " if self.forms[-1][1] else "") + says.strip()
        self.prose = " ".join(prose)


def form_roff(form: str) -> str:
    """Literal words bold, placeholders italic."""
    def word(m):
        return ("\\fI%s\\fR" if m.group().isupper() else "\\fB%s\\fR") % roff(m.group())
    return re.sub(r"[A-Za-z-]*[A-Za-z][A-Za-z_-]*", word, form)


def items(rows) -> str:
    return "".join(".TP\n%s\n%s\n" % row for row in rows)


def sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return roff(text if text.endswith(".") else text + ".")


def head(name: str, section: int, version: str, says: str) -> str:
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "0"))))
    return '.TH %s %d "%s" "%s" "WOPR"\n.nh\n.SH NAME\n%s \\- %s\n' % (roff(name).upper(), section, date, roff(version), roff(name), roff(says))


def see_also(names) -> str:
    return ".SH SEE ALSO\n" + ",\n".join(".BR %s (%s)" % (roff(n), s) for n, s in names).replace(",\n.BR", " ,\n.BR") + "\n"


def setting_text(r: dict) -> str:
    text = settings.accepted(r).replace("`", "")
    default = settings.default_of(r).replace("`", "").replace("–", "none")
    return "%s\n.br\nDefault: %s.  Accepted: %s.  Variable: \\fB%s\\fR." % (sentence(r["help"]), roff(default), roff(text), r["env"])


def settings_roff(rows: list, as_flags: bool) -> str:
    out = ""
    for section, title in settings.SECTIONS:
        out += ".SS %s\n" % roff(title)
        for r in rows:
            if r["section"] == section and "HIDDEN" not in r["flags"]:
                if as_flags and "SECRET" in r["flags"]:
                    continue
                out += ".TP\n%s\n%s\n" % (bold(("--" if as_flags else "") + r["name"]), setting_text(r))
    return out


def command_page(wopr: str, name: str, says: str, version: str, rows: list) -> str:
    use = Usage(output(wopr, name, "--help"))
    out = head("wopr-" + name, 1, version, says) + ".SH SYNOPSIS\n.ad l\n" + "\n.br\n".join(form_roff(f) for f, _ in use.forms) + "\n.ad b\n"
    out += ".SH DESCRIPTION\n" + sentence(says) + "\n"
    out += items((form_roff(f), sentence(s)) for f, s in use.forms if s)
    if use.prose:
        out += ".PP\n" + roff(use.prose) + "\n"
    if use.options:
        out += ".SH OPTIONS\n" + items(("\\fB\\-\\-%s\\fR%s" % (roff(n), " \\fI%s\\fR" % roff(v) if v else ""), sentence(h))
                                       for n, v, h in use.options)
    if name == "serve":
        out += ".SH SETTINGS\nEach is a flag, a variable of the environment, and a member of the file of\n.BR \\-\\-config ;\n" \
               "a flag counts before a variable, that before the file.\n" + settings_roff(rows, True)
        out += ".SH SIGNALS\n.B SIGTERM\nand\n.B SIGINT\ndrain: requests in flight finish, leases are given back.\n.B SIGKILL\nis safe at any time.\n"
    else:
        out += ".PP\nThe settings of\n.BR wopr\\-serve (1)\nare options too; most commands need only\n.BR \\-\\-db .\n"
    out += ".SH EXIT STATUS\n" + items((s, sentence(t)) for s, t in STATUS)
    return out + see_also([("wopr", 1), ("wopr-serve", 1), ("wopr.json", 5)] if name != "serve" else [("wopr", 1), ("wopr.json", 5)])


def main_page(known: list, version: str) -> str:
    out = head("wopr", 1, version, "durable workflow host")
    out += ".SH SYNOPSIS\n.B wopr\n.I COMMAND\n.RI [ OPTIONS ]\n.SH DESCRIPTION\n" + roff(OVERVIEW) + "\n"
    out += ".SH COMMANDS\n" + items(("\\fBwopr\\-%s\\fR(1)" % roff(n), sentence(h)) for n, h in known)
    out += ".SH ENVIRONMENT\nEvery setting has a variable; see\n.BR wopr.json (5).\n" + items((bold(n), sentence(t)) for n, t in ENVIRONMENT)
    out += ".SH FILES\n" + items(("\\fI%s\\fR" % roff(n), sentence(t)) for n, t in FILES)
    out += ".SH EXIT STATUS\n" + items((s, sentence(t)) for s, t in STATUS)
    out += ".SH EXAMPLES\n.nf\n" + roff("wopr init hello\nwopr workflow put hello.json\nwopr serve &\nwopr runs start hello --follow") + "\n.fi\n"
    return out + see_also([("wopr-" + n, 1) for n, _ in known] + [("wopr.json", 5)])


def file_page(version: str, rows: list, example: str) -> str:
    out = head("wopr.json", 5, version, "settings of a WOPR host")
    out += ".SH DESCRIPTION\nA JSON object.  Each member is a setting: the name of its flag without the dashes.  A flag counts before a\n"
    out += "variable of the environment, that before this file, and it before the default.  Unknown members are refused.\n"
    out += "Which settings are in force is printed by\n.BR \"wopr serve \\-\\-print\\-config\" .\n.SH SETTINGS\n" + settings_roff(rows, False)
    out += ".SH EXAMPLE\n.nf\n" + roff(example.rstrip("\n")) + "\n.fi\n"
    return out + see_also([("wopr", 1), ("wopr-serve", 1)])


def write_pages(wopr: str, root: str, out: str) -> int:
    known, rows = commands(wopr), settings.rows(root)
    version = output(wopr, "version").strip()
    with open(os.path.join(root, "packaging/wopr.json"), encoding="utf-8") as f:
        example = f.read()
    pages = {"wopr-%s.1" % n: command_page(wopr, n, h, version, rows) for n, h in known}
    pages.update({"wopr.1": main_page(known, version), "wopr.json.5": file_page(version, rows, example)})
    os.makedirs(out, exist_ok=True)
    for old in set(os.listdir(out)) - set(pages):
        os.unlink(os.path.join(out, old))
    for name, text in pages.items():
        with open(os.path.join(out, name), "w", encoding="utf-8") as f:
            f.write(text)
    return 0


def check(root: str) -> int:
    """options.def against the calls of cli_take_*, file by file."""
    with open(os.path.join(root, "src/cli/options.def"), encoding="utf-8") as f:
        table = f.read()
    told = set(re.findall(r'^OPTION\("([a-z-]+)", "[^"]*", "([a-z-]+)"', table, re.M))
    values = dict(((c, n), v) for c, n, v in re.findall(r'^OPTION\("([a-z-]+)", "[^"]*", "([a-z-]+)", "([^"]*)"', table, re.M))
    taken, bad = set(), []
    for path in sorted(glob.glob(os.path.join(root, "src/cli/*.c"))):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        of = re.findall(r"^int cmd_([a-z]+)\(struct cli", text, re.M)
        calls = [(kind, name) for kind, name in re.findall(r'cli_take_(flag|value)\(c, "--([a-z-]+)"\)', text)]
        if "cli_take_url(c)" in text and os.path.basename(path) != "remote.c":
            calls.append(("value", "url"))
        for kind, name in calls if of else []:
            rows = [(c, name) for c in of if (c, name) in told]
            taken.update(rows)
            if not rows and name != "help":
                bad.append("%s takes --%s, which has no row in options.def" % (path, name))
            bad += ["options.def: --%s of wopr %s: %s" % (r[1], r[0], "a flag has no value" if kind == "flag" else "its value lacks a name")
                    for r in rows if (values[r] == "") != (kind == "flag")]
    bad += ["options.def: wopr %s does not take --%s" % row for row in sorted(told - taken)]
    for line in bad:
        print(line)
    print("options: %d, %d findings" % (len(told), len(bad)))
    return 1 if bad or not told else 0


if __name__ == "__main__":
    sys.exit(check(sys.argv[2]) if sys.argv[1] == "--check" else write_pages(*sys.argv[1:4]))
