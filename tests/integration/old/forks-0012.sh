#!/bin/sh
# forks-0012.sh: made forks-0012.sql, a database of schema version 12, whose forks hold copies of what
# they inherited.  Usage, with a program of that version (git: the parent of the commit that added
# migration 0013) and curl, python3, sqlite3:
#     tests/integration/old/forks-0012.sh path/to/wopr > tests/integration/old/forks-0012.sql
set -eu
here=$(dirname "$0")
dir=$(mktemp -d)
export OPENWOP_API_KEY=hk_test_integration_key_0123456789abcdef
"$1" serve --db "$dir/w.db" --port 0 --ops-port 0 --seed "$here/../../../docs/examples" --log-level warn > "$dir/out" &
host=$!
trap 'kill $host 2> /dev/null || true; rm -rf "$dir"' EXIT
for _ in $(seq 100); do grep -q 'http://' "$dir/out" && break; sleep 0.1; done
base=$(grep -o 'http://[0-9.:a-z]*' "$dir/out" | head -1)

ask() { curl -sf "$base$1" -H "authorization: Bearer $OPENWOP_API_KEY" ${2:+--json "$2"}; }
id_of() { python3 -c 'import json,sys; print(json.load(sys.stdin)["runId"])'; }
fork() { ask "/v1/runs/$1:fork" "{\"mode\":\"$2\",\"fromSeq\":$3}" | id_of; }
start() { ask /v1/runs '{"workflowId":"purchase"}' | id_of; }
answer() { ask "/v1/runs/$1/interrupts/approve" '{"resumeValue":{"action":"accept"}}' > /dev/null; }

ended=$(start); waits=$(start); sleep 0.5
waiting=$(fork "$waits" branch 4); sleep 0.3
answer "$ended"; sleep 0.5
for cut in 0 1 5 9; do fork "$ended" replay $cut > /dev/null; done
branch=$(fork "$ended" branch 7); sleep 0.5
answer "$branch" || true
sleep 0.5
fork "$branch" replay 5 > /dev/null
fork "$waiting" branch 3 > /dev/null
sleep 1
kill $host; wait $host || true
sqlite3 "$dir/w.db" .dump
