public import Foundation
public import LarderCore
import LarderRealtimeModel

/// The domain of the Realtime Database's errors.
public let DatabaseErrorDomain = "com.firebase"

/// An error of the Realtime Database, with the domain and the codes of Apple's SDK.
///
/// Every error that leaves the database is of this class, except those of encoders and decoders,
/// so that `catch let error as NSError` works on Linux as on Apple's systems. ``kind`` is more
/// precise than `code`, which tells only four cases apart.
public final class DatabaseError: NSError, @unchecked Sendable {
    // Immutable after initialisation, apart from NSError's own user info, which is a value.

    /// The codes that ``DatabaseErrorDomain`` has.
    public enum Code: Int, Hashable, Sendable {
        /// The security rules do not allow the operation.
        case permissionDenied = 1
        /// The server or the store cannot do the operation now.
        case unavailable = 2
        /// The write was cancelled by ``Database/purgeOutstandingWrites()`` or a request to cancel
        /// it.
        case writeCanceled = 3
        /// Anything else; see ``DatabaseError/kind``.
        case other = 9999
    }

    /// The kind of failure in the terms of Larder's other errors.
    public var kind: LarderError.Code { error.kind }

    /// The error as Larder's modules raise it, with the store's condition and the cause.
    public let error: LarderError

    init(_ error: LarderError) {
        self.error = error
        super.init(
            domain: DatabaseErrorDomain, code: Code(error.kind).rawValue,
            userInfo: [
                NSLocalizedDescriptionKey: error.message,
                NSUnderlyingErrorKey: error.cause ?? error,
            ])
    }

    /// Not supported: errors are not archived.
    public required init?(coder: NSCoder) {
        return nil
    }

    /// The kind and the message.
    public override var description: String { error.description }
}

extension DatabaseError.Code {
    fileprivate init(_ kind: LarderError.Code) {
        switch kind {
        case .permissionDenied: self = .permissionDenied
        case .unavailable: self = .unavailable
        case .cancelled: self = .writeCanceled
        default: self = .other
        }
    }
}
