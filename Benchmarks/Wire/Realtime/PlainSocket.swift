import Foundation

/// A blocking TCP connection to a port of this machine; used by one thread at a time.
final class PlainSocket {
    private let descriptor: Int32
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        let result = withUnsafeBytes(of: &address) { bytes in
            connect(
                descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(bytes.count))
        }
        guard result == 0 else {
            throw WireConnection.Problem(description: "no server listens at port \(port)")
        }
        var isOn: Int32 = 1
        setsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn,
            socklen_t(MemoryLayout<Int32>.size))
    }

    deinit {
        close(descriptor)
        buffer.deallocate()
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws {
        var start = 0
        while start < bytes.count {
            let count = Foundation.send(
                descriptor, bytes.baseAddress.map { $0 + start }, bytes.count - start,
                Int32(MSG_NOSIGNAL))
            guard count > 0 else {
                throw WireConnection.Problem(description: "the server has closed the connection")
            }
            start += count
        }
    }

    func send(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try send($0) } }

    /// Waits for bytes.
    func receive(into bytes: inout [UInt8]) throws {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else {
            throw WireConnection.Problem(description: "the server has closed the connection")
        }
        bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
}

/// A WebSocket whose text frames are written and read here, so that what is measured is the server.
final class FrameSocket {
    private let socket: PlainSocket
    private var input: [UInt8] = []
    private var next = 0

    /// Connects, and waits for the response to the handshake.
    init(port: Int, path: String = "/.ws?v=5&ns=bench") throws {
        socket = try PlainSocket(port: port)
        let lines = [
            "GET \(path) HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: websocket",
            "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "", "",
        ]
        try socket.send(Array(lines.joined(separator: "\r\n").utf8))
        let end = Array("\r\n\r\n".utf8)
        while !input.contains(end) { try socket.receive(into: &input) }
        next = (input.firstRange(of: end)?.upperBound ?? input.count)
    }

    /// Raises the limit of the sockets of this process, as servers do for theirs.
    ///
    /// - Returns: the limit.
    @discardableResult
    static func raiseLimit() -> Int {
        var files = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
        files.rlim_cur = files.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
        return Int(clamping: files.rlim_max)
    }

    /// Sends texts of less than 64 KiB, with a mask of zeros.
    func send(_ texts: [[UInt8]]) throws {
        var frames: [UInt8] = []
        for text in texts {
            frames.append(0x81)
            if text.count < 126 {
                frames.append(0x80 | UInt8(text.count))
            } else {
                frames.append(0x80 | 126)
                frames.append(UInt8(text.count >> 8))
                frames.append(UInt8(text.count & 0xff))
            }
            frames += [0, 0, 0, 0] + text
        }
        try socket.send(frames)
    }

    /// Waits for the next frame's content.
    func receive() throws -> ArraySlice<UInt8> {
        while true {
            if let frame = takeFrame() { return frame }
            if next > 0 {
                input.removeSubrange(..<next)
                next = 0
            }
            try socket.receive(into: &input)
        }
    }

    private func takeFrame() -> ArraySlice<UInt8>? {
        guard input.count >= next + 2 else { return nil }
        var (size, head) = (Int(input[next + 1] & 0x7f), 2)
        let extended = size == 126 ? 2 : size == 127 ? 8 : 0
        guard input.count >= next + 2 + extended else { return nil }
        if extended > 0 {
            size = input[(next + 2)..<(next + 2 + extended)].reduce(0) { $0 << 8 | Int($1) }
            head += extended
        }
        guard input.count >= next + head + size else { return nil }
        defer { next += head + size }
        return input[(next + head)..<(next + head + size)]
    }
}
