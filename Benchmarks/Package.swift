// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that users of Larder never resolve what only measuring needs.
let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "larder", path: ".."),
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.0", traits: []),
    ],
    targets: [
        // The Swift face: what it adds to the C core, which C/larder-bench measures.
        .executableTarget(
            name: "StorageBenchmarks",
            dependencies: [
                .product(name: "LarderStorage", package: "larder"),
                .product(name: "Benchmark", package: "benchmark"),
            ],
            path: "StorageBenchmarks",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")])
    ],
    swiftLanguageModes: [.v6]
)
