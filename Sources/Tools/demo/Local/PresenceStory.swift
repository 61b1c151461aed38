import Foundation
import LarderDemo
import LarderRealtime
import LarderRealtimeBackend

/// Two clients of one backend: one comes and goes, the other sees it.
struct PresenceStory {
    private let backend: RealtimeBackend
    private let transcript = Transcript()

    init(backend: RealtimeBackend) {
        self.backend = backend
    }

    func tell() async throws {
        transcript.title("Presence: Ada comes and goes, and Bob observes her")
        let (ada, bob) = (try open(), try open())
        let user = bob.reference(withPath: "users/ada")
        var changes = user.values.makeAsyncIterator()

        /// Waits until Bob's snapshot of Ada satisfies a condition.
        func wait(_ condition: (DataSnapshot) -> Bool) async throws -> DataSnapshot {
            while let snapshot = try await changes.next() {
                if condition(snapshot) { return snapshot }
            }
            throw Unequal("the sequence of snapshots has ended")
        }

        try await transcript.step("Ada connects; the server records what to write when she is gone")
        {
            ada.announceAda()
            _ = try await wait { $0.hasChild("connections") }
            return "Bob sees her online"
        }
        try await transcript.step("Ada's connection breaks") {
            ada.goOffline()
            let gone = try await wait { !$0.hasChild("connections") && $0.hasChild("lastOnline") }
            guard gone.childSnapshot(forPath: "lastOnline").value is Int else {
                throw Unequal("lastOnline is not a time")
            }
            return "Bob sees her offline, and since when"
        }
        try await transcript.step("Ada connects again") {
            ada.goOnline()
            _ = try await wait { $0.hasChild("connections") }
            return "Bob sees her online"
        }
        try await ada.close()
        try await transcript.step("Ada closes her database") {
            _ = try await wait { !$0.hasChild("connections") }
            return "Bob sees her offline"
        }
        try await bob.close()
    }

    private func open() throws -> Database {
        var configuration = DatabaseConfiguration.inMemory
        configuration.backend = backend.connection
        configuration.callbackQueue = DispatchQueue(label: "larder.demo")
        return try Database(configuration: configuration)
    }
}
