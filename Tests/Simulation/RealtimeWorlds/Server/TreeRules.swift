import LarderRealtimeBackend
import LarderRealtimeModel

/// Security rules of a world, which change over time.
final class TreeRules: @unchecked Sendable {
    // One thread runs a world.

    /// True if writes need a user.
    let needsUser: Bool
    /// Locations at, above and below which writes are denied.
    var locked: [TreePath] = []
    /// Locations at, above and below which reads are denied.
    var hidden: [TreePath] = []

    init(needsUser: Bool) {
        self.needsUser = needsUser
    }

    /// Why a request is denied.
    enum Denial {
        case noUser
        case locked
    }

    /// Why a request is denied; nil if it is allowed.
    func denial(of request: RealtimeBackend.Request) -> Denial? {
        let places = request.operation == .read ? hidden : locked
        if places.contains(where: { $0.overlaps(request.location) }) { return .locked }
        return needsUser && request.operation == .write && request.user == nil ? .noUser : nil
    }

    /// Allows everything that needs no user.
    func reset() {
        (locked, hidden) = ([], [])
    }
}

extension TreePath {
    /// True if one of two locations is the other or lies above it.
    func overlaps(_ other: TreePath) -> Bool {
        isAncestorOrEqual(of: other) || other.isAncestorOrEqual(of: self)
    }
}
