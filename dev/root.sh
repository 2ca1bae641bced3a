# shellcheck shell=bash
# Sourced after common.sh, by root: Debian systems that have nothing else, in folders that go when the script ends.

((EUID == 0)) || fail "A clean Debian is a folder to chroot into: run this as root."
need debootstrap

mirror=${MIRROR:-$(mirror)} # MIRROR names another
# Where updates for security are. Another mirror need not have them.
security=
if [[ -z ${MIRROR:-} ]]; then security=$(mirror_of '-security$' || true); fi
# What has a package unless told: DEBIAN:SUITE:MAJOR.
# shellcheck disable=SC2034 # for who sources this
all_servers=(12:bookworm:15 13:trixie:17 14:forky:18 14:forky:19)
roots=$(mktemp -d "$(temp_base)/sno-roots-XXXXXX")
trap remove_roots EXIT
remove_roots() {
    local mounted place
    for root in "$roots"/*; do
        # Servers that a test has left.
        if [[ -d $root/etc/postgresql ]]; then inside pg_ctlcluster "$PG" main stop -m immediate >/dev/null 2>&1 || true; fi
    done
    # The last first.
    mapfile -t mounted < <(awk -v below="$roots/" 'index($2, below) == 1 { print $2 }' /proc/mounts | tac)
    # Nothing is removed through a mount.
    for place in "${mounted[@]}"; do umount -l "$place" || return; done
    rm -rf "$roots"
}

# new_root SUITE [MAJOR]: sets `root` to a new system, which can have this version of PostgreSQL. What debootstrap made, and packages
# that were fetched, are kept for the next one.
new_root() {
    local suite=$1 major=${2:-0} kept=$PWD/target/roots
    mkdir -p "$kept/archives"
    root=$(mktemp -d "$roots/$suite-XXXX")
    if [[ ! -e $kept/$suite.tar ]]; then
        # Each release of Debian has the script of sid, and an older debootstrap knows no newer one.
        debootstrap --variant=minbase "$suite" "$root" "$mirror" sid >"$roots/log" 2>&1 || { tail "$roots/log" >&2; fail "debootstrap failed."; }
        # No service starts by itself.
        printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
        chmod 755 "$root/usr/sbin/policy-rc.d"
        tar -c --one-file-system -C "$root" . >"$kept/$suite.tar.new"
        mv "$kept/$suite.tar.new" "$kept/$suite.tar"
    else
        tar -x -C "$root" -f "$kept/$suite.tar"
    fi
    chmod 755 "$root"
    mount -t proc proc "$root/proc"
    mkdir -p "$root/dev/shm" "$root/dev/pts"
    mount -t tmpfs tmpfs "$root/dev/shm"
    mount --bind /dev/pts "$root/dev/pts"
    mount --bind "$kept/archives" "$root/var/cache/apt/archives"
    if [[ -n $security ]]; then echo "deb $security $suite-security main" >"$root/etc/apt/sources.list.d/security.list"; fi
    local lists=$suite
    if ((major >= 19)); then
        # Debian has it in experimental alone. Nothing else from there.
        lists+=" and experimental"
        echo "deb $mirror experimental main" >"$root/etc/apt/sources.list.d/experimental.list"
        printf 'Package: %s\nPin: release a=experimental\nPin-Priority: %d\n\n' '*' 1 "src:postgresql-$major:any" 990 \
            >"$root/etc/apt/preferences.d/experimental"
    fi
    # The lists of testing are valid for a week, and a mirror may be behind.
    inside apt-get update -q --error-on=any -o Acquire::Check-Valid-Until=false >"$roots/log" 2>&1 ||
        { tail -n 5 "$roots/log" >&2; fail "The package lists of Debian's $lists can't be read."; }
}

inside() {
    chroot "$root" env -i PATH="/opt/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

# installed install|satisfy WHAT...: by apt-get, which is silent unless it fails.
installed() {
    inside apt-get "$1" -y -q --no-install-recommends "${@:2}" >"$roots/log" 2>&1 ||
        { tail -n 20 "$roots/log" >&2; fail "Not all of this can be installed: ${*:2}"; }
}
