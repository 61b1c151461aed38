package import LarderModel
package import LarderQuery

extension MessageCoder {
    /// The orders of a request that has them as text: `a.b desc, __name__`.
    ///
    /// - Throws: `invalidArgument` for anything but paths of fields between commas, each alone or
    ///   with `asc` or `desc` behind it.
    package func decode(orderBy text: String) throws(LarderError) -> [Order] {
        guard text.utf8.contains(where: { $0 != UInt8(ascii: " ") }) else { return [] }
        var orders: [Order] = []
        for part in Self.split(text.utf8[...], at: ",") {
            let words = Self.split(part, at: " ").filter { !$0.isEmpty }
            guard let path = words.first, words.count <= 2,
                let isDescending = Self.isDescending(words.dropFirst().first)
            else { throw .invalidArgument("'\(text.prefix(200))' is no list of orders") }
            orders.append(
                Order(
                    try decode(fieldPath: String(Substring(path))), isDescending: isDescending))
        }
        guard orders.count <= limits.maxQueryParts else {
            throw .invalidArgument(
                "a query has more than \(limits.maxQueryParts) filters and orders")
        }
        return orders
    }

    /// What a direction says; nil for a word that is none.
    private static func isDescending(_ word: Substring.UTF8View?) -> Bool? {
        guard let word else { return false }
        return switch Substring(word).lowercased() {
        case "asc": false
        case "desc": true
        default: nil
        }
    }

    /// The parts between separators that are not between backticks.
    private static func split(_ text: Substring.UTF8View, at separator: Unicode.Scalar)
        -> [Substring.UTF8View]
    {
        var (parts, start) = ([Substring.UTF8View](), text.startIndex)
        var (isQuoted, isEscaped) = (false, false)
        for position in text.indices {
            let byte = text[position]
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "`") {
                isQuoted.toggle()
            } else if byte == UInt8(ascii: separator), !isQuoted {
                parts.append(text[start..<position])
                start = text.index(after: position)
            }
        }
        return parts + [text[start...]]
    }
}
