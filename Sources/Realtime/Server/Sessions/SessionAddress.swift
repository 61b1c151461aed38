package import LarderRealtimeModel
package import LarderRealtimeRemote

/// What a client's WebSocket handshake asks for.
package struct SessionAddress: Equatable, Sendable {
    /// The database.
    package let namespace: String
    /// The session of the client's previous connection.
    package let request: ConnectRequest

    /// The path of handshakes.
    private static let path = "/.ws"
    /// The version of the protocol.
    private static let version = "5"

    /// Reads the path and the query of a handshake; parameters that are not known are ignored, except
    /// those that would restrict the rights of the session.
    ///
    /// - Parameters:
    ///   - parameters: the parameters of the query, decoded.
    ///   - host: the host that the client names.
    /// - Throws: `notFound` for another path; `invalidArgument` for another version, and for a
    ///   restriction of rights.
    package init(
        path: String, parameters: [(name: String, value: String)], host: String,
        defaultNamespace: String
    ) throws(LarderError) {
        guard path == Self.path else {
            throw LarderError(realtime: .notFound, "WebSockets are served at \(Self.path)")
        }
        func parameter(_ name: String) -> String? { parameters.last { $0.name == name }?.value }
        guard parameter("v") == Self.version else {
            throw LarderError(
                realtime: .invalidArgument, "the version of the protocol is \(Self.version)")
        }
        for name in ActingUser.messageMembers + [ActingUser.parameter]
        where parameter(name) != nil {
            throw LarderError(
                realtime: .invalidArgument, "'\(name)' is no parameter of a session: use 'gauth'")
        }
        namespace =
            RequestedNamespace.name(parameter: parameter("ns"), host: host) ?? defaultNamespace
        request = ConnectRequest(lastSessionID: parameter("ls"))
    }
}
