import HashTreeCollections
import LarderModel
import LarderRemote
import LarderTestSupport
import Testing

@testable import LarderSync

extension RemoteStoreWorld {
    /// What a stream says after it was closed.
    mutating func deliverLate() throws {
        guard !late.isEmpty else { return }
        let pipelined = store.pipelineCount
        switch late.remove(at: random.below(late.count)) {
        case .watch(let event, let generation):
            store.handle(event, generation: generation) { _ in [] }
        case .write(let event, let generation): store.handle(event, generation: generation)
        }
        try #require(store.pipelineCount == pipelined)
        try #require(store.effects.isEmpty)
    }

    // MARK: Watching

    /// The backend has something to say of targets.
    mutating func tellWatch() {
        guard let targets = watch?.targets.sorted() else { return }
        time += Int64(random.below(3))
        let id = targets.isEmpty ? 2 : random.pick(targets)
        let change: TargetChange
        switch random.below(16) {
        case 0:
            say(.closed(LarderError(random.pick(Self.errors), "")))
            return
        case 1:
            say(.closed(nil))
            return
        case 2:
            // While requests are under way it could be of an earlier one.
            guard watch?.events.isEmpty == true else { return }
            let refused = LarderError(.permissionDenied, "")
            say(.response(.targets(TargetChange(.removed(refused), targetIDs: [id]))))
            deliverWatch()
            return
        case 3, 4:
            say(.response(.existenceFilter(targetID: id, count: 7, unchanged: nil)))
            return
        case 5: change = TargetChange(.reset, targetIDs: [id])
        case 6: change = TargetChange(.removed(nil), targetIDs: [98])
        case 7, 8, 9, 10:
            change = TargetChange(.current, targetIDs: [id], resumeToken: [UInt8(time % 200 + 1)])
        default:
            // Now and then one that is older than the last.
            let past = random.oneIn(4) ? Int64(random.below(5)) : 0
            change = TargetChange(.none, readTime: .test(max(1, time - past)))
        }
        say(.response(.targets(change)))
    }

    mutating func say(_ event: WatchEvent) {
        watch?.events.append(event)
    }

    mutating func deliverWatch() {
        guard let generation = watch?.generation, watch?.events.isEmpty == false,
            let event = watch?.events.removeFirst()
        else { return }
        if case .opened = event { watch?.isOpen = true }
        store.handle(event, generation: generation) { _ in [] }
    }

    /// The backend has told all that there is of all targets, which must be heard of each.
    mutating func tellAll() throws {
        // Targets whose count did not agree are requested again with the next snapshot.
        try tellSnapshot()
        let token: [UInt8] = [255]
        for id in watch?.targets ?? [] {
            say(.response(.targets(TargetChange(.current, targetIDs: [id], resumeToken: token))))
        }
        try tellSnapshot()
        for id in listened { try #require(tokens[id] == token) }
    }

    private mutating func tellSnapshot() throws {
        say(.response(.targets(TargetChange(.none, readTime: .test(time)))))
        while watch?.events.isEmpty == false {
            deliverWatch()
            try carryOut()
        }
    }

    // MARK: Writes

    mutating func deliverWrite(isPeaceful: Bool) {
        guard let stream = write else { return }
        guard let event = nextWriteEvent(stream, isPeaceful: isPeaceful) else { return }
        switch event {
        case .opened: write?.isOpen = true
        case .handshake(let token, _):
            write?.isGreeted = true
            write?.token = token
        case .committed(_, let token): write?.token = token
        case .closed: break
        }
        store.handle(event, generation: stream.generation)
    }

    private mutating func nextWriteEvent(_ stream: Write, isPeaceful: Bool) -> WriteEvent? {
        if !isPeaceful, random.oneIn(12) {
            return .closed(random.oneIn(4) ? nil : LarderError(random.pick(Self.errors), ""))
        }
        if !isPeaceful, random.oneIn(60) {
            return random.oneIn(2) ? .handshake(streamToken: [9]) : committed(99, token: [9])
        }
        if !stream.events.isEmpty { return write?.events.removeFirst() }
        guard let id = stream.batches.first, let batch = queue.first(where: { $0.id == id }) else {
            return nil
        }
        let token = [UInt8(random.below(250))]
        if !isPeaceful, random.oneIn(15) { return committed(99, token: token) }
        write?.batches.removeFirst()
        return committed(batch.mutations.count, token: token)
    }

    private func committed(_ count: Int, token: [UInt8]) -> WriteEvent {
        let result = MutationResult(version: .test(time))
        let response = CommitResponse(
            commitVersion: .test(time), results: Array(repeating: result, count: count))
        return .committed(response, streamToken: token)
    }
}
