import GRPCCore
import NIOHPACK

/// The headers that an answer begins and ends with (gRPC over HTTP/2, "Responses").
enum AnswerHeaders {
    /// What an answer begins with.
    static let beginning: HPACKHeaders = [":status": "200", "content-type": "application/grpc"]
    /// What an answer ends with that has begun.
    static let success: HPACKHeaders = ["grpc-status": "0"]

    /// What an answer begins with that has more to say.
    static func beginning(_ metadata: Metadata) -> HPACKHeaders {
        var headers = beginning
        add(metadata, to: &headers)
        return headers
    }

    /// What a call ends with that fails.
    ///
    /// - Parameter hasBegun: whether it has been answered with ``beginning``.
    static func ending(_ error: RPCError, hasBegun: Bool) -> HPACKHeaders {
        ending(
            Status(code: Status.Code(error.code), message: error.message), error.metadata, hasBegun)
    }

    /// What a call ends with.
    static func ending(_ status: Status, _ metadata: Metadata, _ hasBegun: Bool) -> HPACKHeaders {
        if hasBegun, status.code == .ok, status.message.isEmpty, metadata.isEmpty { return success }
        var headers = hasBegun ? HPACKHeaders() : beginning
        headers.add(name: "grpc-status", value: "\(status.code.rawValue)")
        if !status.message.isEmpty {
            headers.add(name: "grpc-message", value: escaped(status.message))
        }
        add(metadata, to: &headers)
        return headers
    }

    private static func add(_ metadata: Metadata, to headers: inout HPACKHeaders) {
        for (key, value) in metadata { headers.add(name: key, value: value.encoded()) }
    }

    /// A message as headers have it: what is no visible sign of ASCII, and the sign of percent,
    /// becomes `%` and two digits (gRPC over HTTP/2, "Status-Message").
    private static func escaped(_ message: String) -> String {
        let isPlain = { (byte: UInt8) in 0x20...0x7e ~= byte && byte != UInt8(ascii: "%") }
        guard !message.utf8.allSatisfy(isPlain) else { return message }
        var bytes: [UInt8] = []
        for byte in message.utf8 {
            if isPlain(byte) {
                bytes.append(byte)
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                bytes += "%\(byte < 16 ? "0" : "")\(digits)".utf8
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
