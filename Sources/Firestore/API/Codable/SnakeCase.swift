internal import Foundation

/// Conversion of names between `camelCase` and `snake_case`, with the results of `JSONEncoder`
/// and `JSONDecoder`.
enum SnakeCase {
    /// `camelCase` with its words in lower case between underscores: `myURLField` becomes
    /// `my_url_field`.
    ///
    /// A word begins at a capital; of several capitals in a row the last begins one, where a
    /// small letter follows, and the others are one.
    static func encoding(_ name: String) -> String {
        let letters = Array(name)
        var words: [ArraySlice<Character>] = []
        var (start, searched) = (0, 1)
        while let capital = letters.indices.dropFirst(searched).first(where: {
            letters[$0].isUppercase
        }) {
            words.append(letters[start..<capital])
            start = capital
            guard
                let small = letters.indices.dropFirst(capital).first(where: {
                    letters[$0].isLowercase
                })
            else { break }
            if small > capital + 1 {
                words.append(letters[capital..<small - 1])
                start = small - 1
            }
            searched = small + 1
        }
        words.append(letters[start...])
        return words.map { String($0).lowercased() }.joined(separator: "_")
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
