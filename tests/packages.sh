#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Install the Debian packages that are lacking. Each set includes the ones before it.
# Usage: packages.sh build|demo|test|matrix
set -eu

# The first patched libntfs-3g of Debian 12: older ones are unsafe on disks nobody vouches for.
NTFS_PACKAGE=libntfs-3g89
NTFS_VERSION=1:2022.10.3-1+deb12u4

BUILD='gcc libc6-dev meson ninja-build pkg-config ntfs-3g-dev libblkid-dev libcurl4-openssl-dev
  libssl-dev libcjson-dev libisal-dev libsqlite3-dev zlib1g-dev libmicrohttpd-dev libcmocka-dev
  libwim-dev'
DEMO='ntfs-3g python3 fdisk wimtools'
TEST='python3-pytest shellcheck sleuthkit attr qemu-utils nbdkit libnbd-bin libwim15 xz-utils
  bzip2 sqlite3 openssl mount util-linux procps e2fsprogs dosfstools exfatprogs btrfs-progs xfsprogs
  udftools rclone python3-venv python3-samba python3-libfsntfs 7zip'
MATRIX='clang libclang-rt-14-dev clang-format'

say() { printf 'packages: %s\n' "$*" >&2; }

wanted() {
    case $1 in
        build) echo "$BUILD" ;;
        demo) echo "$BUILD $DEMO" ;;
        test) echo "$BUILD $DEMO $TEST" ;;
        matrix) echo "$BUILD $DEMO $TEST $MATRIX" ;;
        *) echo "usage: packages.sh build|demo|test|matrix" >&2; exit 2 ;;
    esac
}

version_of() {
    dpkg-query -W -f='${db:Status-Status} ${Version}\n' "$1" 2>/dev/null |
        sed -n 's/^installed //p' | head -n 1
}

ntfs_is_old() {
    installed=$(version_of "$NTFS_PACKAGE")
    [ -z "$installed" ] || dpkg --compare-versions "$installed" lt "$NTFS_VERSION"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
    else
        return 1
    fi
}

apt() {
    log=$(mktemp)
    # Another apt may hold the lock for a while on a fresh machine.
    if as_root apt-get -q -o DPkg::Lock::Timeout=120 "$@" >"$log" 2>&1; then
        rm -f "$log"
        return 0
    fi
    tail -n 5 "$log" >&2
    rm -f "$log"
    return 1
}

main() {
    [ $# = 1 ] || { wanted usage; }
    names=$(wanted "$1")
    if ! command -v dpkg-query >/dev/null 2>&1; then
        say "this is no Debian: install what corresponds to:" "$names"
        exit 0
    fi
    missing=
    for name in $names; do
        [ -n "$(version_of "$name")" ] || missing="$missing $name"
    done
    release=$(sed -n 's/^VERSION_ID="\{0,1\}\([0-9]*\).*/\1/p' /etc/os-release)
    old=
    if [ "$release" = 12 ] && ntfs_is_old; then
        old=yes
    fi
    if [ -z "$missing$old" ]; then
        exit 0
    fi
    say "installing:$missing${old:+ (and $NTFS_PACKAGE $NTFS_VERSION or newer)}"
    apt update || say "apt-get update failed; trying with the lists that are here"
    # shellcheck disable=SC2086 # a list of names
    if ! apt install -y --no-install-recommends $missing ${old:+"$NTFS_PACKAGE"}; then
        say "cannot install:$missing. Run as root (or with sudo): apt-get install$missing"
        exit 1
    fi
    if [ "$release" = 12 ] && ntfs_is_old; then
        say "warning: $NTFS_PACKAGE is $(version_of "$NTFS_PACKAGE")," \
            "older than $NTFS_VERSION, and this archive has no newer one"
    fi
}

main "$@"
