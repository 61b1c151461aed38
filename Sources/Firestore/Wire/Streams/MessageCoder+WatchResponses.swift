import Foundation
package import LarderModel
package import LarderRemote

extension MessageCoder {
    /// Encodes a response of a Listen stream.
    ///
    /// - Parameter mask: the fields of a document to send; nil for all.
    /// - Throws: `dataLoss` for a damaged document; `invalidArgument` for a pending server
    ///   timestamp.
    package func encode(_ response: WatchResponse, mask: FieldMask? = nil)
        throws(LarderError) -> Response<Google_Firestore_V1_ListenResponse>
    {
        var message = Google_Firestore_V1_ListenResponse()
        switch response {
        case .targets(let change):
            guard case .removed(let error?) = change.kind else { return encode(change) }
            message.targetChange.targetChangeType = change.kind.message
            message.targetChange.targetIds = change.targetIDs
            message.targetChange.cause = Google_Rpc_Status(error)
            message.targetChange.resumeToken = Data(change.resumeToken)
            if !change.readTime.isNone {
                message.targetChange.readTime = .init(change.readTime)
            }
        case .document(let reading, let targetIDs, let removedTargetIDs):
            switch reading.contents {
            case .found(let record, let createTime):
                guard mask == nil else {
                    message.documentChange.document = try encode(
                        record, at: reading.path, mask: mask, createTime: createTime,
                        updateTime: reading.version)
                    message.documentChange.targetIds = targetIDs
                    message.documentChange.removedTargetIds = removedTargetIDs
                    return .message(message)
                }
                return try encode(
                    changeOf: reading.path, to: record, createTime, reading.version,
                    targetIDs: targetIDs, removedTargetIDs: removedTargetIDs)
            case .absent:
                // For the targets it was in, a deleted document has been removed.
                message.documentDelete.document = encode(reading.path)
                message.documentDelete.removedTargetIds = removedTargetIDs + targetIDs
                message.documentDelete.readTime = .init(reading.version)
            }
        case .unreadable(_, let error, _, _): throw error
        case .removed(let path, let removedTargetIDs):
            message.documentRemove.document = encode(path)
            message.documentRemove.removedTargetIds = removedTargetIDs
        case .existenceFilter(let targetID, let count, let unchanged):
            message.filter.targetID = targetID
            message.filter.count = Int32(clamping: count)
            if let unchanged { message.filter.unchangedNames = encode(unchanged) }
        }
        return .message(message)
    }

    /// Decodes a response of a Listen stream; bloom filters are not validated.
    ///
    /// An invalid or too large document is ``WatchResponse/unreadable(_:_:targetIDs:removedTargetIDs:)``:
    /// it concerns its targets only.
    ///
    /// - Throws: `internal` for an unknown kind of message, or other invalid data.
    package func decode(_ response: Google_Firestore_V1_ListenResponse)
        throws(LarderError) -> WatchResponse
    {
        try answer { () throws(LarderError) in
            switch response.responseType {
            case nil: throw .invalidArgument("it is of an unknown kind")
            case .targetChange(let change): return .targets(try decode(change))
            case .documentChange(let change): return try decode(change)
            case .documentDelete(let delete):
                let reading = DocumentReading(
                    path: try decode(documentName: delete.document), contents: .absent,
                    version: try SnapshotVersion(delete.readTime))
                return .document(
                    reading, targetIDs: [], removedTargetIDs: delete.removedTargetIds)
            case .documentRemove(let remove):
                return .removed(
                    try decode(documentName: remove.document),
                    removedTargetIDs: remove.removedTargetIds)
            case .filter(let filter):
                guard filter.count >= 0 else {
                    throw .invalidArgument("an existence filter of \(filter.count) documents")
                }
                return .existenceFilter(
                    targetID: filter.targetID, count: Int(filter.count),
                    unchanged: filter.hasUnchangedNames
                        ? BloomFilterBits(filter.unchangedNames) : nil)
            }
        }
    }

    private func decode(_ change: Google_Firestore_V1_DocumentChange)
        throws(LarderError) -> WatchResponse
    {
        do throws(LarderError) {
            return .document(
                try answer { () throws(LarderError) in try decode(found: change.document) },
                targetIDs: change.targetIds, removedTargetIDs: change.removedTargetIds)
        } catch {
            // Anything else, such as exhausted memory, is no property of the document.
            guard error.kind == .internal,
                !change.targetIds.isEmpty || !change.removedTargetIds.isEmpty
            else { throw error }
            return .unreadable(
                try? decode(documentName: change.document.name), error,
                targetIDs: change.targetIds, removedTargetIDs: change.removedTargetIds)
        }
    }

    private func decode(_ message: Google_Firestore_V1_TargetChange)
        throws(LarderError) -> TargetChange
    {
        let kind: TargetChange.Kind =
            switch message.targetChangeType {
            case .noChange: .none
            case .add: .added
            case .remove: .removed(message.hasCause ? LarderError(message.cause) : nil)
            case .current: .current
            case .reset: .reset
            case .UNRECOGNIZED(let number):
                throw .invalidArgument("a target change of the unknown kind \(number)")
            }
        guard message.resumeToken.count <= limits.maxTokenBytes else {
            throw .invalidArgument("a resume token of \(message.resumeToken.count) bytes")
        }
        return TargetChange(
            kind, targetIDs: message.targetIds, resumeToken: [UInt8](message.resumeToken),
            readTime: message.targetIds.isEmpty && message.hasReadTime
                ? try SnapshotVersion(message.readTime) : .none)
    }

    private func encode(_ bits: BloomFilterBits) -> Google_Firestore_V1_BloomFilter {
        var message = Google_Firestore_V1_BloomFilter()
        message.bits.bitmap = Data(bits.bitmap)
        message.bits.padding = Int32(clamping: bits.padding)
        message.hashCount = Int32(clamping: bits.hashCount)
        return message
    }
}

extension TargetChange.Kind {
    var message: Google_Firestore_V1_TargetChange.TargetChangeType {
        switch self {
        case .none: .noChange
        case .added: .add
        case .removed: .remove
        case .current: .current
        case .reset: .reset
        }
    }
}

extension BloomFilterBits {
    fileprivate init(_ message: Google_Firestore_V1_BloomFilter) {
        self.init(
            bitmap: [UInt8](message.bits.bitmap), padding: Int(message.bits.padding),
            hashCount: Int(message.hashCount))
    }
}
