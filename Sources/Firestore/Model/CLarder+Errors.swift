import CLarder

extension larder_error {
    /// The text that the core put into the message.
    var text: String {
        withUnsafeBytes(of: message) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

/// Throws unless the status is 0 or an expected outcome.
func throwIfFailed(_ status: Int32, _ failure: larder_error) throws(LarderError) {
    guard status < 0 else { return }
    let described = failure.status == status
    throw LarderError(
        status: status, systemCode: described ? failure.system_code : 0,
        message: described ? failure.text : "")
}
