import ArgumentParser
import Foundation
import LarderHTTP
import LarderModel
import LarderServer

/// TLS, tokens and allowed hosts.
struct SecurityOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The TLS certificate (PEM).", valueName: "file"))
    var tlsCertificate: String?

    @Option(help: ArgumentHelp("The private key of the certificate (PEM).", valueName: "file"))
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
            "A further name of this server, accepted as Host of HTTP requests and as origin of web "
                + "pages. Repeatable.",
            valueName: "name"))
    var allowedHosts: [String] = []

    @Option(
        name: .customLong("allow-origin"),
        help: ArgumentHelp(
            "A further origin of web pages that may make requests, such as https://app.example or "
                + "https://*.example.com. Pages of this machine may if the server listens on "
                + "loopback. Repeatable.",
            valueName: "origin"))
    var allowedOrigins: [String] = []

    @Flag(help: "Allow access from other machines without TLS and a token.")
    var insecure = false

    /// The remedy for an unprotected address.
    static let advice = "; specify --tls-certificate, --tls-key and --token-file, or --insecure"

    func validate() throws {
        guard (tlsCertificate == nil) == (tlsKey == nil) else {
            throw ValidationError("--tls-certificate and --tls-key must be specified together.")
        }
        guard token == nil || tokenFile == nil else {
            throw ValidationError("Specify either --token or --token-file.")
        }
        guard token?.isEmpty != true else {
            throw ValidationError("--token is empty, which would admit any client.")
        }
        for host in allowedHosts where host.isEmpty || host.contains(where: { ":/ ".contains($0) })
        {
            throw ValidationError(
                "'\(host)' is not a host name: specify it without scheme and port.")
        }
    }

    var tls: ServerConfiguration.TLS? {
        guard let tlsCertificate, let tlsKey else { return nil }
        return .init(certificatePath: tlsCertificate, keyPath: tlsKey)
    }

    /// True if the server may listen on other addresses than loopback.
    var isProtected: Bool { insecure || tls != nil && (token != nil || tokenFile != nil) }

    func readToken() throws(LarderError) -> String? {
        guard let tokenFile else { return token }
        let secret = try SettingsFile.readText(tokenFile).trimmingCharacters(
            in: .whitespacesAndNewlines)
        guard !secret.isEmpty else {
            throw LarderError(.invalidArgument, "the file '\(tokenFile)' is empty")
        }
        return secret
    }

    /// The part of the status line.
    var text: String {
        var words: [String] = []
        if tls != nil { words.append("TLS") }
        if token != nil || tokenFile != nil { words.append("token") }
        return words.map { ", \($0)" }.joined()
    }
}
