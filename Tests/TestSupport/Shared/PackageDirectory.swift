package import Foundation

/// The checkout that the tests were built from.
package enum PackageDirectory {
    /// The directory with the package's manifest.
    package static let url = {
        var directory = URL(filePath: #filePath).deletingLastPathComponent()
        while directory.path != "/",
            !FileManager.default.fileExists(atPath: directory.appending(path: "Package.swift").path)
        {
            directory.deleteLastPathComponent()
        }
        return directory
    }()

    /// A file or directory of the checkout.
    package static func path(_ path: String) -> URL { url.appending(path: path) }

    /// Where published test suites lie: `LARDER_SPEC_DIR`, or `shared/spec` beside the checkout.
    package static let specifications =
        ProcessInfo.processInfo.environment["LARDER_SPEC_DIR"].map { URL(filePath: $0) }
        ?? url.deletingLastPathComponent().appending(path: "shared/spec")
}
