/// Why a client does not use the network; it does when there is no cause.
package struct OfflineCauses: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The application wants it so.
    package static let user = OfflineCauses(rawValue: 1)
    /// The store cannot take what the backend says.
    package static let storeFailure = OfflineCauses(rawValue: 2)
    /// Another process has the network for this store.
    package static let notPrimary = OfflineCauses(rawValue: 4)
    /// The client has ended.
    package static let shutdown = OfflineCauses(rawValue: 8)
    /// The store could not take another user yet.
    package static let userChange = OfflineCauses(rawValue: 16)
}
