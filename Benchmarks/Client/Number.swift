import Foundation

/// A figure as people read it: three digits or so.
struct Number: CustomStringConvertible {
    let value: Double

    init(_ value: Double) { self.value = value }

    var description: String {
        let size = abs(value)
        if value == value.rounded(), size < 1e6 { return String(Int(value)) }
        let digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 0.1 ? 2 : 4
        return String(format: "%.\(digits)f", value)
    }
}

extension String {
    func padded(_ width: Int) -> String { self + spaces(width) }
    func leftPadded(_ width: Int) -> String { spaces(width) + self }

    private func spaces(_ width: Int) -> String {
        String(repeating: " ", count: max(0, width - count))
    }
}
