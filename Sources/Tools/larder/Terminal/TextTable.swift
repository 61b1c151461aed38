/// A text table with aligned columns.
struct TextTable {
    /// The alignment of a column.
    enum Alignment {
        case left
        case right
    }

    private let alignments: [Alignment]
    private var rows: [[String]] = []
    private let hasHeader: Bool

    /// Creates a table with column titles, which are printed in capitals.
    init(_ columns: [(title: String, alignment: Alignment)]) {
        alignments = columns.map(\.alignment)
        hasHeader = columns.contains { !$0.title.isEmpty }
        if hasHeader { rows = [columns.map { $0.title.uppercased() }] }
    }

    /// Adds a line; missing cells are empty.
    mutating func add(_ cells: String...) {
        add(cells)
    }

    /// Adds a line; missing cells are empty.
    mutating func add(_ cells: [String]) {
        rows.append(cells + Array(repeating: "", count: max(0, alignments.count - cells.count)))
    }

    /// The lines, with two spaces between columns and no trailing spaces.
    var lines: [String] {
        let widths = alignments.indices.map { column in
            rows.map { DisplayWidth.of($0[column]) }.max() ?? 0
        }
        return rows.map { cells in
            var line = ""
            for (column, cell) in cells.enumerated() {
                let padding = String(
                    repeating: " ", count: max(0, widths[column] - DisplayWidth.of(cell)))
                if column > 0 { line += "  " }
                line += alignments[column] == .right ? padding + cell : cell + padding
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}

/// The display width of text on a terminal.
enum DisplayWidth {
    /// The width of a text: combining marks have width 0, East Asian wide characters 2.
    static func of(_ text: String) -> Int {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
            ? text.utf8.count : text.unicodeScalars.reduce(0) { $0 + of($1) }
    }

    /// A text truncated to a width, with an ellipsis.
    static func cut(_ text: String, to columns: Int) -> String {
        guard of(text) > columns else { return text }
        var kept = ""
        var width = 0
        for character in text {
            let next = character.unicodeScalars.reduce(0) { $0 + of($1) }
            if width + next > columns - 1 { break }
            kept.append(character)
            width += next
        }
        return kept + "…"
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F,
            0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}
