/// Something that a step should have led to and did not, or the other way round.
struct SpecMismatch: Sendable, CustomStringConvertible {
    let what: String
    let expected: String
    let actual: String

    var description: String { "\(what): expected \(expected); actual \(actual)" }
}

extension [SpecMismatch] {
    /// Notes when two values differ.
    mutating func compare<Value: Equatable>(_ what: String, _ expected: Value, _ actual: Value) {
        guard expected != actual else { return }
        append(SpecMismatch(what: what, expected: "\(expected)", actual: "\(actual)"))
    }

    /// Notes events that were not expected, or did not come, or are not as expected.
    mutating func compare(_ expected: [ListenerEvent], _ actual: [ListenerEvent]) {
        let (expected, actual) = (expected.inOrder, actual.inOrder)
        guard expected.count == actual.count else {
            append(
                SpecMismatch(what: "events", expected: expected.text, actual: actual.text))
            return
        }
        for (expected, actual) in zip(expected, actual) { compare("event", expected, actual) }
    }
}

extension [ListenerEvent] {
    fileprivate var inOrder: [ListenerEvent] {
        // Sorting is stable.
        sorted { $0.sortingText < $1.sortingText }
    }

    fileprivate var text: String {
        isEmpty ? "none" : map { "\n    \($0)" }.joined()
    }
}
