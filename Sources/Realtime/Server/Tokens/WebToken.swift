import Foundation
import LarderCore
import LarderRealtimeBackend

/// A JSON web token, taken apart; nothing of it is checked.
struct WebToken {
    private static let maximumDepth = 32

    let header: JSONValue
    let claims: JSONValue
    /// The part that the signature is of.
    let signedBytes: [UInt8]
    let signature: [UInt8]

    /// Nil for text that is no token.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]),
            let claims = Self.object(parts[1]), let signature = Self.decoded(parts[2])
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signedBytes = Array("\(parts[0]).\(parts[1])".utf8)
    }

    private static func object(_ part: Substring) -> JSONValue? {
        guard let bytes = decoded(part),
            let json = try? JSONValue(parsing: bytes, maximumDepth: maximumDepth),
            case .object = json
        else { return nil }
        return json
    }

    /// The bytes of base64 with the alphabet for URLs, without padding.
    private static func decoded(_ part: Substring) -> [UInt8]? {
        var text = part.replacing("-", with: "+").replacing("_", with: "/")
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: String(text)).map(Array.init)
    }

    // MARK: Claims

    func text(_ name: String) -> String? { claims[name]?.nonemptyText }

    /// When the token expires; nil if it does not say so.
    var expiration: Timestamp? { time("exp") }

    /// The time of a claim, in whole seconds since the Unix epoch.
    func time(_ name: String) -> Timestamp? {
        switch claims[name] {
        case .integer(let seconds): Timestamp(exactSeconds: seconds, nanoseconds: 0)
        case .double(let seconds):
            Int64(exactly: seconds.rounded(.down)).flatMap {
                Timestamp(exactSeconds: $0, nanoseconds: 0)
            }
        default: nil
        }
    }

    /// True if each time that restricts the token's validity is one.
    var hasValidTimes: Bool {
        ["exp", "iat", "nbf"].allSatisfy { claims[$0] == nil || time($0) != nil }
    }

    /// The user; nil if the token names none.
    ///
    /// Custom tokens have the claims of their user in a member `claims`, others beside the standard
    /// ones.
    var user: RealtimeUser? {
        guard let id = ["user_id", "uid", "sub"].lazy.compactMap({ text($0) }).first else {
            return nil
        }
        let provider = claims["firebase"]?["sign_in_provider"]?.nonemptyText ?? "custom"
        var bytes: [UInt8] = []
        JSONWriter.append(flattenedClaims, to: &bytes)
        return try? RealtimeUser(
            id: id, provider: provider, claims: String(decoding: bytes, as: UTF8.self),
            expiration: expiration)
    }

    private var flattenedClaims: JSONValue {
        guard text("uid") != nil, case .object(let own)? = claims["claims"],
            case .object(let members) = claims
        else { return claims }
        let names = Set(own.map(\.name))
        return .object(members.filter { $0.name != "claims" && !names.contains($0.name) } + own)
    }
}

extension JSONValue {
    fileprivate var nonemptyText: String? {
        guard case .string(let text) = self, !text.isEmpty else { return nil }
        return text
    }
}
