import Foundation

/// A new directory, removed with all it holds when the last reference goes.
public final class TemporaryDirectory: Sendable {
    /// Where it is.
    public let path: String

    /// Makes the directory.
    public init() throws {
        path = NSTemporaryDirectory() + "larder-test-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of something in it.
    public func file(_ name: String) -> String { path + "/" + name }
}
