package import LarderModel
package import LarderRemote

/// What a request of a Listen stream asks for: what is watched, and what of each document is told.
package struct WatchSelection: Sendable {
    /// What is watched, or no longer.
    package var request: WatchRequest
    /// The fields that are told of the target's documents; nil for all, none for the name alone.
    package var mask: FieldMask?
    /// Whether the target ends by itself, as soon as all that there is has been told.
    package var isOnce: Bool

    /// A request, of which all is told.
    package init(_ request: WatchRequest, mask: FieldMask? = nil, isOnce: Bool = false) {
        self.request = request
        self.mask = mask
        self.isOnce = isOnce
    }
}
