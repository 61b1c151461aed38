import GRPCCore

/// By which way the calls of a method are served.
enum CallRoute: Sendable {
    /// From the connection, when the request is there.
    case short(ShortCall)
    /// From the connection, as long as it lasts.
    case live(LiveMethod)
    /// By gRPC.
    case long(MethodDescriptor)
}

extension CallRoute {
    /// The routes of calls by their paths.
    ///
    /// - Parameters:
    ///   - methods: all there are; gRPC serves those that have no other way.
    static func byPath(
        _ methods: [MethodDescriptor], short: [ShortCall], live: [LiveMethod]
    ) -> [String: CallRoute] {
        var routes: [MethodDescriptor: CallRoute] = [:]
        for method in methods { routes[method] = .long(method) }
        for call in short { routes[call.method] = .short(call) }
        for method in live { routes[method.method] = .live(method) }
        return Dictionary(
            uniqueKeysWithValues: routes.map { ("/" + $0.fullyQualifiedMethod, $1) })
    }
}
