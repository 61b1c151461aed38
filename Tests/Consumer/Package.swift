// swift-tools-version: 6.2
// A package outside Larder that depends on it, as an application does: Tests/Checks/consumer.sh
// builds and runs it. It must not need anything but the product that it names.
import PackageDescription

let package = Package(
    name: "consumer",
    dependencies: [.package(name: "larder", path: "../..")],
    targets: [
        .executableTarget(
            name: "Consumer", dependencies: [.product(name: "LarderStorage", package: "larder")])
    ]
)
