#!/bin/sh
# Prints how many instructions chatwire executes per event of each stream, in 16 KB reads: unlike time, it does not move.
# Counted by callgrind as the difference of two run lengths, so that start and generation fall out.
# Usage: benches/instructions.sh [STREAM ...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- content cjk tools logprobs fat miss plain

once=$(cargo build --release --quiet --manifest-path "$here/peers/Cargo.toml" --bin once --message-format json |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Sets $events and $instructions of one stream, read $2 times.
run() {
    events=$(valgrind --tool=callgrind --callgrind-out-file="$scratch/out" "$once" "$1" "$2" 2>"$scratch/log")
    instructions=$(sed -n 's/^summary: *//p; s/^totals: *//p' "$scratch/out" | head -n 1)
}

printf '%-10s %s\n' stream 'instructions per event'
for stream; do
    run "$stream" 1
    events_once=$events instructions_once=$instructions
    run "$stream" 3
    printf '%-10s %s\n' "$stream" \
        $(((instructions - instructions_once) / (events - events_once)))
done
