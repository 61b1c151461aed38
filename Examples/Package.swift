// swift-tools-version: 6.2
// Programs that use Larder as an application does; README.md explains them. An application names
// Larder by its URL instead of the path, and the traits that it needs: these programs Networking.
import PackageDescription

let package = Package(
    name: "larder-examples",
    dependencies: [
        .package(name: "larder", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // Orders of a café over HTTP.
        .executableTarget(
            name: "OrderService",
            dependencies: [
                .product(name: "Larder", package: "larder"),
                .product(name: "LarderBackend", package: "larder"),
                .product(name: "LarderGRPC", package: "larder"),
                .product(name: "LarderLifecycle", package: "larder"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        // A till of the café, which also works without a network.
        .executableTarget(
            name: "Kiosk",
            dependencies: [
                .product(name: "Larder", package: "larder"),
                .product(name: "LarderGRPC", package: "larder"),
                .product(name: "LarderRealtime", package: "larder"),
                .product(name: "LarderRealtimeWebSocket", package: "larder"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)]),
    ],
    swiftLanguageModes: [.v6]
)
