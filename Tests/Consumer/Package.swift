// swift-tools-version: 6.2
// A package outside Larder that depends on it, as applications do: Tests/Checks/consumer.sh builds
// and runs it with all traits, traits.sh without. Each program must need nothing but the products
// that it names.
import PackageDescription

let package = Package(
    name: "consumer",
    traits: [.trait(name: "All", description: "all traits of Larder; the program ServerConsumer")],
    dependencies: [
        .package(
            name: "larder", path: "../..",
            traits: [.trait(name: "Tools", condition: .when(traits: ["All"]))]),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    ],
    targets: [
        .executableTarget(
            name: "Consumer", dependencies: [.product(name: "Larder", package: "larder")]),
        .executableTarget(
            name: "StorageConsumer",
            dependencies: [.product(name: "LarderStorage", package: "larder")]),
        .executableTarget(
            name: "RealtimeConsumer",
            dependencies: [.product(name: "LarderRealtime", package: "larder")]),
        .executableTarget(
            name: "ServerConsumer",
            dependencies: [
                .product(
                    name: "LarderServer", package: "larder", condition: .when(traits: ["All"])),
                .product(name: "Logging", package: "swift-log"),
            ]),
        .executableTarget(
            name: "BothConsumer",
            dependencies: [
                .product(name: "Larder", package: "larder"),
                .product(name: "LarderRealtime", package: "larder"),
            ]),
    ]
)

// A product whose trait is not set, which the compiler is to refuse with the trait's name.
if let product = Context.environment["LARDER_PRODUCT_WITHOUT_TRAIT"] {
    package.targets.append(
        .executableTarget(
            name: "RefusedConsumer", dependencies: [.product(name: product, package: "larder")]))
}
