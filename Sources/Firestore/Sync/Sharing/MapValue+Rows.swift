import LarderModel

/// How the rows of a store's clients are read: what is missing or of another type is nil.
extension MapValue {
    func integer(_ name: String) -> Int64? {
        if case .integer(let value)? = self[name] { value } else { nil }
    }

    func string(_ name: String) -> String? {
        if case .string(let value)? = self[name] { value } else { nil }
    }

    func bytes(_ name: String) -> [UInt8] {
        if case .bytes(let value)? = self[name] { value } else { [] }
    }

    func flag(_ name: String) -> Bool { self[name] == .boolean(true) }

    func duration(_ name: String) -> Duration? { integer(name).map { .nanoseconds($0) } }

    func setting(_ name: String, _ value: Value) -> MapValue {
        var fields = self
        fields[name] = value
        return fields
    }
}

extension Value {
    /// A duration in nanoseconds, the longest that an integer holds for a longer one.
    static func nanoseconds(of duration: Duration) -> Value {
        let (seconds, attoseconds) = duration.components
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return .integer(overflows ? .max : whole &+ attoseconds / 1_000_000_000)
    }
}

extension Set<Int32> {
    /// The numbers in order, four bytes each, the least significant first.
    var packed: [UInt8] {
        sorted().flatMap { number in
            let bits = UInt32(bitPattern: number)
            return (0..<4).map { UInt8(truncatingIfNeeded: bits >> ($0 * 8)) }
        }
    }

    /// Takes ``packed`` apart; a rest of fewer than four bytes is passed over.
    init(packed bytes: [UInt8]) {
        self.init()
        for start in stride(from: 0, to: bytes.count - bytes.count % 4, by: 4) {
            let bits = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[start + $1]) << ($1 * 8) }
            insert(Int32(bitPattern: bits))
        }
    }
}

extension LarderError {
    /// More of an error's text is not kept.
    private static let maxMessageBytes = 1_024

    /// The error as fields: code and message.
    var fields: MapValue {
        let text = String(decoding: message.utf8.prefix(Self.maxMessageBytes), as: UTF8.self)
        return ["code": .integer(Int64(kind.rawValue)), "message": .string(text)]
    }

    /// Reads ``fields``; `unknown` where there is no code.
    convenience init(_ fields: MapValue) {
        let code = fields.integer("code").flatMap { Int(exactly: $0) }
        self.init(
            Code(rawValue: code ?? Code.unknown.rawValue), fields.string("message") ?? "")
    }
}
