import Foundation
import LarderTestSupport

/// The tests of one file.
struct SpecSuite: Sendable {
    /// The file's name without its ending.
    let name: String
    /// In the order of their names.
    let tests: [SpecTest]

    init(file: URL) throws {
        name = file.lastPathComponent.replacingOccurrences(of: "_spec_test.json", with: "")
        let root = SpecNode(try JSONValue(parsing: Data(contentsOf: file)), at: name)
        guard case .object(let members) = root.value else {
            throw root.failure("a suite is an object")
        }
        tests = try members.sorted { $0.key < $1.key }.map { key, value in
            try SpecTest(SpecNode(value, at: "\(root.place) '\(key)'"))
        }
    }

    /// Where the suites are, as `LARDER_SPEC_DIR` or the checkout says; nil where there are none.
    static var directory: URL? {
        let directory = PackageDirectory.specifications.appending(path: "firestore")
        return FileManager.default.fileExists(atPath: directory.path) ? directory : nil
    }

    /// Every file of suites in a directory, by name.
    static func files(in directory: URL) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: directory, includingPropertiesForKeys: nil
        ).filter { $0.lastPathComponent.hasSuffix("_spec_test.json") }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
    }
}
