import GRPCCore
import NIOHPACK

/// The headers that calls end with, and begin with, where gRPC's transport does not write them.
enum CallHeaders {
    /// What an answer begins with.
    static let answer: HPACKHeaders = [":status": "200", "content-type": "application/grpc"]
    /// What an answer ends with.
    static let success: HPACKHeaders = ["grpc-status": "0"]

    /// What a call ends with that has no answer.
    static func failure(_ error: RPCError) -> HPACKHeaders {
        var headers = answer
        add(error, to: &headers)
        return headers
    }

    /// Adds how a call ends.
    static func add(_ error: RPCError, to headers: inout HPACKHeaders) {
        headers.add(name: "grpc-status", value: "\(error.code.rawValue)")
        if !error.message.isEmpty {
            headers.add(name: "grpc-message", value: escaped(error.message))
        }
        for (key, value) in error.metadata { headers.add(name: key, value: value.encoded()) }
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
