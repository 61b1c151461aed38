import LarderCore

/// A JSON value of a rules file, with its place.
struct RulesValue {
    enum Kind {
        case boolean(Bool)
        case string(SourceText)
        case array([RulesValue])
        case object([RulesMember])
        /// A number or null, which no rule is.
        case other
    }

    let kind: Kind
    /// The offset of the value's first byte in the file.
    let offset: Int
}

extension RulesValue {
    /// The value as JSON; null for what is no rule.
    var json: JSONValue {
        switch kind {
        case .boolean(let flag): .boolean(flag)
        case .string(let text): .string(text.string)
        case .array(let elements): .array(elements.map(\.json))
        case .object(let members):
            .object(members.map { JSONMember($0.name.string, $0.value.json) })
        case .other: .null
        }
    }
}

/// A member of an object.
struct RulesMember {
    let name: SourceText
    let value: RulesValue
}

/// The text of a string in a file, and where its bytes are there.
struct SourceText {
    private(set) var bytes: [UInt8] = []
    /// The offset in the file at which each run of literal bytes begins, by offset in the text.
    private var runs: [(offset: Int, source: Int)]
    /// The offset of the opening quote.
    let offset: Int

    /// An empty text after a quote.
    init(quoteAt offset: Int) {
        self.offset = offset
        runs = [(0, offset + 1)]
    }

    /// Appends what an escape stands for.
    ///
    /// - Parameter end: the offset in the file after the escape.
    mutating func append(_ escaped: some Sequence<UInt8>, endingAt end: Int) {
        bytes.append(contentsOf: escaped)
        runs.append((bytes.count, end))
    }

    mutating func append(_ byte: UInt8) { bytes.append(byte) }

    var string: String { String(decoding: bytes, as: UTF8.self) }

    /// The offset in the file of a byte of the text.
    func source(of offset: Int) -> Int {
        var (low, high) = (0, runs.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if runs[middle].offset <= offset { low = middle } else { high = middle }
        }
        return runs[low].source + offset - runs[low].offset
    }
}
