import ArgumentParser
import Foundation
import LarderModel
import LarderServer

/// Who may speak to the server, and how.
struct SecurityOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The certificate for TLS, PEM.", valueName: "file"))
    var tlsCertificate: String?

    @Option(help: ArgumentHelp("The certificate's private key, PEM.", valueName: "file"))
    var tlsKey: String?

    @Option(
        help: ArgumentHelp(
            "Bearer token that clients must present (visible in ps; prefer --token-file).",
            valueName: "secret"))
    var token: String?

    @Option(
        help: ArgumentHelp(
            "A file with the bearer token that clients must present.", valueName: "file"))
    var tokenFile: String?

    @Option(
        name: .customLong("allow-host"),
        help: ArgumentHelp(
            "A further name of this server: HTTP requests may name it as their host, and web "
                + "pages of it may make requests. May be repeated.",
            valueName: "name"))
    var allowedHosts: [String] = []

    @Flag(help: "Listen beyond this machine without TLS and a token.")
    var insecure = false

    /// What to do about an address that others can reach.
    static let advice = "; give --tls-certificate, --tls-key and --token-file, or --insecure"

    func validate() throws {
        guard (tlsCertificate == nil) == (tlsKey == nil) else {
            throw ValidationError("--tls-certificate and --tls-key go together.")
        }
        guard token == nil || tokenFile == nil else {
            throw ValidationError("Say either --token or --token-file.")
        }
        guard token?.isEmpty != true else {
            throw ValidationError("--token is empty: it would admit everybody.")
        }
        for host in allowedHosts where host.isEmpty || host.contains(where: { ":/ ".contains($0) })
        {
            throw ValidationError(
                "'\(host)' is no name of a host: give it without scheme and port.")
        }
    }

    /// The certificate, where there is one.
    var tls: ServerConfiguration.TLS? {
        guard let tlsCertificate, let tlsKey else { return nil }
        return .init(certificatePath: tlsCertificate, keyPath: tlsKey)
    }

    /// The token, where there is one.
    func readToken() throws -> String? {
        guard let tokenFile else { return token }
        guard let text = try? String(contentsOfFile: tokenFile, encoding: .utf8) else {
            throw LarderError(.invalidArgument, "the file '\(tokenFile)' cannot be read")
        }
        let secret = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !secret.isEmpty else {
            throw LarderError(.invalidArgument, "the file '\(tokenFile)' is empty")
        }
        return secret
    }

    /// What the status line says of it.
    var text: String {
        var words: [String] = []
        if tls != nil { words.append("TLS") }
        if token != nil || tokenFile != nil { words.append("token") }
        return words.map { ", \($0)" }.joined()
    }
}
