#!/usr/bin/env bash
# rustc, as `./lab test` lets Cargo start it (RUSTC_WRAPPER). Tests themselves are compiled without
# optimisation, in a fifth of the time; what they test stays as the engine was built. Cargo has one
# setting for both.
arguments=("$@")
for argument; do
    [ "$argument" != --test ] || arguments+=(-C opt-level=0 -C codegen-units=16)
done
exec "${arguments[@]}"
