import LarderModel

/// Where a database is kept below the server's directory: a folder for its project, and one in
/// that for itself.
///
/// Names come from clients. Of letters, digits, `-`, `_`, `(`, `)` and `.` all stay as they are,
/// but for a dot at the beginning; every other byte becomes `%` and two digits. So no name leads
/// out of the directory, and no two names lead to one folder.
struct DatabaseFolder: Hashable {
    /// The path below the server's directory.
    let path: String

    /// File systems end names at 255 bytes.
    private static let maxBytes = 240

    /// The folder of a database.
    ///
    /// - Throws: `invalidArgument` for names that are too long for a file system.
    init(_ id: DatabaseID) throws(LarderError) {
        path = "\(try Self.name(id.project))/\(try Self.name(id.database))"
    }

    private static func name(_ id: String) throws(LarderError) -> String {
        var name = ""
        for (position, byte) in id.utf8.enumerated() {
            if isPlain(byte), byte != UInt8(ascii: ".") || position > 0 {
                name.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                name += "%" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        guard !name.isEmpty, name.utf8.count <= maxBytes else {
            throw LarderError(
                .invalidArgument,
                "the name '\(id.prefix(100))' of a project or database is too long")
        }
        return name
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-_().".utf8.contains(byte)
        }
    }
}
