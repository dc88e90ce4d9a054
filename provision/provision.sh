#!/usr/bin/env bash
# Makes a fresh Debian or Ubuntu a lab machine: packages, p4lab, JupyterLab on a port, Mininet, and
# p4c with bmv2 where packages of them exist. The Vagrantfile, the cloud-init file, the Lima file and
# the dev container all call this one script; run again, it does only what is missing.
#
#   sudo provision/provision.sh [OPTIONS]
#
#   --user NAME          who works with the lab (default: who called sudo, else root)
#   --into DIR           where the lab goes (default: p4lab in that user's home; what is there stays)
#   --listen ADDRESS     where JupyterLab listens (default: 127.0.0.1, this machine alone; a virtual
#                        machine whose port is forwarded wants 0.0.0.0)
#   --seen-as HOST:PORT  how a browser outside reaches it (default: 127.0.0.1:8888); it is only said
#   --class ROSTER.csv   make a server for a class: p4lab in /opt/p4lab, JupyterHub, a user for each
#                        student; what follows `--` goes to `p4lab class make`, such as --lab 02-frr
#   --no-p4lang          leave p4c and bmv2 out
#   --no-service         do not start JupyterLab with the machine
#
# For Debian 12, Ubuntu 22.04 and 24.04, on amd64 and arm64; docs/machine.md says how each was tried.
set -Eeuo pipefail
umask 022 # others use what root installs; what is secret is closed where it is made

source_dir=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
user=${SUDO_USER:-root}
into=
listen=127.0.0.1
p4lang=yes
service=yes
roster= # of a class
class_options=()
port=8888
seen_as=127.0.0.1:$port
notes=() # what an admin should know at the end
step=
remedy=
own_words= # set in steps that say themselves what went wrong
number=0
log=/var/log/p4lab-provision.log

die() { printf 'provision: %s\n' "$*" >&2; exit 2; }
have() { command -v "$1" >/dev/null; }
as_user() { runuser -u "$user" -- env HOME="$home" "$@"; }

# begin NAME REMEDY: says what comes; the remedy is printed if it fails.
begin() {
    step=$1 remedy=$2 number=$((number + 1))
    printf '[%d/%d] %s\n' "$number" "$total" "$step" | tee -a "$log"
}

note() { printf '      %s\n' "$*"; }

# quiet COMMAND...: what a package manager prints goes to the log.
quiet() { "$@" >>"$log" 2>&1 </dev/null; }

on_exit() {
    local status=$?
    if [ "$status" = 0 ] || [ -z "$step" ]; then return; fi
    printf '\nprovision: step %d (%s) failed.\n' "$number" "$step"
    if [ -z "$own_words" ]; then
        printf '%s ends:\n' "$log"
        tail -n 12 "$log" | sed 's/^/    /'
    fi
    printf '%s\nThen start the same command again: what is done is not done twice.\n' "$remedy"
} >&2
trap on_exit EXIT

network="See that this machine reaches the network; behind a proxy, export http_proxy and https_proxy and
keep them with sudo -E."

while [ $# -gt 0 ]; do
    case $1 in
    --user) user=${2:?--user wants a name}; shift 2 ;;
    --into) into=${2:?--into wants a folder}; shift 2 ;;
    --listen) listen=${2:?--listen wants an address}; shift 2 ;;
    --seen-as) seen_as=${2:?--seen-as wants HOST:PORT}; shift 2 ;;
    --class)
        roster=${2:?--class wants a roster}
        user=root service=no into=${into:-/opt/p4lab}
        shift 2
        ;;
    --) shift; class_options=("$@"); break ;;
    --no-p4lang) p4lang=no; shift ;;
    --no-service) service=no; shift ;;
    *) die "unknown option $1; the top of this script lists them." ;;
    esac
done
[ "$(id -u)" = 0 ] || die "start me with sudo: packages are installed."
[ -e "$source_dir/lab" ] || die "I must be started where I lie, in p4lab's folder provision: what I copy lies beside it."
have apt-get || die "this is no Debian or Ubuntu; use ./lab directly, it says what is missing."
[ -z "$roster" ] || [ -r "$roster" ] || die "$roster: there is no such roster; --class wants a CSV (docs/machine.md)."
[ -n "$roster" ] || [ ${#class_options[@]} = 0 ] || die "what follows -- is for --class."
home=$(getent passwd "$user" | cut -d: -f6) || true
[ -n "$home" ] || die "there is no user '$user'; name one with --user."
into=${into:-$home/p4lab}
# shellcheck source=/dev/null
. /etc/os-release
architecture=$(dpkg --print-architecture)
total=5
[ $p4lang = no ] || total=$((total + 1))
[ $service = no ] || total=$((total + 1))
[ -z "$roster" ] || total=$((total + 1))
# A fresh machine may still be busy with its own updates: wait for the lock, and ask nothing.
apt=(-o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
printf '%s: provision.sh for %s\n' "$(date)" "$user" >>"$log"

install() {
    quiet apt-get "${apt[@]}" install -q -y --no-install-recommends "$@"
}

packages() {
    begin "packages of $PRETTY_NAME, $architecture" "$network"
    quiet apt-get "${apt[@]}" update -q
    install ca-certificates curl ethtool gcc git gnupg iproute2 libc6-dev mininet net-tools \
        procps python3 python3-venv sudo tshark util-linux ${roster:+node-configurable-http-proxy passwd}
}

# The version of a package that apt would install; nothing where it knows none.
candidate() { apt-cache policy "$1" | sed -n 's/^ *Candidate: *//p' | grep -v none || true; }

# The engine wants Rust 1.95. Debian 12 has it as cargo-web; elsewhere rustup brings it.
rust() {
    begin "Rust" "$network Or install Rust 1.95 or newer by hand (rustup.rs)."
    local web
    web=$(candidate cargo-web)
    # shellcheck disable=SC2016 # HOME is the user's
    if [ -e "$source_dir/wheelhouse/engine.digest" ]; then
        note "not needed: the wheelhouse has the engine"
    elif as_user sh -c 'PATH=$PATH:$HOME/.cargo/bin; cargo --version || rustup --version' >/dev/null 2>&1; then
        note "already there; ./lab looks at the version"
    elif [ -n "$web" ] && dpkg --compare-versions "$web" ge 1.95; then
        install cargo-web rustc-web rustfmt-web
    elif [ -n "$(candidate rustup)" ]; then
        install rustup
    else
        quiet as_user sh -c 'curl --proto "=https" --tlsv1.2 --retry 3 -fsS https://sh.rustup.rs |
            sh -s -- -y --profile minimal --default-toolchain none --no-modify-path'
    fi
}

# A copy in the user's home: a shared folder may lack links, permissions and speed.
copy() {
    begin "p4lab in $into" "See that $into can be written and that the disk has 3 GB."
    if [ -e "$into/lab" ]; then
        note "already there, left as it is; to renew it, move it away and start me again"
    else
        mkdir -p "$into"
        # With a stricter umask, a checkout would be closed to all other users.
        tar -C "$source_dir" --mode=go+rX --exclude=./.venv --exclude=./target --exclude=./.lab \
            --exclude='*.abi3.so' --exclude=./.vagrant -cf - . | tar -C "$into" --no-same-owner -xf -
        chown -R "$user": "$into"
    fi
    printf '#!/bin/sh\nexec "%s/lab" "$@"\n' "$into" >/usr/local/bin/p4lab
    chmod 755 /usr/local/bin/p4lab
}

set_up() {
    begin "p4lab's own set-up (a few minutes)" "$network"
    own_words=yes
    as_user "$into/lab" --help >>"$log"
    own_words=
}

# p4lang's packages are built for some releases and architectures only. Building p4c and bmv2 takes
# hours and is never done here: the engine needs neither.
p4lang() {
    begin "p4c and bmv2" "Leave them out with --no-p4lang: the engine needs neither."
    local release project url
    if have p4c-bm2-ss && have simple_switch_grpc; then
        note "already there"
        return
    fi
    case $ID in
    ubuntu) release=xUbuntu_$VERSION_ID ;;
    debian) release=Debian_$VERSION_ID ;;
    *) release=$ID ;;
    esac
    # The newer project first; both are p4lang's.
    for project in home:/p4lang:/latest home:/p4lang; do
        url=https://download.opensuse.org/repositories/$project/$release
        if p4lang_from "$url"; then return; fi
    done
    notes+=("p4c and bmv2: p4lang has no packages that install on $PRETTY_NAME, $architecture. Only"
        "  --target bmv2 needs them; the engine runs the same P4 files. Nothing is built from source here.")
    note "none to be had; a note at the end says so"
}

# Installs from one archive, or leaves apt as it was.
p4lang_from() {
    local key=/usr/share/keyrings/p4lang.gpg list=/etc/apt/sources.list.d/p4lang.list
    curl -fsSL --max-time 60 "$1/Release.key" 2>/dev/null | gpg --dearmor --yes -o $key 2>/dev/null || return 1
    echo "deb [signed-by=$key arch=$architecture] $1/ /" >$list
    if quiet apt-get "${apt[@]}" update -q && install p4lang-p4c p4lang-bmv2; then return; fi
    rm -f $list $key
    quiet apt-get "${apt[@]}" update -q || true
    return 1
}

# JupyterLab as a service; the token is made once and readable by its user alone.
jupyter() {
    begin "JupyterLab on port $port" "See what systemctl status p4lab and journalctl -u p4lab say."
    local token=$home/.config/p4lab/token
    if [ ! -s "$token" ]; then
        as_user mkdir -p "$(dirname "$token")"
        as_user sh -c "umask 077; od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >'$token'"
    fi
    mkdir -p /etc/systemd/system
    cat >/etc/systemd/system/p4lab.service <<UNIT
[Unit]
Description=JupyterLab with p4lab
After=network.target

[Service]
User=$user
WorkingDirectory=$into
Environment="PATH=$into/.venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ExecStart="$into/lab" notebook --no-browser --listen $listen --port $port --token-file "$token"
Restart=on-failure

[Install]
WantedBy=multi-user.target
UNIT
    if [ -d /run/systemd/system ]; then
        quiet systemctl daemon-reload
        quiet systemctl enable p4lab.service
        systemctl restart p4lab.service
        notes+=("JupyterLab runs: http://$seen_as/lab?token=$(cat "$token")")
    else
        notes+=("JupyterLab is not started with this machine: systemd does not run here. Start $into/lab instead.")
    fi
    notes+=("Its token is in $token: sudo cat $token")
}

# JupyterHub and a user for each student. What it says is for the admin: passwords, the address.
class() {
    begin "the class of $roster" "What p4lab class said is above; correct it there."
    own_words=yes
    "$into/lab" class make "$roster" --listen "$listen" ${class_options[@]+"${class_options[@]}"}
    own_words=
}

packages
rust
copy
set_up
[ $p4lang = no ] || p4lang
[ $service = no ] || jupyter
[ -z "$roster" ] || class
begin "p4lab doctor" "Each line that says broken has its remedy below it."
own_words=yes
as_user "$into/lab" doctor
step=
printf '\nready: cd %s && ./lab, or p4lab from any folder\n' "$into"
printf '  %s\n' ${notes[@]+"${notes[@]}"}
