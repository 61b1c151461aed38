import CLarder

extension LarderError {
    /// The error of a status that a call to the storage core returned.
    package convenience init(
        status: Int32, systemCode: Int32 = 0, message: String = "", domain: String
    ) {
        let condition = Condition(rawValue: status)
        self.init(
            condition.kind, message.isEmpty ? String(cString: larder_strerror(status)) : message,
            condition: condition, systemCode: systemCode, domain: domain)
    }
}
