import LarderBackend
import LarderModel

/// The rules of a world's backend, which change from time to time.
final class RuleBook: @unchecked Sendable {
    // One thread runs a world.

    /// The user to whom no rule applies.
    static let administrator = "administrator"
    /// The collection that one user alone may write to.
    static let privateCollection = "alice"

    /// Documents that no client may write.
    var locked: Set<DocumentPath> = []
    /// Documents that no client may get.
    var hidden: Set<DocumentPath> = []
    /// IDs of collections that no client may list.
    var closed: Set<String> = []
    /// True if a target was ever denied.
    private(set) var hasDeniedTarget = false

    /// Decides on a request.
    func decide(_ request: Backend.Request) -> Backend.Decision {
        guard request.userID != Self.administrator else { return .allow }
        switch request.operation {
        case .get(let path):
            return hidden.contains(path) ? denyTarget("hidden") : .allow
        case .list(let collection):
            return closed.contains(collection.id) ? denyTarget("closed") : .allow
        case .listGroup(let id):
            return closed.contains(id) ? denyTarget("closed") : .allow
        case .create(let path), .update(let path), .delete(let path):
            if locked.contains(path) { return .deny(reason: "locked") }
            let isPrivate = path.collectionGroup == Self.privateCollection
            return isPrivate && request.userID != Self.privateCollection
                ? .deny(reason: "private") : .allow
        }
    }

    private func denyTarget(_ reason: String) -> Backend.Decision {
        hasDeniedTarget = true
        return .deny(reason: reason)
    }

    /// Allows everything except what is never allowed.
    func reset() {
        locked = []
        hidden = []
        closed = []
    }
}
