// Users of the model need the core that it is built on.
@_exported public import LarderCore

extension LarderError {
    /// The domain of Firestore's error codes, as Apple's SDK names it.
    public static let firestoreDomain = "FIRFirestoreErrorDomain"

    /// Creates an error in Firestore's domain, with a message of one line.
    public convenience init(
        _ kind: Code, _ message: String, condition: Condition = .none, systemCode: Int32 = 0,
        cause: (any Error)? = nil
    ) {
        self.init(
            kind, message, condition: condition, systemCode: systemCode, cause: cause,
            domain: Self.firestoreDomain)
    }

    /// The error for a status of the storage core.
    package convenience init(status: Int32, systemCode: Int32 = 0, message: String = "") {
        self.init(
            status: status, systemCode: systemCode, message: message,
            domain: Self.firestoreDomain)
    }

    /// The error for an invalid argument, detected before a call to the storage core.
    package static func invalidArgument(_ message: String) -> LarderError {
        LarderError(.invalidArgument, message, condition: .invalidArgument)
    }

    /// The error for a path, ID or field path that Firestore forbids.
    package static func invalidName(_ message: String) -> LarderError {
        LarderError(.invalidArgument, message, condition: .invalidName)
    }
}
