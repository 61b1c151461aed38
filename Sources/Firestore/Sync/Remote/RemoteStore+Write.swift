package import LarderModel
package import LarderRemote

extension RemoteStore {
    /// Asks the owner for writes, if the pipeline has room: to begin with, and after each write.
    package mutating func fillWritePipeline() {
        wantsWrites = true
    }

    /// Takes batches that follow those of the pipeline, as they were asked for.
    ///
    /// Older batches and those without room are left out. None says that there are none: where
    /// the pipeline is empty too, the stream is let go after a while.
    package mutating func add(_ batches: [PendingBatch]) {
        guard canUseNetwork else { return }
        for batch in pipeline.append(batches) where writeToken != nil { send(batch) }
        if pipeline.batches.isEmpty {
            writeStream.markIdle(&effects)
            if !writeStream.isOpen { note(writeOnline.becameIdle(), of: .write) }
        } else {
            // Also before the handshake is answered, when nothing can be sent.
            writeStream.markBusy(&effects)
            startWriteStream()
        }
    }

    /// Lets go of a batch that the application takes back.
    ///
    /// - Returns: false when its answer is awaited; nothing has changed then. An earlier attempt
    ///   may have been committed without an answer.
    package mutating func forget(batchID: Int64) -> Bool {
        guard writeToken == nil || !pipeline.contains(batchID) else { return false }
        if pipeline.remove(batchID) { wantsWrites = true }
        return true
    }

    /// Gives up on a batch of the pipeline, as if the backend had refused it: the rest goes on
    /// without a wait.
    ///
    /// - Returns: whether it was in the pipeline.
    @discardableResult
    package mutating func reject(batchID: Int64, _ error: LarderError) -> Bool {
        let isFirst = pipeline.batches.first?.id == batchID
        guard pipeline.remove(batchID) else { return false }
        effects.append(.reject(batchID: batchID, error))
        // An answer on this stream could be the batch's; a wait is the first batch's.
        if writeToken != nil || isFirst && writeStream.isHeldBack { closeWriteStream() }
        wantsWrites = true
        startWriteStream()
        return true
    }

    /// Takes what a write stream says; what an older one says is dropped.
    package mutating func handle(_ event: WriteEvent, generation: Int) {
        guard writeStream.isCurrent(generation) else { return }
        switch event {
        case .opened:
            guard !writeStream.isOpen else { return }
            writeStream.opened(&effects)
            effects.append(.sendWrite(.handshake))
        case .handshake(let token):
            guard writeStream.isOpen, writeToken == nil else {
                failWriteStream(LarderError(.internal, "a handshake that was not asked for"))
                return
            }
            writeToken = token
            // Writes that fail again and again are an outage, however often a stream is greeted.
            if !isWritingInVain || pipeline.batches.isEmpty { noteWriteAnswer() }
            if writeStream.answered() { endWatchOutage() }
            for batch in pipeline.batches { send(batch) }
            if pipeline.batches.isEmpty { wantsWrites = true }
        case .committed(let response, let token):
            acknowledge(response, token)
        case .closed(let error):
            let closed = LarderError(.unavailable, "the backend has closed the write stream")
            failWriteStream(error ?? closed)
        }
    }

    mutating func closeWriteStream() {
        if let writeToken { send([], writeToken) }
        writeToken = nil
        writeStream.stop(&effects)
    }

    mutating func writeIdleTimerFired() {
        guard writeStream.idleTimerFired() else { return }
        closeWriteStream()
        note(writeOnline.becameIdle(), of: .write)
    }

    /// Ends the wait for another attempt to write, since the backend has answered on the watch
    /// stream.
    mutating func endWriteOutage() {
        guard writeStream.outageEnded(isNeeded: !pipeline.batches.isEmpty, &effects) else {
            return
        }
        note(writeOnline.streamStarted(), of: .write)
    }

    private mutating func startWriteStream() {
        guard canUseNetwork, !pipeline.batches.isEmpty else { return }
        var opening: [Effect] = []
        let isAttempt = writeStream.start(at: now, jitter: jitter, &opening)
        // A stream that is opening or open already has its timer, or has run out of time.
        if isAttempt || writeOnline.reason == .notAsked {
            note(writeOnline.streamStarted(isAttempt: isAttempt), of: .write)
        }
        effects += opening
    }

    /// The backend has answered on the write stream.
    private mutating func noteWriteAnswer() {
        let awaitsMore = !pipeline.batches.isEmpty
        learn(writeOnline.answered(at: now, awaitsMore: awaitsMore), by: .write)
    }

    private mutating func send(_ batch: PendingBatch) {
        guard let writeToken else { return }
        send(batch.mutations, writeToken)
        note(writeOnline.asked(), of: .write)
    }

    private mutating func send(_ mutations: [Mutation], _ token: [UInt8]) {
        writeStream.markBusy(&effects)
        effects.append(.sendWrite(.write(mutations, streamToken: token)))
    }

    private mutating func acknowledge(_ response: CommitResponse, _ token: [UInt8]) {
        guard writeToken != nil, let batch = pipeline.batches.first else {
            return failWriteStream(LarderError(.internal, "an answer to no write"))
        }
        guard response.results.count == batch.mutations.count else {
            let counts = "\(response.results.count) for \(batch.mutations.count)"
            return failWriteStream(LarderError(.internal, "\(counts) mutations were answered"))
        }
        do throws(LarderError) {
            for (mutation, result) in zip(batch.mutations, response.results) {
                try mutation.checkFits(result)
            }
        } catch {
            return failWriteStream(error)
        }
        writeToken = token
        writeStream.succeeded()
        isWritingInVain = false
        _ = pipeline.remove(batch.id)
        noteWriteAnswer()
        effects.append(
            .acknowledge(
                BatchAcknowledgement(
                    batchID: batch.id, commitVersion: response.commitVersion,
                    results: response.results)))
        wantsWrites = true
    }

    /// Ends the stream for an error, which concerns the first batch if that was sent.
    private mutating func failWriteStream(_ error: LarderError) {
        let wasSent = writeToken != nil
        writeToken = nil
        writeStream.fail(error, &effects)
        guard let first = pipeline.batches.first else {
            return note(writeOnline.becameIdle(), of: .write)
        }
        if wasSent, error.kind.isPermanentForWrites {
            isWritingInVain = false
            learn(writeOnline.answered(at: now), by: .write)
            reject(batchID: first.id, error)
        } else {
            if wasSent { isWritingInVain = true }
            learn(writeOnline.streamFailed(error), by: .write)
            effects.append(.attemptFailed(batchID: first.id, error, wasSent: wasSent))
        }
        startWriteStream()
    }
}

extension LarderError.Code {
    /// Whether the same write would be refused again.
    fileprivate var isPermanentForWrites: Bool {
        switch self {
        case .invalidArgument, .notFound, .alreadyExists, .permissionDenied, .failedPrecondition,
            .outOfRange, .unimplemented, .dataLoss:
            true
        default: false
        }
    }
}
