import GRPCCore
import LarderCore
import LarderHTTP

extension HTTPResponse {
    /// The response to a failed RPC (google.rpc.Status as JSON, with HTTP's status as code).
    init(_ error: RPCError) {
        self.init(status: error.code.http.status, body: error.json + [UInt8(ascii: "\n")])
    }
}

extension RPCError {
    /// `{"error": {"code": …, "message": …, "status": …}}`.
    var json: [UInt8] {
        let (status, name) = code.http
        var bytes: [UInt8] = []
        JSONWriter.append(
            .object([
                JSONMember(
                    "error",
                    .object([
                        JSONMember("code", .integer(Int64(status))),
                        JSONMember("message", .string(message)),
                        JSONMember("status", .string(name)),
                    ]))
            ]), to: &bytes)
        return bytes
    }
}

extension RPCError.Code {
    /// The status of HTTP and the name of a code (google/rpc/code.proto).
    var http: (status: Int, name: String) {
        switch self {
        case .cancelled: (499, "CANCELLED")
        case .invalidArgument: (400, "INVALID_ARGUMENT")
        case .deadlineExceeded: (504, "DEADLINE_EXCEEDED")
        case .notFound: (404, "NOT_FOUND")
        case .alreadyExists: (409, "ALREADY_EXISTS")
        case .permissionDenied: (403, "PERMISSION_DENIED")
        case .unauthenticated: (401, "UNAUTHENTICATED")
        case .resourceExhausted: (429, "RESOURCE_EXHAUSTED")
        case .failedPrecondition: (400, "FAILED_PRECONDITION")
        case .aborted: (409, "ABORTED")
        case .outOfRange: (400, "OUT_OF_RANGE")
        case .unimplemented: (501, "UNIMPLEMENTED")
        case .internalError: (500, "INTERNAL")
        case .unavailable: (503, "UNAVAILABLE")
        case .dataLoss: (500, "DATA_LOSS")
        default: (500, "UNKNOWN")
        }
    }
}
