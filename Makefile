# Build targets. What they do is in dev/.
#
#   PG=15                       the server's major version (that of the only server unless told)
#   PG_CONFIG=/path/pg_config   the server itself (found from PG unless told)
#   DESTDIR=/folder             where `make install` puts the tree instead of /
export PG PG_CONFIG DESTDIR STRIP TO CITUS PG_HINT_PLAN TIMESCALEDB REPOSITORY DEBFULLNAME DEBEMAIL DRAFT SAMPLE SEED SHARD

.DEFAULT_GOAL := all
.PHONY: $(shell sed -n 's/^\([a-z0-9 -]*\):.*\#\#.*/\1/p' $(MAKEFILE_LIST))

## Use
all: ## build the extensions and the command-line program
	@dev/build --program

install: ## install the extensions and the program into the server of PG_CONFIG (below DESTDIR; STRIP=1 drops the symbols)
	@dev/install

uninstall: ## remove the extensions from that server
	@dev/install --remove

demo: ## start a throwaway server and run the SQL of README.md there
	@dev/demo

demo-stop: ## stop the demo's server and remove it
	@dev/demo stop

clean: ## remove what was built
	@rm -rf target

help: ## list the targets
	@awk -F ':.*## ' '/^## / { printf "\n%s\n", substr($$0, 4) } NF > 1 && !/^\t/ { printf "  make %-20s %s\n", $$1, $$2 }' Makefile

## Test a change
test: ## run the tests that each change needs, on throwaway servers
	@dev/test

test-servers: ## run those of them that need a server
	@dev/test servers

test-sql: ## run pg_regress, the documents, CREATE and ALTER EXTENSION
	@dev/staged cargo tests --test server -- regress:: docs:: upgrades:: schemas::

test-core: ## run the tests that need no server, with the core's feature sqlx, too, and all orders of its threads (loom)
	@cargo clippy --package sno-core --all-targets --all-features -- -D warnings
	@cargo test --package sno-core --package sno-cli --all-features
	@dev/test-loom

bench-check: ## fail if a call or a statement takes more instructions than recorded
	@dev/bench check

## Test more
pg16 pg17 pg18: ## build that server from Debian's source, with assertions, for PG=18; of 16, fetch one that is built
	@dev/build-server $(@:pg%=%)

test-versions: ## test-servers on VERSIONS, 17 and 18 unless told, with assertions; pg_regress under stress
	@dev/test-versions $(VERSIONS)

test-minors: ## a library of one minor release of PostgreSQL on a server of another, and the other way round
	@dev/test-minors

sim: ## simulate lives of servers, from seeds: SEED=7 STEPS=100000, DURATION=3600
	@dev/sim

test-faults: ## the fault suite in its long form: hundreds of millions of IDs
	@dev/prerequisites
	@PROPTEST_CASES=1024 cargo tests --test generator
	@SNO_FAULTS=long dev/staged cargo tests --test faults -- --test-threads=4

test-seams: ## changes at every point of a feed, and random programs of clients: PROGRAMS=100000
	@dev/prerequisites
	@SNO_FAULTS=long SNO_PROGRAMS=$(or $(PROGRAMS),100000) dev/staged cargo tests --test server -- seams:: programs::

test-index: ## check btree indexes of ten million rows, entry by entry
	@SNO_INDEX_ROWS=10000000 dev/staged cargo tests --test server indexes::

test-drivers: ## test the libraries, and run the examples with their drivers and ORMs, which it installs
	@dev/test-drivers

test-mutants: ## break the extension in one place at a time; fail if the tests do not notice: SAMPLE=10 SEED=7 for some of them
	@dev/test-mutants

test-mutants-core: ## the same for each function of the core that the guarantee rests on, by cargo-mutants: SHARD=3/20
	@dev/test-mutants-core

test-upgrade: ## run pg_upgrade from PG=15 to TO=18
	@dev/test-on upgrade

test-replication: ## replicate between servers, with pglogical, too; decode with wal2json
	@dev/test-on replication

test-monitoring: ## bring servers into the state of each alert, with postgres_exporter and promtool
	@dev/test-on monitoring

test-patroni: ## change the primary of a cluster under Patroni, under load: no ID twice, no row missed by a feed
	@dev/test-on patroni

test-sanitizers: ## run the core under AddressSanitizer, and pg_regress under valgrind's memcheck
	@dev/test-sanitizers

test-sqlsmith: ## run random queries for five minutes; best on a server with assertions: PG=18
	@dev/test-on sqlsmith

test-pgrx: ## package with cargo pgrx, and test a server that has these files
	@dev/test-on pgrx

test-citus: ## run the page about Citus, numbers and feeds on several servers: CITUS=/path/to/its/source
	@dev/test-on citus

test-neighbours: ## run everyday use beside nine other libraries; CITUS, PG_HINT_PLAN and TIMESCALEDB are folders with their sources
	@dev/test-on neighbours

test-dependencies: ## check the dependencies' licenses, sources and advisories: CHECK='bans licenses sources'
	@dev/test-dependencies $(CHECK)

installcheck: ## run pg_regress on the server of PGHOST and PGPORT, which has the extensions
	@dev/installcheck $(FILES)

## Measure
bench: ## measure what an ID costs, for docs/which-key.md
	@dev/bench full

bench-quick: ## print the same of smaller tables
	@dev/bench quick

bench-instructions: ## record how many instructions calls and statements take
	@dev/bench instructions

## Package
package: ## build a Debian package for the server of PG, in target/packages
	@dev/package

release: ## build all that is published, in target/dist (as root): REPOSITORY=https://host/owner/name
	@dev/release $(SERVERS)

test-package: ## try each package of the release on a clean system (as root)
	@dev/test-package $(SERVERS)
