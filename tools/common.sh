# Shared by ./run, ./test, bench/run and tools/release: packages and the build.  Sourced, POSIX sh.
# SAY_PROGRESS=yes: long steps say what they do meanwhile.
BUILD_PACKAGES="gcc g++ libc6-dev cmake make pkg-config python3 libmicrohttpd-dev libjson-c-dev libsqlite3-dev libgnutls28-dev libpcre2-dev zlib1g-dev libunistring-dev libyaml-dev libcurl4-gnutls-dev wabt esbuild"
RUN_PACKAGES="curl"
TEST_PACKAGES="clang lld libclang-rt-14-dev llvm libcriterion-dev curl git sqlite3 clang-format python3 binutils nginx-light mandoc zsh fish prometheus"
NODE_PACKAGES="nodejs npm" # for openapi_tools and client_typescript, unless another npm is on the PATH
BROWSER_PACKAGES="chromium" # for dashboard and client_browser
CLIENT_PACKAGES="mypy python3-pip python3-venv python3-setuptools python3-wheel" # for client_python

# Install the Debian packages that are not there yet.
install_packages() {
    missing=""
    if ! command -v dpkg-query >/dev/null 2>&1; then
        echo "this is not Debian: nothing is installed; needed are the equivalents of: $*" >&2
        return 0
    fi
    for p in "$@"; do
        dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $p"
    done
    [ -z "$missing" ] && return 0
    as_root=""
    if [ "$(id -u)" -ne 0 ]; then
        as_root="sudo"
        if ! command -v sudo >/dev/null 2>&1; then
            echo "packages are missing; run this as root, install sudo, or have root do: apt-get install$missing" >&2
            return 1
        fi
    fi
    [ -z "$as_root" ] || echo "root is needed to install packages: sudo may ask for your password"
    echo "installing with apt-get:$missing"
    # A server among them (nginx, for a test) is not to be started by its installation.
    policy=/usr/sbin/policy-rc.d
    [ -e "$policy" ] && policy=""
    [ -z "$policy" ] || printf '#!/bin/sh\nexit 101\n' | $as_root install -m 755 /dev/stdin "$policy"
    installed=0
    # shellcheck disable=SC2086
    { progress "" $as_root apt-get update &&
        progress "" $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } || installed=$?
    [ -z "$policy" ] || $as_root rm -f "$policy"
    return $installed
}

# progress LOG COMMAND...  Its output goes to LOG (empty: to a file that is removed).  With SAY_PROGRESS, a terminal shows the last
# line, anything else a line for each tenth ("[ 40%]") that a build has reached.  When the command fails, the end of its output is shown.
progress() {
    log=$1
    kept=$1
    shift
    [ -n "$log" ] || log=$(mktemp)
    rc=$(mktemp)
    {
        status=0
        "$@" 2>&1 || status=$?
        echo "$status" >"$rc"
    } | if [ "${SAY_PROGRESS:-}" = yes ]; then tee "$log" | progress_show; else cat >"$log"; fi
    status=$(cat "$rc")
    rm -f "$rc"
    [ "$status" -eq 0 ] || tail -n 60 "$log" >&2
    [ -n "$kept" ] || rm -f "$log"
    return "$status"
}
progress_show() {
    said=0
    while IFS= read -r line; do
        if [ -t 1 ]; then
            printf '\r\033[K  %.76s' "$line"
        else
            case $line in
            "["*"%]"*)
                tenth=${line%%"%]"*}
                tenth=$((${tenth#"["} / 10))
                [ "$tenth" -le "$said" ] || echo "  ${tenth}0 %"
                [ "$tenth" -le "$said" ] || said=$tenth
                ;;
            esac
        fi
    done
    [ ! -t 1 ] || printf '\r\033[K'
}

# build_tree DIRECTORY CMAKE_OPTIONS...
build_tree() {
    dir=$1
    shift
    # Begun again after a change of compiler: CMake would take the new one and forget the other options.
    case " $* " in
    *" -DCMAKE_C_COMPILER=clang "*) grep -qs '^CMAKE_C_COMPILER:.*clang' "$dir/CMakeCache.txt" || rm -rf "$dir" ;;
    esac
    [ "${SAY_PROGRESS:-}" != yes ] || echo "configuring $dir with cmake"
    progress "" cmake -S . -B "$dir" "$@" || return 1
    [ "${SAY_PROGRESS:-}" != yes ] || echo "building (the first time a minute or two, afterwards what changed); the log is $dir/build.log"
    progress "$dir/build.log" cmake --build "$dir" --parallel "$(nproc)"
}
