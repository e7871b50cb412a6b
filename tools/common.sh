# Shared by ./run, ./test and .ci/run: packages and the build.  Sourced, POSIX sh.
BUILD_PACKAGES="gcc libc6-dev cmake make pkg-config python3-minimal libmicrohttpd-dev libjson-c-dev libsqlite3-dev libgnutls28-dev libpcre2-dev libcurl4-gnutls-dev"
TEST_PACKAGES="clang libclang-rt-14-dev llvm libcriterion-dev curl git sqlite3 clang-format python3"

# Install the Debian packages that are not there yet.
install_packages() {
    missing=""
    for p in "$@"; do
        dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $p"
    done
    [ -z "$missing" ] && return 0
    echo "installing:$missing"
    as_root=""
    [ "$(id -u)" -eq 0 ] || as_root="sudo"
    $as_root apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# build_tree DIRECTORY CMAKE_OPTIONS...
build_tree() {
    dir=$1
    shift
    cmake -S . -B "$dir" "$@" >"$dir.cmake.log" 2>&1 || { cat "$dir.cmake.log" >&2; rm -f "$dir.cmake.log"; return 1; }
    rm -f "$dir.cmake.log"
    cmake --build "$dir" --parallel "$(nproc)" >"$dir/build.log" 2>&1 || { tail -n 60 "$dir/build.log" >&2; return 1; }
}
