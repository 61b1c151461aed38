import Foundation
package import LarderCore
package import NIOSSL
import Synchronization

/// The certificate and the key of a listener, which can be replaced while it listens.
package final class TLSCredentials: Sendable {
    private let certificatePath: String
    private let keyPath: String
    private let state: Mutex<(context: NIOSSLContext, files: [Data])>

    /// Reads the files; blocks on disk I/O.
    ///
    /// - Parameters:
    ///   - certificatePath: a PEM file with the certificate and its intermediates.
    ///   - keyPath: a PEM file with the private key.
    /// - Throws: `invalidArgument` for a certificate or key that cannot be used.
    package init(certificatePath: String, keyPath: String) throws(LarderError) {
        self.certificatePath = certificatePath
        self.keyPath = keyPath
        let files = try Self.read(certificatePath, keyPath)
        state = Mutex((try Self.makeContext(certificatePath, keyPath, files), files))
    }

    /// The context for the next connection.
    package var context: NIOSSLContext { state.withLock { $0.context } }

    /// Reads the files again; the former certificate stays in use if they cannot be used.
    ///
    /// Blocks on disk I/O.
    ///
    /// - Returns: true if the files have changed.
    package func reload() throws(LarderError) -> Bool {
        let files = try Self.read(certificatePath, keyPath)
        let context = try Self.makeContext(certificatePath, keyPath, files)
        return state.withLock { state in
            guard state.files != files else { return false }
            state = (context, files)
            return true
        }
    }

    private static func read(
        _ certificatePath: String, _ keyPath: String
    ) throws(LarderError) -> [Data] {
        [try SettingsFile.read(certificatePath), try SettingsFile.read(keyPath)]
    }

    /// The cipher suites of TLS 1.2: none of those that HTTP/2 prohibits (RFC 9113, 9.2.2), which
    /// are all with CBC and all without forward secrecy.
    private static let ciphers: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]

    /// A TLS context (1.2 or later) that offers HTTP/2 and HTTP/1.1.
    private static func makeContext(
        _ certificatePath: String, _ keyPath: String, _ files: [Data]
    ) throws(LarderError) -> NIOSSLContext {
        let chain = try require(
            "the certificate '\(certificatePath)' cannot be used: it is not in PEM form"
        ) {
            let chain = try NIOSSLCertificate.fromPEMBytes(Array(files[0]))
            guard !chain.isEmpty else { throw NIOSSLError.failedToLoadCertificate }
            return chain
        }
        let key = try require(
            "the private key '\(keyPath)' cannot be used: it is not in PEM form without a passphrase"
        ) {
            // Without a callback an encrypted key would be asked for at the terminal.
            try NIOSSLPrivateKey(bytes: Array(files[1]), format: .pem) { $0([UInt8]()) }
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = ciphers
        configuration.applicationProtocols = ["h2", "http/1.1"]
        return try require(
            "the private key '\(keyPath)' cannot be used: it does not belong to the certificate "
                + "'\(certificatePath)'"
        ) {
            try NIOSSLContext(configuration: configuration)
        }
    }

    /// Does a step of making a context; its failure is `invalidArgument` with a message.
    private static func require<R>(
        _ message: String, _ body: () throws -> R
    ) throws(LarderError) -> R {
        do {
            return try body()
        } catch {
            throw LarderError(
                .invalidArgument, message, cause: error, domain: LarderError.sharedDomain)
        }
    }
}
