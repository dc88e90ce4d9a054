#!/usr/bin/env bash
# Makes a fresh Debian or Ubuntu a lab machine: packages, p4lab, JupyterLab on a port, Mininet, and
# p4c with bmv2 where packages of them exist. The Vagrantfile, the cloud-init file and the dev
# container all call this one script; run again, it does only what is missing.
#
#   sudo provision/provision.sh [--user NAME] [--into DIR] [--no-p4lang] [--no-service]
#
#   --user NAME    who works with the lab (default: who called sudo, else root)
#   --into DIR     where the lab goes (default: p4lab in that user's home; work there is kept)
#   --no-p4lang    leave p4c and bmv2 out
#   --no-service   do not start JupyterLab with the machine
set -euo pipefail

source_dir=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
user=${SUDO_USER:-root}
into=
p4lang=yes
service=yes
port=8888
notes=() # what was left out and why; said at the end

say() { printf '\n== %s\n' "$*"; }
die() { printf 'provision: %s\n' "$*" >&2; exit 2; }
have() { command -v "$1" >/dev/null; }
as_user() { runuser -u "$user" -- env HOME="$home" "$@"; }

while [ $# -gt 0 ]; do
    case $1 in
    --user) user=${2:?--user wants a name}; shift 2 ;;
    --into) into=${2:?--into wants a folder}; shift 2 ;;
    --no-p4lang) p4lang=no; shift ;;
    --no-service) service=no; shift ;;
    *) die "unknown option $1; the top of this script lists them." ;;
    esac
done
[ "$(id -u)" = 0 ] || die "start me with sudo: packages are installed."
have apt-get || die "this is no Debian or Ubuntu; use ./lab directly, it says what is missing."
home=$(getent passwd "$user" | cut -d: -f6)
[ -n "$home" ] || die "there is no user '$user'; name one with --user."
into=${into:-$home/p4lab}
# shellcheck source=/dev/null
. /etc/os-release

packages() {
    say "packages"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q
    apt-get install -q -y --no-install-recommends \
        ca-certificates curl ethtool gcc git gnupg iproute2 libc6-dev mininet net-tools \
        procps python3 python3-venv sudo tshark util-linux
}

# The engine wants Rust 1.95. Debian 12 has it as cargo-web; elsewhere rustup brings it.
rust() {
    say "Rust"
    # shellcheck disable=SC2016 # HOME is the user's
    if as_user sh -c 'PATH=$PATH:$HOME/.cargo/bin; cargo --version || rustup --version' >/dev/null 2>&1; then
        echo "there; ./lab looks at the version"
    elif apt-cache show cargo-web >/dev/null 2>&1; then
        apt-get install -q -y --no-install-recommends cargo-web rustc-web rustfmt-web
    elif apt-cache show rustup >/dev/null 2>&1; then
        apt-get install -q -y --no-install-recommends rustup
    else
        as_user sh -c 'curl --proto "=https" --tlsv1.2 -fsS https://sh.rustup.rs |
            sh -s -- -y --profile minimal --default-toolchain none --no-modify-path'
    fi
}

# A copy in the user's home: a shared folder may lack links, permissions and speed.
copy() {
    say "p4lab in $into"
    if [ -e "$into/lab" ]; then
        echo "already there, left as it is"
        return
    fi
    mkdir -p "$into"
    tar -C "$source_dir" --exclude=./.venv --exclude=./target --exclude=./.lab --exclude='*.abi3.so' \
        --exclude=./.vagrant -cf - . | tar -C "$into" --no-same-owner -xf -
    chown -R "$user": "$into"
}

set_up() {
    say "p4lab's own set-up (a few minutes)"
    as_user "$into/lab" --version
}

# p4lang's packages are built for some releases and architectures only. Building p4c and bmv2 takes
# hours and is never done here: the engine needs neither.
p4lang() {
    say "p4c and bmv2"
    local release url
    case $ID in
    ubuntu) release=xUbuntu_$VERSION_ID ;;
    debian) release=Debian_$VERSION_ID ;;
    *) release= ;;
    esac
    if have p4c-bm2-ss && have simple_switch_grpc; then
        echo "already there"
        return
    fi
    url=https://download.opensuse.org/repositories/home:/p4lang/$release
    if [ -z "$release" ] || ! curl -fsSL --max-time 60 "$url/Release.key" -o /tmp/p4lang.key; then
        notes+=("p4c and bmv2: p4lang has no packages for $PRETTY_NAME; --target bmv2 stays off, all else works.")
        return
    fi
    gpg --dearmor --yes -o /usr/share/keyrings/p4lang.gpg /tmp/p4lang.key
    echo "deb [signed-by=/usr/share/keyrings/p4lang.gpg] $url/ /" >/etc/apt/sources.list.d/p4lang.list
    if ! { apt-get update -q && apt-get install -q -y p4lang-p4c p4lang-bmv2; }; then
        rm -f /etc/apt/sources.list.d/p4lang.list
        apt-get update -q
        notes+=("p4c and bmv2: p4lang's packages do not install on $PRETTY_NAME $(dpkg --print-architecture); --target bmv2 stays off, all else works.")
    fi
}

# JupyterLab as a service; the token is made once and readable by its user alone.
jupyter() {
    say "JupyterLab on port $port"
    local token=$home/.config/p4lab/token
    if [ ! -s "$token" ]; then
        as_user mkdir -p "$(dirname "$token")"
        as_user sh -c "umask 077; od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >'$token'"
    fi
    if ! [ -d /run/systemd/system ]; then
        notes+=("JupyterLab is not started with the machine: there is no systemd here. Start $into/lab instead.")
        return
    fi
    cat >/etc/systemd/system/p4lab.service <<UNIT
[Unit]
Description=JupyterLab with p4lab
After=network.target

[Service]
User=$user
WorkingDirectory=$into
ExecStart=/bin/sh -c 'exec $into/.venv/bin/jupyter lab --no-browser --ip 0.0.0.0 --port $port --IdentityProvider.token="\$(cat $token)"'
Restart=on-failure

[Install]
WantedBy=multi-user.target
UNIT
    systemctl daemon-reload
    systemctl enable --now p4lab.service
    notes+=("JupyterLab: http://127.0.0.1:$port/lab?token=$(cat "$token")")
}

packages
rust
copy
set_up
[ $p4lang = no ] || p4lang
[ $service = no ] || jupyter
say "p4lab doctor"
as_user "$into/lab" doctor
say "ready: cd $into && ./lab"
printf '   %s\n' ${notes[@]+"${notes[@]}"}
