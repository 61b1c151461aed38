// Modules that import the model see the core that it is built on.
@_exported public import LarderCore

extension LarderError {
    /// The domain of the Realtime Database's errors, as Apple's SDK names it.
    public static let realtimeDomain = "com.firebase"

    /// Makes an error of the Realtime Database's domain, with a message of one line.
    package convenience init(
        realtime kind: Code, _ message: String, condition: Condition = .none,
        cause: (any Error)? = nil
    ) {
        self.init(
            kind, message, condition: condition, cause: cause, domain: Self.realtimeDomain)
    }

    /// A key or path that the Realtime Database forbids.
    static func invalidPath(_ message: String) -> LarderError {
        LarderError(realtime: .invalidArgument, message, condition: .invalidName)
    }

    /// A value that the Realtime Database forbids.
    static func invalidValue(_ message: String) -> LarderError {
        LarderError(realtime: .invalidArgument, message, condition: .invalidArgument)
    }
}
