public import Foundation
import LarderModel

/// The domain of all Firestore errors, with Apple's name.
public let FirestoreErrorDomain = LarderError.firestoreDomain

/// An error with one of Firestore's codes, to throw and to match.
///
/// Larder throws ``LarderCore/LarderError``, an `NSError` with the same domain and codes; `catch
/// FirestoreErrorCode.unavailable` matches it.
public struct FirestoreErrorCode: Error, CustomNSError, Hashable {
    /// Firestore's error codes.
    public enum Code: Int, Sendable, CaseIterable {
        /// The operation succeeded; never used in errors.
        case OK = 0
        /// The operation was cancelled.
        case cancelled = 1
        /// An unknown error.
        case unknown = 2
        /// An argument is invalid regardless of the state of the database.
        case invalidArgument = 3
        /// The deadline expired before the operation completed.
        case deadlineExceeded = 4
        /// A required document does not exist.
        case notFound = 5
        /// A document to be created already exists.
        case alreadyExists = 6
        /// The caller lacks permission.
        case permissionDenied = 7
        /// A resource or quota is exhausted.
        case resourceExhausted = 8
        /// The database is not in the state that the operation requires.
        case failedPrecondition = 9
        /// The operation was aborted, typically by a conflict; retry it from the beginning.
        case aborted = 10
        /// A position is beyond the valid range.
        case outOfRange = 11
        /// The operation is not implemented or not supported.
        case unimplemented = 12
        /// An internal invariant is broken.
        case `internal` = 13
        /// The service is unavailable; a retry may succeed.
        case unavailable = 14
        /// Unrecoverable data loss or corruption.
        case dataLoss = 15
        /// The request has no valid credentials.
        case unauthenticated = 16
    }

    /// The code.
    public let code: Code

    /// An error with a code.
    public init(_ code: Code) {
        self.code = code
    }

    /// The code's number.
    public var rawValue: Int { code.rawValue }

    /// ``FirestoreErrorDomain``.
    public static var errorDomain: String { LarderError.firestoreDomain }

    /// The code's number, as in `NSError.code`.
    public var errorCode: Int { code.rawValue }

    /// Empty.
    public var errorUserInfo: [String: Any] { [:] }

    /// The operation was cancelled.
    public static let cancelled = Code.cancelled
    /// An unknown error.
    public static let unknown = Code.unknown
    /// An argument is invalid regardless of the state of the database.
    public static let invalidArgument = Code.invalidArgument
    /// The deadline expired before the operation completed.
    public static let deadlineExceeded = Code.deadlineExceeded
    /// A required document does not exist.
    public static let notFound = Code.notFound
    /// A document to be created already exists.
    public static let alreadyExists = Code.alreadyExists
    /// The caller lacks permission.
    public static let permissionDenied = Code.permissionDenied
    /// A resource or quota is exhausted.
    public static let resourceExhausted = Code.resourceExhausted
    /// The database is not in the state that the operation requires.
    public static let failedPrecondition = Code.failedPrecondition
    /// The operation was aborted, typically by a conflict; retry it from the beginning.
    public static let aborted = Code.aborted
    /// A position is beyond the valid range.
    public static let outOfRange = Code.outOfRange
    /// The operation is not implemented or not supported.
    public static let unimplemented = Code.unimplemented
    /// An internal invariant is broken.
    public static let `internal` = Code.internal
    /// The service is unavailable; a retry may succeed.
    public static let unavailable = Code.unavailable
    /// Unrecoverable data loss or corruption.
    public static let dataLoss = Code.dataLoss
    /// The request has no valid credentials.
    public static let unauthenticated = Code.unauthenticated
}

extension FirestoreErrorCode.Code {
    /// Matches an error of Firestore's domain with this code, for `catch` and `case`.
    public static func ~= (code: FirestoreErrorCode.Code, error: any Error) -> Bool {
        let error = error as NSError
        return error.domain == LarderError.firestoreDomain && error.code == code.rawValue
    }
}

/// A pointer for the error of a transaction's closure; Foundation on Linux lacks this type.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?
