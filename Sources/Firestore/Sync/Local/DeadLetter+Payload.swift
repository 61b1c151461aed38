import LarderModel
import LarderStorage

/// Dead letters as named values. The name is the user's and the batch's, so that those of a user
/// stand together and in order; the time is that of the rejection; the payload is a record:
///
///     version            1
///     code, message      why the batch was refused
///     attempts           how often it was tried in vain
///     written            when it was written
///     batch              the batch's bytes
extension DeadLetter {
    private static let version: Int64 = 1
    /// More of an error's text is not kept.
    private static let maxMessageBytes = 1024
    /// What a batch's bytes may come to, so that it fits into a dead letter.
    static let maxBatchBytes = (64 << 20) - (64 << 10)

    /// What the names of a user's dead letters begin with; no other user's do.
    static func prefix(of user: UserID) -> String {
        "\(user.string.utf8.count):\(user.string)/"
    }

    /// The name of a dead letter; in the order of the batches.
    static func name(of batchID: Int64, of user: UserID) -> String {
        let digits = String(max(batchID, 0))
        return prefix(of: user) + String(repeating: "0", count: 19 - digits.count) + digits
    }

    /// Reads a stored one.
    ///
    /// - Throws: `dataLoss` for anything that is none.
    init(_ stored: NamedValue, of user: UserID) throws(LarderError) {
        guard
            let id = Int64(stored.name.suffix(19)),
            let fields = try? Record(validating: stored.payload, maxBytes: .max).fields,
            fields["version"] == .integer(Self.version),
            case .integer(let code)? = fields["code"],
            case .string(let message)? = fields["message"],
            case .integer(let attempts)? = fields["attempts"],
            case .timestamp(let written)? = fields["written"],
            case .bytes(let batch)? = fields["batch"]
        else {
            throw LarderError(.dataLoss, "a dead letter is malformed", condition: .corrupt)
        }
        self.init(
            batchID: id, user: user, localWriteTime: written,
            mutations: try BatchContents(payload: batch).mutations,
            error: LarderError(LarderError.Code(rawValue: Int(code)), message),
            attemptCount: Int(attempts), rejectionTime: stored.time.timestamp)
    }
}

extension DeadLetter {
    /// The bytes under which a refused batch is kept.
    static func payload(_ batch: MutationBatch, because error: LarderError)
        throws(LarderError) -> [UInt8]
    {
        let message = String(decoding: error.message.utf8.prefix(maxMessageBytes), as: UTF8.self)
        return try Record([
            "version": .integer(version), "code": .integer(Int64(error.kind.rawValue)),
            "message": .string(message), "attempts": .integer(Int64(batch.attemptCount)),
            "written": .timestamp(batch.localWriteTime), "batch": .bytes(batch.payload),
        ]).bytes
    }
}
