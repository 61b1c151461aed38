# Larder, from a fresh machine to measured figures. `make help` lists what can be asked for.

PREFIX ?= /usr/local
DESTDIR ?=
# For make bench: a file of real documents, NDJSON with an "id" in each line.
CITIES ?=

# What the build needs from Debian besides make, a C compiler and Swift 6.2 or later.
packages := liblmdb-dev libzstd-dev pkg-config
check_packages := $(packages) libsqlite3-dev clang-format python3
bench_packages := $(packages) libsqlite3-dev

step := .ci/step
swift := swift
# One scratch path a configuration, or they rebuild each other.
build := $(abspath .build)
jobs := $(shell nproc 2>/dev/null || echo 2)
c_tests := $(MAKE) --no-print-directory -j$(jobs) -C Tests/C BUILD=$(build)/c
c_library := $(MAKE) --no-print-directory -j$(jobs) -C CSources/larder

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run test check bench install uninstall clean packages

help:
	@echo 'make run      build the tool; import, query, change and watch a sample of real cities'
	@echo 'make test     C and Swift tests'
	@echo 'make check    everything else: formats, layers, installation, sanitizers, crash tests,'
	@echo '              fuzzers (about 20 minutes; make test first)'
	@echo 'make bench    benchmarks in release mode, against raw LMDB, SQLite and GRDB'
	@echo 'make install  C library, header and pkg-config file, and the tool: PREFIX=$(PREFIX) DESTDIR='
	@echo 'make clean    remove everything that was built'
	@echo
	@echo 'run, test, check and bench first install what is missing of these Debian packages:'
	@echo '  $(sort $(check_packages) $(bench_packages))'

packages:
	@.ci/packages $(packages)

# ---- run -------------------------------------------------------------------------------------

run: packages
	@$(step) 'build the tool' $(swift) build --product larder
	@$(step) 'a store of cities' Tests/Checks/cities.sh .build/debug/larder .build/cities

# ---- test ------------------------------------------------------------------------------------

test: packages
	@$(step) 'larder.h alone, as C99 and C++17' $(c_tests) headers
	@$(step) 'C unit tests, address and undefined-behaviour sanitizers' $(c_tests) test
	@$(step) 'fuzzers: replay of the corpora' $(c_tests) replay
	@$(step) 'exported symbols' Tests/Checks/symbols.sh $(build)/c/library
	@$(step) 'Swift tests' $(swift) test
	@echo
	@echo 'make test: everything passed'

# ---- check -----------------------------------------------------------------------------------

checks := check-format check-layers check-documentation check-compilers check-install \
	check-consumer check-demo check-bench check-c-threads check-crash check-kill check-fuzz \
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

check-bench: check-packages
	@$(step) 'benchmark program, a short run' \
		$(MAKE) --no-print-directory -s -C Benchmarks/C check BUILD=$(build)/c/bench
	@$(step) 'client benchmarks, a short run' \
		$(MAKE) --no-print-directory -s -C Benchmarks check-client

check-c-threads: check-packages
	@$(step) 'C unit tests, thread sanitizer' $(c_tests) tsan

check-crash: check-packages
	@$(step) 'kill, power-cut and fault tests' $(c_tests) crash

check-kill: check-packages
	@LARDER_KILL_ROUNDS=40 $(step) 'a client killed 40 times' $(swift) test --filter KillTests

check-fuzz: check-packages
	@$(step) 'fuzzers, 60 s each' $(c_tests) fuzz

# Reports that are not this project's, each with its reason.
suppressions := $(abspath Tests/Checks/sanitizers)

# Long random tests of machines that one thread drives: the other sanitizer has them, too.
single_threaded := --skip PlanningDifferentialTests --skip ViewsRandomTests \
	--skip LocalStoreDifferentialTests --skip LarderQueryTests

# One test at a time: the sanitizer leaves room for few stores, each of which maps a tebibyte. And
# no waiting at the end of each process: the tool's tests start hundreds.
check-swift-threads: check-packages
	@LARDER_TEST_STEPS=4000 TSAN_OPTIONS=suppressions=$(suppressions)/thread.txt:atexit_sleep_ms=0 \
		$(step) 'Swift tests, thread sanitizer' \
		$(swift) test --sanitize=thread --no-parallel --scratch-path $(build)/thread \
			$(single_threaded)

# XCTest itself leaks; Swift Testing, which the tests use, does not.
check-swift-memory: check-packages
	@LSAN_OPTIONS=suppressions=$(suppressions)/leak.txt \
		$(step) 'Swift tests, address sanitizer' \
		$(swift) test --sanitize=address --disable-xctest --scratch-path $(build)/address

# ---- bench, install, clean -------------------------------------------------------------------

bench:
	@.ci/packages $(bench_packages)
	@$(MAKE) --no-print-directory -C Benchmarks bench BUILD=$(build)/c/bench CITIES='$(CITIES)'

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
