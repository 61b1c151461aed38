import Foundation

/// A number as text, with about three significant digits.
package struct Number: CustomStringConvertible {
    private let value: Double

    package init(_ value: Double) { self.value = value }

    package var description: String {
        let size = abs(value)
        if value == value.rounded(), size < 1e9 { return String(Int(value)) }
        let digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 0.1 ? 2 : 4
        return String(format: "%.\(digits)f", value)
    }
}

/// Median and range of the rounds of a measurement.
package struct Summary: Encodable {
    package let median: Double
    package let least: Double
    package let most: Double

    /// - Parameter rounds: at least one; without any, everything is NaN.
    package init(_ rounds: [Double]) {
        let sorted = rounds.sorted()
        guard let least = sorted.first, let most = sorted.last else {
            (median, self.least, self.most) = (.nan, .nan, .nan)
            return
        }
        median = (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
        self.least = least
        self.most = most
    }
}

extension String {
    package func padded(_ width: Int) -> String { self + spaces(width) }
    package func leftPadded(_ width: Int) -> String { spaces(width) + self }

    private func spaces(_ width: Int) -> String {
        String(repeating: " ", count: max(0, width - count))
    }
}

/// Prints how many limits were met, and flushes the output.
package func printTally(reached: Int, missed: Int) {
    print("\n\(reached) reached, \(missed) missed")
    flushOutput()
}

/// Flushes standard output, also if it is not a terminal.
package func flushOutput() { fflush(nil) }

/// The machine that the measurements run on.
package enum Machine {
    package static var processorCount: Int { ProcessInfo.processInfo.activeProcessorCount }

    /// The line of `/proc/loadavg`.
    package static var load: String {
        let text = try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8)
        return text?.trimmingCharacters(in: .newlines) ?? "not known"
    }

    package static var processor: String {
        let text = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let model = text.split(separator: "\n").first { $0.hasPrefix("model name") }
        return model?.split(separator: ":").last?.trimmingCharacters(in: .whitespaces)
            ?? "not known"
    }
}
