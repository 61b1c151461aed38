import Foundation
package import LarderModel
import LarderQuery
package import LarderRemote
import SwiftProtobuf

extension MessageCoder {
    /// The label that names the purpose of a target.
    private static let purposeLabel = "goog-listen-tags"
    /// The label with the client's last token in Base64, sent to our backends only.
    private static let tokenLabel = "larder-token"

    /// Encodes a request of a Listen stream.
    ///
    /// - Throws: `invalidArgument` for a target with values that exist only locally.
    package func encode(_ request: WatchRequest)
        throws(LarderError) -> Google_Firestore_V1_ListenRequest
    {
        var message = Google_Firestore_V1_ListenRequest()
        message.database = "\(database)"
        switch request {
        case .add(let target):
            message.addTarget = try encode(target)
            message.labels[Self.purposeLabel] = target.purpose.label
            if target.lastToken.starts(with: larderTokenMark) {
                message.labels[Self.tokenLabel] = Data(target.lastToken).base64EncodedString()
            }
        case .remove(let targetID): message.removeTarget = targetID
        }
        return message
    }

    /// Decodes a request of a Listen stream.
    ///
    /// - Throws: `invalidArgument` for an empty request, another database, a target ID that is not
    ///   positive, or an invalid query; `unimplemented` for an offset or a limit of 0.
    package func decode(_ request: Google_Firestore_V1_ListenRequest)
        throws(LarderError) -> WatchSelection
    {
        try check(database: request.database)
        switch request.targetChange {
        case nil: throw .invalidArgument("the request neither adds nor removes a target")
        case .removeTarget(let targetID): return WatchSelection(.remove(targetID: targetID))
        case .addTarget(let message):
            var (target, mask) = try decode(message)
            target.purpose = .init(label: request.labels[Self.purposeLabel])
            if let token = request.labels[Self.tokenLabel].flatMap({ Data(base64Encoded: $0) }),
                token.count <= limits.maxTokenBytes
            {
                target.lastToken = [UInt8](token)
            }
            return WatchSelection(.add(target), mask: mask, isOnce: message.once)
        }
    }

    private func encode(_ target: WatchTarget) throws(LarderError) -> Google_Firestore_V1_Target {
        var message = Google_Firestore_V1_Target()
        message.targetID = target.id
        if case .document(let path) = target.target.source {
            message.documents.documents = [encode(path)]
            for case .document(let path) in target.others.map(\.source) {
                message.documents.documents.append(encode(path))
            }
        } else {
            (message.query.parent, message.query.structuredQuery) = try encode(target.target)
        }
        switch target.resumption {
        case .none: return message
        case .token(let token): message.resumeToken = Data(token)
        case .readTime(let version): message.readTime = .init(version)
        }
        if let count = target.expectedCount {
            message.expectedCount = Google_Protobuf_Int32Value(Int32(clamping: count))
        }
        return message
    }

    private func decode(_ message: Google_Firestore_V1_Target)
        throws(LarderError) -> (target: WatchTarget, mask: FieldMask?)
    {
        guard message.targetID > 0 else {
            throw .invalidArgument("the target ID \(message.targetID) is not positive")
        }
        let asked = try decode(message.targetType)
        var target = WatchTarget(
            id: message.targetID, target: asked.first, others: asked.others)
        switch message.resumeType {
        case nil: return (target, asked.mask)
        case .resumeToken(let token):
            guard token.count <= limits.maxTokenBytes else {
                throw .invalidArgument("a resume token of \(token.count) bytes")
            }
            if !token.isEmpty { target.resumption = .token([UInt8](token)) }
        case .readTime(let time):
            let version = try SnapshotVersion(time)
            if !version.isNone { target.resumption = .readTime(version) }
        }
        if target.resumption != .none, message.hasExpectedCount {
            guard message.expectedCount.value >= 0 else {
                throw .invalidArgument("an expected count of \(message.expectedCount.value)")
            }
            target.expectedCount = Int(message.expectedCount.value)
        }
        return (target, asked.mask)
    }

    private func decode(_ type: Google_Firestore_V1_Target.OneOf_TargetType?)
        throws(LarderError) -> (first: QueryTarget, others: [QueryTarget], mask: FieldMask?)
    {
        switch type {
        case nil: throw .invalidArgument("a target has neither documents nor a query")
        case .documents(let names):
            // Duplicate names are ignored.
            var seen: Set<DocumentPath> = []
            var targets: [QueryTarget] = []
            for name in names.documents {
                let path = try decode(documentName: name)
                if seen.insert(path).inserted { targets.append(Query(.document(path)).target) }
            }
            guard let first = targets.first else {
                throw .invalidArgument("a target names no document")
            }
            return (first, Array(targets.dropFirst()), nil)
        case .query(let query):
            guard case .structuredQuery(let message)? = query.queryType else {
                throw .invalidArgument("a target has no query")
            }
            let selection = try decode(message, below: query.parent)
            guard selection.offset == 0, !selection.isEmpty else {
                throw .unimplemented("a target with an offset or a limit of 0")
            }
            return (selection.query.target, [], selection.mask)
        }
    }
}

extension WatchTarget.Purpose {
    fileprivate var label: String? {
        switch self {
        case .listen: nil
        case .existenceFilterMismatch: "existence-filter-mismatch"
        case .existenceFilterMismatchBloom: "existence-filter-mismatch-bloom"
        case .limboResolution: "limbo-document"
        }
    }

    /// The purpose of a label; ``listen`` for an unknown one.
    fileprivate init(label: String?) {
        let others: [Self] = [
            .existenceFilterMismatch, .existenceFilterMismatchBloom, .limboResolution,
        ]
        self = others.first { label != nil && $0.label == label } ?? .listen
    }
}

// MARK: - Selections

/// A request of a Listen stream, with the projection of its target.
package struct WatchSelection: Sendable {
    package var request: WatchRequest
    /// The fields to send; nil for all, empty for the name only.
    package var mask: FieldMask?
    /// Whether the target is removed once it is current.
    package var isOnce: Bool

    package init(_ request: WatchRequest, mask: FieldMask? = nil, isOnce: Bool = false) {
        self.request = request
        self.mask = mask
        self.isOnce = isOnce
    }
}
