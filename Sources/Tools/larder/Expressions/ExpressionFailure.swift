/// Why a text of the command line is not the expression that it should be, and where.
struct ExpressionFailure: Error, Equatable {
    /// The byte at which reading stopped, counted from the beginning of the text.
    var offset: Int
    /// What is wrong there, in one line.
    var reason: String
}

extension ToolError {
    /// The usage error of an option's text.
    init(_ failure: ExpressionFailure, in option: String, _ text: String, hint: String = "") {
        let shown = DisplayWidth.cut(text, to: 200)
        let place = text.isEmpty ? "" : ", at character \(Self.column(failure.offset, in: text))"
        self.init(.usage, "\(option) '\(shown)'\(place): \(failure.reason)", hint: hint)
    }

    private static func column(_ offset: Int, in text: String) -> Int {
        String(decoding: text.utf8.prefix(offset), as: UTF8.self).count + 1
    }
}
