import LarderModel
import LarderRemote
import LarderTestSupport
import Testing

@testable import LarderSync

extension RemoteStoreWorld {
    /// Carries out what is asked for, until nothing is.
    mutating func carryOut() throws {
        while true {
            let effects = store.takeEffects()
            if effects.isEmpty { break }
            for effect in effects { try carryOut(effect) }
        }
        try check()
    }

    /// What must hold whenever nothing is left to be done at once.
    private func check() throws {
        try #require(Set(store.targets.keys) == listened)
        try #require(store.pipelineCount <= 10)
        try #require(
            store.pipeline.batches.map(\.id) == queue.prefix(store.pipelineCount).map(\.id))
        if let watch, watch.isOpen { try #require(watch.targets == listened) }
        guard store.canUseNetwork else {
            try #require(watch == nil && write == nil && timers.isEmpty)
            try #require(store.pipelineCount == 0)
            return
        }
        try #require(listened.isEmpty || watch != nil || timers.contains(.watchStreamBackoff))
        try #require(
            store.pipelineCount == 0 || write != nil || timers.contains(.writeStreamBackoff))
        try #require(store.pipelineCount == min(queue.count, 10))
        if let write, write.isGreeted {
            try #require(write.batches == store.pipeline.batches.map(\.id))
        }
    }

    private mutating func carryOut(_ effect: RemoteStore.Effect) throws {
        switch effect {
        case .openWatchStream(let generation):
            try #require(watch == nil && generation > lastWatch && store.canUseNetwork)
            lastWatch = generation
            watch = Watch(generation: generation)
        case .closeWatchStream:
            try #require(watch != nil)
            late += watch?.events.map { .watch($0, lastWatch) } ?? []
            watch = nil
        case .sendWatch(let request): try send(request)
        case .openWriteStream(let generation):
            try #require(write == nil && generation > lastWrite && store.canUseNetwork)
            lastWrite = generation
            write = Write(generation: generation)
        case .closeWriteStream:
            try #require(write != nil)
            late += write?.events.map { .write($0, lastWrite) } ?? []
            write = nil
        case .sendWrite(let request): try send(request)
        case .schedule(let timer, let delay):
            try #require(delay >= .zero && delay <= .seconds(90))
            timers.insert(timer)
        case .cancel(let timer):
            let wasSet = timers.remove(timer) != nil
            try #require(wasSet)
        case .onlineState(let state):
            try #require(online != state)
            online = state
        case .invalidateToken, .warn: break
        case .apply(let event): try apply(event)
        case .rejectTarget(let id, _):
            let wasListened = listened.remove(id) != nil
            try #require(wasListened)
            watch?.targets.remove(id)
        case .acknowledge(let batchID, let response):
            try #require(queue.first?.id == batchID)
            try #require(queue.first?.mutations.count == response.results.count)
            try settle(batchID, .acknowledged)
        case .reject(let id, _):
            try #require(queue.first?.id == id || givenUp.contains(id))
            try settle(id, .rejected)
        case .attemptFailed(let id, let error, _):
            try #require(queue.first?.id == id)
            if random.oneIn(5) {
                givenUp.insert(id)
                store.reject(batchID: id, error)
            }
        case .wantsWrites(let id, let count):
            try #require(store.canUseNetwork && count > 0)
            let batches = Array(queue.lazy.filter { $0.id > id }.prefix(count))
            store.add(batches)
            // A second answer adds nothing.
            if random.oneIn(4), !batches.isEmpty { store.add(batches) }
        }
    }

    private mutating func apply(_ event: RemoteEvent) throws {
        try #require(event.version >= lastSnapshot && !event.version.isNone)
        lastSnapshot = event.version
        for (id, change) in event.targets where !change.resumeToken.isEmpty {
            tokens[id] = change.resumeToken
        }
        for id in event.mismatches.keys { tokens[id] = nil }
    }

    private mutating func send(_ request: WatchRequest) throws {
        try #require(watch?.isOpen == true)
        switch request {
        case .add(let target):
            try #require(listened.contains(target.id))
            let isNew = watch?.targets.insert(target.id).inserted
            try #require(isNew == true)
            if target.purpose == .listen {
                let token = tokens[target.id].map { WatchTarget.Resumption.token($0) }
                try #require(target.resumption == token ?? .none)
            } else {
                try #require(target.resumption == .none)
            }
            try #require((target.expectedCount == nil) == (target.resumption == .none))
            say(.response(.targets(TargetChange(.added, targetIDs: [target.id]))))
        case .remove(let id):
            let wasThere = watch?.targets.remove(id) != nil
            try #require(wasThere)
            say(.response(.targets(TargetChange(.removed(nil), targetIDs: [id]))))
        }
    }

    private mutating func send(_ request: WriteRequest) throws {
        try #require(write?.isOpen == true && write?.hasLeft == false)
        switch request {
        case .handshake:
            try #require(write?.isGreeted == false && write?.events.isEmpty == true)
            write?.events.append(.handshake(streamToken: [UInt8(random.below(250))]))
        case .write(let mutations, let token, _):
            try #require(write?.isGreeted == true && write?.token == token)
            guard let first = mutations.first else {
                write?.hasLeft = true
                return
            }
            let sent = write?.lastSent ?? 0
            let next = queue.first { $0.id > sent }
            try #require(
                next?.mutations == mutations, "a batch was skipped or sent twice: \(first)")
            guard let next else { return }
            write?.lastSent = next.id
            write?.batches.append(next.id)
        }
    }
}
