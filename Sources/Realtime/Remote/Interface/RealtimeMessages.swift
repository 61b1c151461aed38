package import LarderCore
package import LarderRealtimeModel

/// A client's request to a server.
package enum RealtimeRequest: Equatable, Sendable {
    /// Authenticates the connection; ends the authentication it had. An administrator may act as
    /// another user.
    case authenticate(token: String, actingAs: ActingUser? = nil)
    /// Ends the authentication of the connection.
    case unauthenticate
    /// Asks for a location's or a window's content now and after each change. A query that does
    /// not load all data has a tag, by which its pushes name it.
    case listen(QuerySpec, tag: Int?, hash: String, compoundHash: CompoundHash?)
    /// Ends a listen.
    case unlisten(QuerySpec, tag: Int?)
    /// Asks for a location's or a window's content once.
    case get(QuerySpec)
    /// Replaces a node; with a hash, only if that is the hash of the present node.
    case put(TreePath, Node, hash: String?)
    /// Replaces several nodes below a location, all or none.
    case merge(TreePath, [PathValue])
    /// Replaces a node when the connection ends.
    case onDisconnectPut(TreePath, Node)
    /// Replaces several nodes below a location when the connection ends.
    case onDisconnectMerge(TreePath, [PathValue])
    /// Cancels what was to be written at or below a location when the connection ends.
    case onDisconnectCancel(TreePath)
    /// A put or a merge that a server of ours makes once, however often it arrives; other servers
    /// do not know the token. One with a hash that was made is answered as accepted, whatever the
    /// present node.
    indirect case once(WriteToken, RealtimeRequest)
    /// Reports counters of the client.
    case statistics([String: Int])
}

/// The user with whose rights an administrator acts.
package enum ActingUser: Equatable, Sendable {
    /// A client that is not signed in.
    case unauthenticated
    /// The user of whom security rules see this object as `auth`.
    case authentication(JSONValue)

    /// The members of `auth` and `gauth` that name one.
    package static let messageMembers = ["authvar", "noauth"]
    /// The parameter of REST that names one.
    package static let parameter = "auth_variable_override"

    /// A user by the JSON that clients send: an object, or null for one that is not signed in.
    ///
    /// - Returns: nil for anything else.
    package init?(json: JSONValue) {
        switch json {
        case .null: self = .unauthenticated
        case .object: self = .authentication(json)
        default: return nil
        }
    }
}

/// The answer to a request.
package struct RealtimeResponse: Equatable, Sendable {
    package var status: ResponseStatus
    /// Why the status is not ok.
    package var reason: String?
    package var payload: Payload

    /// The data of an answer.
    package enum Payload: Equatable, Sendable {
        case none
        /// The content that a `get` asked for.
        case node(Node)
        /// The result of an authentication, or the warnings of a listen.
        case json(JSONValue)
    }

    package init(_ status: ResponseStatus, reason: String? = nil, payload: Payload = .none) {
        self.status = status
        self.reason = reason
        self.payload = payload
    }
}

/// The result of a request, as servers name it.
package struct ResponseStatus: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let ok = ResponseStatus(rawValue: "ok")
    package static let permissionDenied = ResponseStatus(rawValue: "permission_denied")
    package static let unavailable = ResponseStatus(rawValue: "unavailable")
    /// The hash of a conditional put is not that of the present node.
    package static let dataStale = ResponseStatus(rawValue: "datastale")
    package static let failed = ResponseStatus(rawValue: "failed")
    package static let expiredToken = ResponseStatus(rawValue: "expired_token")
    package static let invalidToken = ResponseStatus(rawValue: "invalid_token")
}

/// A server's message that is not an answer.
package enum RealtimePush: Equatable, Sendable {
    /// A node was replaced; the tag is that of the query whose window it belongs to, nil for plain
    /// locations.
    case overwrite(TreePath, Node, tag: Int?)
    /// Nodes below a location were replaced.
    case merge(TreePath, [PathValue], tag: Int?)
    /// Ranges of a location's leaves have other content than the client's hashes say.
    case rangeMerge(TreePath, [RangeMerge], tag: Int?)
    /// A listen ended because the client may no longer read the location; without parameters, all
    /// listens at the location.
    case listenRevoked(TreePath, QueryParameters?)
    /// The authentication of the connection is no longer valid.
    case authenticationRevoked(ResponseStatus, reason: String)
    /// Text for the log that explains how the security rules were evaluated.
    case securityDebug(String)

    /// True for an equal push whose nodes are the same objects, or small.
    ///
    /// Takes no time that grows with the nodes.
    package func isSame(as other: RealtimePush) -> Bool {
        switch (self, other) {
        case (.overwrite(let path, let node, let tag), .overwrite(let path2, let node2, let tag2)):
            tag == tag2 && path == path2 && node.isSame(as: node2)
        case (.merge(let path, let values, let tag), .merge(let path2, let values2, let tag2)):
            tag == tag2 && path == path2
                && values.elementsEqual(values2) {
                    $0.path == $1.path && $0.node.isSame(as: $1.node)
                }
        case (.overwrite, _), (.merge, _), (.rangeMerge, _): false
        default: self == other
        }
    }
}

extension RealtimeRequest {
    /// The request without the token of its write.
    package var content: RealtimeRequest {
        if case .once(_, let request) = self { request } else { self }
    }
}
