public import Foundation
import LarderModel

/// The domain of all Firestore errors, with Apple's name.
public let FirestoreErrorDomain = LarderError.firestoreDomain

/// An error with one of Firestore's codes, to throw and to match.
///
/// Larder throws ``LarderCore/LarderError``, an `NSError` with the same domain and codes. It is
/// matched by `catch FirestoreErrorCode.unavailable` and by `catch let error as
/// FirestoreErrorCode`, as by the cast `error as? FirestoreErrorCode`.
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

    /// The error as `NSError`, of the domain ``FirestoreErrorDomain``.
    public let _nsError: NSError

    /// An error with a code.
    ///
    /// - Parameters:
    ///   - code: the code.
    ///   - userInfo: the user info of the error, such as a text for `NSLocalizedDescriptionKey`.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        _nsError = NSError(
            domain: LarderError.firestoreDomain, code: code.rawValue, userInfo: userInfo)
    }

    /// The error behind an `NSError`.
    ///
    /// Of an error with another domain or an unknown code, ``code`` is ``Code/unknown``.
    public init(_nsError error: NSError) {
        _nsError = error
    }

    /// The code.
    public var code: Code {
        guard _nsError.domain == LarderError.firestoreDomain else { return .unknown }
        return Code(rawValue: _nsError.code) ?? .unknown
    }

    /// The code's number.
    public var rawValue: Int { code.rawValue }

    /// ``FirestoreErrorDomain``.
    public static var errorDomain: String { LarderError.firestoreDomain }

    /// The code's number, as in `NSError.code`.
    public var errorCode: Int { code.rawValue }

    /// The user info, as in `NSError.userInfo`.
    public var errorUserInfo: [String: Any] { _nsError.userInfo }

    /// The user info, as in `NSError.userInfo`.
    public var userInfo: [String: Any] { _nsError.userInfo }

    /// The text of the error.
    public var localizedDescription: String { _nsError.localizedDescription }

    /// The operation succeeded; never used in errors.
    public static let OK = Code.OK
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

extension FirestoreErrorCode {
    /// True if domain, code and user info are equal.
    public static func == (left: FirestoreErrorCode, right: FirestoreErrorCode) -> Bool {
        left._nsError.isEqual(right._nsError)
    }

    /// Hashes domain and code.
    public func hash(into hasher: inout Hasher) {
        // Foundation on Linux does not hash NSError itself.
        hasher.combine(_nsError.domain)
        hasher.combine(_nsError.code)
    }
}

/// Casts between Firestore's `NSError`s and ``FirestoreErrorCode``, which the language does.
extension FirestoreErrorCode: _ObjectiveCBridgeable {
    /// The error as `NSError`.
    public func _bridgeToObjectiveC() -> NSError { _nsError }

    /// The error behind an `NSError`.
    public static func _forceBridgeFromObjectiveC(
        _ source: NSError, result: inout FirestoreErrorCode?
    ) {
        result = FirestoreErrorCode(_nsError: source)
    }

    /// The error behind an `NSError` of Firestore's domain.
    ///
    /// - Returns: false for other domains.
    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSError, result: inout FirestoreErrorCode?
    ) -> Bool {
        guard source.domain == LarderError.firestoreDomain else { return false }
        result = FirestoreErrorCode(_nsError: source)
        return true
    }

    /// The error behind an `NSError`; one with the code ``Code/unknown`` for nil.
    public static func _unconditionallyBridgeFromObjectiveC(
        _ source: NSError?
    ) -> FirestoreErrorCode {
        source.map { FirestoreErrorCode(_nsError: $0) } ?? FirestoreErrorCode(.unknown)
    }
}

#if !canImport(ObjectiveC)
    /// A pointer for the error of a transaction's closure, which Foundation lacks on this platform.
    public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?
#endif
