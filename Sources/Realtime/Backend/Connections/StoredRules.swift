package import LarderCore
import LarderRealtimeModel
package import LarderRealtimeRules

/// The security rules of a namespace that replaced the configured ones while the server ran.
///
/// They hold until the configured rules are others: what is configured last counts.
struct StoredRules {
    private static let owner = RecordOwner(.rules, "current")

    let rules: SecurityRules
    /// The text of the rules that they replaced; nil for none.
    private let configured: String?

    init(_ rules: SecurityRules, configured: SecurityRules?) {
        self.rules = rules
        self.configured = configured?.text
    }

    /// True if the configured rules are those that were replaced.
    func replace(_ configured: SecurityRules?) -> Bool { self.configured == configured?.text }

    /// Adds the rules to a commit.
    func add(to commit: inout TreeCommit) {
        commit.replaceRecords(of: Self.owner, with: [json.bytes])
    }

    /// Removes stored rules with a commit.
    static func remove(in commit: inout TreeCommit) {
        commit.replaceRecords(of: owner)
    }

    // rules       the text
    // configured  the text of the rules that they replaced; not there for none

    private var json: JSONValue {
        let configured = configured.map { [JSONMember("configured", .string($0))] } ?? []
        return .object([JSONMember("rules", .string(rules.text))] + configured)
    }

    /// The rules that a namespace has records of; nil for none.
    init?(_ stored: StoredTree) throws(LarderError) {
        guard let record = stored.records[Self.owner]?.first else { return nil }
        guard let json = try? JSONValue(parsing: record), case .string(let text)? = json["rules"]
        else { throw .unreadableRecord }
        rules = try SecurityRules(text)
        if case .string(let text)? = json["configured"] {
            configured = text
        } else {
            configured = nil
        }
    }
}

extension RealtimeBackend {
    /// Replaces the security rules of one namespace, and stores them with its data; listens that
    /// they deny end.
    ///
    /// - Parameter completion: called on the backend's thread when the rules are stored;
    ///   `unavailable` if that fails, and the former rules hold.
    package func storeSecurityRules(
        _ rules: SecurityRules, of namespace: String,
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        server(of: namespace).perform { $0.storeSecurityRules(rules, completion) }
    }
}

extension TreeServer {
    fileprivate func storeSecurityRules(
        _ rules: SecurityRules,
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        replaceSecurityRules(with: StoredRules(rules, configured: settings.configuredRules))
        recheckAllListens()
        deliverLater(.success(()), completion)
    }
}
