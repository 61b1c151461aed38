import Foundation

/// A minimal gRPC connection: a blocking socket and the part of HTTP/2 that calls need.
///
/// A full gRPC client takes as much processor time as the server, which would hide the differences
/// between servers. Used by one thread at a time.
final class WireConnection {
    /// An event from the server.
    enum Event {
        case message(stream: UInt32, bytes: ArraySlice<UInt8>)
        case ended(stream: UInt32)
    }

    struct Problem: Error, CustomStringConvertible { let description: String }

    private static let endsStream: UInt8 = 1
    private static let endsHeaders: UInt8 = 4
    /// The receive window: larger than any measured response.
    private static let window: UInt32 = 1 << 30

    private let socket: Int32
    private var reader = FrameReader()
    private var headers = HeaderTable()
    private var output: [UInt8] = []
    private var events: [Event] = []
    private var nextEvent = 0
    private var nextStream: UInt32 = 1
    /// Partial messages of streams.
    private var parts: [UInt32: [UInt8]] = [:]
    /// Streams without a response so far.
    private var silent: Set<UInt32> = []
    private var sendWindow = 65_535
    private var taken: UInt32 = 0
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)

    /// Connects to a port of this machine.
    init(port: Int) throws {
        socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        let result = withUnsafeBytes(of: &address) { bytes in
            connect(
                socket, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(bytes.count))
        }
        guard result == 0 else { throw Problem(description: "no server listens at port \(port)") }
        var isOn: Int32 = 1
        setsockopt(
            socket, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
        output += Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        var settings: [UInt8] = []
        settings.append(bigEndian: 4, count: 2)
        settings.append(bigEndian: Self.window, count: 4)
        write(.settings, settings)
        grantWindow(Self.window)
    }

    deinit {
        close(socket)
        buffer.deallocate()
    }

    // MARK: Calls

    /// Begins a call, sent with the next ``flush()``.
    ///
    /// - Returns: its stream ID.
    func open(_ method: String) -> UInt32 {
        let stream = nextStream
        nextStream += 2
        write(.headers, flags: Self.endsHeaders, stream: stream, headers.block(for: method))
        silent.insert(stream)
        return stream
    }

    /// Sends a message of a call with the next ``flush()``; at most 60,000 bytes.
    func send(_ message: [UInt8], on stream: UInt32, isLast: Bool) throws {
        while sendWindow < message.count + 5 { try receive() }
        sendWindow -= message.count + 5
        var data: [UInt8] = [0]
        data.append(bigEndian: UInt32(message.count), count: 4)
        data += message
        // Frames are limited to 16 KiB by default.
        var start = 0
        while start < data.count {
            let end = min(start + 16_384, data.count)
            write(
                .data, flags: isLast && end == data.count ? Self.endsStream : 0, stream: stream,
                Array(data[start..<end]))
            start = end
        }
    }

    /// Ends the client's messages of a call.
    func end(_ stream: UInt32) {
        write(.data, flags: Self.endsStream, stream: stream, [])
    }

    /// Sends buffered data.
    func flush() throws {
        var start = 0
        while start < output.count {
            let count = output.withUnsafeBytes {
                Foundation.send(
                    socket, $0.baseAddress.map { $0 + start }, $0.count - start,
                    Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else {
                throw Problem(description: "the server has closed the connection")
            }
            start += count
        }
        output.removeAll(keepingCapacity: true)
    }

    /// Waits for the next event.
    func next() throws -> Event {
        while nextEvent == events.count {
            events.removeAll(keepingCapacity: true)
            nextEvent = 0
            try receive()
        }
        defer { nextEvent += 1 }
        return events[nextEvent]
    }

    // MARK: Frames

    private func receive() throws {
        try flush()
        let count = recv(socket, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else { throw Problem(description: "the server has closed the connection") }
        reader.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        while let frame = reader.next() { try take(frame) }
    }

    private func take(_ frame: FrameReader.Frame) throws {
        switch frame.kind {
        case .data:
            takeMessages(frame)
            taken += UInt32(frame.payload.count)
            if taken > Self.window / 2 {
                grantWindow(taken)
                taken = 0
            }
            if frame.flags & Self.endsStream != 0 { finish(frame.stream) }
        case .headers where frame.flags & Self.endsStream != 0:
            guard silent.remove(frame.stream) == nil else {
                throw Problem(description: "a call ended without a response")
            }
            finish(frame.stream)
        case .settings where frame.flags == 0: write(.settings, flags: 1, [])
        case .ping where frame.flags == 0:
            write(.ping, flags: 1, Array(reader.bytes[frame.payload]))
        case .windowUpdate where frame.stream == 0:
            sendWindow += Int(reader.bytes.bigEndian(at: frame.payload.lowerBound, count: 4))
        case .reset, .goAway:
            throw Problem(
                description: "the server ended a stream with \(reader.bytes[frame.payload])")
        default: return
        }
    }

    private func takeMessages(_ frame: FrameReader.Frame) {
        silent.remove(frame.stream)
        var bytes = parts.removeValue(forKey: frame.stream) ?? []
        bytes += reader.bytes[frame.payload]
        var start = 0
        while bytes.count >= start + 5 {
            let end = start + 5 + Int(bytes.bigEndian(at: start + 1, count: 4))
            guard bytes.count >= end else { break }
            events.append(.message(stream: frame.stream, bytes: bytes[(start + 5)..<end]))
            start = end
        }
        if start < bytes.count { parts[frame.stream] = Array(bytes[start...]) }
    }

    private func finish(_ stream: UInt32) {
        parts[stream] = nil
        events.append(.ended(stream: stream))
    }

    private func grantWindow(_ count: UInt32) {
        var increment: [UInt8] = []
        increment.append(bigEndian: count, count: 4)
        write(.windowUpdate, increment)
    }

    private func write(
        _ kind: FrameReader.Kind, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8]
    ) {
        output.append(bigEndian: UInt32(payload.count), count: 3)
        output.append(kind.rawValue)
        output.append(flags)
        output.append(bigEndian: stream, count: 4)
        output += payload
    }
}

/// Splits received data into HTTP/2 frames.
struct FrameReader {
    struct Kind: RawRepresentable, Equatable {
        let rawValue: UInt8

        static let data = Kind(rawValue: 0)
        static let headers = Kind(rawValue: 1)
        static let reset = Kind(rawValue: 3)
        static let settings = Kind(rawValue: 4)
        static let ping = Kind(rawValue: 6)
        static let goAway = Kind(rawValue: 7)
        static let windowUpdate = Kind(rawValue: 8)
    }

    /// A frame; its payload is a range of ``FrameReader/bytes``.
    struct Frame {
        let kind: Kind
        let flags: UInt8
        let stream: UInt32
        let payload: Range<Int>
    }

    /// Received data that has not been dropped.
    private(set) var bytes: [UInt8] = []
    private var position = 0

    /// The next frame; nil if it is incomplete.
    mutating func next() -> Frame? {
        guard bytes.count >= position + 9 else { return nil }
        let length = Int(bytes[position]) << 16 | Int(bytes.bigEndian(at: position + 1, count: 2))
        let end = position + 9 + length
        guard bytes.count >= end else { return nil }
        defer { position = end }
        return Frame(
            kind: Kind(rawValue: bytes[position + 3]), flags: bytes[position + 4],
            stream: bytes.bigEndian(at: position + 5, count: 4) & 0x7fff_ffff,
            payload: (position + 9)..<end)
    }

    /// Appends received data; invalidates earlier frames.
    mutating func append(_ more: UnsafeRawBufferPointer) {
        bytes.removeSubrange(..<position)
        position = 0
        bytes.append(contentsOf: more)
    }
}

extension [UInt8] {
    /// A big-endian number at a position.
    func bigEndian(at position: Int, count: Int) -> UInt32 {
        self[position..<position + count].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Appends the low bytes of a number, big-endian.
    mutating func append(bigEndian number: UInt32, count: Int) {
        for byte in (0..<count).reversed() {
            append(UInt8(truncatingIfNeeded: number >> (8 * byte)))
        }
    }
}

/// The compressed headers of requests: each is sent literally once per connection and then by
/// index, like gRPC clients do.
struct HeaderTable {
    private static let methodPOST: UInt8 = 0x83
    private static let schemeHTTP: UInt8 = 0x86
    /// The size of HPACK's static table.
    private static let staticCount = 61

    /// The dynamic table, latest entry first.
    private var sent: [String] = []

    /// The header block of a call; for at most a hundred methods per connection.
    mutating func block(for method: String) -> [UInt8] {
        var bytes = [Self.methodPOST, Self.schemeHTTP]
        add(":path", "/google.firestore.v1.Firestore/\(method)", to: &bytes)
        add(":authority", "localhost", to: &bytes)
        add("content-type", "application/grpc", to: &bytes)
        add("te", "trailers", to: &bytes)
        add("authorization", "Bearer owner", to: &bytes)
        add("google-cloud-resource-prefix", Requests.database, to: &bytes)
        return bytes
    }

    private mutating func add(_ name: String, _ value: String, to bytes: inout [UInt8]) {
        if let position = sent.firstIndex(of: name + value) {
            bytes.append(0x80 | UInt8(Self.staticCount + 1 + position))
            return
        }
        sent.insert(name + value, at: 0)
        bytes.append(0x40)
        for text in [name, value] {
            bytes.append(UInt8(text.utf8.count))
            bytes += text.utf8
        }
    }
}
