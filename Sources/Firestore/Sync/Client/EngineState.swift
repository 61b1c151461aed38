import LarderDocumentStore
package import LarderModel

/// What an engine is at, at one moment; to look at, not to act on.
package struct EngineState: Sendable {
    /// The targets that the backend is asked for, by number.
    package let targets: [Int32: TargetData]
    /// Documents in limbo that the backend is asked for, with their targets.
    package let activeLimbo: [DocumentPath: Int32]
    /// Documents in limbo that wait, in order.
    package let waitingLimbo: [DocumentPath]
    /// Batches on their way to the backend.
    package let pipelineCount: Int
    /// Whether the backend can be reached.
    package let network: NetworkState
    /// Whether the client has the network for all clients of the store.
    package let isPrimary: Bool
    /// How many views were looked at for changes of documents so far, each once a step.
    package let examinedViewCount: Int
    /// How many clients of the store were active of late, this one included.
    package let activeClientCount: Int
}

extension Client {
    /// Calls a closure with what the engine is at; not when the client is terminated.
    package func inspect(_ body: @escaping @Sendable (EngineState) -> Void) {
        perform { body($0.state) }
    }
}

extension Engine {
    fileprivate var state: EngineState {
        EngineState(
            targets: remoteStore.targets, activeLimbo: limbo.active, waitingLimbo: limbo.waiting,
            pipelineCount: remoteStore.pipelineCount, network: networkState,
            isPrimary: isPrimary, examinedViewCount: views.examinedViewCount,
            activeClientCount: activeClientCount)
    }

    private var activeClientCount: Int {
        guard multiClient != nil else { return 1 }
        let clients = try? store.read { (transaction) throws(LarderError) in
            try transaction.clients()
        }
        return (clients ?? []).count { $0.isActive(at: scheduler.uptime) }
    }
}
