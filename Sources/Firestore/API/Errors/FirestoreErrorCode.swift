public import Foundation
import LarderModel

/// The domain of every error that Larder reports, as Apple's SDK names it.
public let FirestoreErrorDomain = LarderError.firestoreDomain

/// An error with one of Firestore's codes, as applications compare with and throw them.
///
/// Larder itself reports ``LarderModel/LarderError``, which is an `NSError` with the same domain
/// and codes; `catch FirestoreErrorCode.unavailable` matches it.
public struct FirestoreErrorCode: Error, CustomNSError, Hashable {
    /// Firestore's codes with their numbers.
    public enum Code: Int, Sendable, CaseIterable {
        /// The operation succeeded; never in an error.
        case OK = 0
        /// The operation was cancelled.
        case cancelled = 1
        /// Nothing more precise is known.
        case unknown = 2
        /// The caller gave something that is never allowed.
        case invalidArgument = 3
        /// Time ran out before the operation ended.
        case deadlineExceeded = 4
        /// A document that was to be changed is not there.
        case notFound = 5
        /// A document that was to be made is there already.
        case alreadyExists = 6
        /// The caller may not do this.
        case permissionDenied = 7
        /// A limit was reached.
        case resourceExhausted = 8
        /// The database is not in the state that the operation needs.
        case failedPrecondition = 9
        /// The operation was given up, and may be tried again from its beginning.
        case aborted = 10
        /// A position beyond the valid range.
        case outOfRange = 11
        /// The operation does not exist here.
        case unimplemented = 12
        /// Something that should never happen.
        case `internal` = 13
        /// Not possible now; it may be later.
        case unavailable = 14
        /// Stored data is damaged or lost.
        case dataLoss = 15
        /// The caller has not said who it is.
        case unauthenticated = 16
    }

    /// The code.
    public let code: Code

    /// An error with a code.
    public init(_ code: Code) {
        self.code = code
    }

    /// Firestore's number of the code.
    public var rawValue: Int { code.rawValue }

    /// The same domain for all: ``FirestoreErrorDomain``.
    public static var errorDomain: String { LarderError.firestoreDomain }

    /// Firestore's number of the code, as `NSError` has it.
    public var errorCode: Int { code.rawValue }

    /// Nothing beyond the code.
    public var errorUserInfo: [String: Any] { [:] }

    /// The operation was cancelled.
    public static let cancelled = Code.cancelled
    /// Nothing more precise is known.
    public static let unknown = Code.unknown
    /// The caller gave something that is never allowed.
    public static let invalidArgument = Code.invalidArgument
    /// Time ran out before the operation ended.
    public static let deadlineExceeded = Code.deadlineExceeded
    /// A document that was to be changed is not there.
    public static let notFound = Code.notFound
    /// A document that was to be made is there already.
    public static let alreadyExists = Code.alreadyExists
    /// The caller may not do this.
    public static let permissionDenied = Code.permissionDenied
    /// A limit was reached.
    public static let resourceExhausted = Code.resourceExhausted
    /// The database is not in the state that the operation needs.
    public static let failedPrecondition = Code.failedPrecondition
    /// The operation was given up, and may be tried again from its beginning.
    public static let aborted = Code.aborted
    /// A position beyond the valid range.
    public static let outOfRange = Code.outOfRange
    /// The operation does not exist here.
    public static let unimplemented = Code.unimplemented
    /// Something that should never happen.
    public static let `internal` = Code.internal
    /// Not possible now; it may be later.
    public static let unavailable = Code.unavailable
    /// Stored data is damaged or lost.
    public static let dataLoss = Code.dataLoss
    /// The caller has not said who it is.
    public static let unauthenticated = Code.unauthenticated
}

extension FirestoreErrorCode.Code {
    /// Matches an error of Firestore's domain with this code, for `catch` and `case`.
    public static func ~= (code: FirestoreErrorCode.Code, error: any Error) -> Bool {
        let error = error as NSError
        return error.domain == LarderError.firestoreDomain && error.code == code.rawValue
    }
}
