package import LarderModel
package import LarderRemote

/// The fast path of commits that set documents outside of a transaction, without intermediate
/// messages. All others are decoded by SwiftProtobuf.
extension MessageCoder {
    /// The database name of an encoded commit; nil if it does not come first.
    package static func database(ofCommit bytes: [UInt8]) -> String? {
        bytes.withUnsafeBytes { bytes in
            var request = FieldReader(bytes)
            return try? Self.database(&request)
        }
    }

    private static func database(_ request: inout FieldReader) throws -> String {
        guard try request.number() == 0x0a,
            let name = String(validating: try request.content(), as: UTF8.self)
        else { throw NeedsFullDecoding() }
        return name
    }

    /// The writes of an encoded commit; nil unless all set documents of this database.
    package func fastPathWrites(commit bytes: [UInt8]) -> [Mutation]? {
        bytes.withUnsafeBytes { bytes in try? fastPathWrites(bytes) }
    }

    private func fastPathWrites(_ bytes: UnsafeRawBufferPointer) throws -> [Mutation] {
        var request = FieldReader(bytes)
        guard names.isDatabase(try Self.database(&request)) else { throw NeedsFullDecoding() }
        var mutations: [Mutation] = []
        while !request.isAtEnd {
            guard try request.number() == 0x12 else { throw NeedsFullDecoding() }
            var write = FieldReader(try request.content())
            guard try write.number() == 0x0a else { throw NeedsFullDecoding() }
            var document = FieldReader(try write.content())
            guard write.isAtEnd else { throw NeedsFullDecoding() }
            let path = try plainName(&document)
            let record = try plainRecord(&document) { _, _ in throw NeedsFullDecoding() }
            mutations.append(Mutation(.set(record), at: path))
        }
        return mutations
    }

    /// The response to a commit.
    ///
    /// - Parameter mutations: as for ``encode(_:of:)-(CommitResponse,_)``.
    /// - Throws: as ``encode(_:of:)-(CommitResponse,_)``.
    package func encode(commitResponse response: CommitResponse, of mutations: [Mutation])
        throws(LarderError) -> Response<Google_Firestore_V1_CommitResponse>
    {
        guard response.results.allSatisfy(\.transformResults.isEmpty) else {
            return .message(try encode(response, of: mutations))
        }
        return .writing { writer in
            writer.write(response.commitVersion.timestamp, field: 2)
            for (position, result) in response.results.enumerated().reversed() {
                let end = writer.count
                let isDelete =
                    position < mutations.count && mutations[position].operation == .delete
                if !isDelete { writer.write(result.version.timestamp, field: 1) }
                writer.enclose(since: end, field: 1)
            }
        }
    }
}

// MARK: - Fields

/// Reads the fields of an encoded message in order.
struct FieldReader {
    private var rest: UnsafeRawBufferPointer.SubSequence

    init(_ bytes: UnsafeRawBufferPointer) {
        rest = bytes[...]
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// A varint: a value, or the tag of the next field (its number times eight and its wire type).
    mutating func number() throws(NeedsFullDecoding) -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while shift < 64, let byte = rest.popFirst() {
            number |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return number }
            shift += 7
        }
        throw NeedsFullDecoding()
    }

    /// A 64-bit floating-point number.
    mutating func double() throws(NeedsFullDecoding) -> Double {
        let bytes = try take(8)
        return Double(bitPattern: UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)))
    }

    /// The content of a string, bytes or an embedded message.
    mutating func content() throws(NeedsFullDecoding) -> UnsafeRawBufferPointer {
        guard let count = Int(exactly: try number()) else { throw NeedsFullDecoding() }
        return try take(count)
    }

    private mutating func take(_ count: Int) throws(NeedsFullDecoding) -> UnsafeRawBufferPointer {
        guard count <= rest.count else { throw NeedsFullDecoding() }
        defer { rest = rest.dropFirst(count) }
        return UnsafeRawBufferPointer(rebasing: rest.prefix(count))
    }
}

/// The message is not of the fast path's form: SwiftProtobuf must decode it.
struct NeedsFullDecoding: Error {}
