# Shared by ./run, ./test and .ci/run: packages and the build.  Sourced, POSIX sh.
BUILD_PACKAGES="gcc libc6-dev cmake make pkg-config python3-minimal libmicrohttpd-dev libjson-c-dev libsqlite3-dev libgnutls28-dev libpcre2-dev libcurl4-gnutls-dev"
RUN_PACKAGES="curl"
TEST_PACKAGES="clang libclang-rt-14-dev llvm libcriterion-dev curl git sqlite3 clang-format python3 binutils nginx-light"
NODE_PACKAGES="nodejs npm" # for openapi_tools and client_typescript, unless another npm is on the PATH
CLIENT_PACKAGES="mypy" # for client_python

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
    echo "installing:$missing"
    # A server among them (nginx, for a test) is not to be started by its installation.
    policy=/usr/sbin/policy-rc.d
    [ -e "$policy" ] && policy=""
    [ -z "$policy" ] || printf '#!/bin/sh\nexit 101\n' | $as_root install -m 755 /dev/stdin "$policy"
    # shellcheck disable=SC2086
    $as_root apt-get update -qq &&
        DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
    installed=$?
    [ -z "$policy" ] || $as_root rm -f "$policy"
    return $installed
}

# build_tree DIRECTORY CMAKE_OPTIONS...
build_tree() {
    dir=$1
    shift
    cmake -S . -B "$dir" "$@" >"$dir.cmake.log" 2>&1 || { cat "$dir.cmake.log" >&2; rm -f "$dir.cmake.log"; return 1; }
    rm -f "$dir.cmake.log"
    cmake --build "$dir" --parallel "$(nproc)" >"$dir/build.log" 2>&1 || { tail -n 60 "$dir/build.log" >&2; return 1; }
}
