package import LarderModel
package import LarderQuery
package import LarderRemote

extension Backend: Remote {
    /// As many as a commit is worth making for.
    package var writePipelineDepth: Int { 1_000 }

    package func openWatchStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> any WatchStream {
        serveWatchStream(as: credentials, handler)
    }

    package func openWriteStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) -> any WriteStream {
        let handle = StreamHandle(core)
        handle.perform { core, id in
            core.openWriteStream(id, as: credentials) { [weak handle] in
                if handle?.isOpen == true { handler($0) }
            }
        }
        return WriteConnection(handle)
    }

    package func read(
        _ paths: [DocumentPath], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentReading], LarderError>) -> Void
    ) {
        core.answer(completion) { core throws(LarderError) in
            try core.documents(at: paths, as: credentials, in: nil).readings
        }
    }

    package func commit(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void
    ) {
        core.perform { core in
            core.commit(
                CommitRequest(mutations: mutations, gate: core.gate(credentials)) {
                    completion($0.map(\.response))
                })
        }
    }

    package func aggregate(
        _ aggregates: [Aggregate], over target: QueryTarget, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[Value], LarderError>) -> Void
    ) {
        core.answer(completion) { core throws(LarderError) in
            try core.aggregate(aggregates, over: target.query, as: credentials, in: nil).values
        }
    }

    /// Does nothing: there are no tokens of access.
    package func invalidateToken() {}
}
