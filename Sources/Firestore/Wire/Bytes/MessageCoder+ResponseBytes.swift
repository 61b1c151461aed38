package import Foundation
package import LarderModel
package import LarderRemote

/// What answers mostly are, as bytes without messages in between: documents, unless a mask leaves
/// some of their fields out, and that targets go on.
extension MessageCoder {
    /// An answer of a query: a document that it has found, or none.
    ///
    /// - Parameters:
    ///   - mask: names the fields of the document that are told; nil for all.
    ///   - readTime: as of when it is so.
    ///   - transaction: the transaction that was opened with it, if one was.
    ///   - skippedResults: how many documents an offset has left out before this.
    /// - Throws: as ``encode(_:at:mask:createTime:updateTime:)``.
    package func encode(
        _ document: Document?, mask: FieldMask? = nil, readTime: SnapshotVersion,
        transaction: Data = Data(), skippedResults: Int = 0
    ) throws(LarderError) -> Response<Google_Firestore_V1_RunQueryResponse> {
        let skipped = Int32(clamping: skippedResults)
        guard let document, let record = document.record, mask == nil else {
            var answer = Google_Firestore_V1_RunQueryResponse()
            if let message = try document.flatMap({ document throws(LarderError) in
                try encode(document, mask: mask)
            }) {
                answer.document = message
            }
            answer.readTime = .init(readTime)
            answer.transaction = transaction
            answer.skippedResults = skipped
            return .message(answer)
        }
        return try .writing { writer throws(LarderError) in
            if skipped != 0 { writer.write(UInt64(bitPattern: Int64(skipped)), field: 4) }
            writer.write(readTime.timestamp, field: 3)
            if !transaction.isEmpty {
                transaction.withUnsafeBytes { writer.writeContent($0, field: 2) }
            }
            try write(
                record, at: document.path, document.createTime, document.version, field: 1,
                to: &writer)
        }
    }

    /// The answer about one document, with all its fields or those that a mask names.
    ///
    /// - Parameter readTime: as of when it is so; none for when the reading itself says.
    /// - Throws: as ``encode(_:at:mask:createTime:updateTime:)``.
    package func encode(
        _ reading: DocumentReading, mask: FieldMask? = nil, readTime: SnapshotVersion = .none
    ) throws(LarderError) -> Response<Google_Firestore_V1_BatchGetDocumentsResponse> {
        let readTime = readTime.isNone ? reading.version : readTime
        guard case .found(let record, let createTime) = reading.contents, mask == nil else {
            var answer = Google_Firestore_V1_BatchGetDocumentsResponse()
            switch reading.contents {
            case .found(let record, let createTime):
                answer.found = try encode(
                    record, at: reading.path, mask: mask, createTime: createTime,
                    updateTime: reading.version)
            case .absent: answer.missing = encode(reading.path)
            }
            answer.readTime = .init(readTime)
            return .message(answer)
        }
        return try .writing { writer throws(LarderError) in
            writer.write(readTime.timestamp, field: 4)
            try write(
                record, at: reading.path, createTime, reading.version, field: 1, to: &writer)
        }
    }

    /// A document that was read, with all its fields or those that a mask names; nil for one that
    /// does not exist.
    ///
    /// - Throws: as ``encode(_:at:mask:createTime:updateTime:)``.
    package func encode(found reading: DocumentReading, mask: FieldMask? = nil)
        throws(LarderError) -> Response<Google_Firestore_V1_Document>?
    {
        guard case .found(let record, let createTime) = reading.contents else { return nil }
        guard mask == nil else {
            return .message(
                try encode(
                    record, at: reading.path, mask: mask, createTime: createTime,
                    updateTime: reading.version))
        }
        return try .writing { writer throws(LarderError) in
            try write(record, at: reading.path, createTime, reading.version, to: &writer)
        }
    }

    /// That a document of a Listen stream is as it is now.
    ///
    /// - Throws: as ``encode(_:at:mask:createTime:updateTime:)``.
    func encode(
        changeOf path: DocumentPath, to record: Record, _ createTime: Timestamp?,
        _ version: SnapshotVersion, targetIDs: [Int32], removedTargetIDs: [Int32]
    ) throws(LarderError) -> Response<Google_Firestore_V1_ListenResponse> {
        try .writing { writer throws(LarderError) in
            writer.write(removedTargetIDs, field: 6)
            writer.write(targetIDs, field: 5)
            try write(record, at: path, createTime, version, field: 1, to: &writer)
            writer.enclose(since: 0, field: 3)
        }
    }

    /// What a Listen stream tells of targets, without an error.
    func encode(_ change: TargetChange) -> Response<Google_Firestore_V1_ListenResponse> {
        .writing { writer in
            if !change.readTime.isNone { writer.write(change.readTime.timestamp, field: 6) }
            if !change.resumeToken.isEmpty {
                change.resumeToken.withUnsafeBytes { writer.writeContent($0, field: 4) }
            }
            writer.write(change.targetIDs, field: 2)
            let type = change.kind.message.rawValue
            if type != 0 { writer.write(UInt64(type), field: 1) }
            writer.enclose(since: 0, field: 2)
        }
    }

    private func write(
        _ record: Record, at path: DocumentPath, _ createTime: Timestamp?,
        _ updateTime: SnapshotVersion, field: UInt64, to writer: inout BackwardWriter
    ) throws(LarderError) {
        let end = writer.count
        try write(record, at: path, createTime, updateTime, to: &writer)
        writer.enclose(since: end, field: field)
    }

    private func write(
        _ record: Record, at path: DocumentPath, _ createTime: Timestamp?,
        _ updateTime: SnapshotVersion, to writer: inout BackwardWriter
    ) throws(LarderError) {
        if !updateTime.isNone { writer.write(updateTime.timestamp, field: 4) }
        if let createTime { writer.write(createTime, field: 3) }
        try writer.write(record, field: 2)
        writer.write(encode(path), field: 1)
    }
}
