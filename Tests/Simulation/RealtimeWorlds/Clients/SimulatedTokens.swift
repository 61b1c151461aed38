import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeSync
import LarderRuntime
import LarderSharedTestSupport
import SimulationSupport

/// The tokens of a client's user, which are valid for a while.
final class SimulatedTokens: TokenSource, @unchecked Sendable {
    // One thread runs a world.

    private let events: EventQueue
    private let chance: Chance
    private let journal: Journal
    private let faults: LinkFaults
    /// The user; nil for none.
    private var user: String?
    /// True if there was no user at some time.
    private(set) var hasSignedOut = false
    /// How long tokens are valid; nil without a limit.
    var lifetime: Duration?

    init(
        events: EventQueue, chance: Chance, journal: Journal, faults: LinkFaults, user: String?
    ) {
        (self.events, self.chance, self.journal, self.faults) = (events, chance, journal, faults)
        self.user = user
        lifetime = chance.oneIn(2) ? chance.duration(.seconds(5)...(.seconds(600))) : nil
    }

    /// Changes the user.
    func signIn(_ user: String?) {
        self.user = user
        if user == nil { hasSignedOut = true }
    }

    func fetchToken(forcingRefresh: Bool, _ completion: @escaping Completion<String?>) {
        events.schedule(after: chance.duration(.microseconds(100)...(.seconds(2)))) { [self] in
            if faults.happens(.tokenUnavailable) {
                journal.note(.tokenUnavailable)
                return completion(
                    .failure(LarderError(realtime: .unavailable, "no token can be fetched")))
            }
            completion(.success(user.map { token(of: $0) }))
        }
    }

    private func token(of user: String) -> String {
        guard let lifetime else { return user }
        return "\(user)@\(events.clock.timestamp.milliseconds + lifetime.wholeMilliseconds)"
    }

    /// The server's decision about a token.
    static func check(_ token: String) -> RealtimeBackend.TokenDecision {
        let parts = token.split(separator: "@")
        guard let user = parts.first.map(String.init) else { return .invalid(reason: "no user") }
        guard parts.count == 2, let time = Int64(parts[1]) else {
            return .valid(RealtimeUser(id: user))
        }
        return .valid(
            RealtimeUser(
                id: user,
                expiration: Timestamp(
                    seconds: time / 1000, nanoseconds: Int32(time % 1000) * 1_000_000)))
    }
}
