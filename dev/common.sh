# shellcheck shell=bash disable=SC2034
# Sourced by every script in dev/: which server, where things are, as whom servers run, how to talk.
#
# PG         the server's major version: unless told, that of the only one that is installed from packages; that of Debian's package
#            postgresql if there is none; empty if there are several
# PG_CONFIG  the server itself, by its pg_config; found from PG unless told
set -euo pipefail
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Where rustup puts Rust, for shells that have not heard of it.
if ! command -v cargo >/dev/null && [[ -x ${HOME:-}/.cargo/bin/cargo ]]; then PATH=$HOME/.cargo/bin:$PATH; fi

# Nobody's own client settings may leak into what happens here.
unset PGHOST PGHOSTADDR PGPORT PGUSER PGDATABASE PGDATA PGPASSWORD PGSERVICE PGOPTIONS PGTZ PGDATESTYLE PGCLIENTENCODING

PG=${PG:-}
if [[ -z $PG${PG_CONFIG:-} ]]; then
    mapfile -t servers < <(compgen -G '/usr/lib/postgresql/*/bin/postgres' | cut -d/ -f5 | sort -n)
    case ${#servers[@]} in
        0)
            PG=$(apt-cache show postgresql 2>/dev/null | sed -nE 's/^Depends: .*postgresql-([0-9]+).*/\1/p' | head -n1) || true
            PG=${PG:-15}
            ;;
        1) PG=${servers[0]} ;;
        *) PG_CONFIG= ;;
    esac
fi
if [[ -z ${PG_CONFIG:-} && -n $PG ]]; then
    # A server built here (dev/build-server) goes before Debian's, and will be built where Debian has none.
    PG_CONFIG=$PWD/target/servers/$PG/bin/pg_config
    debian=/usr/lib/postgresql/$PG/bin/pg_config
    if [[ ! -x $PG_CONFIG ]] && [[ $PG != 1[6-9] || -x $debian ]]; then PG_CONFIG=$debian; fi
elif [[ -n $PG_CONFIG && $PG_CONFIG != */* ]]; then
    PG_CONFIG=$(command -v "$PG_CONFIG" || echo "$PG_CONFIG")
fi
# A pg_config given by hand decides the major version.
if [[ -x $PG_CONFIG ]]; then
    # One name for one server (Debian has a second pg_config in /usr/bin): another would build everything again.
    bindir=$("$PG_CONFIG" --bindir)
    if [[ -x $bindir/pg_config ]]; then PG_CONFIG=$bindir/pg_config; fi
    PG=$("$PG_CONFIG" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/')
fi
# The second name is the one that the build of pgrx's bindings goes by.
export PG PG_CONFIG PGRX_PG_CONFIG_PATH=$PG_CONFIG
# The oldest Rust that builds for a version of PostgreSQL. For 19 there is another pgrx, which tells Cargo that it needs 1.96 and
# needs 1.95.
rust_needed() { if (($1 >= 19)); then echo 1.95; else sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml; fi; }
any_rust=()
if ((PG >= 19)); then any_rust=(--ignore-rust-version); fi
# SNO_FEATURES=points: with the places where tests stop a process, as dev/staged and dev/test want it; not what is installed or measured.
for_server=(--no-default-features --features "pg$PG${SNO_FEATURES:+,$SNO_FEATURES}" "${any_rust[@]}")

# What is built with the server's headers has a folder for each major version: switching rebuilds nothing, and no version
# overwrites another's module. All else is the same for all versions.
export CARGO_TARGET_DIR=$PWD/target
library_target=${SNO_LIBRARY_TARGET:-$PWD/target/pg$PG}
library=$library_target/release/libsno.so
compat_library=$library_target/release/libsno_compat.so
version=$(sed -n '/^\[workspace\.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
# Where the project is on the web, as https://host/owner/name: a repository does not know its own address. Its files have this word
# instead, and what is published has the address.
address=HOST/OWNER/NAME
repository=${REPOSITORY:-}
# fill_address FOLDER: in all files of a copy of the sources, but for the scripts that look for the word.
fill_address() { { grep -rlF --exclude-dir=dev "https://$address" "$1" || true; } | xargs -r sed -i "s#https://$address#$repository#g"; }

# PostgreSQL refuses to run as root: then its servers run as this user, otherwise as whoever calls.
if ((EUID == 0)); then server_user=${SNO_SERVER_USER:-postgres}; else server_user=$(id -un); fi
export SNO_SERVER_USER=$server_user

as_server() {
    if ((EUID == 0)); then
        runuser -u "$server_user" -- "$@"
    else
        "$@"
    fi
}

# Where temporary folders go: $TMPDIR, if the server's user gets in there too.
temp_base() {
    local base=${TMPDIR:-/tmp}
    as_server test -d "$base" -a -x "$base" 2>/dev/null || base=/tmp
    echo "${base%/}"
}

# Runs a command so that nothing of it is left when this script ends: in a process group of its own, which gets
# the signals that this script gets, and is waited for. Its exit status is the command's.
guard() {
    local child status=0
    set -m
    "$@" </dev/null &
    child=$!
    set +m
    # shellcheck disable=SC2064 # this child
    trap "kill -TERM -- -$child 2>/dev/null || true" INT TERM HUP
    wait "$child" || status=$?
    while kill -0 "$child" 2>/dev/null; do wait "$child" || status=$?; done
    trap - INT TERM HUP
    return "$status"
}

bold='' dim='' red='' green='' yellow='' cyan='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
    bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' green=$'\e[32m' yellow=$'\e[33m' cyan=$'\e[36m' plain=$'\e[0m'
fi
export bold dim red green yellow cyan plain

# tool NAME [VERSION]: a command of Cargo's that is not part of Rust, in target/tools.
tool() {
    PATH=$CARGO_TARGET_DIR/tools/bin:$PATH
    if ! cargo install --list --root "$CARGO_TARGET_DIR/tools" | grep -q "^$1 v${2:-}"; then
        cargo install --locked "${any_rust[@]}" --root "$CARGO_TARGET_DIR/tools" "$1" ${2:+--version "$2"} >&2
    fi
}

say() { printf '%s\n' "$*"; }
heading() { printf '\n%s== %s%s\n' "$bold$cyan" "$*" "$plain"; }
fail() {
    printf '%s%s%s\n' "$red" "$*" "$plain" >&2
    exit 1
}

# The server's minor release, which need not be that of its headers.
server_version() { "$("$PG_CONFIG" --bindir)/postgres" --version | sed 's/^postgres (PostgreSQL)/PostgreSQL/'; }

# Which server is meant has to be clear.
one_server() {
    [[ -n $PG ]] || fail "PostgreSQL ${servers[*]} are installed. Say for which:  make PG=${servers[-1]}"
}

# need [WANTED=]PACKAGE...: has those of Debian's packages installed whose command or file, WANTED, is not there. Root gets them
# by apt-get; anybody else is told the line that installs them.
need() {
    local missing options=(-y -q --no-install-recommends -o DPkg::Lock::Timeout=300)
    mapfile -t missing < <(missing_of "$@" | sort -u)
    ((${#missing[@]})) || return 0
    command -v apt-get >/dev/null || fail "Missing: what Debian calls ${missing[*]}. Install it, then try again."
    ((EUID == 0)) || fail "Missing from this machine: ${missing[*]}. Run this, then try again:

    sudo apt-get install ${missing[*]}
"
    {
        say "${bold}Missing from this machine: ${missing[*]}. Installing with apt-get.${plain}"
        export DEBIAN_FRONTEND=noninteractive
        # Stale or empty package lists are the usual reason for a failure: fetch them once, then try again.
        if ! apt-get install "${options[@]}" "${missing[@]}" </dev/null; then
            apt-get update -q </dev/null
            apt-get install "${options[@]}" "${missing[@]}" </dev/null
        fi
    } >&2
}
# Files count, not packages: any other installation will do.
missing_of() {
    local each wanted
    for each; do
        wanted=${each%=*}
        if [[ $wanted == /* ]]; then [[ -e $wanted ]]; else command -v "$wanted" >/dev/null; fi || echo "${each#*=}"
    done
}

# The mirror that this machine's apt-get goes to.
mirror() { mirror_of '^[^-]+$' || fail "apt-get knows no package lists: run  apt-get update  first."; }
# The mirror for suites whose names match a regular expression.
mirror_of() {
    # shellcheck disable=SC2016 # apt's own placeholders
    apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' 'Component: main' |
        awk -v suite="$1" '!found && $1 ~ suite { print $2; found = 1 } END { exit !found }'
}
# apt_from FOLDER LINE: from now on, `apt` knows this line of a sources.list only, and has its lists in the folder: the system's stay
# as they are. What it prints goes to FOLDER/log.
apt_from() {
    apt_folder=$1
    mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
    echo "$2" >"$1/sources.list"
    apt update || { tail "$1/log" >&2; fail "The package lists of ${2#* } could not be read."; }
}
apt() {
    apt-get -q -o Dir::Etc::SourceList="$apt_folder/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$apt_folder/lists" -o Dir::Cache="$apt_folder/cache" -o APT::Sandbox::User=root "$@" >>"$apt_folder/log" 2>&1
}
