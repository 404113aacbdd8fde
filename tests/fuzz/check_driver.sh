#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Does the driver keep the input that ends a target, however it ends? The fuzz suite runs this.
# Usage: check_driver.sh FAULTY-TARGET (built with sanitizers)
set -u

target=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bad=0

# expect WORD LETTERS ARGUMENT...: the target dies, and what it keeps begins with one of the letters
# and kills it again.
expect() {
    word=$1 letters=$2
    shift 2
    if (cd "$folder" && exec "$target" "$@") >"$folder/log" 2>&1; then
        echo "check_driver: $word: the target ended well"
        bad=1
        return
    fi
    kept=$(find "$folder" -name 'crash-*')
    if [ -z "$kept" ] || ! head -c 1 "$kept" | grep -q "[$letters]"; then
        echo "check_driver: $word: the input was not kept"
        tail -n 5 "$folder/log"
        bad=1
    elif (cd "$folder" && exec "$target" "$kept") >/dev/null 2>&1; then
        echo "check_driver: $word: the kept input does no harm"
        bad=1
    fi
    rm -f "$folder"/crash-*
}

for word in overflow undefined segment trap abort hang; do
    mkdir "$folder/corpus"
    printf 'quite harmless' >"$folder/corpus/1"
    printf '%s' "$word" >"$folder/corpus/2"
    printf 'not reached' >"$folder/corpus/3"
    expect "$word" "$(printf '%.1s' "$word")" "$folder/corpus"
    rm -r "$folder/corpus"
done
# Made by a mutation.
printf 'quite harmless' >"$folder/harmless"
expect mutation oustah --seconds 20 "$folder/harmless"
exit "$bad"
