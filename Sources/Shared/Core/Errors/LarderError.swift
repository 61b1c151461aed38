public import Foundation

/// An error of Larder: a code, a one-line message and, if there is one, a cause.
///
/// Every error that leaves Larder is of this class, except those of encoders and decoders, so that
/// `catch let error as NSError` works on Linux as on Apple's systems. `code` is the number of a
/// ``Code``, and ``condition`` is the storage core's more precise status.
///
/// `domain` is that of the database which raises the error or hands it on. Shared modules know no
/// database: what raises errors there takes the domain as a parameter, as a store does with its
/// configuration's `errorDomain`. Each database adds to this class a constant for its domain and
/// initialisers that imply it, as LarderModel does for Firestore, and gives that constant to the
/// store and the runtime it starts.
public final class LarderError: NSError, @unchecked Sendable {
    // Immutable after initialisation, apart from NSError's own user info, which is a value.

    /// The domain of errors that no database has raised or handed on.
    public static let sharedDomain = "LarderErrorDomain"

    /// The kind of failure, in Firestore's terms.
    public var kind: Code { Code(rawValue: code) }

    /// The storage core's status, or `.none` if the failure did not come from the core.
    public let condition: Condition

    /// The description of the failure, in one line.
    public let message: String

    /// The error that led to this one.
    public let cause: (any Error)?

    /// The operating system's or LMDB's number, 0 where there is none.
    public let systemCode: Int32

    /// Makes an error of a kind in a domain, with a message of one line.
    public init(
        _ kind: Code, _ message: String, condition: Condition = .none, systemCode: Int32 = 0,
        cause: (any Error)? = nil, domain: String
    ) {
        self.message = message
        self.condition = condition
        self.systemCode = systemCode
        self.cause = cause
        var info: [String: Any] = [NSLocalizedDescriptionKey: message]
        if let cause { info[NSUnderlyingErrorKey] = cause }
        super.init(domain: domain, code: kind.rawValue, userInfo: info)
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
