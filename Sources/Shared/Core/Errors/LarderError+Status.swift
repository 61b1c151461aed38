import CLarder

extension LarderError {
    /// The error of a status that a call to the storage core returned.
    package convenience init(status: Int32, systemCode: Int32 = 0, message: String = "") {
        let condition = Condition(rawValue: status)
        self.init(
            condition.kind, message.isEmpty ? String(cString: larder_strerror(status)) : message,
            condition: condition, systemCode: systemCode)
    }

    /// An argument that is never allowed, found before the storage core was asked.
    package static func invalidArgument(_ message: String) -> LarderError {
        LarderError(.invalidArgument, message, condition: .invalidArgument)
    }

    /// A path, id or field path that Firestore forbids.
    package static func invalidName(_ message: String) -> LarderError {
        LarderError(.invalidArgument, message, condition: .invalidName)
    }
}
