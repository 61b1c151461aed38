/// A host and a port in one text: `localhost:8080`, `127.0.0.1:8080` or `[::1]:8080`.
struct HostAddress: Hashable {
    /// The host, an IPv6 address without brackets.
    let host: String
    /// The port; 0 where the text has none.
    let port: Int

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    init(_ text: String) {
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...])
        else {
            (host, self.port) = (Self.unbracketed(text[...]), 0)
            return
        }
        host = Self.unbracketed(text[..<colon])
        self.port = Int(port)
    }

    private static func unbracketed(_ name: Substring) -> String {
        let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
        return String(isBracketed ? name.dropFirst().dropLast() : name)
    }
}
