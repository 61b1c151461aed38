package import LarderModel
package import LarderRemote

extension RemoteStore {
    /// Requests writes from the owner if the pipeline has room: at the start and after each
    /// write.
    package mutating func fillWritePipeline() {
        wantsWrites = true
    }

    /// Appends requested batches to the pipeline.
    ///
    /// Older batches and those without room are left out. An empty array means that the queue has
    /// no more; if the pipeline is empty too, the stream becomes idle.
    package mutating func add(_ batches: [MutationBatch]) {
        guard canUseNetwork else { return }
        for batch in pipeline.append(batches) where writeToken != nil { send(batch) }
        if pipeline.batches.isEmpty {
            perform(writeStream.markIdle(), on: .write)
            if !writeStream.isOpen { report(writeOnline.becameIdle(), of: .write) }
        } else {
            // Also before the handshake is answered, when nothing can be sent.
            perform(writeStream.markBusy(), on: .write)
            startWriteStream()
        }
    }

    /// Removes a batch that the application cancels.
    ///
    /// - Returns: false, without effect, if its answer is awaited. An earlier attempt may have
    ///   been committed without an answer.
    package mutating func forget(batchID: Int64) -> Bool {
        guard writeToken == nil || !pipeline.contains(batchID) else { return false }
        if pipeline.remove(batchID) { wantsWrites = true }
        return true
    }

    /// Rejects a batch of the pipeline as if the backend had rejected it; the others continue
    /// without backoff.
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

    /// An event of the write stream; events of earlier streams are ignored.
    package mutating func handle(_ event: WriteEvent, generation: Int) {
        guard writeStream.isCurrent(generation) else { return }
        switch event {
        case .opened:
            guard !writeStream.isOpen else { return }
            perform(writeStream.opened(), on: .write)
            effects.append(.sendWrite(.handshake))
        case .handshake(let token, let keepsNames):
            guard writeStream.isOpen, writeToken == nil else {
                failWriteStream(LarderError(.internal, "a handshake that was not asked for"))
                return
            }
            writeToken = token
            namesWrites = keepsNames
            // While writes keep failing, an answered handshake does not end the outage.
            if !isWritingInVain || pipeline.batches.isEmpty { recordWriteAnswer() }
            let (isFirst, steps) = writeStream.answered()
            perform(steps, on: .write)
            if isFirst { endWatchOutage() }
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
        endWriting()
        perform(writeStream.stop(), on: .write)
    }

    mutating func writeIdleTimerFired() {
        guard writeStream.idleTimerFired() else { return }
        closeWriteStream()
        report(writeOnline.becameIdle(), of: .write)
    }

    /// Ends the backoff of the write stream after an answer on the watch stream.
    mutating func endWriteOutage() {
        let (isAttempt, steps) = writeStream.outageEnded(isNeeded: !pipeline.batches.isEmpty)
        perform(steps, on: .write)
        if isAttempt { report(writeOnline.streamStarted(), of: .write) }
    }

    private mutating func startWriteStream() {
        guard canUseNetwork, !pipeline.batches.isEmpty else { return }
        let (isAttempt, steps) = writeStream.start(at: now, jitter: jitter)
        // A stream that is opening or open already has its timer, or has run out of time.
        if isAttempt || writeOnline.reason == .notAsked {
            report(writeOnline.streamStarted(isAttempt: isAttempt), of: .write)
        }
        perform(steps, on: .write)
    }

    /// The backend has answered on the write stream.
    private mutating func recordWriteAnswer() {
        let awaitsMore = !pipeline.batches.isEmpty
        recordOutcome(
            writeOnline.answered(at: now, awaitsMore: awaitsMore), of: .write)
    }

    private mutating func send(_ batch: MutationBatch) {
        guard let writeToken else { return }
        send(batch.mutations, writeToken, once: namesWrites ? names?.token(for: batch) : nil)
        report(writeOnline.asked(), of: .write)
    }

    private mutating func send(
        _ mutations: [Mutation], _ token: [UInt8], once name: WriteToken? = nil
    ) {
        perform(writeStream.markBusy(), on: .write)
        effects.append(.sendWrite(.write(mutations, streamToken: token, once: name)))
    }

    /// The stream accepts no more writes, and those without an answer are sent again.
    private mutating func endWriting() {
        writeToken = nil
        names?.endStream()
    }

    /// A commit has stored the answers to batches, which are not sent again.
    package mutating func noteStored(_ batchIDs: [Int64]) {
        names?.noteStored(batchIDs)
    }

    private mutating func acknowledge(_ response: CommitResponse, _ token: [UInt8]) {
        guard writeToken != nil, let batch = pipeline.batches.first else {
            return failWriteStream(LarderError(.internal, "response without a pending write"))
        }
        do throws(LarderError) {
            if response.documents == nil { try batch.mutations.checkFit(response.results) }
        } catch {
            return failWriteStream(error)
        }
        writeToken = token
        writeStream.succeeded()
        isWritingInVain = false
        _ = pipeline.remove(batch.id)
        if namesWrites { names?.receiveAnswer(to: batch) }
        recordWriteAnswer()
        effects.append(.acknowledge(batchID: batch.id, response))
        wantsWrites = true
    }

    /// Fails the stream; the error concerns the first batch if that was sent.
    private mutating func failWriteStream(_ error: LarderError) {
        let wasSent = writeToken != nil
        endWriting()
        perform(writeStream.fail(error), on: .write)
        guard let first = pipeline.batches.first else {
            return report(writeOnline.becameIdle(), of: .write)
        }
        if wasSent, error.kind.isPermanentForWrites {
            isWritingInVain = false
            recordOutcome(writeOnline.answered(at: now), of: .write)
            reject(batchID: first.id, error)
        } else {
            if wasSent { isWritingInVain = true }
            recordOutcome(writeOnline.streamFailed(error), of: .write)
            effects.append(.attemptFailed(batchID: first.id, error, wasSent: wasSent))
        }
        startWriteStream()
    }
}

extension [Mutation] {
    /// - Throws: `internal` for results that do not fit the mutations.
    fileprivate func checkFit(_ results: [MutationResult]) throws(LarderError) {
        guard results.count == count else {
            throw LarderError(
                .internal, "\(results.count) for \(count) mutations were answered")
        }
        for (mutation, result) in zip(self, results) { try mutation.checkFits(result) }
    }
}

extension LarderError.Code {
    /// True if the same write would be rejected again.
    var isPermanentForWrites: Bool {
        switch self {
        case .invalidArgument, .notFound, .alreadyExists, .permissionDenied, .failedPrecondition,
            .outOfRange, .unimplemented, .dataLoss:
            true
        default: false
        }
    }
}
