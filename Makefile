# Larder, from a fresh machine to measured figures. `make help` lists what can be asked for.

PREFIX ?= /usr/local
DESTDIR ?=
# For make serve: where it listens, and where it keeps databases.
PORT ?= 8080
DATA ?= .build/data
# For make bench: a file of real documents, NDJSON with an "id" in each line.
CITIES ?=
# For make check: how many worlds of clients, networks and a backend live in each simulator.
SEEDS ?= 2000
# For make soak: how long the random tests of the whole system take, together.
MINUTES ?= 60

# What the build needs from Debian besides make, a C compiler and Swift 6.2 or later.
packages := liblmdb-dev libzstd-dev pkg-config
# HTTP/2 of the server.
server_packages := $(packages) libnghttp2-dev
check_packages := $(server_packages) libsqlite3-dev clang-format curl python3 python3-venv openssl
bench_packages := $(server_packages) libsqlite3-dev
dist_packages := $(server_packages) debootstrap python3

step := .ci/step
swift_build := .ci/swift build
swift_test := .ci/swift-test
# Of a crash: the thread that crashed. Registers are left out because the backtracer can wait for
# ever for the memory that they refer to.
export SWIFT_BACKTRACE ?= enable=yes,interactive=no,threads=crashed,registers=none,images=none
# Ends tests that hang, with what they have printed, before a CI run's own limit does.
tests_limit := timeout --kill-after=30 2400
# As swift test does; --build-tests would build everything of the dependencies, too.
build_tests := $(swift_build) --product larderPackageTests
# make check builds all programs before the checks, which then need not.
PROGRAMS_BUILT ?=
product = $(if $(PROGRAMS_BUILT),:,$(step) 'build $(1)' $(swift_build) --product $(1))
# One scratch path a configuration, or they rebuild each other.
build := $(abspath .build)
jobs := $(shell nproc 2>/dev/null || echo 2)
c_tests := $(MAKE) --no-print-directory -j$(jobs) -C Tests/C BUILD=$(build)/c
c_library := $(MAKE) --no-print-directory -j$(jobs) -C CSources/larder

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run demo serve test check soak bench generate dist install uninstall clean
.PHONY: packages server-packages core-tests swift-tests

help:
	@echo 'make run      build the tool; import, query, change and watch a sample of real cities;'
	@echo '              a database loses its network and its process, and recovers;'
	@echo '              a Realtime Database answers queries from its cache, and shows who is online'
	@echo 'make demo     the same with the server, over gRPC and WebSockets'
	@echo 'make serve    build the server of both databases and run it: PORT=$(PORT) DATA=$(DATA)'
	@echo 'make test     C and Swift tests'
	@echo 'make check    everything else: formats, layers, installation, the C core under the thread'
	@echo '              sanitizer, crash tests, other packages, the server with other clients,'
	@echo '              simulators (20 minutes on two cores)'
	@echo 'make soak     long-running checks: the tests with new seeds, random frames and requests, slow'
	@echo '              clients, a crowd of clients, clients and a server over breaking connections,'
	@echo '              both simulators with new seeds (MINUTES=$(MINUTES) together), fuzzing, longer kills and'
	@echo '              power cuts, all tests under both sanitizers'
	@echo 'make bench    benchmarks in release mode, against raw LMDB, SQLite, GRDB and, where it is'
	@echo "              installed, Google's Firestore emulator; QUICK=1: a short run in debug mode"
	@echo 'make generate Swift of the .proto files; needs protoc, or PROTOC=COMMAND'
	@echo 'make dist     the server and the tool for Debian machines without Swift, as an archive that'
	@echo '              is tried in a bare system (as root)'
	@echo 'make install  C library, header and pkg-config file, and the tool: PREFIX=$(PREFIX) DESTDIR='
	@echo 'make clean    remove all build products'
	@echo
	@echo 'run, test, check and bench first install the missing ones of these Debian packages:'
	@echo '  $(sort $(check_packages) $(bench_packages))'

packages:
	@.ci/packages $(packages)

server-packages:
	@.ci/packages $(server_packages)

# ---- run -------------------------------------------------------------------------------------

run: packages
	@$(call product,larder)
	@$(step) 'a store of cities' Tests/Checks/cities.sh .build/debug/larder .build/cities
	@$(call product,LarderDemoLocal)
	@$(step) 'a database without its network and its process' Tests/Checks/story.sh \
		.build/story .build/debug/LarderDemoLocal --backend .build/story/backend
	@$(step) 'a Realtime Database without its network, and presence' Tests/Checks/scores.sh \
		.build/scores .build/debug/LarderDemoLocal .build/debug/larder

demo: server-packages
	@$(call product,larderd)
	@$(call product,LarderDemoRemote)
	@$(step) 'a server, and clients that lose their networks and processes' Tests/Checks/demo.sh \
		.build/debug/larderd .build/debug/LarderDemoRemote .build/demo

serve: server-packages
	@$(call product,larderd)
	@echo "clients find it with FIRESTORE_EMULATOR_HOST=127.0.0.1:$(PORT), those of Realtime Databases"
	@echo "with FIREBASE_DATABASE_EMULATOR_HOST=127.0.0.1:$(PORT); end it with Ctrl-C"
	@exec .build/debug/larderd --port $(PORT) --data $(DATA)

# ---- test ------------------------------------------------------------------------------------

# The random tests take the same cases in each run; those of make soak and of `swift test` are new, and
# the longest of them have more steps.
test check: export LARDER_TEST_SEED ?= 1
test check: export LARDER_TEST_STEPS ?= 3000
test check: export LARDER_SYNC_WORLDS ?= 10

test: server-packages
	@.ci/together 2 core-tests swift-tests

core-tests:
	@$(step) 'larder.h alone, as C99 and C++17' $(c_tests) headers
	@$(step) 'C unit tests, address and undefined-behaviour sanitizers' $(c_tests) test
	@$(step) 'fuzzers: replay of the corpora' $(c_tests) replay

swift-tests:
	@$(step) 'build the Swift tests' $(build_tests)
	@$(step) 'Swift tests' $(tests_limit) $(swift_test)

# ---- check -----------------------------------------------------------------------------------

# Everything that is written in Swift is built in one scratch path, with the same traits and flags, the
# packages that depend on Larder included: whatever they are built on is compiled once. First what the
# checks run, then lanes, four at a time: the C core; what builds other packages, one at a time because
# SwiftPM locks the scratch path; servers with other clients, which mostly wait; other programs; the
# thread sanitizer and products without traits, which need builds of their own. CONTRIBUTING.md has a
# table of all checks.
core_checks := check-compilers check-install check-c-threads check-crash
package_checks := check-generated check-consumer check-compatibility check-examples check-bench
server_checks := check-interop check-wire check-image
program_checks := check-format check-layers check-documentation check-demo check-simulation check-kill
lanes := core-checks package-checks server-checks program-checks check-swift-threads check-traits
.PHONY: $(core_checks) $(package_checks) $(server_checks) $(program_checks) $(lanes)
.PHONY: check-packages check-lanes programs check-swift-memory soak-checks

# All programs of the package, and the tests.
programs := $(if $(PROGRAMS_BUILT),,programs)
programs: server-packages
	@$(step) 'build the programs' $(swift_build)
	@$(step) 'build the Swift tests' $(build_tests)

check: export COUNT_CHECKS = 1
check: check-packages
	@.ci/together 1 programs check-lanes

check-lanes:
	@PROGRAMS_BUILT=1 .ci/together 4 $(lanes)

core-checks: $(core_checks)

package-checks: $(package_checks)

server-checks: $(server_checks)

program-checks: $(program_checks)

check-packages:
	@.ci/packages $(check_packages)

check-format: check-packages
	@$(step) 'formatters' Tests/Checks/format.sh

check-layers:
	@$(step) 'imports and layers' Tests/Checks/layers.sh

check-generated: check-packages
	@$(step) 'generated code' Tests/Checks/generated.sh $(build)/generated

check-documentation: $(programs)
	@$(step) 'links in the documentation' Tests/Checks/documentation.sh $(build)/documentation

check-compilers: check-packages
	@for compiler in gcc clang; do \
		command -v $$compiler >/dev/null || continue; \
		$(step) "C library by $$compiler, warnings as errors" \
			$(c_library) -s CC=$$compiler BUILD=$(build)/c/library-$$compiler || exit 1; \
	done

check-install: check-packages
	@$(step) 'exported symbols' Tests/Checks/symbols.sh $(build)/c/library
	@$(step) 'installed C library: pkg-config, C, C++, Python' \
		Tests/Checks/install.sh $(build)/c/library $(build)/c/install

check-consumer: check-packages
	@$(step) 'a Swift package that depends on Larder' \
		Tests/Checks/consumer.sh $(build) $(build)/consumer

check-traits: check-packages
	@$(step) 'the same without traits' Tests/Checks/traits.sh $(build)/traits

# Apple's own test sources as well, where FIREBASE_IOS_SDK names a checkout of firebase-ios-sdk.
check-compatibility: check-packages
	@$(step) "an application with the import lines of Apple's SDK" \
		Tests/Checks/compatibility.sh $(build)

check-examples: check-packages $(programs)
	@$(step) 'sample programs and the tutorial' Tests/Checks/examples.sh $(build)

check-demo: run demo

# What make bench runs, each part shortly, without optimisation.
check-bench: check-packages
	@$(step) 'all benchmarks, a short run' $(MAKE) --no-print-directory bench QUICK=1

check-c-threads: check-packages
	@$(step) 'C unit tests, thread sanitizer' $(c_tests) tsan

# The same seeds each time; make soak takes others.
check-crash: check-packages
	@$(step) 'kill, power-cut and fault tests' $(c_tests) crash \
		KILL='--seed 1' POWERCUT='--seed 1' FAULT='--seed 1' CORRUPTION='--seed 1'

check-kill: $(programs)
	@LARDER_KILL_ROUNDS=40 $(step) 'a client killed 40 times' \
		$(swift_test) --filter KillTests

check-interop: check-packages $(programs)
	@$(step) "Google's Python client against the server" \
		Tests/Checks/interop.sh $(build)/debug/larderd $(build)/interop

check-wire: check-packages $(programs)
	@$(step) 'the client against the server' \
		Tests/Checks/wire.sh $(build)/debug/larderd $(build)/wire

check-image: check-packages $(programs)
	@$(step) "the steps of the server's image" \
		Tests/Checks/image.sh $(build)/debug/larderd $(build)/image

check-simulation: $(programs)
	@$(step) 'Firestore clients, networks and a backend, $(SEEDS) worlds' \
		$(build)/debug/LarderSimulation --seeds $(SEEDS)
	@$(step) 'Realtime Database clients, networks and a backend, $(SEEDS) worlds' \
		$(build)/debug/LarderRealtimeSimulation --seeds $(SEEDS)

# What the sanitizers need to know about libraries that they do not instrument.
suppressions := $(abspath Tests/Checks/sanitizers)
mutex := $(build)/mutex.so

# The test targets that make check builds and runs with the thread sanitizer: the databases with their
# engines, listeners and stores. make soak names none, which are all of them.
THREAD_TARGETS = LarderSharedTests LarderTests LarderRealtimeTests
# Random tests of machines that one thread drives.
single_threaded := --skip PlanningDifferentialTests --skip ViewsRandomTests \
	--skip LocalStoreDifferentialTests --skip BackendWatchDifferentialTests --skip DocumentSetTests \
	--skip EvaluationTests --skip QueryTargetTests --skip SyncWorldTests --skip SyncCostTests
# The amount in flight while no client reads differs at the sanitizer's speed.
timed := --skip BackpressureTests

check-swift-threads: check-packages
	@mkdir -p $(build) && clang -std=c17 -O2 -shared -fPIC -o $(mutex) $(suppressions)/mutex.c
	@LARDER_TEST_TARGETS='$(THREAD_TARGETS)' $(step) 'build the tests, thread sanitizer' \
		$(build_tests) --sanitize=thread --scratch-path $(build)/thread
	@# One test at a time, or those that speak over sockets starve. And no waiting at the end of each
	@# process: tests start hundreds.
	@LARDER_TEST_STEPS=4000 LD_PRELOAD=$(mutex) \
		TSAN_OPTIONS=suppressions=$(suppressions)/thread.txt:atexit_sleep_ms=0 \
		$(step) 'Swift tests, thread sanitizer' \
		$(swift_test) --bundle $(build)/thread/debug/larderPackageTests.xctest --no-parallel \
			$(single_threaded) $(timed)

# XCTest itself leaks; Swift Testing, which the tests use, does not. One test at a time, or those that
# speak over sockets starve until their connections are given up. Tests of the tool read what it
# prints, so used suppressions are not printed.
check-swift-memory: check-packages
	@$(step) 'build the tests, address sanitizer' \
		$(build_tests) --sanitize=address --scratch-path $(build)/address
	@LSAN_OPTIONS=suppressions=$(suppressions)/leak.txt:print_suppressions=0 \
		$(step) 'Swift tests, address sanitizer' \
		$(swift_test) --bundle $(build)/address/debug/larderPackageTests.xctest --no-parallel

# ---- soak ------------------------------------------------------------------------------------

soak: check-packages
	@COUNT_CHECKS=1 .ci/together 1 soak-checks

soak-checks:
	@$(step) 'build the programs' $(swift_build)
	@$(step) 'build the Swift tests' $(build_tests)
	@$(step) 'Swift tests, with new seeds' $(swift_test)
	@for program in larderd WireBenchmark LarderSimulation LarderRealtimeSimulation; do \
		$(step) "build $$program for release" $(swift_build) -c release --product $$program || exit 1; \
	done
	@LARDER_FUZZ_SECONDS=$$(($(MINUTES) * 60)) TESTS_AT_ONCE=64 \
		$(step) 'random frames, calls and requests, $(MINUTES) minutes' \
		$(swift_test) --filter FuzzTests
	@LARDER_SLOW_SECONDS=300 $(step) 'clients that take their responses slowly, 5 minutes each' \
		Tests/Checks/interop.sh $(build)/release/larderd $(build)/interop -k slow_clients
	@$(step) 'honest clients beside each kind of attack' \
		Tests/Checks/interop.sh $(build)/release/larderd $(build)/interop -k attacks --full
	@$(step) '1,000 clients that listen and write, 10 minutes' \
		$(build)/release/WireBenchmark measure --only crowd --minutes 10 --strict \
			--larderd $(build)/release/larderd
	@LARDER_SOAK_SECONDS=$$(($(MINUTES) * 15)) \
		$(step) 'clients and a server over connections that break, a quarter of $(MINUTES) minutes' \
		$(swift_test) --filter LarderServerTests.SoakTests
	@LARDER_SOAK_SECONDS=$$(($(MINUTES) * 15)) \
		$(step) 'the same of the Realtime Database' \
		$(swift_test) --filter RealtimeSoakTests
	@$(step) 'Firestore clients, networks and a backend, a quarter of $(MINUTES) minutes' \
		$(build)/release/LarderSimulation --seconds $$(($(MINUTES) * 15))
	@$(step) 'Realtime Database clients, networks and a backend, a quarter of $(MINUTES) minutes' \
		$(build)/release/LarderRealtimeSimulation --seconds $$(($(MINUTES) * 15))
	@LARDER_KILL_ROUNDS=400 $(step) 'a client killed 400 times' \
		$(swift_test) --filter KillTests
	@$(step) "the client against Google's emulator" Tests/Checks/wire.sh emulator $(build)/wire
	@$(step) 'kill, power-cut and fault tests, ten to fifty times as long' $(c_tests) crash \
		KILL='--rounds 10000' POWERCUT='--images 20000' CORRUPTION='--files 50000'
	@$(step) 'mutants of the log' $(c_tests) mutants
	@LARDER_TEST_PERCENT=500 $(step) 'C unit tests, five times as long' $(c_tests) test
	@$(step) 'fuzzers, 10 minutes each' $(c_tests) fuzz FUZZ_SECONDS=600
	@LARDER_TEST_PERCENT=100 $(step) 'C unit tests, thread sanitizer' $(c_tests) tsan
	@$(MAKE) --no-print-directory check-swift-memory check-swift-threads THREAD_TARGETS=

# ---- bench, dist, install, clean -------------------------------------------------------------

bench:
	@.ci/packages $(bench_packages)
	@$(MAKE) --no-print-directory -C Benchmarks bench BUILD=$(build)/c/bench CITIES='$(CITIES)'

generate: packages
	@$(step) 'Swift of the .proto files' Sources/Firestore/Wire/generate

# Links to the system's static libraries, in a folder that the linker searches first: beside shared
# ones it would take those. It searches the folders of pkg-config's files before those of other flags.
static := $(build)/dist/static
static_libraries := lmdb zstd nghttp2 stdc++
static_build := env PKG_CONFIG_PATH=$(static) $(swift_build) -c release --static-swift-stdlib \
	--scratch-path $(build)/dist -Xlinker -L$(static)
version := $(shell awk '/define LARDER_VERSION_(MAJOR|MINOR|PATCH)/ { printf "%s%s", dot, $$3; dot = "." }' \
	CSources/larder/include/larder.h)
archive := $(build)/dist/larder-$(version)-linux-$(shell uname -m).tar.gz

dist:
	@.ci/packages $(dist_packages)
	@mkdir -p $(static)
	@for library in $(static_libraries); do \
		ln -sf "$$($(CC) -print-file-name=lib$$library.a)" $(static)/; \
	done
	@printf 'Name: lmdb\nDescription:\nVersion: 0\nLibs: -L%s -llmdb\n' $(static) >$(static)/lmdb.pc
	@printf 'Name: zstd\nDescription:\nVersion: 0\nLibs: -L%s -lzstd\n' $(static) >$(static)/libzstd.pc
	@$(step) 'build the server, static' $(static_build) --product larderd
	@$(step) 'build the tool, static' $(static_build) --product larder
	@$(step) 'archive' Deployment/archive.sh $(build)/dist $(archive)
	@$(step) 'the archive in a bare Debian' Tests/Checks/dist.sh $(archive) $(build)/dist/bare

install: packages
	$(swift_build) -c release --product larder
	$(c_library) install PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' BUILD=$(build)/c/library
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 755 $(build)/release/larder '$(DESTDIR)$(PREFIX)/bin/larder'

uninstall:
	$(c_library) uninstall PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)'
	rm -f '$(DESTDIR)$(PREFIX)/bin/larder'

clean:
	rm -rf .build Benchmarks/.build Compatibility/.build Examples/.build Tests/Consumer/.build
