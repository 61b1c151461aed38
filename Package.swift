// swift-tools-version: 6.2
import PackageDescription

let swiftSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

// The same as in CSources/larder/Makefile. SwiftPM leaves warning settings out when the package
// is fetched as a dependency, so a newer compiler cannot break someone else's build.
let cSettings: [CSetting] = [
    .define("_GNU_SOURCE"),
    .define("NDEBUG", .when(configuration: .release)),
    .enableWarning("all"),
    .enableWarning("extra"),
    .enableWarning("pedantic"),
    .enableWarning("shadow"),
    .enableWarning("conversion"),
    .treatAllWarnings(as: .error),
]

extension Target.Dependency {
    /// A product that only what talks to a network, or serves it, is built on.
    static func networking(_ name: String, _ package: String) -> Target.Dependency {
        .product(name: name, package: package, condition: .when(traits: ["Networking"]))
    }
}

let package = Package(
    name: "larder",
    // Untried: the first version that has everything the sources use, such as immediate tasks.
    platforms: [.macOS(.v26)],
    products: [
        .library(name: "Larder", targets: ["Larder"]),
        .library(name: "LarderBackend", targets: ["LarderModel", "LarderBackend"]),
        .library(name: "LarderGRPC", targets: ["LarderCredentials", "LarderGRPC"]),
        .library(name: "LarderServer", targets: ["LarderModel", "LarderBackend", "LarderServer"]),
        .library(
            name: "LarderStorage", targets: ["LarderModel", "LarderStorage", "LarderDocumentStore"]),
        .library(name: "LarderRealtime", targets: ["LarderRealtime"]),
        .library(
            name: "LarderRealtimeBackend",
            targets: ["LarderRealtimeModel", "LarderRealtimeRules", "LarderRealtimeBackend"]),
        .library(name: "LarderRealtimeWebSocket", targets: ["LarderRealtimeWebSocket"]),
        .library(name: "LarderLifecycle", targets: ["LarderLifecycle"]),
        .executable(name: "larder", targets: ["LarderTool"]),
        .executable(name: "larderd", targets: ["LarderDaemon"]),
    ],
    // Without a trait, SwiftPM does not fetch the packages that only the trait's products need.
    traits: [
        .default(enabledTraits: ["Networking", "Tools"]),
        .trait(
            name: "Networking",
            description: "LarderGRPC, LarderServer, LarderRealtimeWebSocket, LarderLifecycle"),
        .trait(
            name: "Tools", description: "the programs larder and larderd",
            enabledTraits: ["Networking"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        // For the trait Tools.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        // For the trait Networking.
        // 1.39 reads some JSON wrongly, see JSONFields; JSONFieldsTests shows whether a later one does.
        .package(
            url: "https://github.com/apple/swift-protobuf", .upToNextMinor(from: "1.39.0")),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-protobuf", from: "2.4.1"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2.git", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.0"),
        .package(
            url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    ],
    targets: [
        // LMDB, the B+ tree below everything; headers and library come from the system.
        .systemLibrary(
            name: "CLMDB", path: "CSources/lmdb", pkgConfig: "lmdb",
            providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
        // zstd, the compression of cold fields; headers and library come from the system.
        .systemLibrary(
            name: "CZstd", path: "CSources/zstd", pkgConfig: "libzstd",
            providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),
        // nghttp2, HTTP/2 of the server; headers and library come from the system. Not by pkg-config,
        // which packages without a server would need, too.
        .systemLibrary(
            name: "CNGHTTP2", path: "CSources/nghttp2",
            providers: [.apt(["libnghttp2-dev"]), .brew(["libnghttp2"])]),
        // The C core behind larder.h: records, tables, accounting, eviction.
        .target(
            name: "CLarder", dependencies: ["CLMDB", "CZstd"], path: "CSources/larder",
            exclude: ["Makefile", "README.md", "larder.pc.in", "larder.symbols"],
            sources: ["src"], publicHeadersPath: "include",
            cSettings: cSettings + [.headerSearchPath("src")],
            linkerSettings: [.linkedLibrary("lmdb"), .linkedLibrary("zstd")]),
        // Common to all modules, without a database: errors, time, the order of text, JSON.
        .target(
            name: "LarderCore",
            dependencies: [
                "CLarder", .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
            ],
            path: "Sources/Shared/Core", swiftSettings: swiftSettings),
        // What an engine of either database runs on: executor, scheduler, inbox, streams.
        .target(
            name: "LarderRuntime", dependencies: ["LarderCore"], path: "Sources/Shared/Runtime",
            swiftSettings: swiftSettings),
        // The Swift face of the C store: scoped transactions, eviction, copies, named values.
        .target(
            name: "LarderStorage", dependencies: ["CLarder", "LarderCore"],
            path: "Sources/Shared/Storage", swiftSettings: swiftSettings),
        // The application and its project, which both databases belong to.
        .target(
            name: "LarderApp",
            dependencies: ["LarderCore", .product(name: "Logging", package: "swift-log")],
            path: "Sources/Shared/App", swiftSettings: swiftSettings),
        // Paths, values, and documents over record bytes.
        .target(
            name: "LarderModel", dependencies: ["CLarder", "LarderCore"],
            path: "Sources/Firestore/Model", swiftSettings: swiftSettings),
        // Documents as lines of JSON, which the tool and the server exchange: the notation of values
        // that JSON lacks, and the division of large texts. Clients build without it.
        .target(
            name: "LarderDocumentJSON", dependencies: ["LarderCore", "LarderModel"],
            path: "Sources/Firestore/JSON", swiftSettings: swiftSettings),
        // What servers stand on: listener, HTTP/1.1 and HTTP/2, WebSockets, request budget, blocking
        // work.
        .target(
            name: "LarderHTTP",
            dependencies: [
                "CNGHTTP2", "LarderCore",
                .product(name: "DequeModule", package: "swift-collections"),
                .networking("NIOCore", "swift-nio"),
                .networking("NIOPosix", "swift-nio"),
                .networking("NIOHTTP1", "swift-nio"),
                .networking("NIOWebSocket", "swift-nio"),
                .networking("NIOHPACK", "swift-nio-http2"),
                .networking("NIOHTTP2", "swift-nio-http2"),
                .networking("NIOSSL", "swift-nio-ssl"),
                .product(name: "Logging", package: "swift-log"),
                .networking("Metrics", "swift-metrics"),
            ],
            path: "Sources/Shared/HTTP", swiftSettings: swiftSettings),
        // The tokens that clients authenticate with: providers, cache, service accounts.
        .target(
            name: "LarderCredentials",
            dependencies: ["LarderCore", .networking("JWTKit", "jwt-kit")],
            path: "Sources/Shared/Credentials", swiftSettings: swiftSettings),
        // Firestore's tables in a store: documents, scans, overlays, mutations, targets, indexes.
        .target(
            name: "LarderDocumentStore", dependencies: ["CLarder", "LarderModel", "LarderStorage"],
            path: "Sources/Firestore/Store", swiftSettings: swiftSettings),
        // Queries as data; the matcher and comparator; result sets and their differences.
        .target(
            name: "LarderQuery",
            dependencies: [
                "LarderModel", .product(name: "HashTreeCollections", package: "swift-collections"),
            ],
            path: "Sources/Firestore/Query", swiftSettings: swiftSettings),
        // What a backend's connection offers, and the messages of its streams.
        .target(
            name: "LarderRemote",
            dependencies: ["LarderModel", "LarderQuery"],
            path: "Sources/Firestore/Remote/Interface", swiftSettings: swiftSettings),
        // Answers from a store: planner, indexes, aggregates.
        .target(
            name: "LarderPlanning",
            dependencies: ["LarderModel", "LarderDocumentStore", "LarderQuery"],
            path: "Sources/Firestore/Planning", swiftSettings: swiftSettings),
        // Local store, views, listeners, pending writes: the order of events.
        .target(
            name: "LarderSync",
            dependencies: [
                "LarderCore", "LarderRuntime", "LarderModel", "LarderDocumentStore", "LarderQuery",
                "LarderPlanning", "LarderRemote",
                .product(name: "HashTreeCollections", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
                .product(name: "OrderedCollections", package: "swift-collections"),
            ],
            path: "Sources/Firestore/Sync", swiftSettings: swiftSettings),
        // A Firestore backend in this process: commits, transactions, watched queries.
        .target(
            name: "LarderBackend",
            dependencies: [
                "LarderCore", "LarderModel", "LarderDocumentStore", "LarderQuery", "LarderPlanning",
                "LarderRemote",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            path: "Sources/Firestore/Backend", swiftSettings: swiftSettings),
        // The messages of google.firestore.v1, and their coding to and from records.
        .target(
            name: "LarderWire",
            dependencies: [
                "LarderModel", "LarderQuery", "LarderRemote",
                .networking("SwiftProtobuf", "swift-protobuf"),
                .networking("GRPCCore", "grpc-swift-2"),
                .networking("GRPCProtobuf", "grpc-swift-protobuf"),
            ],
            path: "Sources/Firestore/Wire", exclude: ["Protos", "generate"],
            swiftSettings: swiftSettings),
        // The service google.firestore.v1 over backends on disk or in memory.
        .target(
            name: "LarderServer",
            dependencies: [
                "LarderCore", "LarderHTTP", "LarderModel", "LarderQuery", "LarderPlanning",
                "LarderRemote", "LarderBackend", "LarderWire", "LarderDocumentJSON",
                .product(name: "DequeModule", package: "swift-collections"),
                .networking("SwiftProtobuf", "swift-protobuf"),
                .networking("GRPCCore", "grpc-swift-2"),
                .networking("NIOCore", "swift-nio"),
                .networking("NIOPosix", "swift-nio"),
                .networking("NIOHPACK", "swift-nio-http2"),
                .networking("NIOHTTP2", "swift-nio-http2"),
                .networking("NIOSSL", "swift-nio-ssl"),
                .product(name: "Logging", package: "swift-log"),
                .networking("Metrics", "swift-metrics"),
                .networking("Tracing", "swift-distributed-tracing"),
                .networking("ServiceLifecycle", "swift-service-lifecycle"),
            ],
            path: "Sources/Firestore/Service", swiftSettings: swiftSettings),
        // The local server `larderd`.
        .executableTarget(
            name: "LarderDaemon",
            dependencies: [
                "LarderCore", "LarderHTTP", "LarderModel", "LarderServer", "LarderRealtimeRules",
                "LarderRealtimeServer",
                .product(
                    name: "ArgumentParser", package: "swift-argument-parser",
                    condition: .when(traits: ["Tools"])),
                .product(name: "Logging", package: "swift-log"),
                .networking("Metrics", "swift-metrics"),
                .networking("ServiceLifecycle", "swift-service-lifecycle"),
                .networking("UnixSignals", "swift-service-lifecycle"),
            ],
            path: "Sources/Tools/larderd", swiftSettings: swiftSettings),
        // Cloud Firestore, or what serves its protocol, over gRPC: streams, calls, credentials.
        .target(
            name: "LarderGRPC",
            dependencies: [
                "LarderCore", "LarderCredentials", "LarderModel", "LarderQuery", "LarderRemote",
                "LarderWire",
                .product(name: "Logging", package: "swift-log"),
                .networking("Metrics", "swift-metrics"),
                .networking("Tracing", "swift-distributed-tracing"),
                .networking("ServiceLifecycle", "swift-service-lifecycle"),
                .networking("GRPCCore", "grpc-swift-2"),
                .networking("GRPCProtobuf", "grpc-swift-protobuf"),
                .networking("GRPCNIOTransportHTTP2", "grpc-swift-nio-transport"),
                .networking("NIOCore", "swift-nio"),
                .networking("NIOPosix", "swift-nio"),
                .networking("NIOHTTP1", "swift-nio"),
                .networking("NIOHTTP2", "swift-nio-http2"),
                .networking("NIOSSL", "swift-nio-ssl"),
                .networking("SwiftProtobuf", "swift-protobuf"),
            ],
            path: "Sources/Firestore/Remote/GRPC", swiftSettings: swiftSettings),
        // What applications import: the Firestore API.
        .target(
            name: "Larder",
            dependencies: [
                "LarderApp", "LarderRuntime", "LarderModel", "LarderDocumentStore", "LarderQuery",
                "LarderPlanning", "LarderSync", "LarderRemote",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Firestore/API", swiftSettings: swiftSettings),
        // The Realtime Database's tree: paths, nodes, orders, queries, hashes, push ids.
        .target(
            name: "LarderRealtimeModel", dependencies: ["LarderCore"],
            path: "Sources/Realtime/Model", swiftSettings: swiftSettings),
        // The Realtime Database's security rules: their files, compiler and evaluation.
        .target(
            name: "LarderRealtimeRules", dependencies: ["LarderCore", "LarderRealtimeModel"],
            path: "Sources/Realtime/Rules", swiftSettings: swiftSettings),
        // The tree in a store: node rows, tracked queries, the outbox.
        .target(
            name: "LarderRealtimeStore",
            dependencies: ["CLarder", "LarderCore", "LarderStorage", "LarderRealtimeModel"],
            path: "Sources/Realtime/Store", swiftSettings: swiftSettings),
        // What a backend's connection offers to the engine of a Realtime Database.
        .target(
            name: "LarderRealtimeRemote", dependencies: ["LarderCore", "LarderRealtimeModel"],
            path: "Sources/Realtime/Remote/Interface", swiftSettings: swiftSettings),
        // The messages of the Realtime Database's protocol, and their division into frames.
        .target(
            name: "LarderRealtimeWire",
            dependencies: ["LarderCore", "LarderRealtimeModel", "LarderRealtimeRemote"],
            path: "Sources/Realtime/Wire", swiftSettings: swiftSettings),
        // A Realtime Database server over WebSockets: handshake, deadlines, redirects, TLS.
        .target(
            name: "LarderRealtimeWebSocket",
            dependencies: [
                "LarderCore", "LarderRealtimeModel", "LarderRealtimeRemote", "LarderRealtimeWire",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .networking("NIOCore", "swift-nio"),
                .networking("NIOPosix", "swift-nio"),
                .networking("NIOHTTP1", "swift-nio"),
                .networking("NIOWebSocket", "swift-nio"),
                .networking("NIOSSL", "swift-nio-ssl"),
            ],
            path: "Sources/Realtime/Remote/WebSocket", swiftSettings: swiftSettings),
        // Sync tree, write tree, transactions, and the engine that feeds them.
        .target(
            name: "LarderRealtimeSync",
            dependencies: [
                "LarderCore", "LarderRuntime", "LarderStorage", "LarderRealtimeModel",
                "LarderRealtimeStore", "LarderRealtimeRemote",
                .product(name: "OrderedCollections", package: "swift-collections"),
            ],
            path: "Sources/Realtime/Sync", swiftSettings: swiftSettings),
        // A Realtime Database backend in this process: one tree a namespace.
        .target(
            name: "LarderRealtimeBackend",
            dependencies: [
                "LarderCore", "LarderRuntime", "LarderStorage", "LarderRealtimeModel",
                "LarderRealtimeRules", "LarderRealtimeStore", "LarderRealtimeRemote",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            path: "Sources/Realtime/Backend", swiftSettings: swiftSettings),
        // The Realtime Databases of a server: its namespaces, sessions, REST and tokens, mounted on the
        // shared front.
        .target(
            name: "LarderRealtimeServer",
            dependencies: [
                "LarderCore", "LarderHTTP", "LarderRealtimeModel", "LarderRealtimeRules",
                "LarderRealtimeRemote", "LarderRealtimeBackend", "LarderRealtimeWire",
                .networking("JWTKit", "jwt-kit"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .networking("Metrics", "swift-metrics"),
                .networking("NIOCore", "swift-nio"),
            ],
            path: "Sources/Realtime/Server", swiftSettings: swiftSettings),
        // What applications import: the Realtime Database API.
        .target(
            name: "LarderRealtime",
            dependencies: [
                "LarderApp", "LarderCore", "LarderRuntime", "LarderStorage", "LarderRealtimeModel",
                "LarderRealtimeStore", "LarderRealtimeRemote", "LarderRealtimeSync",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Realtime/API", swiftSettings: swiftSettings),
        // Both databases as services of a ServiceGroup.
        .target(
            name: "LarderLifecycle",
            dependencies: [
                "Larder", "LarderRealtime",
                .networking("ServiceLifecycle", "swift-service-lifecycle"),
            ],
            path: "Sources/Lifecycle", swiftSettings: swiftSettings),
        // The command-line tool `larder`.
        .executableTarget(
            name: "LarderTool",
            dependencies: [
                "Larder", "LarderBackend", "LarderCore", "LarderModel", "LarderDocumentJSON",
                "LarderDocumentStore", "LarderRealtime", "LarderRealtimeRules",
                "LarderRealtimeStore", "LarderRealtimeBackend",
                .product(
                    name: "ArgumentParser", package: "swift-argument-parser",
                    condition: .when(traits: ["Tools"])),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Tools/larder", swiftSettings: swiftSettings),
        // The stories that make run and make demo show, and the programs that tell them: with backends in
        // the process, and with a server.
        .target(
            name: "LarderDemo",
            dependencies: [
                "Larder", "LarderRealtime",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Tools/demo/Story", swiftSettings: swiftSettings),
        .executableTarget(
            name: "LarderDemoLocal",
            dependencies: [
                "LarderDemo", "LarderBackend", "LarderRealtime", "LarderRealtimeBackend",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Tools/demo/Local", swiftSettings: swiftSettings),
        .executableTarget(
            name: "LarderDemoRemote",
            dependencies: [
                "LarderDemo", "LarderGRPC", "LarderRealtime", "LarderRealtimeWebSocket",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Tools/demo/Remote", swiftSettings: swiftSettings),
        // A part of Benchmarks that needs package access; in no product, so that applications that
        // depend on this package do not build it.
        .executableTarget(
            name: "AcknowledgementBenchmark",
            dependencies: [
                "BenchmarkMeasuring", "LarderModel", "LarderDocumentStore", "LarderRemote",
                "LarderSync",
            ],
            path: "Benchmarks/Acknowledgement", swiftSettings: swiftSettings),
        // JSON beside Foundation's.
        .executableTarget(
            name: "JSONBenchmark", dependencies: ["LarderCore"], path: "Benchmarks/JSON",
            swiftSettings: swiftSettings),
        // Clocks, memory, medians: the measuring that Benchmarks has in common. The package in that
        // folder compiles the same files as its own module.
        .target(
            name: "BenchmarkMeasuring", path: "Benchmarks/Measuring", swiftSettings: swiftSettings),
        // The same of the engine between a store and a backend.
        .executableTarget(
            name: "SyncBenchmark",
            dependencies: [
                "AllocationCount", "BenchmarkMeasuring", "LarderModel", "LarderDocumentStore",
                "LarderQuery",
                "LarderPlanning", "LarderRemote", "LarderSync", "LarderBackend",
                .product(name: "HashTreeCollections", package: "swift-collections"),
            ],
            path: "Benchmarks/Sync", swiftSettings: swiftSettings),
        // What one change costs in the Realtime Database's sync tree, with little and with much
        // beside it.
        .executableTarget(
            name: "RealtimeSyncBenchmark",
            dependencies: [
                "BenchmarkMeasuring", "LarderRealtimeModel", "LarderRealtimeSync",
            ],
            path: "Benchmarks/RealtimeSync", swiftSettings: swiftSettings),
        // The same of the server, and of the client over sockets.
        .executableTarget(
            name: "WireBenchmark",
            dependencies: [
                "BenchmarkMeasuring", "Larder", "LarderModel", "LarderQuery", "LarderRemote",
                "LarderBackend",
                "LarderWire", "LarderGRPC", "LarderRealtime", "LarderRealtimeModel",
                "LarderRealtimeBackend", "LarderRealtimeWebSocket",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ],
            path: "Benchmarks/Wire", swiftSettings: swiftSettings),
        // Counts the allocations of a program that it is linked into.
        .target(
            name: "AllocationCount", path: "Benchmarks/C", sources: ["allocations.c"],
            publicHeadersPath: "counting",
            cSettings: [.define("_GNU_SOURCE")]),
        // What tests of both databases share: clocks, schedulers, directories, random numbers.
        .target(
            name: "LarderSharedTestSupport",
            dependencies: [
                "LarderCore", "LarderRuntime", .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/TestSupport/Shared", swiftSettings: swiftSettings),
        // A TCP proxy that breaks the connections of tests.
        .target(
            name: "LarderNetworkTestSupport",
            dependencies: [
                "LarderSharedTestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Tests/TestSupport/Network", swiftSettings: swiftSettings),
        // What tests of Firestore's modules share: random values, plain models, remotes.
        .target(
            name: "LarderTestSupport",
            dependencies: [
                "LarderSharedTestSupport", "LarderCore", "LarderRuntime", "LarderModel",
                "LarderQuery", "LarderRemote", "LarderSync",
            ],
            path: "Tests/TestSupport/Firestore", swiftSettings: swiftSettings),
        // Code as applications of Apple's SDK have it, with nothing changed but its import, and an
        // application with both products.
        .target(
            name: "AppleStyleSample", dependencies: ["Larder", "LarderRealtime"],
            path: "Tests/AppleStyleSample", swiftSettings: [.treatAllWarnings(as: .error)]),
        // A process that tests of Larder start and kill.
        .executableTarget(
            name: "LarderTestChild",
            dependencies: [
                "Larder", "LarderModel", "LarderDocumentStore", "LarderQuery", "LarderSync",
                "LarderBackend", "LarderTestSupport",
            ],
            path: "Tests/TestChild", swiftSettings: swiftSettings),
        // A process that tests of LarderRealtime start and kill.
        .executableTarget(
            name: "LarderRealtimeTestChild", dependencies: ["LarderRealtime"],
            path: "Tests/RealtimeTestChild", swiftSettings: swiftSettings),
        // What the simulators of both databases share: events, processes, chance, reports.
        .target(
            name: "SimulationSupport",
            dependencies: [
                "LarderCore", "LarderRuntime", "LarderSharedTestSupport",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
            ],
            path: "Tests/Simulation/Shared", swiftSettings: swiftSettings),
        // Clients and a backend on one clock, with everything that can go wrong.
        .executableTarget(
            name: "LarderSimulation",
            dependencies: [
                "LarderModel", "LarderDocumentStore", "LarderQuery", "LarderPlanning",
                "LarderRemote", "LarderSync", "LarderBackend", "LarderTestSupport",
                "SimulationSupport",
            ],
            path: "Tests/Simulation/Worlds", swiftSettings: swiftSettings),
        // The same of the Realtime Database.
        .executableTarget(
            name: "LarderRealtimeSimulation",
            dependencies: [
                "LarderCore", "LarderRuntime", "LarderStorage", "LarderRealtimeModel",
                "LarderRealtimeRemote", "LarderRealtimeSync", "LarderRealtimeBackend",
                "LarderRealtimeTestSupport", "LarderSharedTestSupport", "SimulationSupport",
            ],
            path: "Tests/Simulation/RealtimeWorlds", swiftSettings: swiftSettings),
        // What the Realtime Database's test targets share.
        .target(
            name: "LarderRealtimeTestSupport",
            dependencies: [
                "LarderCore", "LarderRuntime", "LarderStorage", "LarderRealtimeModel",
                "LarderRealtimeRemote", "LarderRealtimeSync", "LarderSharedTestSupport",
            ],
            path: "Tests/Realtime/TestSupport", swiftSettings: swiftSettings),
        // Test targets: files mirror the sources, in the same folders.
        .testTarget(
            name: "LarderSharedTests",
            dependencies: [
                "LarderApp", "LarderCore", "LarderDocumentStore", "LarderModel", "LarderRuntime",
                "LarderSharedTestSupport", "LarderTestSupport",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Shared",
            sources: ["App", "Core", "Runtime", "Storage"],
            swiftSettings: swiftSettings),
        // What both databases share on networks: servers and tokens.
        .testTarget(
            name: "LarderNetworkTests",
            dependencies: [
                "LarderCore", "LarderCredentials", "LarderHTTP", "LarderSharedTestSupport",
                "LarderTestSupport",
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
            ],
            path: "Tests/Shared",
            sources: ["Credentials", "HTTP"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderLifecycleTests",
            dependencies: [
                "Larder", "LarderRealtime", "LarderLifecycle", "LarderSharedTestSupport",
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
            ],
            path: "Tests/Lifecycle", swiftSettings: swiftSettings),
        // Documents, queries, their rows and their messages.
        .testTarget(
            name: "LarderDocumentTests",
            dependencies: [
                "LarderCore", "LarderDocumentJSON", "LarderDocumentStore", "LarderModel",
                "LarderPlanning", "LarderQuery", "LarderRemote", "LarderSharedTestSupport",
                "LarderTestSupport", "LarderWire",
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ],
            path: "Tests/Firestore", exclude: ["Wire/Golden"],
            sources: ["JSON", "Model", "Planning", "Query", "Remote/Interface", "Store", "Wire"],
            swiftSettings: swiftSettings),
        // Both sides of the synchronization.
        .testTarget(
            name: "LarderSyncTests",
            dependencies: [
                "LarderBackend", "LarderCore", "LarderDocumentStore", "LarderModel",
                "LarderPlanning", "LarderQuery", "LarderRemote", "LarderSync", "LarderTestSupport",
                .product(name: "OrderedCollections", package: "swift-collections"),
            ],
            path: "Tests/Firestore", exclude: ["Wire/Golden"],
            sources: ["Backend", "Sync"],
            swiftSettings: swiftSettings),
        // The specification tests of Firestore's clients, read from where they lie.
        .testTarget(
            name: "LarderSpecificationTests",
            dependencies: [
                "LarderModel", "LarderDocumentStore", "LarderQuery", "LarderPlanning",
                "LarderRemote", "LarderSync", "LarderTestSupport",
            ],
            path: "Tests/Firestore/Specification", swiftSettings: swiftSettings),
        // The server, the client over gRPC, and both over connections that break.
        .testTarget(
            name: "LarderServerTests",
            dependencies: [
                "Larder", "LarderBackend", "LarderCore", "LarderGRPC", "LarderHTTP",
                "LarderLifecycle", "LarderModel", "LarderNetworkTestSupport", "LarderQuery",
                "LarderRemote", "LarderServer", "LarderTestSupport", "LarderWire",
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(name: "GRPCNIOTransportHTTP2", package: "grpc-swift-nio-transport"),
                .product(name: "GRPCProtobuf", package: "grpc-swift-protobuf"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
            ],
            path: "Tests/Firestore", exclude: ["Wire/Golden"],
            sources: ["Remote/GRPC", "Service", "Sockets"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderTests",
            dependencies: [
                "Larder", "LarderApp", "LarderModel", "LarderDocumentStore", "LarderQuery",
                "LarderPlanning", "LarderRemote", "LarderSync", "LarderBackend",
                "LarderTestSupport", "LarderTestChild", "AppleStyleSample",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Firestore/API", swiftSettings: swiftSettings),
        // The tree, its rules, its rows and its messages.
        .testTarget(
            name: "LarderRealtimeModelTests",
            dependencies: [
                "LarderCore", "LarderRealtimeModel", "LarderRealtimeRemote", "LarderRealtimeRules",
                "LarderRealtimeStore", "LarderRealtimeTestSupport", "LarderRealtimeWire",
                "LarderSharedTestSupport", "LarderStorage",
            ],
            path: "Tests/Realtime",
            sources: ["Model", "Rules", "Store", "Wire"],
            swiftSettings: swiftSettings),
        // Both sides of the synchronization.
        .testTarget(
            name: "LarderRealtimeSyncTests",
            dependencies: [
                "LarderCore", "LarderRealtimeBackend", "LarderRealtimeModel",
                "LarderRealtimeRemote", "LarderRealtimeRules", "LarderRealtimeStore",
                "LarderRealtimeSync", "LarderRealtimeTestSupport", "LarderRuntime",
                "LarderSharedTestSupport", "LarderStorage",
            ],
            path: "Tests/Realtime",
            sources: ["Backend", "Sync"],
            swiftSettings: swiftSettings),
        // The server, the client over WebSockets, and both over connections that break.
        .testTarget(
            name: "LarderRealtimeServerTests",
            dependencies: [
                "LarderCore", "LarderHTTP", "LarderNetworkTestSupport", "LarderRealtime",
                "LarderRealtimeBackend", "LarderRealtimeModel",
                "LarderRealtimeRemote", "LarderRealtimeRules", "LarderRealtimeServer",
                "LarderRealtimeTestSupport", "LarderRealtimeWebSocket",
                "LarderRealtimeWire", "LarderRuntime", "LarderServer", "LarderSharedTestSupport",
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Tests/Realtime",
            sources: ["Remote/WebSocket", "Server", "Sockets"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderRealtimeTests",
            dependencies: [
                "LarderApp", "LarderCore", "LarderRealtime", "LarderRealtimeModel",
                "LarderRealtimeSync", "LarderRealtimeBackend", "LarderRealtimeTestSupport",
                "LarderSharedTestSupport", "LarderRealtimeTestChild",
                "AppleStyleSample",
            ],
            path: "Tests/Realtime/API", swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderSimulationTests",
            dependencies: [
                "LarderRealtimeSimulation", "LarderSimulation", "SimulationSupport",
            ],
            path: "Tests/Simulation",
            sources: ["Tests", "RealtimeTests"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderToolTests",
            dependencies: [
                "Larder", "LarderBackend", "LarderCore", "LarderDaemon", "LarderDocumentStore",
                "LarderModel", "LarderRealtime", "LarderRealtimeBackend", "LarderTestSupport",
                "LarderTool",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/Tools",
            swiftSettings: swiftSettings),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .c17
)

// Test targets to build, where not all are wanted: `make check` builds those that run under a
// sanitizer.
if let names = Context.environment["LARDER_TEST_TARGETS"], !names.isEmpty {
    let kept = Set(names.split(separator: " ").map(String.init))
    package.targets.removeAll { $0.type == .test && !kept.contains($0.name) }
}
