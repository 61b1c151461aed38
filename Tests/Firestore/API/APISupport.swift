import Foundation
import Larder
import LarderTestSupport
import Synchronization

/// A database in memory.
func memoryDatabase() throws -> Firestore {
    try Firestore(configuration: .inMemory)
}

/// A database in a directory.
func diskDatabase(_ directory: TemporaryDirectory) throws -> Firestore {
    try Firestore(configuration: FirestoreConfiguration(directory: directory.file("store")))
}

/// What closures were called with, in order, for tests to wait for.
final class Recorder<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var waiting: [(count: Int, continuation: CheckedContinuation<[Element], Never>)] = []
    }

    private let state = Mutex(State())

    func record(_ element: Element) {
        let ready = state.withLock { state in
            state.elements.append(element)
            let ready = state.waiting.filter { $0.count <= state.elements.count }
            state.waiting.removeAll { $0.count <= state.elements.count }
            return ready.map { ($0.continuation, state.elements) }
        }
        for (continuation, elements) in ready { continuation.resume(returning: elements) }
    }

    /// What has come so far.
    var elements: [Element] { state.withLock { $0.elements } }

    /// Suspends until so many have come.
    func first(_ count: Int) async -> [Element] {
        await withCheckedContinuation { continuation in
            let elements = state.withLock { state -> [Element]? in
                if state.elements.count >= count { return state.elements }
                state.waiting.append((count, continuation))
                return nil
            }
            if let elements { continuation.resume(returning: elements) }
        }
    }
}

/// The code of the error that a closure throws; nil for none.
func code(_ body: () async throws -> Void) async -> LarderError.Code? {
    do {
        try await body()
        return nil
    } catch let error as NSError {
        return LarderError.Code(rawValue: error.code)
    }
}

extension Firestore {
    /// Lets everything that is on the callback queue be called.
    func drainCallbacks() async {
        let queue = settings.dispatchQueue
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume() }
        }
    }
}
