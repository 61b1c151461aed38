import Foundation

/// A figure as people read it: three digits or so.
struct Number: CustomStringConvertible {
    let value: Double

    init(_ value: Double) { self.value = value }

    var description: String {
        let size = abs(value)
        if value == value.rounded(), size < 1e9 { return String(Int(value)) }
        return String(format: "%.\(size >= 1_000 ? 0 : size >= 10 ? 1 : 2)f", value)
    }
}

extension String {
    func padded(_ width: Int) -> String { self + spaces(width) }
    func leftPadded(_ width: Int) -> String { spaces(width) + self }

    private func spaces(_ width: Int) -> String {
        String(repeating: " ", count: max(0, width - count))
    }
}

/// Shows what was printed, also where nobody looks at a terminal.
func flushOutput() { fflush(nil) }
