public import Foundation

/// What went wrong in a call to Larder: a code, a sentence and, where there is one, a cause.
///
/// Every error that leaves Larder is of this class, but those of encoders and decoders, so that
/// `catch let error as NSError` works on Linux as on Apple's systems. `code` is the number of a
/// ``Code`` and `domain` is ``firestoreDomain``. ``condition`` says more precisely what the storage
/// core met.
public final class LarderError: NSError, @unchecked Sendable {
    // Immutable after initialisation, apart from NSError's own user info, which is a value.

    /// The domain of Firestore's error codes, as Apple's SDK names it.
    public static let firestoreDomain = "FIRFirestoreErrorDomain"

    /// The kind of failure, in Firestore's terms.
    public var kind: Code { Code(rawValue: code) }

    /// What the storage core met, or `.none` where the failure did not come from there.
    public let condition: Condition

    /// What happened, in one line.
    public let message: String

    /// The error that led to this one.
    public let cause: (any Error)?

    /// The operating system's or LMDB's number, 0 where there is none.
    public let systemCode: Int32

    /// Makes an error of a kind, with a message of one line.
    public init(
        _ kind: Code, _ message: String, condition: Condition = .none, systemCode: Int32 = 0,
        cause: (any Error)? = nil
    ) {
        self.message = message
        self.condition = condition
        self.systemCode = systemCode
        self.cause = cause
        var info: [String: Any] = [NSLocalizedDescriptionKey: message]
        if let cause { info[NSUnderlyingErrorKey] = cause }
        super.init(domain: Self.firestoreDomain, code: kind.rawValue, userInfo: info)
    }

    /// Not supported: errors are not archived.
    public required init?(coder: NSCoder) {
        return nil
    }

    /// The message, with what the system reported.
    public override var description: String {
        var text = "\(kind): \(message)"
        if condition != .none { text += " (\(condition))" }
        if let cause { text += "; caused by: \(cause)" }
        return text
    }
}
