#!/bin/sh
# release.sh: made release-*.sql.gz, the rows of a database that a program of an earlier commit wrote: runs
# that ended and that wait, forks and forks of forks of both, with and without sensitive values.
# Usage, with the program of that commit (its name, 0012 and so on, is that of its schema) and curl,
# python3, sqlite3:
#     tests/integration/old/release.sh path/to/wopr | gzip -9n > tests/integration/old/release-NNNN.sql.gz
# The schema is not in it: its migrations are those of migrations/sqlite, up to the number in the first
# line.
set -eu
here=$(dirname "$0")
dir=$(mktemp -d)
export OPENWOP_API_KEY=hk_test_integration_key_0123456789abcdef
key=$(printf '%064d' 7)
mkdir "$dir/flows"
cp "$here"/sensitive/*.json "$here/../../../docs/examples/purchase.json" "$dir/flows"
(umask 077 && echo "$key" > "$dir/w.db.key")
"$1" serve --db "$dir/w.db" --port 0 --ops-port 0 --seed "$dir/flows" --log-level warn > "$dir/out" &
host=$!
trap 'kill $host 2> /dev/null || true; rm -rf "$dir"' EXIT
for _ in $(seq 300); do grep -q 'http://' "$dir/out" && break; sleep 0.1; done
base=$(grep -o 'http://[0-9.:a-z]*' "$dir/out" | head -1)

ask() { curl -sf "$base$1" -H "authorization: Bearer $OPENWOP_API_KEY" ${2:+--json "$2"}; }
id_of() { python3 -c 'import json,sys; print(json.load(sys.stdin)["runId"])'; }
status() { ask "/v1/runs/$1" | python3 -c 'import json,sys; print(json.load(sys.stdin)["status"])'; }
is() { # RUN STATUS: until it is so
    for _ in $(seq 300); do [ "$(status "$1")" = "$2" ] && return 0; sleep 0.1; done
    echo "$1 is not $2" >&2; exit 1
}
fork() { ask "/v1/runs/$1:fork" "{\"mode\":\"$2\",\"fromSeq\":$3}" | id_of; }
answer() { ask "/v1/runs/$1/interrupts/$2" '{"resumeValue":{"action":"accept"}}' > /dev/null; }

for flow in purchase sens sens2; do
    node=g inputs=',"inputs":{"k":"CANARY-old-release-4"}'
    [ $flow != purchase ] || node=approve inputs=
    ended=$(ask /v1/runs "{\"workflowId\":\"$flow\"$inputs}" | id_of); is "$ended" waiting-approval
    waits=$(ask /v1/runs "{\"workflowId\":\"$flow\"$inputs}" | id_of); is "$waits" waiting-approval
    branch=$(fork "$waits" branch 4); is "$branch" waiting-approval
    second=$(fork "$branch" branch 3); is "$second" waiting-approval
    third=$(fork "$second" replay 0); is "$third" waiting-approval
    answer "$ended" $node; is "$ended" completed
    for cut in 0 5; do is "$(fork "$ended" replay $cut)" completed; done
    [ $flow = purchase ] || continue
    branch=$(fork "$ended" branch 2); is "$branch" waiting-approval
    answer "$branch" $node; is "$branch" completed
    is "$(fork "$branch" replay 4)" completed
done
kill $host; wait $host || true
python3 - "$dir/w.db" "$key" << 'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
version = db.execute("SELECT max(version) FROM schema_migrations").fetchone()[0]
print(f"-- schema {version}\n-- key {sys.argv[2]}")
for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE"
                          " 'sqlite_stat%' ORDER BY name").fetchall():
    columns = [c[1] for c in db.execute(f"PRAGMA table_info({name})")]
    print(f"DELETE FROM {name};")
    row = " || ',' || ".join(f"quote({c})" for c in columns)
    for (text,) in db.execute(f"SELECT {row} FROM {name}"):
        print(f"INSERT INTO {name} VALUES ({text});")
END
