# Larder, from a fresh machine to measured figures. `make help` lists what can be asked for.

PREFIX ?= /usr/local
DESTDIR ?=
# For make serve: where it listens, and where it keeps databases.
PORT ?= 8080
DATA ?= .build/data
# For make bench: a file of real documents, NDJSON with an "id" in each line.
CITIES ?=
# For make check: how many worlds of clients, networks and a backend live.
SEEDS ?= 2000
# For make soak: how long, both parts together.
MINUTES ?= 60

# What the build needs from Debian besides make, a C compiler and Swift 6.2 or later.
packages := liblmdb-dev libzstd-dev pkg-config
# HTTP/2 of the server.
server_packages := $(packages) libnghttp2-dev
check_packages := $(server_packages) libsqlite3-dev clang-format python3 python3-venv openssl
bench_packages := $(server_packages) libsqlite3-dev

step := .ci/step
swift := swift
# As swift test does; --build-tests would build everything of the dependencies, too.
build_tests := $(swift) build --product larderPackageTests
# One scratch path a configuration, or they rebuild each other.
build := $(abspath .build)
jobs := $(shell nproc 2>/dev/null || echo 2)
c_tests := $(MAKE) --no-print-directory -j$(jobs) -C Tests/C BUILD=$(build)/c
c_library := $(MAKE) --no-print-directory -j$(jobs) -C CSources/larder

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run demo serve test check soak bench generate install uninstall clean packages server-packages

help:
	@echo 'make run      build the tool; import, query, change and watch a sample of real cities;'
	@echo '              a database loses its network and its process, and comes back'
	@echo 'make demo     the same with the server, over gRPC'
	@echo 'make serve    build the server of google.firestore.v1 and run it: PORT=$(PORT) DATA=$(DATA)'
	@echo 'make test     C and Swift tests'
	@echo 'make check    everything else: formats, layers, installation, sanitizers, crash tests,'
	@echo '              fuzzers, the server with other clients (about an hour; make test first)'
	@echo 'make soak     half of MINUTES=$(MINUTES) each: clients and a server over connections that'
	@echo '              break, and the simulator with seeds that were never used'
	@echo 'make bench    benchmarks in release mode, against raw LMDB, SQLite, GRDB and, where it is'
	@echo "              installed, Google's Firestore emulator"
	@echo 'make generate Swift of the .proto files; needs protoc, or PROTOC=COMMAND'
	@echo 'make install  C library, header and pkg-config file, and the tool: PREFIX=$(PREFIX) DESTDIR='
	@echo 'make clean    remove everything that was built'
	@echo
	@echo 'run, test, check and bench first install what is missing of these Debian packages:'
	@echo '  $(sort $(check_packages) $(bench_packages))'

packages:
	@.ci/packages $(packages)

server-packages:
	@.ci/packages $(server_packages)

# ---- run -------------------------------------------------------------------------------------

run: packages
	@$(step) 'build the tool' $(swift) build --product larder
	@$(step) 'a store of cities' Tests/Checks/cities.sh .build/debug/larder .build/cities
	@$(step) 'build the demo' $(swift) build --product LarderDemoLocal
	@$(step) 'a database without its network and its process' Tests/Checks/story.sh \
		.build/story .build/debug/LarderDemoLocal --backend .build/story/backend

demo: server-packages
	@$(step) 'build the server' $(swift) build --product larderd
	@$(step) 'build the demo' $(swift) build --product LarderDemoRemote
	@$(step) 'a server, and a database without its network and its process' Tests/Checks/demo.sh \
		.build/debug/larderd .build/debug/LarderDemoRemote .build/demo

serve: server-packages
	@$(step) 'build the server' $(swift) build --product larderd
	@echo "clients find it with FIRESTORE_EMULATOR_HOST=127.0.0.1:$(PORT); end it with Ctrl-C"
	@exec .build/debug/larderd --port $(PORT) --data $(DATA)

# ---- test ------------------------------------------------------------------------------------

test: server-packages
	@$(step) 'larder.h alone, as C99 and C++17' $(c_tests) headers
	@$(step) 'C unit tests, address and undefined-behaviour sanitizers' $(c_tests) test
	@$(step) 'fuzzers: replay of the corpora' $(c_tests) replay
	@$(step) 'exported symbols' Tests/Checks/symbols.sh $(build)/c/library
	@$(step) 'Swift tests' $(swift) test
	@echo
	@echo 'make test: everything passed'

# ---- check -----------------------------------------------------------------------------------

checks := check-format check-layers check-generated check-documentation check-compilers check-install \
	check-consumer check-demo check-bench check-c-threads check-crash check-kill \
	check-interop check-wire check-simulation check-fuzz \
	check-swift-threads check-swift-memory
.PHONY: $(checks) check-packages

check: $(checks)
	@echo
	@echo 'make check: everything passed'

check-packages:
	@.ci/packages $(check_packages)

check-format: check-packages
	@$(step) 'formatters' Tests/Checks/format.sh

check-layers:
	@$(step) 'imports and layers' Tests/Checks/layers.sh

check-generated: check-packages
	@$(step) 'generated code' Tests/Checks/generated.sh $(build)/generated

check-documentation:
	@$(step) 'debug build' $(swift) build
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

check-demo: check-packages
	@$(step) 'make run' $(MAKE) --no-print-directory run
	@$(step) 'make demo' $(MAKE) --no-print-directory demo

check-bench: check-packages
	@$(step) 'benchmark program, a short run' \
		$(MAKE) --no-print-directory -s -C Benchmarks/C check BUILD=$(build)/c/bench
	@$(step) 'client benchmarks, a short run' \
		$(MAKE) --no-print-directory -s -C Benchmarks check-client
	@$(step) 'build the server' $(swift) build --product larderd
	@$(step) 'build the benchmark over sockets' $(swift) build --product WireBenchmark
	@$(step) 'benchmark over sockets, a short run' \
		$(build)/debug/WireBenchmark measure --quick --larderd $(build)/debug/larderd

check-c-threads: check-packages
	@$(step) 'C unit tests, thread sanitizer' $(c_tests) tsan

check-crash: check-packages
	@$(step) 'kill, power-cut and fault tests' $(c_tests) crash

check-kill: check-packages
	@LARDER_KILL_ROUNDS=40 $(step) 'a client killed 40 times' $(swift) test --filter KillTests

check-interop: check-packages
	@$(step) 'build the server' $(swift) build --product larderd
	@$(step) "Google's Python client against the server" \
		Tests/Checks/interop.sh $(build)/debug/larderd $(build)/interop

check-wire: check-packages
	@$(step) 'build the server' $(swift) build --product larderd
	@$(step) 'build the tests' $(build_tests)
	@$(step) "the client against the server and Google's emulator" \
		Tests/Checks/wire.sh $(build)/debug/larderd $(build)/wire

check-simulation: check-packages
	@$(step) 'clients, networks and a backend, $(SEEDS) worlds' \
		$(swift) run -c release LarderSimulation --seeds $(SEEDS)

check-fuzz: check-packages
	@$(step) 'fuzzers, 60 s each' $(c_tests) fuzz

# What the sanitizers have to know about libraries that they do not see.
sanitizers := $(abspath Tests/Checks/sanitizers)
mutex := $(build)/mutex.so

# Long random tests of machines that one thread drives: the other sanitizer has them, too.
single_threaded := --skip PlanningDifferentialTests --skip ViewsRandomTests \
	--skip LocalStoreDifferentialTests --skip BackendWatchDifferentialTests --skip LarderQueryTests
# How much is on its way when nobody reads is another amount at the sanitizer's speed.
timed := --skip BackpressureTests

# One test at a time: the sanitizer leaves room for few stores, each of which maps a tebibyte. And
# no waiting at the end of each process: the tool's tests start hundreds.
check-swift-threads: check-packages
	@mkdir -p $(build) && clang -std=c17 -O2 -shared -fPIC -o $(mutex) $(sanitizers)/mutex.c
	@LARDER_TEST_STEPS=4000 LD_PRELOAD=$(mutex) \
		TSAN_OPTIONS=suppressions=$(sanitizers)/thread.txt:atexit_sleep_ms=0 \
		$(step) 'Swift tests, thread sanitizer' \
		$(swift) test --sanitize=thread --no-parallel --scratch-path $(build)/thread \
			$(single_threaded) $(timed)

# XCTest itself leaks; Swift Testing, which the tests use, does not. One test at a time, or those
# that speak over sockets starve until their connections are given up. Tests of the tool read what it
# prints, which suppressions that were used are not.
check-swift-memory: check-packages
	@LSAN_OPTIONS=suppressions=$(sanitizers)/leak.txt:print_suppressions=0 \
		$(step) 'Swift tests, address sanitizer' \
		$(swift) test --sanitize=address --disable-xctest --no-parallel \
			--scratch-path $(build)/address

# ---- soak ------------------------------------------------------------------------------------

soak: server-packages
	@$(step) 'build the tests' $(build_tests)
	@$(step) 'build the simulator' $(swift) build -c release --product LarderSimulation
	@LARDER_SOAK_SECONDS=$$(($(MINUTES) * 30)) \
		$(step) 'clients and a server over connections that break, half of $(MINUTES) minutes' \
		$(swift) test --skip-build --filter SoakTests
	@$(step) 'clients, networks and a backend, half of $(MINUTES) minutes' \
		$(swift) run -c release --skip-build LarderSimulation --seconds $$(($(MINUTES) * 30))

# ---- bench, install, clean -------------------------------------------------------------------

bench:
	@.ci/packages $(bench_packages)
	@$(MAKE) --no-print-directory -C Benchmarks bench BUILD=$(build)/c/bench CITIES='$(CITIES)'

generate: packages
	@$(step) 'Swift of the .proto files' Sources/Firestore/Wire/generate

install: packages
	$(swift) build -c release --product larder
	$(c_library) install PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' BUILD=$(build)/c/library
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 755 $(build)/release/larder '$(DESTDIR)$(PREFIX)/bin/larder'

uninstall:
	$(c_library) uninstall PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)'
	rm -f '$(DESTDIR)$(PREFIX)/bin/larder'

clean:
	rm -rf .build Benchmarks/.build Tests/Consumer/.build
