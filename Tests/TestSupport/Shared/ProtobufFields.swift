/// The fields of a protobuf message whose type is not known, for mutations of its structure.
package struct ProtobufFields {
    private enum Content {
        case number(UInt64)
        /// Four or eight bytes.
        case fixed([UInt8])
        case bytes([UInt8])
        case message(ProtobufFields)
    }

    private struct Field {
        var number: UInt64
        var content: Content
    }

    private static let maxDepth = 12
    private static let numbers: [UInt64] = [
        0, 1, 2, 127, 1 << 31 - 1, 1 << 31, 1 << 32 - 1, 1 << 63 - 1, 1 << 63, .max,
    ]
    private static let texts: [[UInt8]] =
        [
            "", "projects/p/databases/(default)/documents", "projects/p/databases/(default)",
            "a/b/c",
            "/", "..", "__name__", "__x__", "`", "a.b", "a.`b", "1a", "\u{0}",
            String(repeating: "x", count: 1_600), String(repeating: "a.", count: 200),
        ].map { Array(($0 as String).utf8) } + [[0xff], [0xed, 0xa0, 0x80]]

    private var fields: [Field] = []

    /// A mutation of a message: of its fields at any depth, or of its bytes.
    package static func mutated(_ bytes: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        var bytes = bytes
        if !random.oneIn(3), var fields = ProtobufFields(bytes[...]) {
            for _ in 0...random.below(3) { fields.mutate(&random) }
            bytes = fields.bytes
        }
        if random.oneIn(3) { random.damage(&bytes) }
        return bytes
    }

    /// Nil for bytes that are no message.
    private init?(_ bytes: ArraySlice<UInt8>, depth: Int = 0) {
        var rest = bytes
        while !rest.isEmpty {
            guard depth < Self.maxDepth, let tag = Self.readNumber(&rest), tag >> 3 > 0 else {
                return nil
            }
            let content: Content
            switch tag & 7 {
            case 0:
                guard let number = Self.readNumber(&rest) else { return nil }
                content = .number(number)
            case 1, 5:
                let count = tag & 7 == 1 ? 8 : 4
                guard rest.count >= count else { return nil }
                content = .fixed(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            case 2:
                guard let count = Self.readNumber(&rest), count <= rest.count else { return nil }
                let value = rest.prefix(Int(count))
                rest = rest.dropFirst(Int(count))
                let message = value.isEmpty ? nil : ProtobufFields(value, depth: depth + 1)
                content = message.map { .message($0) } ?? .bytes(Array(value))
            default: return nil
            }
            fields.append(Field(number: tag >> 3, content: content))
        }
    }

    private static func readNumber(_ bytes: inout ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = bytes.popFirst() else { return nil }
            number |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return number }
        }
        return nil
    }

    private mutating func mutate(_ random: inout SeededRandom) {
        guard !fields.isEmpty else { return fields.append(Self.anyField(&random)) }
        let place = random.below(fields.count)
        if case .message(var inner) = fields[place].content, !random.oneIn(4) {
            inner.mutate(&random)
            fields[place].content = .message(inner)
            return
        }
        switch random.below(7) {
        case 0: fields.remove(at: place)
        case 1: fields.insert(fields[place], at: random.below(fields.count + 1))
        case 2: fields.swapAt(place, random.below(fields.count))
        case 3: fields[place].number = UInt64(1 + random.below(20))
        case 4: fields.append(Self.anyField(&random))
        default: fields[place].content = Self.other(than: fields[place].content, &random)
        }
    }

    private static func anyField(_ random: inout SeededRandom) -> Field {
        Field(
            number: UInt64(1 + random.below(20)),
            content: random.oneIn(2) ? .number(random.pick(numbers)) : .bytes(random.pick(texts)))
    }

    /// Another value of the same kind.
    private static func other(than content: Content, _ random: inout SeededRandom) -> Content {
        switch content {
        case .number: .number(random.pick(numbers))
        case .fixed(let bytes): .fixed(bytes.map { _ in random.pick([0, 1, 0x7f, 0xf0, 0xff]) })
        case .bytes: .bytes(random.pick(texts))
        // The same message within itself.
        case .message(let message):
            .message(
                ProtobufFields(fields: [
                    Field(number: UInt64(1 + random.below(9)), content: .message(message))
                ]))
        }
    }

    private init(fields: [Field]) {
        self.fields = fields
    }

    private var bytes: [UInt8] {
        fields.flatMap { field -> [UInt8] in
            switch field.content {
            case .number(let number): Self.number(field.number << 3) + Self.number(number)
            case .fixed(let bytes):
                Self.number(field.number << 3 | (bytes.count == 8 ? 1 : 5)) + bytes
            case .bytes(let bytes): Self.lengthed(field.number, bytes)
            case .message(let message): Self.lengthed(field.number, message.bytes)
            }
        }
    }

    private static func lengthed(_ field: UInt64, _ bytes: [UInt8]) -> [UInt8] {
        number(field << 3 | 2) + number(UInt64(bytes.count)) + bytes
    }

    private static func number(_ number: UInt64) -> [UInt8] {
        var (rest, bytes) = (number, [UInt8]())
        while rest >= 0x80 {
            bytes.append(UInt8(rest & 0x7f | 0x80))
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }
}
