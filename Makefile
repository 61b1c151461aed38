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
swift_build := .ci/swift-build
swift_test := .ci/swift-test
# Of a crash: the thread that crashed. Registers are left out because the backtracer can wait for
# ever for the memory that they refer to.
export SWIFT_BACKTRACE ?= enable=yes,interactive=no,threads=crashed,registers=none,images=none
# Ends tests that hang, with what they have printed, before a CI run's own limit does.
tests_limit := timeout --kill-after=30 2400
# As swift test does; --build-tests would build everything of the dependencies, too.
build_tests := $(swift_build) --product larderPackageTests
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
	@echo 'make check    everything else: formats, layers, installation, thread sanitizer, crash'
	@echo '              tests, fuzzers, the server with other clients (an hour on two cores)'
	@echo 'make soak     long-running checks: the tests with new seeds, random frames and requests, slow'
	@echo '              clients, a crowd of clients, clients and a server over breaking connections,'
	@echo '              both simulators with new seeds (MINUTES=$(MINUTES) together), longer fuzzing, kills and'
	@echo '              power cuts, all tests under both sanitizers, the benchmarks of clients'
	@echo 'make bench    benchmarks in release mode, against raw LMDB, SQLite, GRDB and, where it is'
	@echo "              installed, Google's Firestore emulator"
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
	@$(step) 'build the tool' $(swift_build) --product larder
	@$(step) 'a store of cities' Tests/Checks/cities.sh .build/debug/larder .build/cities
	@$(step) 'build the demo' $(swift_build) --product LarderDemoLocal
	@$(step) 'a database without its network and its process' Tests/Checks/story.sh \
		.build/story .build/debug/LarderDemoLocal --backend .build/story/backend
	@$(step) 'build the demo of the Realtime Database' $(swift_build) --product LarderDemoRealtime
	@$(step) 'a Realtime Database without its network, and presence' Tests/Checks/scores.sh \
		.build/scores .build/debug/LarderDemoRealtime .build/debug/larder

demo: server-packages
	@$(step) 'build the server' $(swift_build) --product larderd
	@$(step) 'build the demo' $(swift_build) --product LarderDemoRemote
	@$(step) 'build the demo of presence' $(swift_build) --product LarderDemoSockets
	@$(step) 'a server, and clients that lose their networks and processes' Tests/Checks/demo.sh \
		.build/debug/larderd .build/debug/LarderDemoRemote .build/debug/LarderDemoSockets \
		.build/demo

serve: server-packages
	@$(step) 'build the server' $(swift_build) --product larderd
	@echo "clients find it with FIRESTORE_EMULATOR_HOST=127.0.0.1:$(PORT), those of Realtime Databases"
	@echo "with FIREBASE_DATABASE_EMULATOR_HOST=127.0.0.1:$(PORT); end it with Ctrl-C"
	@exec .build/debug/larderd --port $(PORT) --data $(DATA)

# ---- test ------------------------------------------------------------------------------------

# The random tests take the same cases in each run; those of make soak and of `swift test` are new.
test check: export LARDER_TEST_SEED ?= 1

test: server-packages
	@.ci/together 2 core-tests swift-tests
	@echo
	@echo 'make test: everything passed'

core-tests:
	@$(step) 'larder.h alone, as C99 and C++17' $(c_tests) headers
	@$(step) 'C unit tests, address and undefined-behaviour sanitizers' $(c_tests) test
	@$(step) 'fuzzers: replay of the corpora' $(c_tests) replay
	@$(step) 'exported symbols' Tests/Checks/symbols.sh $(build)/c/library

swift-tests:
	@$(step) 'build the Swift tests' $(build_tests)
	@$(step) 'Swift tests' $(tests_limit) $(swift_test) --skip-build

# ---- check -----------------------------------------------------------------------------------

# Three lanes at a time, each with about as much work as the others. What waits for servers and clients
# leaves the processors to the others; what shares a scratch path, in which SwiftPM builds one thing at
# a time, follows each other in a lane. Swift's address sanitizer and the benchmarks of clients are left to
# make soak: each takes ten minutes of a processor or more.
core_checks := check-compilers check-install check-c-threads check-crash check-fuzz
package_checks := check-consumer check-compatibility check-examples
server_checks := check-documentation check-format check-layers check-generated check-demo \
	check-bench-core check-bench-wire check-kill check-frames check-interop check-wire check-image \
	check-simulation
lanes := core-checks package-checks server-checks check-swift-threads
.PHONY: $(core_checks) $(package_checks) $(server_checks) $(lanes) check-bench-client check-swift-memory
.PHONY: check-packages check-bench simulators

check: check-packages
	@.ci/together 3 $(lanes)
	@echo
	@echo 'make check: everything passed'

core-checks: $(core_checks)

package-checks: $(package_checks)

server-checks: $(server_checks)

check-packages:
	@.ci/packages $(check_packages)

check-format: check-packages
	@$(step) 'formatters' Tests/Checks/format.sh

check-layers:
	@$(step) 'imports and layers' Tests/Checks/layers.sh

check-generated: check-packages
	@$(step) 'generated code' Tests/Checks/generated.sh $(build)/generated

check-documentation:
	@$(step) 'debug build' $(swift_build)
	@$(step) 'links in the documentation' Tests/Checks/documentation.sh $(build)/documentation

check-compilers: check-packages
	@for compiler in gcc clang; do \
		command -v $$compiler >/dev/null || continue; \
		$(step) "C library by $$compiler, warnings as errors" \
			$(c_library) -s CC=$$compiler BUILD=$(build)/c/library-$$compiler || exit 1; \
	done

check-install: check-packages
	@$(step) 'installed C library: pkg-config, C, C++, Python' \
		Tests/Checks/install.sh $(build)/c/library $(build)/c/install

check-consumer: check-packages
	@$(step) 'a Swift package that depends on Larder' Tests/Checks/consumer.sh $(build)/consumer

# In the scratch path of the consumer, which has compiled what it is built on. Apple's own test sources
# as well, where FIREBASE_IOS_SDK names a checkout of firebase-ios-sdk.
check-compatibility: check-packages
	@$(step) "an application with the import lines of Apple's SDK" \
		Tests/Checks/compatibility.sh $(build)/consumer

# In the scratch paths of the consumers, which have compiled half of what they need.
check-examples: check-packages
	@$(step) 'build the server' $(swift_build) --product larderd
	@$(step) 'sample programs and the tutorial' \
		Tests/Checks/examples.sh $(build)/debug/larderd $(build)/consumer/server $(build)/consumer

check-demo: check-packages
	@$(step) 'make run' $(MAKE) --no-print-directory run
	@$(step) 'make demo' $(MAKE) --no-print-directory demo

check-bench: check-bench-core check-bench-client check-bench-wire

check-bench-core: check-packages
	@$(step) 'benchmark program, a short run' \
		$(MAKE) --no-print-directory -s -C Benchmarks/C check BUILD=$(build)/c/bench

# In the scratch path of the consumer, like the application with Apple's import lines.
check-bench-client: check-packages
	@$(step) 'client benchmarks, a short run' \
		$(MAKE) --no-print-directory -s -C Benchmarks check-client \
			CONFIGURATION=debug SCRATCH=$(build)/consumer

check-bench-wire: check-packages
	@$(step) 'build the server' $(swift_build) --product larderd
	@$(step) 'build the benchmark over sockets' $(swift_build) --product WireBenchmark
	@$(step) 'benchmark over sockets, a short run' \
		$(build)/debug/WireBenchmark measure --quick --larderd $(build)/debug/larderd
	@$(step) '1,000 clients that listen and write, a short run' \
		$(build)/debug/WireBenchmark measure --quick --only crowd --strict \
			--larderd $(build)/debug/larderd

check-c-threads: check-packages
	@$(step) 'C unit tests, thread sanitizer' $(c_tests) tsan

# The same seeds each time; make soak takes others.
check-crash: check-packages
	@$(step) 'kill, power-cut and fault tests' $(c_tests) crash \
		KILL='--seed 1' POWERCUT='--seed 1' FAULT='--seed 1' CORRUPTION='--seed 1'

check-kill: check-packages
	@$(step) 'build the tests' $(build_tests)
	@LARDER_KILL_ROUNDS=40 $(step) 'a client killed 40 times' \
		$(swift_test) --skip-build --filter KillTests

# A minute for each of the fuzzers, which run side by side.
check-frames: check-packages
	@$(step) 'build the tests' $(build_tests)
	@LARDER_FUZZ_SECONDS=60 TESTS_AT_ONCE=64 $(step) 'random frames, calls and requests, 60 s' \
		$(swift_test) --skip-build --filter FuzzTests

check-interop: check-packages
	@$(step) 'build the server' $(swift_build) --product larderd
	@$(step) "Google's Python client against the server" \
		Tests/Checks/interop.sh $(build)/debug/larderd $(build)/interop

check-wire: check-packages
	@$(step) 'build the server' $(swift_build) --product larderd
	@$(step) 'build the tests' $(build_tests)
	@$(step) "the client against the server and Google's emulator" \
		Tests/Checks/wire.sh $(build)/debug/larderd $(build)/wire

check-image: check-packages
	@$(step) 'build the server' $(swift_build) --product larderd
	@$(step) "the steps of the server's image" \
		Tests/Checks/image.sh $(build)/debug/larderd $(build)/image

simulators: packages
	@$(step) "build Firestore's simulator" $(swift_build) -c release --product LarderSimulation
	@$(step) "build the Realtime Database's simulator" \
		$(swift_build) -c release --product LarderRealtimeSimulation

check-simulation: simulators
	@$(step) 'Firestore clients, networks and a backend, $(SEEDS) worlds' \
		$(build)/release/LarderSimulation --seeds $(SEEDS)
	@$(step) 'Realtime Database clients, networks and a backend, $(SEEDS) worlds' \
		$(build)/release/LarderRealtimeSimulation --seeds $(SEEDS)

check-fuzz: check-packages
	@$(step) 'fuzzers, 60 s each' $(c_tests) fuzz

# What the sanitizers need to know about libraries that they do not instrument.
suppressions := $(abspath Tests/Checks/sanitizers)
mutex := $(build)/mutex.so

# The test targets that make check builds and runs with the thread sanitizer: those of code that several
# threads run. Those that talk over sockets are left to make soak: NIO, gRPC and TLS take longer to build
# with a sanitizer than everything else. None named: all of them.
THREAD_TARGETS = $(patsubst %,Larder%Tests, \
	Core Runtime Storage DocumentStore Backend RealtimeSync RealtimeBackend Realtime) LarderTests
# Random tests of machines that one thread drives.
single_threaded := --skip PlanningDifferentialTests --skip ViewsRandomTests \
	--skip LocalStoreDifferentialTests --skip BackendWatchDifferentialTests --skip LarderQueryTests \
	--skip SyncWorldTests --skip SyncCostTests
# The amount in flight while no client reads differs at the sanitizer's speed.
timed := --skip BackpressureTests

check-swift-threads: check-packages
	@mkdir -p $(build) && clang -std=c17 -O2 -shared -fPIC -o $(mutex) $(suppressions)/mutex.c
	@LARDER_TEST_TARGETS='$(THREAD_TARGETS)' $(step) 'build the tests, thread sanitizer' \
		$(build_tests) --sanitize=thread --scratch-path $(build)/thread
	@# One test at a time, or those that speak over sockets starve. And no waiting at the end of each
	@# process: tests start hundreds.
	@LARDER_TEST_TARGETS='$(THREAD_TARGETS)' LARDER_TEST_STEPS=4000 LD_PRELOAD=$(mutex) \
		TSAN_OPTIONS=suppressions=$(suppressions)/thread.txt:atexit_sleep_ms=0 \
		$(step) 'Swift tests, thread sanitizer' \
		$(swift_test) --skip-build --sanitize=thread --no-parallel \
			--scratch-path $(build)/thread \
			$(single_threaded) $(timed)

# All tests; a part of make soak. XCTest itself leaks; Swift Testing, which the tests use, does not. One
# test at a time, or those that speak over sockets starve until their connections are given up. Tests of
# the tool read what it prints, so used suppressions are not printed.
check-swift-memory: check-packages
	@$(step) 'build the tests, address sanitizer' \
		$(build_tests) --sanitize=address --scratch-path $(build)/address
	@LSAN_OPTIONS=suppressions=$(suppressions)/leak.txt:print_suppressions=0 \
		$(step) 'Swift tests, address sanitizer' \
		$(swift_test) --skip-build --sanitize=address --disable-xctest --no-parallel \
			--scratch-path $(build)/address

# ---- soak ------------------------------------------------------------------------------------

soak: check-packages simulators
	@$(step) 'build the tests' $(build_tests)
	@$(step) 'Swift tests, with new seeds' $(swift_test) --skip-build
	@$(step) 'build the server' $(swift_build) -c release --product larderd
	@$(step) 'build the benchmark over sockets' $(swift_build) -c release --product WireBenchmark
	@LARDER_FUZZ_SECONDS=$$(($(MINUTES) * 60)) TESTS_AT_ONCE=64 \
		$(step) 'random frames, calls and requests, $(MINUTES) minutes' \
		$(swift_test) --skip-build --filter FuzzTests
	@LARDER_SLOW_SECONDS=300 $(step) 'clients that take their responses slowly, 5 minutes each' \
		Tests/Checks/interop.sh $(build)/release/larderd $(build)/interop -k slow_clients
	@$(step) '1,000 clients that listen and write, 10 minutes' \
		$(build)/release/WireBenchmark measure --only crowd --minutes 10 --strict \
			--larderd $(build)/release/larderd
	@LARDER_SOAK_SECONDS=$$(($(MINUTES) * 15)) \
		$(step) 'clients and a server over connections that break, a quarter of $(MINUTES) minutes' \
		$(swift_test) --skip-build --filter LarderSocketTests.SoakTests
	@LARDER_SOAK_SECONDS=$$(($(MINUTES) * 15)) \
		$(step) 'the same of the Realtime Database' \
		$(swift_test) --skip-build --filter RealtimeSoakTests
	@$(step) 'Firestore clients, networks and a backend, a quarter of $(MINUTES) minutes' \
		$(build)/release/LarderSimulation --seconds $$(($(MINUTES) * 15))
	@$(step) 'Realtime Database clients, networks and a backend, a quarter of $(MINUTES) minutes' \
		$(build)/release/LarderRealtimeSimulation --seconds $$(($(MINUTES) * 15))
	@LARDER_KILL_ROUNDS=400 $(step) 'a client killed 400 times' \
		$(swift_test) --skip-build --filter KillTests
	@$(step) 'kill, power-cut and fault tests, ten to fifty times as long' $(c_tests) crash \
		KILL='--rounds 10000' POWERCUT='--images 20000' CORRUPTION='--files 50000'
	@$(step) 'fuzzers, 10 minutes each' $(c_tests) fuzz FUZZ_SECONDS=600
	@LARDER_TEST_PERCENT=100 $(step) 'C unit tests, thread sanitizer' $(c_tests) tsan
	@$(MAKE) --no-print-directory check-swift-threads check-swift-memory THREAD_TARGETS=
	@$(MAKE) --no-print-directory check-bench-client

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
