#!/usr/bin/env bash
# rustc for our own crates while they are linted (RUSTC_WORKSPACE_WRAPPER): Clippy's, which stops
# before it makes code. `cargo clippy` does the same, but reads other people's crates anew, and takes
# half of its time for that; here what they were built into for the engine and its tests is taken.
set -euo pipefail
case " $* " in
*" --crate-name build_script_build "* | *" --print"* | *" -vV "*) exec "$@" ;;
esac
arguments=()
for argument; do
    case $argument in
    --emit=*) argument=--emit=dep-info,metadata ;;
    *=*.rlib) # one that an earlier run has built may be of older sources than what was linted since
        built=${argument#*=} linted=${argument%.rlib}.rmeta
        [ -e "$built" ] && [ ! "${linted#*=}" -nt "$built" ] || argument=$linted
        ;;
    esac
    arguments+=("$argument")
done
exec clippy-driver "${arguments[@]}" -D warnings
