import Foundation
import LarderTestSupport
import SwiftProtobuf

/// One of the published tests of the protocol.
struct ConformanceCase: Sendable {
    /// The name of its file.
    let name: String
    /// What is tried, such as `updatePaths`.
    let kind: String
    /// What is done, and what is expected of it.
    let body: [String: Google_Protobuf_Value]

    init(file: URL) throws {
        name = file.deletingPathExtension().lastPathComponent
        let content = try Google_Protobuf_Struct(jsonUTF8Data: try Data(contentsOf: file))
        guard let test = content.fields["tests"]?.listValue.values.first?.structValue,
            let kind = test.fields.keys.first(where: { $0 != "description" && $0 != "comment" })
        else { throw ConformanceFailure("it has no test") }
        self.kind = kind
        body = test.fields[kind]?.structValue.fields ?? [:]
    }

    /// Whether an error is expected.
    var isError: Bool { body["isError"]?.boolValue ?? false }

    /// The path of its document.
    var documentPath: String { Self.path(body["docRefPath"]?.stringValue ?? "") }

    /// What is behind the database in a name.
    static func path(_ name: String) -> String {
        name.components(separatedBy: "/documents/").last ?? name
    }

    /// A part of it as a message.
    func message<M: SwiftProtobuf.Message>(_ key: String, of type: M.Type = M.self) throws -> M {
        guard let part = body[key] else { throw ConformanceFailure("it has no '\(key)'") }
        return try part.message(of: type)
    }

    /// The tests below what `LARDER_SPEC_DIR` names, or beside the package; nil where there are
    /// none.
    static func all() throws -> [ConformanceCase]? {
        let directory = PackageDirectory.specifications.appending(path: "conformance")
        guard FileManager.default.fileExists(atPath: directory.path) else { return nil }
        return try FileManager.default.contentsOfDirectory(
            at: directory, includingPropertiesForKeys: nil
        ).filter { $0.pathExtension == "json" }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
            .map { try ConformanceCase(file: $0) }
    }
}

/// How a test has failed.
struct ConformanceFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
