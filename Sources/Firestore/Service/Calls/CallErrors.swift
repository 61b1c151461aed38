import GRPCCore

/// The errors with which a call ends by itself.
extension RPCError {
    /// The client no longer waits for a response.
    static let clientHasLeft = RPCError(
        code: .cancelled, message: "the client has disconnected or cancelled the call")

    static let wrongCount = RPCError(
        code: .unimplemented, message: "the method requires exactly one request")

    static let cutOff = RPCError(
        code: .internalError, message: "the request ends inside a message")

    /// - Parameters:
    ///   - encoding: the encoding of the headers; nil for none.
    ///   - flag: the first byte of the message.
    static func compressed(by encoding: String?, flag: UInt8) -> RPCError {
        guard flag == 1 else {
            return RPCError(
                code: .internalError, message: "the compression flag of a message is not 0 or 1")
        }
        guard let encoding else {
            return RPCError(
                code: .internalError,
                message: "a message is compressed, but the headers have no grpc-encoding")
        }
        return RPCError(
            code: .unimplemented, message: "\(encoding) compression is not supported",
            metadata: ["grpc-accept-encoding": "identity"])
    }

    static let deadlinePassed = RPCError(
        code: .deadlineExceeded, message: "the deadline of the call has passed")

    static let requestTooSlow = RPCError(
        code: .resourceExhausted,
        message:
            "the request was not received in time: it is too slow, or the server's memory is in use"
    )

    static let stalled = RPCError(
        code: .deadlineExceeded, message: "the client does not read the response")

    static let memoryExhausted = RPCError(
        code: .resourceExhausted,
        message:
            "the server's memory is in use, and this call holds the most of the client that holds the most"
    )
}
