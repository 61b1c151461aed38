// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that users of Larder never resolve what only measuring needs.
let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "larder", path: ".."),
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.0", traits: []),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        // The clients of both databases beside raw LMDB and SQLite through GRDB, the limits judged.
        .executableTarget(
            name: "ClientBenchmarks",
            dependencies: [
                "Floor", "Measuring", "Workload",
                .product(name: "Larder", package: "larder"),
                .product(name: "LarderRealtime", package: "larder"),
                .product(name: "LarderRealtimeBackend", package: "larder"),
                .product(name: "LarderStorage", package: "larder"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Client"),
        // The Swift face: what it adds to the C core, which C/larder-bench measures.
        .executableTarget(
            name: "StorageBenchmarks",
            dependencies: [
                "Workload",
                .product(name: "LarderStorage", package: "larder"),
                .product(name: "Benchmark", package: "benchmark"),
            ],
            path: "StorageBenchmarks",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]),
        // Clocks, memory, medians; BenchmarkMeasuring in the package above.
        .target(name: "Measuring", path: "Measuring"),
        // The C program's documents as values of Larder.
        .target(
            name: "Workload",
            dependencies: ["Floor", .product(name: "LarderStorage", package: "larder")],
            path: "Workload"),
        // The C program's documents, and hand-written loops over LMDB that hold them.
        .target(
            name: "Floor",
            path: "C",
            sources: [
                "generator.c", "raw_record.c", "json.c", "measure.c", "tree_workload.c",
                "trees_raw.c", "floor",
            ],
            publicHeadersPath: "floor/include",
            cSettings: [.define("_GNU_SOURCE"), .define("NDEBUG", .when(configuration: .release))],
            linkerSettings: [.linkedLibrary("lmdb")]),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .c17
)
