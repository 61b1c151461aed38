package import LarderHTTP
package import LarderRealtimeRules

/// The configuration of a server's Realtime Databases.
package struct RealtimeServerConfiguration: Sendable {
    /// The location of the databases.
    package enum Storage: Hashable, Sendable {
        /// In memory: discarded when the server ends.
        case memory
        /// In a directory of a local file system: a folder for each namespace.
        case directory(String)
    }

    /// The location of the databases.
    package var storage: Storage

    /// The security rules.
    package var rules = ConfiguredRules()

    /// The token of administrators.
    ///
    /// Without it and ``authKeys`` the tokens of the Firebase emulator are accepted, which anybody
    /// can make.
    package var token: String?

    /// The keys that sign tokens of users; nil for none.
    package var authKeys: AuthKeys?

    /// The interval at which the files of ``authKeys`` are looked at.
    package var authKeysInterval = Duration.seconds(60)

    /// True if other machines can reach the server without a token: namespaces without rules are
    /// closed then.
    package var isReachable = false

    /// A file `NAMESPACE.json` or `NAMESPACE=FILE`, or a directory of such files, that fills
    /// namespaces without data when the server starts; nil for none.
    package var importPath: String?

    /// Shows how far a file is imported; called on any thread.
    package typealias ImportProgress =
        @Sendable (_ path: String, _ doneBytes: Int, _ totalBytes: Int) -> Void

    /// Shows how far ``importPath`` is imported; nil for nothing.
    package var importProgress: ImportProgress?

    /// Where all namespaces are written to when the server has stopped; nil for nowhere.
    package var exportTarget: ExportTarget?

    /// The maximum number of open namespaces.
    package var namespaces = 100

    /// The maximum number of open namespaces that clients of one address have opened.
    package var namespacesPerAddress = Int.max

    /// The idle time after which a namespace on disk may be closed to make room for another.
    package var idleTime = Duration.seconds(600)

    /// The interval of messages that keep an event stream alive.
    package var keepAliveInterval = Duration.seconds(30)

    /// What may wait for the client of an event stream, in bytes, before it is ended; the client
    /// opens it again and receives the present data.
    package var maxStreamBytes = 16 << 20

    /// The maximum number of large writes of administrators that are received at a time, each into a
    /// file of at most 256 MiB.
    package var largeBodies = 4

    /// The limits of WebSocket sessions, and of bodies of requests that are kept in memory.
    package var session = SessionConfiguration()

    /// A configuration without rules and token.
    package init(_ storage: Storage) {
        self.storage = storage
    }

    /// True if a path is a file, or a directory with files of namespaces, for ``importPath``.
    package static func hasImports(at path: String) -> Bool {
        TreeFiles.arePresent(at: path)
    }

    /// True if a directory has documents that Google's Firestore emulator exported, in a format that
    /// is not read.
    package static func hasEmulatorDocuments(at path: String) -> Bool {
        TreeFiles.haveEmulatorDocuments(at: path)
    }

    /// True if namespaces without rules allow everything.
    var isOpen: Bool { token == nil && authKeys == nil && !isReachable }
}

/// The security rules of a server.
package struct ConfiguredRules: Sendable {
    /// The rules of namespaces without ones of their own; nil to allow everything, or with a token
    /// or keys of users, and where other machines reach the server, to allow administrators alone.
    package var common: SecurityRules?

    /// The rules of single namespaces.
    package var byNamespace: [String: SecurityRules] = [:]

    package init() {}

    /// The rules of a namespace; nil to allow everything.
    ///
    /// - Parameter isOpen: whether namespaces without rules allow everything.
    func rules(of namespace: String, isOpen: Bool) -> SecurityRules? {
        byNamespace[namespace] ?? common ?? (isOpen ? nil : .administratorsOnly)
    }

    /// The texts of all rules.
    var texts: [String?: String] {
        var texts: [String?: String] = byNamespace.reduce(into: [:]) { $0[$1.key] = $1.value.text }
        texts[nil] = common?.text
        return texts
    }
}
