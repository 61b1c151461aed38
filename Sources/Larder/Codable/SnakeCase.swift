/// Conversion of names between `camelCase` and `snake_case`, by the rules of `JSONEncoder`.
enum SnakeCase {
    /// `camelCase` with its words in lower case between underscores: `myURLField` becomes
    /// `my_url_field`.
    static func encoding(_ name: String) -> String {
        let letters = Array(name)
        var result = ""
        for (position, letter) in letters.enumerated() {
            let startsWord =
                position > 0 && letter.isUppercase
                && (!letters[position - 1].isUppercase
                    || position + 1 < letters.count && letters[position + 1].isLowercase)
            if startsWord { result.append("_") }
            result.append(contentsOf: letter.lowercased())
        }
        return result
    }

    /// `snake_case` as `camelCase`; underscores at the ends stay.
    static func decoding(_ name: String) -> String {
        guard let first = name.firstIndex(where: { $0 != "_" }),
            let last = name.lastIndex(where: { $0 != "_" })
        else { return name }
        let words = name[first...last].split(separator: "_")
        guard words.count > 1 else { return name }
        let joined = words[0].lowercased() + words.dropFirst().map(\.capitalized).joined()
        return name[..<first] + joined + name[name.index(after: last)...]
    }
}

extension Substring {
    fileprivate var capitalized: String {
        prefix(1).uppercased() + dropFirst().lowercased()
    }
}
