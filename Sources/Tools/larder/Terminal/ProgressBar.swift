/// A progress line on a terminal; prints nothing otherwise.
///
/// The line is redrawn at most ten times a second and wiped when the work ends.
struct ProgressBar {
    private let title: String
    private let unit: Unit
    private let columns: Int
    private let start: UInt64
    private var lastDrawn: UInt64 = 0
    private let isShown: Bool

    enum Unit {
        case bytes
        case count(String)
    }

    /// A bar with a title, on standard error.
    init(_ title: String, unit: Unit) {
        self.title = title
        self.unit = unit
        isShown = System.isTerminal(2)
        columns = isShown ? System.terminalColumns(2) : 80
        start = System.monotonicNanoseconds()
    }

    /// Shows the progress with a note such as a rate; `total` is 0 if it is unknown.
    mutating func update(_ done: Int64, of total: Int64, note: @autoclosure () -> String = "") {
        guard isShown else { return }
        let now = System.monotonicNanoseconds()
        guard now - lastDrawn >= 100_000_000 else { return }
        lastDrawn = now
        let text = Self.text(
            title: title, unit: unit, done: done, total: total, note: note(),
            seconds: Double(now - start) / 1e9, columns: columns - 1)
        Messages.raw("\r\u{1B}[K" + text)
    }

    /// Wipes the line until the next update, so that a message can be printed.
    mutating func clear() {
        finish()
        lastDrawn = 0
    }

    /// Wipes the line.
    func finish() {
        if isShown && lastDrawn > 0 { Messages.raw("\r\u{1B}[K") }
    }

    /// Seconds since the bar was created.
    var elapsedSeconds: Double { Double(System.monotonicNanoseconds() - start) / 1e9 }

    /// The text of the line, at most `columns` wide.
    static func text(
        title: String, unit: Unit, done: Int64, total: Int64, note: String, seconds: Double,
        columns: Int
    ) -> String {
        var amount = amountText(done, unit)
        var parts: [String] = []
        if total > 0 {
            amount += " of " + amountText(total, unit)
            parts.append(amount)
            if !note.isEmpty { parts.append(note) }
            if done > 0 && done < total && seconds >= 0.5 {
                let rest = seconds * Double(total - done) / Double(done)
                parts.append("ETA " + NumberText.duration(seconds: rest))
            }
        } else {
            parts.append(amount)
            if !note.isEmpty { parts.append(note) }
        }
        let tail = parts.joined(separator: "  ")
        let room = columns - title.count - tail.count - 11
        guard total > 0, room >= 8 else {
            return String("\(title)  \(tail)".prefix(max(0, columns)))
        }
        let share = min(1, max(0, Double(done) / Double(total)))
        let width = min(room, 30)
        let filled = Int(share * Double(width))
        let bar =
            String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
        let percent = String(Int(share * 100))
        let padding = String(repeating: " ", count: 3 - percent.count)
        return "\(title) [\(bar)] \(padding)\(percent) %  \(tail)"
    }

    private static func amountText(_ amount: Int64, _ unit: Unit) -> String {
        switch unit {
        case .bytes: ByteSize(amount).text
        case .count(let things): "\(NumberText.count(amount)) \(things)"
        }
    }
}

extension Messages {
    static func raw(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { System.write($0, to: 2) }
    }
}
