#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Install other clients of Cloud Storage, and two independent emulators, into build/interop, for
# tests/interop. Each comes from its language's package registry, at the version named below; one
# that cannot be installed is absent, and the reason is kept for the message of the skipped tests.
# gcloud and rclone are not installed here: rclone is a Debian package, gcloud is Google's.
# Usage: clients.sh [NAME...]     of: python gcsfs gsutil node go java
#                                     gcp-storage-emulator fake-gcs-server
set -u

PYTHON_STORAGE=google-cloud-storage==3.17.1
GCSFS=gcsfs==2026.10.1
GSUTIL=gsutil==5.38
STORAGE_EMULATOR=gcp-storage-emulator==2026.7.19
NODE_STORAGE=@google-cloud/storage@7.22.0
FAKE_GCS_SERVER=github.com/fsouza/fake-gcs-server@v1.56.1
# One client; all of them together, so that a registry that hangs costs a run no more than that.
LIMIT_SECONDS=400
TOTAL_SECONDS=1200

here=$(cd "$(dirname "$0")" && pwd)
home=${WINCH_INTEROP:-$(cd "$here/../.." && pwd)/build/interop}

began=$(date +%s)

# The folder of a client is complete when its file "ok" names what was installed.
is_installed() {
    [ -f "$home/$1/ok" ] && [ "$(cat "$home/$1/ok")" = "$2" ]
}

need() {
    for program in "$@"; do
        if ! command -v "$program" >/dev/null 2>&1; then
            echo "$program is not here"
            return 1
        fi
    done
}

limited() {
    left=$((TOTAL_SECONDS - $(date +%s) + began))
    if [ "$left" -le 0 ]; then
        echo "the $TOTAL_SECONDS s for all clients are used up"
        return 1
    fi
    timeout "$((left < LIMIT_SECONDS ? left : LIMIT_SECONDS))" "$@" </dev/null
}

# A Python package in an environment of its own: their dependencies exclude each other.
install_python() {
    need /usr/bin/python3 || return 1
    limited /usr/bin/python3 -m venv "$home/$1" &&
        limited "$home/$1/bin/pip" install -q --disable-pip-version-check "$2"
}

install_node() {
    need node npm || return 1
    limited npm install --silent --no-audit --no-fund --prefix "$home/node" "$NODE_STORAGE"
}

with_go() {
    GOPATH=$home/gopath GOBIN=$home/$1/bin GOFLAGS=-modcacherw GOTOOLCHAIN=local
    export GOPATH GOBIN GOFLAGS GOTOOLCHAIN
    shift
    limited "$@"
}

install_go() {
    need go || return 1
    (cd "$here/go" && with_go go go build -o "$home/go/bin/interop-go" .)
}

install_fake_gcs_server() {
    need go || return 1
    (cd "$home" && with_go fake-gcs-server go install "$FAKE_GCS_SERVER")
}

install_java() {
    need mvn java javac || return 1
    limited mvn -q -B -f "$here/java/pom.xml" "-Dmaven.repo.local=$home/m2" \
        dependency:copy-dependencies -DincludeScope=runtime "-DoutputDirectory=$home/java/lib" &&
        limited javac -cp "$home/java/lib/*" -d "$home/java/classes" "$here/java/Interop.java"
}

# install NAME WHAT COMMAND...: the command makes $home/NAME.
install() {
    name=$1 what=$2
    shift 2
    if is_installed "$name" "$what"; then
        echo "interop: $name is here ($what)"
        return
    fi
    rm -rf "${home:?}/$name" "$home/reasons/$name"
    log=$home/logs/$name
    if "$@" >"$log" 2>&1; then
        echo "$what" >"$home/$name/ok"
        echo "interop: $name installed ($what)"
        return
    fi
    rm -rf "${home:?}/$name"
    last=$(grep -v '^ *$' "$log" | tail -n 1 | cut -c 1-200)
    echo "could not be installed: ${last:-it took too long}" \
        >"$home/reasons/$name"
    echo "interop: $name $(cat "$home/reasons/$name")"
}

# What a program of ours is made of is part of what is installed.
sum_of() {
    cat "$@" | cksum | tr ' ' -
}

install_one() {
    case $1 in
        python) install python "$PYTHON_STORAGE" install_python python "$PYTHON_STORAGE" ;;
        gcsfs) install gcsfs "$GCSFS" install_python gcsfs "$GCSFS" ;;
        gsutil) install gsutil "$GSUTIL" install_python gsutil "$GSUTIL" ;;
        gcp-storage-emulator)
            install "$1" "$STORAGE_EMULATOR" install_python "$1" "$STORAGE_EMULATOR"
            ;;
        node) install node "$NODE_STORAGE" install_node ;;
        go) install go "$(sum_of "$here"/go/*)" install_go ;;
        java) install java "$(sum_of "$here"/java/*)" install_java ;;
        fake-gcs-server) install "$1" "$FAKE_GCS_SERVER" install_fake_gcs_server ;;
        *)
            sed -n 's/^# Usage: /usage: /p' "$0" >&2
            exit 2
            ;;
    esac
}

mkdir -p "$home/reasons" "$home/logs"
[ $# != 0 ] || set -- python gcsfs gsutil node go java gcp-storage-emulator fake-gcs-server
for client in "$@"; do
    install_one "$client"
done
