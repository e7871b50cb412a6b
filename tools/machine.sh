#!/bin/sh
# One line about the machine that a test run was on: cores, load, what a sync costs where the tests' files are, what a fixed sum costs.
# ./test prints it beside what failed, because a limit in seconds means little without it.
folder=$(mktemp -d "${TMPDIR:-/tmp}/wopr-machine-XXXXXX")
trap 'rm -rf "$folder"' EXIT
ms() { # milliseconds that a command takes
    from=$(date +%s%N)
    "$@" >/dev/null 2>&1
    echo $((($(date +%s%N) - from) / 1000000))
}
syncs=$(ms dd if=/dev/zero of="$folder/f" bs=4k count=50 oflag=dsync)
sum=$(ms sh -c 'head -c 100000000 /dev/zero | sha256sum')
echo "machine: $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg), 50 synced writes $syncs ms, a sum over 100 MB $sum ms," \
    "files on $(df -P "$folder" | awk 'NR == 2 { print $1 ", " int($4 / 1024) " MB free" }')"
