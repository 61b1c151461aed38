/// Writes that a seed decides, the same in the process that makes them and in the one that
/// checks what is left of them.
public struct WriteScript {
    /// One write of the script.
    public enum Step: Sendable, Equatable {
        /// A document becomes these fields.
        case set(String, number: Int, text: String)
        /// Fields of a document change; without the document nothing happens.
        case update(String, number: Int)
        /// Documents get a number each, all or none.
        case batch([String], number: Int)
        /// A number of a document grows.
        case increment(String, by: Int)
        /// A document goes.
        case delete(String)
    }

    /// What a document holds.
    public struct Fields: Sendable, Equatable {
        /// The field `number`; nil where there is none.
        public var number: Int?
        /// The field `text`; nil where there is none.
        public var text: String?

        /// A document's fields.
        public init(number: Int?, text: String?) {
            self.number = number
            self.text = text
        }
    }

    private var random: SeededRandom
    private var count = 0

    /// The script of a seed.
    public init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    /// The next write.
    public mutating func next() -> Step {
        count += 1
        let id = "d\(random.below(40))"
        switch random.below(10) {
        case 0...3:
            let text = String(repeating: "abcdefgh ", count: random.below(120))
            return .set(id, number: count, text: text)
        case 4, 5: return .update(id, number: count)
        case 6: return .batch((0...random.below(6)).map { "d\($0 * 7)" }, number: count)
        case 7, 8: return .increment(id, by: 1 + random.below(9))
        default: return .delete(id)
        }
    }

    /// What a number of writes leave, by document id.
    public static func state(after count: Int, seed: UInt64) -> [String: Fields] {
        var script = WriteScript(seed: seed)
        var documents: [String: Fields] = [:]
        for _ in 0..<count {
            switch script.next() {
            case .set(let id, let number, let text):
                documents[id] = Fields(number: number, text: text)
            case .update(let id, let number):
                documents[id]?.number = number
            case .batch(let ids, let number):
                for id in ids { documents[id] = Fields(number: number, text: nil) }
            case .increment(let id, let amount):
                // A merge makes the document where there is none.
                documents[id, default: Fields(number: nil, text: nil)].number =
                    (documents[id]?.number ?? 0) + amount
            case .delete(let id):
                documents[id] = nil
            }
        }
        return documents
    }
}
