import LarderModel

extension ServerConfiguration {
    /// Throws unless the server may listen where it is to: beyond this machine it needs TLS and a
    /// token.
    func checkExposure() throws(LarderError) {
        guard !Self.isLoopback(host), !allowsInsecure else { return }
        var missing: [String] = []
        if tls == nil { missing.append("TLS") }
        if token?.isEmpty ?? true { missing.append("token") }
        guard missing.isEmpty else {
            throw LarderError(
                .failedPrecondition,
                "'\(host)' can be reached from other machines, and there is no "
                    + missing.joined(separator: " and no ")
                    + ": anybody could read and change everything")
        }
    }

    /// Throws for a token that is empty, with which nobody would be asked for one.
    func checkToken() throws(LarderError) {
        guard token?.isEmpty != true else {
            throw LarderError(.invalidArgument, "the token is empty: it would admit everybody")
        }
    }

    /// Whether an address is of this machine alone.
    static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
