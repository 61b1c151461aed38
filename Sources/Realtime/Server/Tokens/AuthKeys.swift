import Foundation
import JWTKit
import LarderCore
import LarderHTTP
package import LarderRealtimeModel
import Synchronization

/// The public keys of those who may sign tokens of users, from files.
///
/// | file | |
/// |---|---|
/// | `{"keys": […]}` | a set of JSON web keys |
/// | `{"ID": "-----BEGIN CERTIFICATE-----…", …}` | certificates by the IDs of their keys |
/// | `-----BEGIN …` | public keys and certificates, for tokens with any ID of a key |
package final class AuthKeys: Sendable {
    private struct Key: Sendable {
        /// Nil for a key without one, which is tried for all tokens.
        let id: String?
        let algorithm: any JWTAlgorithm
    }

    /// The project whose tokens Google signs; nil for none.
    package let project: String?
    private let paths: [String]
    private let keys: Mutex<(keys: [Key], contents: [Data])>

    /// Reads the keys; blocks on disk I/O.
    ///
    /// - Throws: `invalidArgument` for a file that cannot be read, is in none of the formats, or has
    ///   no key.
    package init(files: [String], project: String?) async throws(LarderError) {
        paths = files
        self.project = project
        let contents = try Self.read(files)
        keys = Mutex((try await Self.keys(contents, files), contents))
    }

    /// Reads the files again if they have changed; the former keys stay valid if one is not readable.
    ///
    /// - Parameter read: reads files, on a thread that may block.
    /// - Returns: true if they have changed.
    @discardableResult
    func refresh(
        _ read: ([String]) async throws(LarderError) -> [Data] = { paths throws(LarderError) in
            try AuthKeys.read(paths)
        }
    ) async throws(LarderError) -> Bool {
        let contents = try await read(paths)
        guard contents != keys.withLock({ $0.contents }) else { return false }
        let keys = try await Self.keys(contents, paths)
        self.keys.withLock { $0 = (keys, contents) }
        return true
    }

    /// The contents of files; blocks on disk I/O.
    static func read(_ paths: [String]) throws(LarderError) -> [Data] {
        var contents: [Data] = []
        for path in paths { contents.append(try SettingsFile.read(path)) }
        return contents
    }

    /// True if one of the keys has signed a token with the algorithm that the key is for.
    func areSigners(of token: WebToken) -> Bool {
        guard let algorithm = token.text(ofHeader: "alg") else { return false }
        let id = token.text(ofHeader: "kid")
        return keys.withLock { $0.keys }.contains { key in
            key.algorithm.name == algorithm && (key.id == nil || id == nil || key.id == id)
                && (try? key.algorithm.verify(token.signature, signs: token.signedBytes)) == true
        }
    }

    // MARK: Files

    private static func keys(
        _ contents: [Data], _ paths: [String]
    ) async throws(LarderError) -> [Key] {
        var keys: [Key] = []
        for (path, data) in zip(paths, contents) {
            do {
                let found = try await self.keys(in: data)
                guard !found.isEmpty else { throw JWTError.noKeyProvided }
                keys += found
            } catch {
                throw LarderError(
                    realtime: .invalidArgument,
                    "'\(path)' has no public keys that can be used: \(error)", cause: error)
            }
        }
        return keys
    }

    private static func keys(in data: Data) async throws -> [Key] {
        guard data.first(where: { !$0.isWhitespace }) == UInt8(ascii: "{") else {
            return try await keys(inText: String(decoding: data, as: UTF8.self), id: nil)
        }
        let json = try JSONValue(parsing: Array(data))
        guard case .array(let elements)? = json["keys"] else {
            var keys: [Key] = []
            guard case .object(let members) = json else { return [] }
            for member in members {
                guard case .string(let text) = member.value else { continue }
                keys += try await self.keys(inText: text, id: member.name)
            }
            return keys
        }
        var keys: [Key] = []
        for element in elements { keys.append(try await key(of: element)) }
        return keys
    }

    private static func key(of json: JSONValue) async throws -> Key {
        var bytes: [UInt8] = []
        JSONWriter.append(json, to: &bytes)
        let jwk = try JSONDecoder().decode(JWK.self, from: Data(bytes))
        let collection = JWTKeyCollection()
        var named = jwk
        named.keyIdentifier = keyName
        try await collection.add(jwk: named)
        return Key(
            id: jwk.keyIdentifier?.string,
            algorithm: try await collection.getKey(for: keyName, alg: algorithm(of: json)))
    }

    /// The algorithm of a JSON web key, which need not say it.
    private static func algorithm(of json: JSONValue) -> String? {
        if case .string(let name)? = json["alg"] { return name }
        return switch (json["kty"], json["crv"]) {
        case (.string("RSA")?, _): "RS256"
        case (_, .string("P-256")?): "ES256"
        case (_, .string("P-384")?): "ES384"
        case (_, .string("P-521")?): "ES512"
        case (.string("OKP")?, _): "EdDSA"
        default: nil
        }
    }

    /// A name for a collection of one key.
    private static let keyName = JWKIdentifier(string: "key")

    /// The public keys and certificates of a PEM text.
    private static func keys(inText text: String, id: String?) async throws -> [Key] {
        var keys: [Key] = []
        for part in text.split(separator: "-----BEGIN ").dropFirst(text.hasPrefix("-") ? 0 : 1) {
            let collection = JWTKeyCollection()
            try await collection.add("-----BEGIN " + part, isCertificate: part.hasPrefix("CERT"))
            keys.append(Key(id: id, algorithm: try await collection.getKey(for: keyName)))
        }
        return keys
    }
}

extension JWTKeyCollection {
    /// Adds the key of a PEM text.
    fileprivate func add(_ pem: String, isCertificate: Bool) throws {
        let (key, name) = (try? RSAPublicKey(pem, isCertificate), JWKIdentifier(string: "key"))
        if let key {
            add(rsa: key, digestAlgorithm: .sha256, kid: name)
        } else if let key = try? ES256PublicKey(pem, isCertificate) {
            add(ecdsa: key, kid: name)
        } else if let key = try? ES384PublicKey(pem, isCertificate) {
            add(ecdsa: key, kid: name)
        } else {
            add(ecdsa: try ES512PublicKey(pem, isCertificate), kid: name)
        }
    }
}

private typealias RSAPublicKey = Insecure.RSA.PublicKey

extension Insecure.RSA.PublicKey {
    fileprivate init(_ pem: String, _ isCertificate: Bool) throws {
        self = try isCertificate ? Self(certificatePEM: pem) : Self(pem: pem)
    }
}

extension ECDSA.PublicKey {
    fileprivate init(_ pem: String, _ isCertificate: Bool) throws {
        self = try isCertificate ? Self(certificate: pem) : Self(pem: pem)
    }
}

extension WebToken {
    fileprivate func text(ofHeader name: String) -> String? {
        if case .string(let text)? = header[name] { text } else { nil }
    }
}

extension UInt8 {
    fileprivate var isWhitespace: Bool { self == 0x20 || (0x09...0x0d).contains(self) }
}
