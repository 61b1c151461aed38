/// A host with an optional port: `localhost:8080`, `127.0.0.1:8080` or `[::1]:8080`.
package struct HostAddress: Hashable, Sendable {
    /// The host name or address, without the brackets of IPv6.
    package let host: String
    /// The port; 0 if unspecified.
    package let port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// The address of a text, which is not validated.
    package init(_ text: String) {
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
