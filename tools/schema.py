#!/usr/bin/env python3
"""Write the schema that all migrations together lead to, so that a new database takes it at once (see src/store/sqlite/migrate.c).

usage: schema.py OUT.sql MIGRATION.sql...
The migrations are applied in the order of their names to a database in memory; what is then in it comes out as statements: tables, the rows
that migrations put into them, indexes and triggers, each with the text that SQLite keeps of it, comments included.
"""
import os
import sqlite3
import sys


def rows(db, table):
    columns = [c[1] for c in db.execute('PRAGMA table_info("%s")' % table)]
    for row in db.execute('SELECT %s FROM "%s"' % (", ".join('quote("%s")' % c for c in columns), table)):
        yield 'INSERT INTO "%s" (%s) VALUES (%s);' % (table, ", ".join('"%s"' % c for c in columns), ", ".join(row))


def main() -> int:
    out, migrations = sys.argv[1], sorted(sys.argv[2:], key=os.path.basename)
    db = sqlite3.connect(":memory:", isolation_level=None)
    for path in migrations:
        with open(path, encoding="utf-8") as f:
            db.executescript(f.read())
    kept = db.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY rowid").fetchall()
    tables = [(name, sql) for kind, name, sql in kept if kind == "table"]
    lines = [sql + ";" for _, sql in tables]
    for name, _ in tables:  # before there are triggers, which would tell of them
        lines += rows(db, name)
    lines += [sql + ";" for kind, _, sql in kept if kind != "table"]
    with open(out, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
