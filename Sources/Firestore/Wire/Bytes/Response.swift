package import Foundation
package import GRPCCore
package import LarderModel
package import LarderRemote
package import SwiftProtobuf

/// A response to a client: encoded for frequent kinds, a message otherwise.
package enum Response<Message: SwiftProtobuf.Message>: Sendable {
    /// The encoded message.
    case bytes([UInt8])
    /// A message that SwiftProtobuf encodes.
    indirect case message(Message)

    /// The approximate size; messages contain no documents.
    package var sizeBytes: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .message: 256
        }
    }

    /// Encodes the message.
    package func serializedBytes() throws -> [UInt8] {
        switch self {
        case .bytes(let bytes): bytes
        case .message(let message): try message.serializedBytes()
        }
    }

    /// The bytes that a closure writes, from the end to the beginning.
    static func writing<E>(_ body: (inout BackwardWriter) throws(E) -> Void) throws(E) -> Self {
        // Enough for most documents.
        var writer = BackwardWriter(capacity: 2_048)
        try body(&writer)
        return .bytes(writer.bytes)
    }
}

package struct ResponseSerializer<Message: SwiftProtobuf.Message>: MessageSerializer {
    package init() {}

    package func serialize<Bytes: GRPCContiguousBytes>(
        _ response: Response<Message>
    ) throws -> Bytes {
        Bytes(try response.serializedBytes())
    }
}

// MARK: - Deserializers

/// Deserialises responses; throws `internal` for malformed bytes.
///
/// gRPC's own throws `invalidArgument`, which means that the request was refused.
package struct ResponseDeserializer<Message: SwiftProtobuf.Message>: MessageDeserializer {
    package init() {}

    package func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> Message {
        try Self.message(bytes.withUnsafeBytes { [UInt8]($0) })
    }

    static func message(_ bytes: [UInt8]) throws(LarderError) -> Message {
        do {
            return try Message(serializedBytes: bytes)
        } catch {
            throw LarderError(.internal, "the backend's response is malformed", cause: error)
        }
    }
}

/// Passes responses on as bytes, for faster decoders.
package struct BytesDeserializer: MessageDeserializer {
    package init() {}

    package func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) -> [UInt8] {
        bytes.withUnsafeBytes { [UInt8]($0) }
    }
}

// MARK: - Coding

/// The frequent responses, encoded without messages: whole documents and changes of targets.
extension MessageCoder {
    /// A response of a query: a document or none.
    ///
    /// - Parameters:
    ///   - mask: the fields to send; nil for all.
    ///   - readTime: the read time.
    ///   - transaction: the transaction that the query has begun, if any.
    ///   - skippedResults: the number of documents that the offset has skipped.
    /// - Throws: as ``encode(_:at:mask:createTime:updateTime:)``.
    package func encode(
        _ document: Document?, mask: FieldMask? = nil, readTime: SnapshotVersion,
        transaction: Data = Data(), skippedResults: Int = 0
    ) throws(LarderError) -> Response<Google_Firestore_V1_RunQueryResponse> {
        let skipped = Int32(clamping: skippedResults)
        guard let document, let record = document.record, mask == nil else {
            var response = Google_Firestore_V1_RunQueryResponse()
            if let message = try document.flatMap({ document throws(LarderError) in
                try encode(document, mask: mask)
            }) {
                response.document = message
            }
            response.readTime = .init(readTime)
            response.transaction = transaction
            response.skippedResults = skipped
            return .message(response)
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

    /// The response for one document, with all fields or those of a mask.
    ///
    /// - Parameter readTime: the read time; none for the reading's own.
    /// - Throws: as ``encode(_:at:mask:createTime:updateTime:)``.
    package func encode(
        _ reading: DocumentReading, mask: FieldMask? = nil, readTime: SnapshotVersion = .none
    ) throws(LarderError) -> Response<Google_Firestore_V1_BatchGetDocumentsResponse> {
        let readTime = readTime.isNone ? reading.version : readTime
        guard case .found(let record, let createTime) = reading.contents, mask == nil else {
            var response = Google_Firestore_V1_BatchGetDocumentsResponse()
            switch reading.contents {
            case .found(let record, let createTime):
                response.found = try encode(
                    record, at: reading.path, mask: mask, createTime: createTime,
                    updateTime: reading.version)
            case .absent: response.missing = encode(reading.path)
            }
            response.readTime = .init(readTime)
            return .message(response)
        }
        return try .writing { writer throws(LarderError) in
            writer.write(readTime.timestamp, field: 4)
            try write(
                record, at: reading.path, createTime, reading.version, field: 1, to: &writer)
        }
    }

    /// A document with all fields or those of a mask; nil for a missing one.
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

    /// A document change of a Listen stream.
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

    /// A target change of a Listen stream, without an error.
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
