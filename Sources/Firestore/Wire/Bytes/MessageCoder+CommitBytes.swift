package import LarderModel
package import LarderRemote

/// Commits from bytes to changes, and what came of them to bytes, without messages in between.
///
/// Only what clients write nearly always: documents that are set, outside of a transaction. Messages
/// are for all else, as in answers with documents.
extension MessageCoder {
    /// The name of the database that the bytes of a commit begin with; nil where they do not.
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

    /// The changes that the bytes of a commit ask for; nil where these are not documents of this
    /// database to be set, and nothing more.
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

    /// The answer to a commit.
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
