public import LarderModel

extension Backend {
    /// Decides on a request.
    ///
    /// Called on any thread, also on the backend's own: it must return soon, and not wait for
    /// the backend.
    public typealias Rules = @Sendable (Request) -> Decision

    /// What is done with a request.
    public enum Decision: Hashable, Sendable {
        /// It is served.
        case allow
        /// It fails with `permissionDenied`, and with this reason in the message.
        case deny(reason: String)
    }

    /// What a user asks for.
    public struct Request: Sendable {
        /// What is to be done.
        public enum Operation: Hashable, Sendable {
            /// One document is read or listened to.
            case get(DocumentPath)
            /// A collection is queried.
            case list(CollectionPath)
            /// All collections with an id are queried.
            case listGroup(String)
            /// A document is written that does not exist.
            case create(DocumentPath)
            /// A document is written that exists.
            case update(DocumentPath)
            /// A document is deleted.
            case delete(DocumentPath)
        }

        /// What is to be done.
        public let operation: Operation
        /// Who asks; empty for nobody who signed in.
        public let userID: String
        /// The document as it is, where the request is about one that exists.
        public let existing: Document?
        /// The fields that a write leaves; nil for other requests.
        public let written: Record?
    }
}

/// Asks a backend's rules in the name of a user.
struct Gate: Sendable {
    let rules: Backend.Rules
    let userID: String

    /// Throws `permissionDenied` unless the rules allow an operation.
    func check(
        _ operation: Backend.Request.Operation, existing: Document? = nil, written: Record? = nil
    ) throws(LarderError) {
        let request = Backend.Request(
            operation: operation, userID: userID, existing: existing, written: written)
        if case .deny(let reason) = rules(request) {
            throw LarderError(.permissionDenied, "the rules deny it: \(reason)")
        }
    }
}
