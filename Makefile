# Build targets. What they do is in dev/.
#
#   PG=15                       the server's major version
#   PG_CONFIG=/path/pg_config   the server itself (found from PG unless told)
#   DESTDIR=/folder             where `make install` puts the tree instead of /
PG ?= 15
export PG PG_CONFIG DESTDIR STRIP SOURCE TO CITUS TIMESCALEDB REPOSITORY

.DEFAULT_GOAL := all
.PHONY: all install uninstall demo demo-stop clean help pg16 pg17 pg18 package packages test-package release
.PHONY: test test-servers test-versions test-core test-sql test-index test-upgrade test-update test-replication installcheck test-citus test-timescaledb
.PHONY: test-arm64 test-faults test-drivers test-mutants test-mutants-core test-sanitizers test-sqlsmith test-pgrx test-dependencies
.PHONY: bench bench-quick bench-scale bench-instructions bench-check

all: ## build the extensions
	@dev/build

install: ## install them into the server of PG_CONFIG (DESTDIR is honoured; STRIP=1 drops the symbols)
	@dev/install

uninstall: ## take them out again
	@dev/install --remove

test: ## run every test, on throwaway servers
	@dev/test

test-servers: ## run the tests on servers alone: make test-servers PG=18
	@dev/test servers

test-versions: ## run them on PostgreSQL 17 and 18 with assertions, which it builds; then pg_regress under stress
	@dev/test-versions

test-core: ## run the tests of what needs no server, with the core's feature sqlx, too
	@cargo clippy --package sno-core --all-targets --all-features -- -D warnings
	@cargo test --package sno-core --package sno-cli --all-features

test-sql: ## run what SQL sees: pg_regress, the documents, CREATE and ALTER EXTENSION
	@dev/staged cargo tests --test server -- regress:: docs:: upgrades:: schemas::

test-index: ## check btree indexes of ten million rows, entry by entry
	@SNO_INDEX_ROWS=10000000 dev/staged cargo tests --test server indexes::

installcheck: ## run the files of pg_regress on the server of PGHOST and PGPORT, which has the extensions
	@dev/installcheck $(FILES)

test-upgrade: ## run pg_upgrade from PG=15 to TO=18, with tables, indexes and partitions of sno
	@dev/test-on upgrade

test-replication: ## replicate between servers, in both directions with pglogical, which it installs
	@dev/test-on replication

test-citus: ## run the page about Citus on three servers, where Citus is at hand: CITUS=/path/to/its/source
	@dev/test-on citus

test-timescaledb: ## run the page about TimescaleDB, where that is at hand: PG=18 TIMESCALEDB=/where/it/was/installed
	@dev/test-on timescaledb

test-drivers: ## run the libraries' tests and the examples of every driver and ORM, which are installed if need be
	@dev/test-drivers

test-faults: ## run the long form of the fault suite: some minutes, hundreds of millions of IDs
	@dev/prerequisites
	@PROPTEST_CASES=1024 cargo tests --test model --test one_side
	@SNO_FAULTS=long dev/staged cargo tests --test faults -- --test-threads=4

test-mutants: ## break the extension in one place at a time; fail if the tests do not notice (some 40 minutes)
	@dev/test-mutants

test-mutants-core: ## the same by cargo-mutants for the files of the core that the guarantee rests on
	@dev/test-mutants-core

test-pgrx: ## package the extension with cargo pgrx, and test a server that has these files
	@dev/test-on pgrx

test-arm64: ## compile for arm64, and run the core's tests there, emulated (as root)
	@dev/test-arm64

test-dependencies: ## check licenses, sources and known advisories of what the packages depend on: CHECK='bans licenses sources'
	@dev/test-dependencies $(CHECK)

test-update: ## replace the library by that of a next version, which it derives, under sessions that go on
	@dev/test-on update

test-sanitizers: ## run the core under AddressSanitizer, and pg_regress on a server under valgrind's memcheck
	@dev/test-sanitizers

test-sqlsmith: ## run random queries for five minutes; best on a server with assertions: PG=18
	@dev/test-on sqlsmith

bench: ## measure what an ID costs, a quarter of an hour: docs/which-key.md
	@dev/bench full

bench-quick: ## the same in two minutes, on smaller tables: target/bench
	@dev/bench quick

bench-scale: ## the sections about tables with ten million rows: an hour
	@dev/bench scale

bench-instructions: ## count the instructions of calls and statements
	@dev/bench instructions

bench-check: ## fail if a call takes more of them than recorded
	@dev/bench check

package: ## build a Debian package for the server of PG, in target/packages
	@dev/package

packages: ## the same for each server from 15 to 18 that is installed from packages, with its headers
	@dev/package all

release: ## all that is published, from the last commit, in target/dist (as root): REPOSITORY=https://host/owner/name
	@dev/release $(SERVERS)

test-package: ## try the packages of  make release,  each on a clean Debian of its release (as root)
	@dev/test-package $(SERVERS)

pg16 pg17 pg18: ## build that server from Debian's source, with assertions, for  make test PG=18
	@dev/build-server $(@:pg%=%)

demo: ## start a throwaway server and show what a sno does
	@dev/demo

demo-stop: ## stop the demo's server and remove it
	@dev/demo stop

clean: ## remove what was built
	@rm -rf target

help: ## print this
	@sed -n 's/^\([a-z0-9 -]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-23s %s\n", $$1, $$2 }'
