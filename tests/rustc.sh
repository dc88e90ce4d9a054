#!/usr/bin/env bash
# rustc, as `./lab test` lets Cargo start it (RUSTC_WRAPPER). Tests themselves are compiled without
# optimisation, in a fifth of the time; what they test stays as the engine was built. Cargo has one
# setting for both. And tests of the binding are linked with Python's library, which the module that
# Python loads must not be; they are linted on the way, since nothing else that is linted needs them.
arguments=("$@")
for argument; do
    case $argument in
    --test) arguments+=(-C opt-level=0 -C codegen-units=16) ;;
    embedded)
        arguments=(clippy-driver "${arguments[@]}" -D warnings)
        arguments+=(-C "link-arg=$LIBPYTHON" -C "link-arg=-Wl,-rpath,$(dirname "$LIBPYTHON")")
        ;;
    esac
done
exec "${arguments[@]}"
