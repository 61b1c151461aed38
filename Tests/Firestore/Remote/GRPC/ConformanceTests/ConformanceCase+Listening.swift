import Foundation
import Larder
import LarderModel
import LarderRemote
import LarderTestSupport
import LarderWire
import SwiftProtobuf

/// Listening: what a backend says, and the snapshots that come of it.
///
/// The tests know one target; where they leave it out it is written into their messages. Snapshots
/// are compared that agree with the backend; clients have others besides, made of the cache.
extension ConformanceCase {
    private struct Change: Equatable, CustomStringConvertible {
        let kind: String
        let document: Google_Firestore_V1_Document
        let oldIndex: Int
        let newIndex: Int

        var description: String { "\(kind) \(document.text) \(oldIndex) -> \(newIndex)" }
    }

    private struct Heard: Sendable {
        var snapshots: [QuerySnapshot] = []
        var error: LarderError?
    }

    /// Listens, and compares the snapshots.
    func checkListen() async throws {
        let remote = ConformanceRemote(isManual: true)
        let db = try ConformanceDatabase(remote)
        let heard = Awaited(Heard())
        let listener = db.firestore.collection("C").order(by: "a")
            .addSnapshotListener { snapshot, error in
                heard.change { heard in
                    if let snapshot { heard.snapshots.append(snapshot) }
                    if let error = error as? LarderError { heard.error = error }
                }
            }
        await remote.targets.wait { $0.count == 1 }
        let targetID = remote.targets.value[0].id
        let expected = body["snapshots"]?.listValue.values.map(\.structValue.fields) ?? []
        let times = try expected.map { try Self.time($0["readTime"]) }
        for part in body["responses"]?.listValue.values ?? [] {
            let response = try response(part, targetID)
            remote.say(response)
            guard case .targets(let change) = response, change.targetIDs.isEmpty else { continue }
            guard times.contains(change.readTime) else { continue }
            let count = times.filter { $0 <= change.readTime }.count
            await heard.wait { Self.agreed($0.snapshots).count >= count || $0.error != nil }
        }
        if isError { await heard.wait { $0.error != nil } }
        listener.remove()
        try await db.close()
        let result = heard.value
        guard (result.error != nil) == isError else {
            throw ConformanceFailure("the listener's error: \(result.error as Any)")
        }
        try compare(Self.agreed(result.snapshots), result.snapshots, expected)
    }

    /// The snapshots that agree with the backend.
    private static func agreed(_ snapshots: [QuerySnapshot]) -> [QuerySnapshot] {
        snapshots.filter { !$0.metadata.isFromCache }
    }

    private func compare(
        _ agreed: [QuerySnapshot], _ all: [QuerySnapshot],
        _ expected: [[String: Google_Protobuf_Value]]
    ) throws {
        guard agreed.count == expected.count else {
            throw ConformanceFailure(
                "\(agreed.count) snapshots, not \(expected.count): "
                    + "\(all.flatMap(\.documentChanges).map { "\($0.type) \($0.document.documentID)" })"
            )
        }
        for (snapshot, expected) in zip(agreed, expected) {
            let documents = try snapshot.documents.map { try Self.message(of: $0) }
            let wanted = try (expected["docs"]?.listValue.values ?? []).map(Self.document)
            guard documents == wanted else {
                throw ConformanceFailure(
                    "the documents are \(documents.map(\.text)), not \(wanted.map(\.text))")
            }
            guard let time = snapshot.metadata.freshness.readTime,
                SnapshotVersion(time) == (try Self.time(expected["readTime"]))
            else {
                throw ConformanceFailure(
                    "it is as of \(snapshot.metadata.freshness.readTime as Any)")
            }
        }
        // Snapshots from the cache meanwhile are a part of the changes, too.
        let changes = try all.flatMap(\.documentChanges).map { change in
            Change(
                kind: "\(change.type)".uppercased(),
                document: try Self.message(of: change.document),
                oldIndex: change.oldIndex == UInt(NSNotFound) ? -1 : Int(change.oldIndex),
                newIndex: change.newIndex == UInt(NSNotFound) ? -1 : Int(change.newIndex))
        }
        let wanted = try expected.flatMap { $0["changes"]?.listValue.values ?? [] }.map { value in
            let fields = value.structValue.fields
            return Change(
                kind: fields["kind"]?.stringValue ?? "",
                document: try Self.document(fields["doc"] ?? Google_Protobuf_Value()),
                oldIndex: Int(fields["oldIndex"]?.numberValue ?? 0),
                newIndex: Int(fields["newIndex"]?.numberValue ?? 0))
        }
        guard changes == wanted else {
            throw ConformanceFailure("the changes are \(changes), not \(wanted)")
        }
    }

    /// A response of the test, about its target.
    private func response(
        _ part: Google_Protobuf_Value, _ targetID: Int32
    ) throws -> WatchResponse {
        var message = try part.message(of: Google_Firestore_V1_ListenResponse.self)
        let renamed = { (ids: [Int32]) in ids.map { $0 == 1 ? targetID : $0 } }
        switch message.responseType {
        case .targetChange(var change):
            change.targetIds = renamed(change.targetIds)
            message.targetChange = change
        case .documentChange(var change):
            change.targetIds = renamed(change.targetIds)
            change.removedTargetIds = renamed(change.removedTargetIds)
            message.documentChange = change
        case .documentDelete: message.documentDelete.removedTargetIds = [targetID]
        case .documentRemove: message.documentRemove.removedTargetIds = [targetID]
        case .filter: message.filter.targetID = targetID
        case nil: break
        }
        return try MessageCoder(ConformanceDatabase.id).decode(message)
    }

    private static func time(_ value: Google_Protobuf_Value?) throws -> SnapshotVersion {
        try SnapshotVersion(
            Google_Protobuf_Timestamp(jsonString: "\"\(value?.stringValue ?? "")\""))
    }

    private static func document(_ value: Google_Protobuf_Value) throws
        -> Google_Firestore_V1_Document
    {
        var document = try value.message(of: Google_Firestore_V1_Document.self)
        // Snapshots of clients do not have them.
        document.clearCreateTime()
        document.clearUpdateTime()
        return document
    }

    private static func message(of document: QueryDocumentSnapshot) throws
        -> Google_Firestore_V1_Document
    {
        var message = Google_Firestore_V1_Document()
        message.name = "\(ConformanceDatabase.id)/documents/\(document.reference.path)"
        for (name, value) in document.data() {
            guard let number = value as? Int else { throw ConformanceFailure("\(value)") }
            message.fields.append(
                .with {
                    $0.key = name
                    $0.value.integerValue = Int64(number)
                })
        }
        return message
    }
}

extension Google_Firestore_V1_Document {
    fileprivate var text: String {
        let numbers = fields.map { "\($0.key): \($0.value.integerValue)" }
        return "\(name.split(separator: "/").last ?? "") {\(numbers.joined(separator: ", "))}"
    }
}
