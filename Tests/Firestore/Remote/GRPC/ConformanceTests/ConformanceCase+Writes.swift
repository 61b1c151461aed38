import Larder
import LarderModel
import LarderRemote
import LarderTestSupport
import LarderWire
import SwiftProtobuf

/// Writes: what an application does, and the request that comes of it.
///
/// Clients have no method of these names with a precondition of a caller's choice. A transaction
/// makes the same requests: of what it read follows that a document must not exist yet, or must be
/// of a version still.
extension ConformanceCase {
    /// Makes the write, and compares the request.
    func checkWrite() async throws {
        let time = body["precondition"]?.structValue.fields["updateTime"]?.stringValue
        var version = SnapshotVersion.none
        if let time {
            version = try SnapshotVersion(Google_Protobuf_Timestamp(jsonString: "\"\(time)\""))
        }
        let remote = ConformanceRemote(version: version)
        let db = try ConformanceDatabase(remote)
        do {
            try await kind == "create" || time != nil ? transact(db.firestore) : write(db.firestore)
        } catch {
            try await db.close()
            guard isError, (error as? LarderError)?.kind == .invalidArgument else { throw error }
            guard remote.writes.value.isEmpty else {
                throw ConformanceFailure("a request was made in spite of the error")
            }
            return
        }
        try await db.close()
        let coder = MessageCoder(ConformanceDatabase.id)
        let requests = try remote.writes.value.map { try coder.encode(committing: $0) }
        if isError { throw ConformanceFailure("there is no error but \(try requests.text)") }
        let expected: Google_Firestore_V1_CommitRequest = try message("request")
        guard requests == [expected] else {
            throw ConformanceFailure(
                "the request is \(try requests.text), not \(try expected.jsonString())")
        }
    }

    private func write(_ db: Firestore) async throws {
        let document = db.document(documentPath)
        let handle: WriteHandle
        switch kind {
        case "set":
            let option = body["option"]?.structValue.fields
            if let fields = option?["fields"] {
                handle = document.enqueueSetData(
                    try data(), mergeFields: fields.listValue.values.map(\.fieldPath))
            } else {
                let isMerge = option?["all"]?.boolValue ?? false
                handle = document.enqueueSetData(try data(), merge: isMerge)
            }
        case "update": handle = document.enqueueUpdateData(try data())
        case "updatePaths": handle = document.enqueueUpdateData(try pathData())
        case "delete": handle = document.enqueueDelete()
        default: throw ConformanceFailure("'\(kind)' is no write")
        }
        try await handle.acknowledged()
    }

    private func transact(_ db: Firestore) async throws {
        let fields = try Transferable(data())
        _ = try await db.runTransaction { [kind, documentPath] transaction, problem in
            let document = db.document(documentPath)
            do {
                _ = try transaction.getDocument(document)
            } catch {
                problem?.pointee = error as? LarderError
                return nil
            }
            switch kind {
            case "create": transaction.setData(fields.value, forDocument: document)
            case "delete": transaction.deleteDocument(document)
            default: transaction.updateData(fields.value, forDocument: document)
            }
            return nil
        }
    }

    /// The fields of an update by paths.
    private func pathData() throws -> [AnyHashable: Any] {
        let paths = body["fieldPaths"]?.listValue.values.map(\.fieldPath) ?? []
        let values = body["jsonValues"]?.listValue.values.map(\.stringValue) ?? []
        guard Set(paths).count == paths.count else {
            throw ConformanceFailure("a dictionary has no key twice")
        }
        var data: [AnyHashable: Any] = [:]
        for (path, text) in zip(paths, values) {
            data[path] = try Google_Protobuf_Value(text: text).userValue
        }
        return data
    }
}

/// Fields that no two threads use at a time.
private struct Transferable: @unchecked Sendable {
    // The test makes them, and the transaction alone reads them.
    let value: [String: Any]

    init(_ value: [String: Any]) {
        self.value = value
    }
}

extension [Google_Firestore_V1_CommitRequest] {
    fileprivate var text: String {
        get throws { try "\(map { try $0.jsonString() })" }
    }
}
