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

let package = Package(
    name: "larder",
    products: [
        .library(name: "Larder", targets: ["Larder"]),
        .library(name: "LarderStorage", targets: ["LarderModel", "LarderStorage"]),
        .executable(name: "larder", targets: ["LarderTool"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
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
        // The C core behind larder.h: records, tables, accounting, eviction.
        .target(
            name: "CLarder", dependencies: ["CLMDB", "CZstd"], path: "CSources/larder",
            exclude: ["Makefile", "larder.pc.in", "larder.symbols"],
            sources: ["src"], publicHeadersPath: "include", cSettings: cSettings,
            linkerSettings: [.linkedLibrary("lmdb"), .linkedLibrary("zstd")]),
        // Paths, values, and documents over record bytes.
        .target(name: "LarderModel", dependencies: ["CLarder"], swiftSettings: swiftSettings),
        // The Swift face of the C tables: scoped transactions, typed tables.
        .target(
            name: "LarderStorage", dependencies: ["LarderModel", "CLarder"],
            swiftSettings: swiftSettings),
        // Queries as data; the matcher and comparator; result sets and their differences.
        .target(
            name: "LarderQuery",
            dependencies: [
                "LarderModel", .product(name: "HashTreeCollections", package: "swift-collections"),
            ],
            swiftSettings: swiftSettings),
        // Local store, planner, views, listeners, pending writes: the order of events.
        .target(
            name: "LarderSync",
            dependencies: [
                "LarderModel", "LarderStorage", "LarderQuery",
                .product(name: "HashTreeCollections", package: "swift-collections"),
            ],
            swiftSettings: swiftSettings),
        // What applications import: the Firestore API.
        .target(
            name: "Larder",
            dependencies: [
                "LarderModel", "LarderStorage", "LarderQuery", "LarderSync",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: swiftSettings),
        // The command-line tool `larder`.
        .executableTarget(
            name: "LarderTool",
            dependencies: [
                "Larder", "LarderModel", "LarderStorage",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: swiftSettings),
        // A part of Benchmarks that needs package access; in no product, so that nobody who
        // depends on this package builds it.
        .executableTarget(
            name: "AcknowledgementBenchmark",
            dependencies: ["LarderModel", "LarderStorage", "LarderSync"],
            path: "Benchmarks/Acknowledgement", swiftSettings: swiftSettings),
        // What several test targets share: directories, random values, plain models.
        .target(
            name: "LarderTestSupport", dependencies: ["LarderModel", "LarderQuery"],
            path: "Tests/LarderTestSupport", swiftSettings: swiftSettings),
        // Code as applications of Apple's SDK have it, with nothing changed but its import.
        .target(
            name: "AppleStyleSample", dependencies: ["Larder"], path: "Tests/AppleStyleSample",
            swiftSettings: [.treatAllWarnings(as: .error)]),
        // A process that tests of Larder start and kill.
        .executableTarget(
            name: "LarderTestChild", dependencies: ["Larder", "LarderTestSupport"],
            path: "Tests/LarderTestChild", swiftSettings: swiftSettings),
        // One test target a module, files mirroring its sources.
        .testTarget(
            name: "LarderModelTests", dependencies: ["LarderModel", "LarderTestSupport"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderStorageTests",
            dependencies: ["LarderModel", "LarderStorage", "LarderTestSupport"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderQueryTests",
            dependencies: ["LarderModel", "LarderQuery", "LarderTestSupport"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderSyncTests",
            dependencies: [
                "LarderModel", "LarderStorage", "LarderQuery", "LarderSync", "LarderTestSupport",
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderTests",
            dependencies: [
                "Larder", "LarderModel", "LarderStorage", "LarderQuery", "LarderSync",
                "LarderTestSupport", "LarderTestChild", "AppleStyleSample",
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderToolTests", dependencies: ["LarderModel", "LarderStorage", "LarderTool"],
            swiftSettings: swiftSettings),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .c17
)
