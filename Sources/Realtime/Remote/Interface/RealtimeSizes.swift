import LarderRealtimeModel

extension RealtimeRequest {
    /// True for a request without an effect on the requests after it, or on what others see.
    package var isRead: Bool {
        switch self {
        case .listen, .unlisten, .get, .statistics: true
        case .put, .merge, .onDisconnectPut, .onDisconnectMerge, .onDisconnectCancel, .once,
            .authenticate, .unauthenticate:
            false
        }
    }

    /// An estimate of the work of serving the request, in that of a put.
    ///
    /// Windows may have to be sorted, and the hash of a location may have to be computed.
    package var estimatedWork: Int {
        switch self {
        case .get(let query), .listen(let query, _, _, _): query.loadsAllData ? 2 : 20
        case .put(_, _, let hash): hash == nil ? 1 : 10
        case .merge(_, let values), .onDisconnectMerge(_, let values): max(values.count, 1)
        case .once(_, let request): request.estimatedWork
        case .authenticate, .unauthenticate: 10
        case .unlisten, .onDisconnectPut, .onDisconnectCancel, .statistics: 1
        }
    }
}

extension ConnectionEvent {
    /// The size of what is around the data of a message.
    private static let overhead = 128

    /// The estimated size of the event as a message, in bytes.
    package var estimatedBytes: Int {
        switch self {
        case .response(_, let response): Self.overhead + response.estimatedBytes
        case .push(let push): Self.overhead + push.estimatedBytes
        case .opened, .reset, .shutdown, .closed: Self.overhead
        }
    }
}

extension RealtimeResponse {
    fileprivate var estimatedBytes: Int {
        if case .node(let node) = payload { node.estimatedSize } else { 0 }
    }
}

extension RealtimePush {
    fileprivate var estimatedBytes: Int {
        switch self {
        case .overwrite(_, let node, _): node.estimatedSize
        case .merge(_, let values, _):
            values.reduce(0) { $0 + $1.node.estimatedSize + $1.path.count * 16 }
        case .rangeMerge(_, let merges, _):
            merges.reduce(0) { $0 + $1.content.estimatedSize }
        case .listenRevoked, .authenticationRevoked, .securityDebug: 0
        }
    }
}
