/// A secret that clients must bear.
struct BearerToken: Sendable {
    private let token: [UInt8]

    /// A token; nil for none.
    init?(_ token: String?) {
        guard let token, !token.isEmpty else { return nil }
        self.token = Array(token.utf8)
    }

    /// Whether a header `authorization` has the token.
    ///
    /// Takes the same time wherever the first difference is.
    func admits(_ authorization: String?) -> Bool {
        let scheme = "bearer "
        guard let header = authorization?.utf8, header.count == scheme.utf8.count + token.count,
            String(Substring(header.prefix(scheme.utf8.count))).lowercased() == scheme
        else { return false }
        return zip(header.dropFirst(scheme.utf8.count), token)
            .reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
