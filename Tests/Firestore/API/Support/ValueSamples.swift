import Foundation
import LarderModel
import Testing

@testable import Larder

/// What the tests of values share.
enum Sample {
    static let database = DatabaseID(project: "demo")
    static let reader = UserDataReader(databaseID: database, maxDocumentBytes: 1_048_576)

    static func path(_ text: String = "c/d") throws -> DocumentPath { try DocumentPath(text) }

    static func writer(_ behavior: ServerTimestampBehavior = .none) -> UserDataWriter {
        UserDataWriter(serverTimestamps: behavior) { ReferenceStub($0) }
    }

    /// The document that a write of the data stores.
    static func record(_ data: [String: Any]) throws -> Record {
        let mutation = try reader.set(data, at: path())
        guard case .set(let record) = mutation.operation else {
            throw LarderError(.internal, "no set")
        }
        return record
    }

    static func fields(_ data: [String: Any]) throws -> MapValue { try record(data).fields }
}

/// Stands for the references of the API.
final class ReferenceStub: DocumentReferenceConvertible {
    let resourceName: ResourceName
    let databaseID: DatabaseID

    init(_ name: ResourceName) {
        resourceName = name
        databaseID = name.database ?? Sample.database
    }

    convenience init(_ path: String, in database: DatabaseID = Sample.database) throws {
        self.init(ResourceName(database: database, document: try DocumentPath(path)))
    }
}

/// The error that a call throws; fails the test when it throws none.
func failure(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) -> LarderError? {
    do {
        try body()
        Issue.record("nothing was thrown", sourceLocation: sourceLocation)
        return nil
    } catch {
        #expect(error is LarderError, sourceLocation: sourceLocation)
        return error as? LarderError
    }
}
