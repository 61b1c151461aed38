/// Random frames of a client of HTTP/2: a valid conversation, and mutations of it.
///
/// Bytes of data from 0x80 on belong to one stream: each is the ``tag(of:)`` of the stream on which
/// the frame is sent, also after mutations of frames. So a server can tell whether it has received
/// bytes on the wrong stream.
package struct HTTP2Script {
    /// A frame (RFC 9113, 4.1).
    package struct Frame: Equatable, Sendable {
        package var type: UInt8
        package var flags: UInt8 = 0
        package var stream: UInt32 = 0
        package var payload: [UInt8] = []

        package init(type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, payload: [UInt8] = []) {
            (self.type, self.flags, self.stream) = (type, flags, stream)
            self.payload = payload
        }

        package var bytes: [UInt8] {
            [UInt8(payload.count >> 16 & 255), UInt8(payload.count >> 8 & 255)]
                + [UInt8(payload.count & 255), type, flags] + bigEndian(stream) + payload
        }
    }

    package static let data: UInt8 = 0
    package static let headers: UInt8 = 1
    package static let priority: UInt8 = 2
    package static let reset: UInt8 = 3
    package static let settings: UInt8 = 4
    package static let ping: UInt8 = 6
    package static let goAway: UInt8 = 7
    package static let credit: UInt8 = 8
    package static let continuation: UInt8 = 9

    package static let endsStream: UInt8 = 1
    package static let endsHeaders: UInt8 = 4
    private static let isPadded: UInt8 = 8
    private static let hasPriority: UInt8 = 32

    /// The beginning of a connection.
    package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    /// A request on a stream.
    package struct Request {
        package var fields: [(name: String, value: String)]
        /// Its bytes from 0x80 on, which must not be lengths, are replaced by the tag of the stream.
        package var body: [UInt8]

        package init(fields: [(name: String, value: String)], body: [UInt8]) {
            self.fields = fields
            self.body = body
        }
    }

    package private(set) var frames: [Frame] = []
    private var encoder = HeaderEncoder()
    private var next: UInt32 = 1

    /// The bytes of data that are of a stream.
    package static func tag(of stream: UInt32) -> UInt8 {
        0x80 | UInt8(truncatingIfNeeded: stream >> 1) & 0x7f
    }

    /// A valid conversation of up to a number of streams.
    package init(
        _ random: inout SeededRandom, streams count: Int,
        _ request: (inout SeededRandom) -> Request
    ) {
        frames.append(Frame(type: Self.settings, payload: Self.someSettings(&random)))
        // The frames that remain of each stream.
        var open: [[Frame]] = []
        var left = 1 + random.below(count)
        while left > 0 || !open.isEmpty {
            if left > 0, open.isEmpty || random.oneIn(3) {
                left -= 1
                open.append(begin(request(&random), &random))
                if open.last?.isEmpty == true { open.removeLast() }
            } else {
                let place = random.below(open.count)
                frames.append(open[place].removeFirst())
                if open[place].isEmpty { open.remove(at: place) }
            }
            if random.oneIn(4) { frames.append(aside(&random)) }
        }
    }

    /// A stream that no frame is on.
    package var nextStream: UInt32 {
        max(next, ((frames.map(\.stream).max() ?? 0) | 1) + 2)
    }

    /// Begins a request; returns the frames that follow.
    private mutating func begin(_ request: Request, _ random: inout SeededRandom) -> [Frame] {
        let stream = next
        next += 2
        let pieces = random.cut(request.body)
        let hasTrailers = random.oneIn(12)
        frames += block(
            request.fields, stream, isLast: pieces.isEmpty && !hasTrailers, &random)
        var rest: [Frame] = []
        for (number, piece) in pieces.enumerated() {
            let isLast = number == pieces.count - 1 && !hasTrailers
            let padding = random.oneIn(4) ? random.below(20) : nil
            rest.append(
                Frame(
                    type: Self.data,
                    flags: (isLast ? Self.endsStream : 0) | (padding == nil ? 0 : Self.isPadded),
                    stream: stream,
                    payload: (padding.map { [UInt8($0)] } ?? []) + piece
                        + [UInt8](repeating: 0, count: padding ?? 0)))
        }
        if hasTrailers {
            // Encoded without the dynamic table, since other headers may be sent before.
            let trailers = HeaderEncoder.literal("x-trailer", "1")
            rest.append(
                Frame(
                    type: Self.headers, flags: Self.endsStream | Self.endsHeaders, stream: stream,
                    payload: trailers))
        }
        return rest.map(Self.tagged)
    }

    /// A block of headers, which may be continued.
    private mutating func block(
        _ fields: [(name: String, value: String)], _ stream: UInt32, isLast: Bool,
        _ random: inout SeededRandom
    ) -> [Frame] {
        let bytes = fields.flatMap { encoder.encode($0.name, $0.value, &random) }
        var parts = [bytes[...]]
        for _ in 0..<(random.oneIn(3) ? random.below(4) : 0) {
            let last = parts.removeLast()
            let cut = last.startIndex + random.below(last.count + 1)
            parts += [last[last.startIndex..<cut], last[cut...]]
        }
        var (flags, lead): (UInt8, [UInt8]) = (isLast ? Self.endsStream : 0, [])
        if random.oneIn(4) {
            flags |= Self.hasPriority
            lead = bigEndian(0) + [UInt8(random.below(256))]
        }
        var frames = parts.enumerated().map { number, part in
            Frame(
                type: number == 0 ? Self.headers : Self.continuation,
                flags: number == 0 ? flags : 0, stream: stream,
                payload: (number == 0 ? lead : []) + part)
        }
        frames[frames.count - 1].flags |= Self.endsHeaders
        return frames
    }

    /// A frame that may be sent at any time between others.
    private func aside(_ random: inout SeededRandom) -> Frame {
        let stream = random.oneIn(3) ? 0 : max(next, 3) - 2
        return switch random.below(12) {
        case 0...2: Frame(type: Self.ping, payload: [UInt8](repeating: 1, count: 8))
        case 3: Frame(type: Self.settings, payload: Self.someSettings(&random))
        case 4: Frame(type: Self.settings, flags: 1)
        case 5: Frame(type: Self.priority, stream: max(stream, 1), payload: [0, 0, 0, 0, 9])
        // Unknown types are ignored.
        case 6: Frame(type: 0x40, flags: 255, stream: stream, payload: [1, 2, 3])
        case 7 where random.oneIn(3):
            Frame(type: Self.reset, stream: max(stream, 1), payload: bigEndian(8))
        default:
            Frame(
                type: Self.credit, stream: stream,
                payload: bigEndian(UInt32(1 + random.below(100_000))))
        }
    }

    private static func someSettings(_ random: inout SeededRandom) -> [UInt8] {
        (0..<random.below(3)).flatMap { _ -> [UInt8] in
            switch random.below(3) {
            // The initial window.
            case 0: [0, 4] + bigEndian(UInt32(random.pick([0, 1, 1_000, 65_535, 1 << 20])))
            // The size of the header table.
            case 1: [0, 1] + bigEndian(UInt32(random.pick([0, 64, 4_096])))
            // An unknown setting.
            default: [9, 9] + bigEndian(7)
            }
        }
    }

    /// A data frame with the tag of its stream.
    private static func tagged(_ frame: Frame) -> Frame {
        guard frame.type == data else { return frame }
        var frame = frame
        let tag = tag(of: frame.stream)
        for (position, byte) in frame.payload.enumerated() where byte >= 0x80 {
            frame.payload[position] = tag
        }
        return frame
    }

    // MARK: Mutations

    /// Drops, doubles, moves and changes some frames.
    package mutating func mutate(_ random: inout SeededRandom) {
        for _ in 0...random.below(4) where !frames.isEmpty {
            let place = random.below(frames.count)
            switch random.below(9) {
            case 0: frames.remove(at: place)
            case 1: frames.insert(frames[place], at: place)
            case 2: frames.swapAt(place, random.below(frames.count))
            case 3: frames[place].flags ^= 1 << UInt8(random.below(8))
            case 4: frames[place].stream = UInt32(random.below(Int(next) + 4))
            case 5: frames[place].type = UInt8(random.below(11))
            case 6:
                frames[place].payload.removeLast(
                    min(frames[place].payload.count, 1 + random.below(9)))
            case 7:
                frames[place].payload += [UInt8](
                    repeating: UInt8(random.below(256)), count: 1 + random.below(9))
            default: random.damage(&frames[place].payload)
            }
        }
        frames = frames.map(Self.tagged)
    }

    /// All bytes of the connection.
    package var bytes: [UInt8] { Self.preface + frames.flatMap(\.bytes) }

    /// A request that does not depend on what was sent before, with three bytes of data.
    package func probe(_ fields: [(name: String, value: String)]) -> [UInt8] {
        let stream = nextStream
        let tag = Self.tag(of: stream)
        return Frame(
            type: Self.headers, flags: Self.endsHeaders, stream: stream,
            payload: fields.flatMap { HeaderEncoder.literal($0.name, $0.value) }
        ).bytes
            + Frame(
                type: Self.data, flags: Self.endsStream, stream: stream, payload: [tag, tag, tag]
            ).bytes
    }
}

/// Encodes header fields (RFC 7541), without Huffman coding.
private struct HeaderEncoder {
    /// The number of entries of the static table.
    private static let staticCount = 61
    /// Entries that are referred to, so few that none was evicted.
    private static let entryCount = 10

    /// The newest entries of the dynamic table, newest first.
    private var entries: [(name: String, value: String)] = []

    mutating func encode(
        _ name: String, _ value: String, _ random: inout SeededRandom
    ) -> [UInt8] {
        if let place = entries.firstIndex(where: { $0 == (name, value) }), !random.oneIn(4) {
            return [0x80 | UInt8(Self.staticCount + 1 + place)]
        }
        guard random.oneIn(2) else { return Self.literal(name, value) }
        entries.insert((name, value), at: 0)
        if entries.count > Self.entryCount { entries.removeLast() }
        return [0x40] + Self.text(name) + Self.text(value)
    }

    /// A field that is not added to the table.
    static func literal(_ name: String, _ value: String) -> [UInt8] {
        [0] + text(name) + text(value)
    }

    private static func text(_ text: String) -> [UInt8] {
        // The length has a prefix of seven bits (RFC 7541, 5.1).
        var (length, bytes) = (text.utf8.count, [UInt8]())
        if length < 127 {
            bytes = [UInt8(length)]
        } else {
            length -= 127
            bytes = [127]
            while length >= 128 {
                bytes.append(UInt8(length & 127 | 128))
                length >>= 7
            }
            bytes.append(UInt8(length))
        }
        return bytes + text.utf8
    }
}

private func bigEndian(_ number: UInt32) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian, Array.init)
}

// MARK: - The server's frames

/// The frames of a server, which are checked for their order.
package struct HTTP2Output {
    private var received: [UInt8] = []
    private var ended: Set<UInt32> = []
    private var resets: Set<UInt32> = []

    package init() {}

    /// The frames that are complete after further bytes.
    ///
    /// - Throws: ``FuzzFinding`` for a frame that may not follow on its stream.
    package mutating func receive(_ bytes: some Sequence<UInt8>) throws -> [HTTP2Script.Frame] {
        received += bytes
        var frames: [HTTP2Script.Frame] = []
        var position = 0
        while received.count >= position + 9 {
            let head = received[position..<position + 9].map(UInt32.init)
            let length = Int(head[0] << 16 | head[1] << 8 | head[2])
            guard received.count >= position + 9 + length else { break }
            let frame = HTTP2Script.Frame(
                type: UInt8(head[3]), flags: UInt8(head[4]),
                stream: head[5] << 24 | head[6] << 16 | head[7] << 8 | head[8],
                payload: Array(received[position + 9..<position + 9 + length]))
            try note(frame)
            frames.append(frame)
            position += 9 + length
        }
        received.removeFirst(position)
        return frames
    }

    /// True if the server has reset a stream.
    package func wasReset(_ stream: UInt32) -> Bool { resets.contains(stream) }

    private mutating func note(_ frame: HTTP2Script.Frame) throws {
        let isContent =
            frame.type == HTTP2Script.data || frame.type == HTTP2Script.headers
        try FuzzFinding.require(
            !isContent || !ended.contains(frame.stream),
            "a frame of type \(frame.type) after the end of stream \(frame.stream)")
        let ends = isContent && frame.flags & HTTP2Script.endsStream != 0
        if frame.type == HTTP2Script.reset { resets.insert(frame.stream) }
        if ends || frame.type == HTTP2Script.reset { ended.insert(frame.stream) }
    }
}
