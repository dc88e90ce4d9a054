#!/usr/bin/env bash
# Runs the provisioner in a clean Debian root and the main job inside: what an admin sees on a fresh
# machine. Needs root, debootstrap and a network. Everything it makes goes when it ends.
#
#   tests/provision.sh [SUITE]     Debian's code name, bookworm unless told
set -euo pipefail
suite=${1:-bookworm}
here=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

if [ "${INSIDE-}" != yes ]; then
    [ "$(id -u)" = 0 ] || { echo "tests/provision.sh: start me as root." >&2; exit 2; }
    command -v debootstrap >/dev/null || { echo "tests/provision.sh: debootstrap is missing (apt-get install debootstrap)." >&2; exit 2; }
    fresh=$(mktemp -d)
    chmod 755 "$fresh" # it becomes a root folder, which every user may enter
    trap 'rm -rf --one-file-system "$fresh"' EXIT
    # Mounts in a namespace of their own are gone with it, whatever happens.
    INSIDE=yes FRESH=$fresh unshare --mount --propagation private "${BASH_SOURCE[0]}" "$suite"
    exit
fi

mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\).*/\2/p' | head -n1) || true
# shellcheck disable=SC2153 # set by the first half
debootstrap --variant=minbase --include=ca-certificates "$suite" "$FRESH" "${mirror:-http://deb.debian.org/debian}" >"$FRESH.log" 2>&1 ||
    { tail -n 20 "$FRESH.log" >&2; exit 1; }
rm -f "$FRESH.log"
# This machine's way to its packages (proxy, trust) is not what is under test.
cp -a /etc/apt/sources.list* /etc/apt/apt.conf.d "$FRESH/etc/apt/" 2>/dev/null || true
mkdir -p "$FRESH/usr/local/share/ca-certificates"
cp -L /etc/ssl/certs/ca-certificates.crt "$FRESH/usr/local/share/ca-certificates/this-machine.crt"
chroot "$FRESH" update-ca-certificates >/dev/null 2>&1
cp /etc/resolv.conf "$FRESH/etc/resolv.conf"
[ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$FRESH/etc/pip.conf"
mount -t proc proc "$FRESH/proc"
mount --rbind /sys "$FRESH/sys"
mount --rbind /dev "$FRESH/dev"
git clone -q "$here" "$FRESH/opt/p4lab"
chroot "$FRESH" useradd --create-home student
keep=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
while IFS= read -r -d '' pair; do
    case $pair in http_proxy=* | https_proxy=* | no_proxy=* | PIP_*=* | CARGO_*=*) keep+=("$pair") ;; esac
done < <(env -0)
chroot "$FRESH" env -i "${keep[@]}" /opt/p4lab/provision/provision.sh --user student --no-p4lang --no-service
echo "== the main job, as that user"
chroot "$FRESH" env -i "${keep[@]}" runuser -u student -- env HOME=/home/student /home/student/p4lab/lab run 01-bier
echo "== once more: nothing to do"
chroot "$FRESH" env -i "${keep[@]}" /opt/p4lab/provision/provision.sh --user student --no-p4lang --no-service | tail -n 3
