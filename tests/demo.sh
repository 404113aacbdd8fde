#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A demonstration from nothing: build winch, make a small disk as Windows would leave it, start a
# local Cloud Storage, move the disk there, read everything back and compare. Needs no account and
# no network but Debian's packages. Leaves build/ and, in build/demo, the bucket to look at.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
demo=$top/build/demo
bucket=demo-bucket-$$
fake_pid=

say() { printf '\n==> %s\n' "$*"; }

stop_fake() {
    status=$?
    trap - EXIT INT TERM
    if [ -n "$fake_pid" ]; then
        kill "$fake_pid" 2>/dev/null || true
        wait "$fake_pid" 2>/dev/null || true
    fi
    # The disk can be made again at any time; the bucket is what one wants to look at.
    rm -rf "$demo/disk" "$demo/state"
    exit "$status"
}

build() {
    say "Building winch and the local Cloud Storage (log: build/demo-build.log)"
    mkdir -p "$top/build"
    if ! {
        [ -f "$top/build/build.ninja" ] ||
            meson setup "$top/build" "$top" --buildtype=debugoptimized
        ninja -C "$top/build" winch fake-gcs
    } >"$top/build/demo-build.log" 2>&1; then
        tail -n 20 "$top/build/demo-build.log"
        echo "The build failed."
        exit 1
    fi
}

start_fake() {
    say "Starting a local Cloud Storage (build/fake-gcs), which stands in for gs://"
    mkdir -p "$demo/bucket"
    "$top/build/fake-gcs" --port 0 --port-file "$demo/port" --dir "$demo/bucket" --tree \
        >"$demo/fake-gcs.log" 2>&1 &
    fake_pid=$!
    tries=0
    while [ ! -s "$demo/port" ]; do
        tries=$((tries + 1))
        if [ "$tries" -gt 200 ] || ! kill -0 "$fake_pid" 2>/dev/null; then
            cat "$demo/fake-gcs.log"
            echo "The local Cloud Storage did not start."
            exit 1
        fi
        sleep 0.05
    done
    port=$(cat "$demo/port")
    echo "It listens on http://127.0.0.1:$port"
}

make_disk() {
    say "Making the disk: GPT, a reserved partition, an NTFS volume \"Data\", a recovery partition"
    mkdir -p "$demo/disk"
    /usr/bin/python3 -B "$top/tests/images/mkimages.py" "$demo/disk" demo
    echo "It holds $(($(wc -l <"$demo/disk/demo.tsv") - 1)) files, streams, folders and links," \
        "one of 112 MiB."
}

migrate() {
    say "Moving it: winch migrate demo.img gs://$bucket/server1"
    STORAGE_EMULATOR_HOST=http://127.0.0.1:$port "$top/build/winch" migrate \
        "$demo/disk/demo.img" "gs://$bucket/server1" --state-dir "$demo/state"
}

main() {
    sh "$top/tests/packages.sh" demo
    build
    trap stop_fake EXIT INT TERM
    rm -rf "$demo"
    mkdir -p "$demo"
    make_disk
    sum=$(sha256sum <"$demo/disk/demo.img")
    start_fake
    migrate
    say "Reading every object back over HTTP and comparing with what was put on the disk"
    /usr/bin/python3 -B "$top/tests/integration/read_back.py" "$port" "$bucket" server1 \
        "$demo/disk/demo.tsv"
    [ "$sum" = "$(sha256sum <"$demo/disk/demo.img")" ] || { echo "The disk was changed."; exit 1; }
    echo "The disk itself is unchanged."
    say "Where to look"
    echo "The bucket:    build/demo/bucket (files with readable names where that is possible)"
    echo "The manifest:  server1/.winch/runs/ in it: run.json, index.json, manifest-00000.jsonl.gz"
    echo "Your own disk: build/winch migrate /dev/sdX gs://BUCKET/PREFIX --dry-run"
}

main "$@"
