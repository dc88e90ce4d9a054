#!/usr/bin/env bash
# Runs the provisioner in a clean Debian root and the main job inside: what an admin sees on a fresh
# machine. Needs root, debootstrap and a network, else it ends with status 77 and says which is
# missing. Everything it makes goes when it ends.
#
#   tests/provision.sh [--check | [--wheelhouse DIR] [--user-data FILE] [SUITE]]
#
#   --check            only say whether it can run here
#   --wheelhouse DIR   take wheels and engine from there (provision/wheelhouse makes it) and let
#                      pip and cargo reach nothing: quick, and a test of rooms without a network
#   --user-data FILE   have the cloud-init of that system judge what provision/cloud-init printed
#   SUITE              Debian's code name, bookworm unless told
set -euo pipefail
here=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
suite=bookworm
wheelhouse=
user_data=
check_only=
arguments=("$@")
while [ $# -gt 0 ]; do
    case $1 in
    --wheelhouse) wheelhouse=$(realpath "$2"); shift 2 ;;
    --user-data) user_data=$(realpath "$2"); shift 2 ;;
    --check) check_only=yes; shift ;;
    *) suite=$1; shift ;;
    esac
done

say() { printf '== %4d s  %s\n' "$SECONDS" "$*"; }
fail() { printf 'tests/provision.sh: %s\n' "$*" >&2; exit 1; }
lacks() { printf 'the provisioner in a clean root: %s\n' "$*"; exit 77; }

mirror() {
    local found
    found=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
        sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\).*/\2/p' | grep '/debian/\?$' | head -n1) || true
    printf '%s' "${found:-http://deb.debian.org/debian}"
}

if [ "${INSIDE-}" != yes ]; then
    [ "$(id -u)" = 0 ] || lacks "needs root"
    command -v debootstrap >/dev/null || lacks "needs debootstrap (apt-get install debootstrap)"
    wget -q --spider --tries=2 --timeout=20 "$(mirror)/dists/$suite/Release" || lacks "needs a network: $(mirror) does not answer"
    [ -z "$check_only" ] || exit 0
    fresh=$(mktemp -d)
    chmod 755 "$fresh" # it becomes a root folder, which every user may enter
    trap 'rm -rf --one-file-system "$fresh"' EXIT
    # Mounts in a namespace of their own are gone with it, whatever happens.
    INSIDE=yes FRESH=$fresh unshare --mount --propagation private "${BASH_SOURCE[0]}" ${arguments[@]+"${arguments[@]}"}
    exit
fi

# shellcheck disable=SC2153 # set by the first half
root=$FRESH
keep=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
while IFS= read -r -d '' pair; do
    case $pair in http_proxy=* | https_proxy=* | no_proxy=* | PIP_*=* | CARGO_*=*) keep+=("$pair") ;; esac
done < <(env -0)
inside() { chroot "$root" env -i "${keep[@]}" "$@"; }
# A network of its own, with a loopback and nothing else: ports of this machine may be taken, and
# what runs here must not need more.
alone() { unshare --net chroot "$root" env -i "${keep[@]}" sh -c 'ip link set lo up; exec "$@"' sh "$@"; }
student() { alone runuser -u student -- env HOME=/home/student "$@"; }

bootstrap() {
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$(mirror)" >"$root.log" 2>&1
}

clean_root() {
    say "debootstrap $suite"
    # Once more if the mirror hiccups: what is downloaded stays.
    { bootstrap || bootstrap; } || { tail -n 20 "$root.log" >&2; exit 1; }
    rm -f "$root.log"
    # This machine's way to its packages (proxy, trust) is not what is under test.
    rm -f "$root/etc/apt/sources.list"
    cp -a /etc/apt/sources.list* /etc/apt/apt.conf.d "$root/etc/apt/"
    cp -a /usr/share/keyrings/. "$root/usr/share/keyrings/"
    echo 'DPkg::Options { "--force-unsafe-io"; };' >"$root/etc/apt/apt.conf.d/99test" # it is thrown away
    mkdir -p "$root/usr/local/share/ca-certificates"
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/usr/local/share/ca-certificates/this-machine.crt"
    chroot "$root" update-ca-certificates >/dev/null 2>&1
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    [ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/pip.conf"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mkdir "$root/opt/p4lab"
    git -c safe.directory="$here" -C "$here" archive HEAD | tar -x -C "$root/opt/p4lab"
    chroot "$root" useradd --create-home --shell /bin/bash student
    if [ -n "$wheelhouse" ]; then
        cp -r "$wheelhouse" "$root/opt/p4lab/wheelhouse"
        keep+=(PIP_INDEX_URL=http://127.0.0.1:9/ CARGO_NET_OFFLINE=true)
    fi
}

provision() { inside /opt/p4lab/provision/provision.sh --user student; }

# The service's own command, since no systemd runs here: who has the token gets in, nobody else.
jupyter_answers() {
    local unit=$root/etc/systemd/system/p4lab.service
    sed -n 's/^Environment="\(.*\)"$/export "\1"/p; s/^WorkingDirectory=/cd /p; s/^ExecStart=/exec /p' "$unit" >"$root/tmp/service"
    cat >"$root/tmp/ask" <<'ASK'
sh /tmp/service >/tmp/jupyter.log 2>&1 &
token=$(cat "$HOME/.config/p4lab/token")
for _ in $(seq 150); do
    sleep 1
    with=$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:8888/api/contents?token=$token")
    [ "$with" = 000 ] || break
done
without=$(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8888/api/contents)
kill $!
echo "with the token $with, without it $without"
[ "$with $without" = "200 403" ] || { tail -n 20 /tmp/jupyter.log; exit 1; }
ASK
    student sh /tmp/ask
}

clean_root
say "the provisioner"
provision
say "the main job, as that user, from another folder, without a network"
student sh -c 'cd / && p4lab run 01-bier' | tail -n 1
say "JupyterLab as the service starts it"
jupyter_answers
if [ -n "$wheelhouse" ]; then
    say "p4lab's wheel in an empty environment, without the checkout"
    # shellcheck disable=SC2016 # the student's shell expands it
    student sh -ec '
        cd "$HOME" && python3 -m venv empty
        empty/bin/pip install --quiet --no-compile --no-index --find-links /opt/p4lab/wheelhouse p4lab
        mkdir elsewhere && cd elsewhere
        ../empty/bin/p4lab run 01-bier | tail -n 1
        ../empty/bin/p4lab start 01-bier answer >/dev/null
        ../empty/bin/p4lab check 01-bier answer | tail -n 1'
fi
say "once more: nothing to do"
token=$(cat "$root/home/student/.config/p4lab/token")
again=$(provision)
grep -q "left as it is" <<<"$again" || fail "the second run did not leave the lab as it was:
$again"
[ "$token" = "$(cat "$root/home/student/.config/p4lab/token")" ] || fail "the second run made another token"
[ "$(stat -c %a "$root/home/student/.config/p4lab/token")" = 600 ] || fail "others may read the token"
if [ -n "$user_data" ]; then
    say "cloud-init judges the file for virtual machines"
    inside env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends cloud-init >"$root/tmp/apt.log" 2>&1 ||
        { tail "$root/tmp/apt.log" >&2; exit 1; }
    cp "$user_data" "$root/tmp/user-data"
    inside cloud-init schema --config-file /tmp/user-data
fi
say "all of it works"
