// swift-tools-version: 6.2
import PackageDescription

// A package of its own: module names must be unique in an application's package graph, and one that
// also uses Apple's SDK, for another platform, has modules of these names already.
let package = Package(
    name: "larder-compatibility",
    products: [
        .library(name: "FirebaseCore", targets: ["FirebaseCore"]),
        .library(name: "FirebaseFirestore", targets: ["FirebaseFirestore"]),
        .library(name: "FirebaseDatabase", targets: ["FirebaseDatabase"]),
        .library(name: "Firebase", targets: ["Firebase"]),
        .library(name: "FirebaseFirestoreSwift", targets: ["FirebaseFirestoreSwift"]),
        .library(name: "FirebaseSharedSwift", targets: ["FirebaseSharedSwift"]),
    ],
    // Larder's own checks build this package with the modules that they have compiled with all traits.
    traits: [.trait(name: "All", description: "all traits of Larder")],
    dependencies: [
        .package(
            name: "larder", path: "..",
            traits: [.trait(name: "Tools", condition: .when(traits: ["All"]))])
    ],
    targets: [
        // Application objects and options, and the types that both databases share.
        .target(
            name: "FirebaseCore", dependencies: [.product(name: "Larder", package: "larder")]),
        // Firestore.
        .target(
            name: "FirebaseFirestore",
            dependencies: ["FirebaseCore", .product(name: "Larder", package: "larder")]),
        // The Realtime Database.
        .target(
            name: "FirebaseDatabase",
            dependencies: ["FirebaseCore", .product(name: "LarderRealtime", package: "larder")]),
        // Both databases, as in Apple's CocoaPods and earlier packages.
        .target(
            name: "Firebase",
            dependencies: ["FirebaseCore", "FirebaseFirestore", "FirebaseDatabase"]),
        // What was a module of its own until Apple's version 11.
        .target(name: "FirebaseFirestoreSwift", dependencies: ["FirebaseFirestore"]),
        // The coders of plain data.
        .target(
            name: "FirebaseSharedSwift",
            dependencies: [.product(name: "LarderRealtime", package: "larder")]),
        .testTarget(
            name: "ImportTests",
            dependencies: ["Firebase", "FirebaseFirestoreSwift", "FirebaseSharedSwift"],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        // An application as it is written for Apple's SDK, import lines included.
        .target(
            name: "HikingClub",
            dependencies: ["FirebaseCore", "FirebaseFirestore", "FirebaseDatabase"],
            path: "Tests/HikingClub",
            swiftSettings: [.treatAllWarnings(as: .error), .swiftLanguageMode(.v5)]),
        .testTarget(
            name: "HikingClubTests",
            dependencies: [
                "HikingClub", "FirebaseFirestore", "FirebaseDatabase",
                .product(name: "LarderBackend", package: "larder"),
                .product(name: "LarderRealtimeBackend", package: "larder"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)]),
    ]
)

// Apple's own test sources, which Tests/Checks/compatibility.sh copies here from a checkout.
if Context.environment["FIREBASE_IOS_SDK"] != nil {
    let sources = ".build/apple/"
    package.targets += [
        // What Apple's tests need besides: their test case in Objective-C, and a bit of Combine.
        .target(
            name: "AppleTestSupport",
            dependencies: [
                "FirebaseFirestore", .product(name: "LarderBackend", package: "larder"),
            ],
            path: "Tests/AppleTestSupport", swiftSettings: [.swiftLanguageMode(.v5)]),
        .target(name: "Combine", path: "Tests/Combine"),
        .testTarget(
            name: "AppleFirestoreTests",
            dependencies: ["FirebaseCore", "FirebaseFirestore", "AppleTestSupport", "Combine"],
            path: sources + "firestore", swiftSettings: [.swiftLanguageMode(.v5)]),
        .testTarget(
            name: "AppleDatabaseTests",
            dependencies: ["FirebaseCore", "FirebaseDatabase", "AppleTestSupport"],
            path: sources + "database", swiftSettings: [.swiftLanguageMode(.v5)]),
        .testTarget(
            name: "AppleSharedTests", dependencies: ["FirebaseSharedSwift", "AppleTestSupport"],
            path: sources + "shared", swiftSettings: [.swiftLanguageMode(.v5)]),
    ]
}
