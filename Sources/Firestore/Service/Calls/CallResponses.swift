import GRPCCore
import NIOCore
import NIOHPACK

/// Responses in gRPC's framing.
enum ResponseFraming {
    /// Messages, each with its prefix.
    static func framed(_ messages: [[UInt8]]) -> ByteBuffer {
        guard !messages.isEmpty else { return ByteBuffer() }
        let size = messages.reduce(0) { $0 + MessageReader.prefixBytes + $1.count }
        var bytes = ByteBufferAllocator().buffer(capacity: size)
        for message in messages {
            bytes.writeMultipleIntegers(0 as UInt8, UInt32(message.count))
            bytes.writeBytes(message)
        }
        return bytes
    }
}

// MARK: - Headers

/// The headers and trailers of responses (gRPC over HTTP/2, "Responses").
enum ResponseHeaders {
    /// Initial headers without metadata.
    static let beginning: HPACKHeaders = [":status": "200", "content-type": "application/grpc"]
    static let success: HPACKHeaders = ["grpc-status": "0"]

    static func beginning(_ metadata: Metadata) -> HPACKHeaders {
        var headers = beginning
        add(metadata, to: &headers)
        return headers
    }

    /// The end of a failed call.
    ///
    /// - Parameter hasBegun: whether ``beginning`` has been sent.
    static func ending(_ error: RPCError, hasBegun: Bool) -> HPACKHeaders {
        ending(
            Status(code: Status.Code(error.code), message: error.message), error.metadata, hasBegun)
    }

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

    /// A percent-encoded message (gRPC over HTTP/2, "Status-Message").
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
